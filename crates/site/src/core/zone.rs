//! Time zones: their names, the zone in which a page shows times, and local times.
//!
//! The rules of the zones are those of the system's database, which the system updates. If the
//! system lacks a zone or has no database, as in small containers, the rules in this program apply.

use super::time::Time;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{self, AmbiguousOffset, TimeZone, TimeZoneDatabase};
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::sync::LazyLock;

/// The longest name of a zone, in bytes.
const MAX_NAME: usize = 64;

/// The database that is part of this program.
static BUNDLED: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// No time zone has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no time zone has this name; use a name such as Europe/Berlin, or UTC")]
pub struct UnknownZone;

/// Why a text is no time in a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LocalTimeError {
    /// It is not a date with a time, or too early or late.
    #[error("not a date and a time")]
    Malformed,
    /// The clocks of the zone skip the time when they are put forward.
    #[error("the clocks skip this time")]
    Skipped,
}

/// A time zone with a name of the IANA database, such as Europe/Berlin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone(TimeZone);

/// A point in time as the clocks of a zone show it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Local {
    /// The date and the clock: `2026-05-01T10:00:00`.
    pub text: String,
    /// The difference from UTC, in seconds; positive to the east.
    pub offset: i32,
    /// The offset's short name, such as CEST or UTC+03:00.
    pub label: String,
}

impl Zone {
    /// Coordinated universal time.
    pub const UTC: Zone = Zone(TimeZone::UTC);

    /// The zone with this name. Case does not matter.
    ///
    /// # Errors
    /// The name is unknown, or it is neither UTC nor a region and a place. Short names such as EST
    /// have no daylight saving, although people expect it.
    pub fn of_name(name: &str) -> Result<Zone, UnknownZone> {
        if name.len() > MAX_NAME {
            return Err(UnknownZone);
        }
        let found = tz::db().get(name).or_else(|_| BUNDLED.get(name));
        let zone = Zone(found.map_err(|_| UnknownZone)?);
        let name = zone.0.iana_name().unwrap_or_default();
        (name == "UTC" || name.contains('/'))
            .then_some(zone)
            .ok_or(UnknownZone)
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// A time in this zone, unless it is "always" or "never".
    pub fn local(&self, time: Time) -> Option<Local> {
        let utc = time.rfc3339()?;
        // The last day of the year 9999 is in the next year in some zones.
        let Ok(stamp) = Timestamp::from_microsecond(time.0) else {
            return Some(Local {
                text: utc.trim_end_matches('Z').to_owned(),
                offset: 0,
                label: "UTC".to_owned(),
            });
        };
        let info = self.0.to_offset_info(stamp);
        let clock = self.0.to_datetime(stamp);
        Some(Local {
            text: field(clock),
            offset: info.offset().seconds(),
            label: label(info.abbreviation(), info.offset().seconds()),
        })
    }

    /// The next time after `now` at which the clocks are changed, and its time in this zone.
    pub fn next_change(&self, now: Time) -> Option<(Time, Local)> {
        let now = Timestamp::from_microsecond(now.0).ok()?;
        let next = self.0.following(now).next()?;
        let time = Time(next.timestamp().as_microsecond());
        Some((time, self.local(time)?))
    }

    /// Reads the value of a form field, such as `2026-05-01T10:00`, with or without seconds.
    ///
    /// `stored` is the time that the form has shown. If the text is still the text of that time,
    /// the result is the stored time: its text has only whole seconds, and may mean two times when
    /// the clocks are put back. Otherwise, such a text means the first of the two times.
    ///
    /// # Errors
    /// The text is not a time in this zone.
    pub fn read(&self, text: &str, stored: Option<Time>) -> Result<Time, LocalTimeError> {
        let clock = clock(text.trim()).ok_or(LocalTimeError::Malformed)?;
        let shown = stored.and_then(|time| Some((time, self.local(time)?)));
        if let Some((time, local)) = shown
            && local.text == field(clock)
        {
            return Ok(time);
        }
        let found = self.0.to_ambiguous_timestamp(clock);
        if let AmbiguousOffset::Gap { .. } = found.offset() {
            return Err(LocalTimeError::Skipped);
        }
        let stamp = found.earlier().map_err(|_| LocalTimeError::Malformed)?;
        let time = Time(stamp.as_microsecond());
        // Times before 1970 have no text.
        (time.0 >= 0)
            .then_some(time)
            .ok_or(LocalTimeError::Malformed)
    }
}

impl Local {
    /// The exact time, with the offset: `2026-05-01 10:00:00 +02:00`.
    pub fn exact(&self) -> String {
        format!(
            "{} {}",
            self.text.replace('T', " "),
            offset_text(self.offset)
        )
    }
}

/// The time with its zone, for lines of a log: `2026-05-01 10:00:00 CEST`.
impl Display for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.text.replace('T', " "), self.label)
    }
}

/// The zones from which the zone of a page is chosen.
#[derive(Debug, Clone)]
pub struct Zones {
    /// The zone of the site.
    pub site: Zone,
    /// The zone of the contest to which the page belongs, if the contest has one.
    pub contest: Option<Zone>,
    /// The zone that the user has chosen.
    pub user: Option<Zone>,
}

impl Zones {
    /// The zone in which a page shows times, and in which its forms are read: the user's, otherwise
    /// the contest's, otherwise the site's.
    pub fn shown(&self) -> &Zone {
        let own = self.user.as_ref().or(self.contest.as_ref());
        own.unwrap_or(&self.site)
    }
}

/// The names of the zones to choose from, except UTC, by region. Obsolete names are left out.
pub fn names() -> &'static BTreeMap<String, Vec<String>> {
    static NAMES: LazyLock<BTreeMap<String, Vec<String>>> = LazyLock::new(|| {
        let mut regions: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for name in BUNDLED.available() {
            let name = name.as_str();
            let is_current = BUNDLED.get(name).is_ok_and(|zone| zone.is_primary());
            if let Some((region, _)) = name.split_once('/')
                && region != "Etc"
                && is_current
            {
                let names = regions.entry(region.to_owned()).or_default();
                names.push(name.to_owned());
            }
        }
        regions.values_mut().for_each(|names| names.sort_unstable());
        regions
    });
    &NAMES
}

/// Reads `2026-05-01T10:00`, with or without seconds. The library would also accept offsets, and
/// ignore them.
fn clock(text: &str) -> Option<DateTime> {
    let is_in_order = text.bytes().enumerate().all(|(index, byte)| match index {
        4 | 7 => byte == b'-',
        10 => byte == b'T',
        13 | 16 => byte == b':',
        _ => byte.is_ascii_digit(),
    });
    if !is_in_order {
        return None;
    }
    match text.len() {
        16 => format!("{text}:00").parse().ok(),
        19 => text.parse().ok(),
        _ => None,
    }
}

/// The text of a time in a form field, in whole seconds.
fn field(clock: DateTime) -> String {
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
        clock.year(),
        clock.month(),
        clock.day(),
        clock.hour(),
        clock.minute(),
        clock.second(),
    )
}

/// The short name of an offset. Zones without abbreviations have numbers in their place.
fn label(abbreviation: &str, offset: i32) -> String {
    match abbreviation.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        true => abbreviation.to_owned(),
        false => format!("UTC{}", offset_text(offset)),
    }
}

fn offset_text(offset: i32) -> String {
    let sign = if offset < 0 { '-' } else { '+' };
    let minutes = offset.unsigned_abs() / 60;
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(name: &str) -> Zone {
        Zone::of_name(name).expect("a zone")
    }

    fn utc(text: &str) -> Time {
        Zone::UTC.read(text, None).expect("a time")
    }

    #[test]
    fn shown_zone_is_that_of_the_user_then_the_contest_then_the_site() {
        let (warsaw, tokyo) = (Some("Europe/Warsaw"), Some("Asia/Tokyo"));
        // Site, contest, user, shown.
        let table = [
            ("UTC", None, None, "UTC"),
            ("Europe/Berlin", None, None, "Europe/Berlin"),
            ("UTC", warsaw, None, "Europe/Warsaw"),
            ("UTC", None, tokyo, "Asia/Tokyo"),
            ("UTC", warsaw, tokyo, "Asia/Tokyo"),
            ("Europe/Berlin", warsaw, Some("UTC"), "UTC"),
        ];
        for (site, contest, user, shown) in table {
            let zones = Zones {
                site: zone(site),
                contest: contest.map(zone),
                user: user.map(zone),
            };
            assert_eq!(zones.shown().name(), shown, "{zones:?}");
        }
    }

    #[test]
    fn names_of_other_things_are_no_zones() {
        for name in [
            "",
            "Berlin",
            "Europe/Berln",
            "Europe/Berlin ",
            "EST",
            "CET",
            "localtime",
            "posixrules",
            "Factory",
            "Etc/Unknown",
            "posix/Europe/Berlin",
            "right/Europe/Berlin",
            "../zoneinfo/Europe/Berlin",
            "/etc/localtime",
            "zone.tab",
            "+02:00",
            "CET-1CEST,M3.5.0,M10.5.0/3",
            "Europe/Berlin\0",
        ] {
            assert_eq!(Zone::of_name(name), Err(UnknownZone), "{name:?}");
        }
        let long = format!("Europe/{}", "x".repeat(1 << 20));
        assert_eq!(Zone::of_name(&long), Err(UnknownZone));
        assert_eq!(zone("europe/BERLIN").name(), "Europe/Berlin");
        assert_eq!(zone("utc"), Zone::UTC);
    }

    #[test]
    fn every_offered_name_is_a_zone_with_the_same_name() {
        let mut count = 0;
        for (region, names) in names() {
            for name in names {
                assert_eq!(zone(name).name(), name);
                assert!(name.starts_with(&format!("{region}/")), "{name}");
                count += 1;
            }
        }
        assert!(count > 300, "{count} names");
        assert!(names()["Europe"].contains(&"Europe/Warsaw".to_owned()));
        // The old name of Europe/Kyiv.
        assert!(!names()["Europe"].contains(&"Europe/Kiev".to_owned()));
    }

    #[test]
    fn local_times_follow_daylight_saving() {
        // Zone, UTC, local, seconds of the offset, label.
        let table = [
            ("UTC", "2026-05-01T08:00", "2026-05-01T08:00:00", 0, "UTC"),
            (
                "Europe/Berlin",
                "2026-01-01T08:00",
                "2026-01-01T09:00:00",
                3600,
                "CET",
            ),
            (
                "Europe/Berlin",
                "2026-05-01T08:00",
                "2026-05-01T10:00:00",
                7200,
                "CEST",
            ),
            (
                "Europe/Berlin",
                "2026-03-29T00:59:59",
                "2026-03-29T01:59:59",
                3600,
                "CET",
            ),
            (
                "Europe/Berlin",
                "2026-03-29T01:00",
                "2026-03-29T03:00:00",
                7200,
                "CEST",
            ),
            (
                "Europe/Berlin",
                "2026-10-25T00:30",
                "2026-10-25T02:30:00",
                7200,
                "CEST",
            ),
            (
                "Europe/Berlin",
                "2026-10-25T01:30",
                "2026-10-25T02:30:00",
                3600,
                "CET",
            ),
            (
                "America/New_York",
                "2026-01-01T02:00",
                "2025-12-31T21:00:00",
                -18_000,
                "EST",
            ),
            (
                "America/Sao_Paulo",
                "2026-05-01T12:00",
                "2026-05-01T09:00:00",
                -10_800,
                "UTC-03:00",
            ),
            (
                "Asia/Kathmandu",
                "2026-05-01T12:00",
                "2026-05-01T17:45:00",
                20_700,
                "UTC+05:45",
            ),
            (
                "Australia/Lord_Howe",
                "2026-05-01T12:00",
                "2026-05-01T22:30:00",
                37_800,
                "UTC+10:30",
            ),
        ];
        for (name, text, local, offset, label) in table {
            let found = zone(name).local(utc(text)).expect("a time");
            let wanted = Local {
                text: local.to_owned(),
                offset,
                label: label.to_owned(),
            };
            assert_eq!(found, wanted, "{name} {text}");
        }
        let berlin = zone("Europe/Berlin");
        let local = berlin.local(utc("2026-05-01T08:00")).expect("a time");
        assert_eq!(local.exact(), "2026-05-01 10:00:00 +02:00");
        assert_eq!(local.to_string(), "2026-05-01 10:00:00 CEST");
        assert_eq!(berlin.local(Time::ALWAYS), None);
        assert_eq!(berlin.local(Time::NEVER), None);
    }

    #[test]
    fn typed_times_are_read_in_their_zone() {
        let skipped = Err(LocalTimeError::Skipped);
        // Zone, text, the time in UTC.
        let table = [
            ("UTC", "2026-05-01T10:00", Ok("2026-05-01T10:00")),
            ("Europe/Berlin", "2026-05-01T10:00", Ok("2026-05-01T08:00")),
            (
                "Europe/Berlin",
                "2026-01-01T10:00:07",
                Ok("2026-01-01T09:00:07"),
            ),
            (
                "Europe/Warsaw",
                " 2026-10-24T09:00 ",
                Ok("2026-10-24T07:00"),
            ),
            ("Europe/Warsaw", "2026-10-26T09:00", Ok("2026-10-26T08:00")),
            // The clocks go from 2:00 to 3:00.
            (
                "Europe/Berlin",
                "2026-03-29T01:59:59",
                Ok("2026-03-29T00:59:59"),
            ),
            ("Europe/Berlin", "2026-03-29T02:00", skipped),
            ("Europe/Berlin", "2026-03-29T02:30", skipped),
            ("Europe/Berlin", "2026-03-29T02:59:59", skipped),
            ("Europe/Berlin", "2026-03-29T03:00", Ok("2026-03-29T01:00")),
            // They go from 3:00 to 2:00: the first of two times.
            ("Europe/Berlin", "2026-10-25T02:00", Ok("2026-10-25T00:00")),
            ("Europe/Berlin", "2026-10-25T02:30", Ok("2026-10-25T00:30")),
            ("Europe/Berlin", "2026-10-25T03:00", Ok("2026-10-25T02:00")),
            // In this zone, a whole day was skipped.
            ("Pacific/Apia", "2011-12-30T12:00", skipped),
        ];
        for (name, text, wanted) in table {
            let found = zone(name).read(text, None);
            assert_eq!(found, wanted.map(utc), "{name} {text}");
        }
    }

    #[test]
    fn text_of_the_stored_time_keeps_this_time() {
        let berlin = zone("Europe/Berlin");
        let first = utc("2026-10-25T00:30");
        let second = utc("2026-10-25T01:30");
        let text = "2026-10-25T02:30";
        for stored in [first, second] {
            assert_eq!(berlin.read(text, Some(stored)), Ok(stored));
        }
        assert_eq!(berlin.read(text, Some(Time::NEVER)), Ok(first));
        assert_eq!(
            berlin.read("2026-10-25T02:31", Some(second)),
            Ok(utc("2026-10-25T00:31"))
        );
        let exact = Time(second.0 + 123_456);
        assert_eq!(berlin.read(text, Some(exact)), Ok(exact));
        // A form of an earlier version, or a different page, may have set a time so late.
        let late = Time(253_402_300_799_000_000);
        let local = berlin.local(late).expect("a time");
        assert_eq!(local.text, "9999-12-31T23:59:59");
        assert_eq!(berlin.read(&local.text, Some(late)), Ok(late));
    }

    #[test]
    fn other_texts_are_no_times() {
        for text in [
            "",
            "now",
            "2026-05-01",
            "2026-13-01T10:00",
            "2026-02-29T10:00",
            "2026-05-01T24:00",
            "2026-05-01T10:00+01",
            "20260501T1000+02",
            "2026-05-01T10:00Z",
            "2026-05-01T10:00:0",
            "1969-12-31T10:00",
            "9999-12-31T23:59",
            "2026-05-01T10:００",
        ] {
            let found = zone("Europe/Berlin").read(text, None);
            assert_eq!(found, Err(LocalTimeError::Malformed), "{text}");
        }
    }

    #[test]
    fn next_change_is_that_of_the_clocks() {
        let (at, local) = zone("Europe/Berlin")
            .next_change(utc("2026-09-01T00:00"))
            .expect("a change");
        assert_eq!(at, utc("2026-10-25T01:00"));
        assert_eq!((local.offset, local.label.as_str()), (3600, "CET"));
        assert_eq!(Zone::UTC.next_change(Time::now()), None);
    }
}
