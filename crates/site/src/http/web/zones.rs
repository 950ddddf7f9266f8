//! Time zones in forms: the inputs of times, and the choice of a zone.
//!
//! A form names the zone of its times beside each of them. A hidden field contains the name, so the
//! times are read in the same zone, even if a setting has changed since the form was shown.

use super::error::Page;
use super::frame::zone_name;
use super::mistake::Mistake;
use super::repeated::Repeated;
use crate::core::time::Time;
use crate::core::zone::{LocalTimeError, Zone, names};
use crate::text::t;
use maud::{Markup, Render, html};

/// The hidden field with the zone of a form, and how its times are read.
pub fn zone_field(zone: &Zone) -> Markup {
    html! {
        input type="hidden" name="zone" value=(zone.name());
        p.hint { (t::ZoneFieldHint { zone: zone_name(zone) }) }
    }
}

/// An input for a time, and the part of the form that follows it.
pub fn time_input(
    zone: &Zone,
    (name, label): (&str, &dyn Render),
    value: Option<Time>,
    is_fixed: bool,
    rest: impl Render,
) -> Markup {
    let shown = value.and_then(|time| zone.local(time));
    html! {
        label {
            span { (label) " (" (zone_name(zone)) ")" }
            input name=(name) type="datetime-local" step="1" readonly[is_fixed]
                value=(shown.map_or(String::new(), |local| local.text));
            (rest)
        }
    }
}

/// The zone of a form that was sent. A program that names none means UTC.
pub fn form_zone(name: &str) -> Result<Zone, Mistake> {
    match name {
        "" => Ok(Zone::UTC),
        name => known(name),
    }
}

fn known(name: &str) -> Result<Zone, Mistake> {
    Zone::of_name(name).map_err(|_| Mistake::UnknownZone {
        name: name.to_owned(),
    })
}

/// Reads an input for a time, which has shown the time `stored`. An empty input means `empty`.
pub fn read_time(
    zone: &Zone,
    text: &str,
    stored: Option<Time>,
    empty: Time,
) -> Result<Time, Mistake> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(empty);
    }
    let text = || text.to_owned();
    zone.read(&text(), stored).map_err(|why| match why {
        LocalTimeError::Malformed => Mistake::Time { text: text() },
        LocalTimeError::Skipped => Mistake::TimeSkipped {
            text: text().replace('T', " "),
            zone: zone.name().to_owned(),
        },
    })
}

/// What the names of hidden fields begin with that contain the times a form has shown.
pub const SHOWN: &str = "shown-";

/// The hidden field with the time that an input shows, for times that several users may change.
pub fn shown_field(name: &str, time: Time) -> Markup {
    html! { input type="hidden" name={ (SHOWN) (name) } value=(time.0); }
}

/// The time that an input has shown. A program may not send it.
pub fn shown_time(form: &Repeated, name: &str) -> Option<Time> {
    let text = form.get(&format!("{SHOWN}{name}"))?;
    text.parse().ok().map(Time)
}

/// Reads an input that has shown the time `shown`, while `stored` may have changed since. An empty
/// input means `empty`.
///
/// # Errors
/// The text is no time, or both the user and someone else have changed the time.
pub fn read_edited_time(
    zone: &Zone,
    (name, text): (&'static str, &str),
    shown: Option<Time>,
    stored: Time,
    empty: Time,
) -> Result<Time, Mistake> {
    let Some(shown) = shown else {
        return read_time(zone, text, Some(stored), empty);
    };
    // "Always" and "never" have no text.
    let is_kept = text.trim().is_empty() && zone.local(shown).is_none();
    let typed = match is_kept {
        true => shown,
        false => read_time(zone, text, Some(shown), empty)?,
    };
    // The text has no fractions of a second, so it may be that of the stored time.
    let is_stored = typed != shown && read_time(zone, text, Some(stored), empty)? == stored;
    match is_stored {
        true => Ok(stored),
        false => merged_time(name, typed, shown, stored),
    }
}

/// The time to store if a form has shown `shown`. A time that was not edited stays as it is stored.
///
/// # Errors
/// Both the user and someone else have changed the time.
pub fn merged_time(
    field: &'static str,
    typed: Time,
    shown: Time,
    stored: Time,
) -> Result<Time, Mistake> {
    match (typed == shown, shown == stored) {
        (true, _) => Ok(stored),
        (false, true) => Ok(typed),
        (false, false) if typed == stored => Ok(stored),
        (false, false) => Err(Mistake::TimeChanged { field, stored }),
    }
}

/// The choice of a zone. `inherited` states which zone applies without a choice.
pub fn zone_choice(inherited: impl Render, chosen: Option<&str>) -> Markup {
    let chosen = chosen.and_then(|name| Zone::of_name(name).ok());
    let chosen = chosen.as_ref().map(Zone::name);
    let is_offered = |name: &str| names().values().flatten().any(|one| one == name);
    let option = |name: &str| html! { option selected[chosen == Some(name)] { (name) } };
    html! {
        label { (t::TimeZone)
            select name="time_zone" {
                option value="" { (inherited) }
                optgroup label="UTC" translate="no" {
                    (option("UTC"))
                    // The name may be obsolete, or newer than this program.
                    @if let Some(name) = chosen && name != "UTC" && !is_offered(name) {
                        (option(name))
                    }
                }
                @for (region, names) in names() {
                    optgroup label=(region) translate="no" {
                        @for name in names { (option(name)) }
                    }
                }
            }
        }
    }
}

/// Reads the choice of a zone.
///
/// # Errors
/// No zone has the name.
pub fn read_choice(text: &str) -> Page<Option<Zone>> {
    match text {
        "" => Ok(None),
        name => Ok(Some(known(name)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edited_time_replaces_only_the_time_that_the_form_has_shown() {
        // Typed, shown, stored; the time to store.
        let table = [
            (1, 1, 1, Some(1)),
            (1, 1, 2, Some(2)),
            (2, 1, 1, Some(2)),
            (2, 1, 2, Some(2)),
            (3, 1, 2, None),
        ];
        for (typed, shown, stored, expected) in table {
            let found = merged_time("ends", Time(typed), Time(shown), Time(stored)).ok();
            assert_eq!(found, expected.map(Time), "{typed} {shown} {stored}");
        }
        let read = |text, shown, stored| {
            read_edited_time(&Zone::UTC, ("ends", text), shown, stored, Time::ALWAYS).ok()
        };
        let (never, other) = (Time::NEVER, Time(7_000_000));
        assert_eq!(read("", Some(never), never), Some(never));
        assert_eq!(read("", Some(never), other), Some(other));
        assert_eq!(read("", Some(other), other), Some(Time::ALWAYS));
        assert_eq!(read("1970-01-01T00:00:07", Some(other), never), Some(never));
        assert_eq!(read("1970-01-01T00:00:08", Some(other), never), None);
        assert_eq!(read("1970-01-01T00:00:07", None, never), Some(other));
        let fraction = Time(8_000_001);
        let same = read("1970-01-01T00:00:08", Some(other), fraction);
        assert_eq!(same, Some(fraction));
    }
}
