//! Time zones in forms: the inputs of times, and the choice of a zone.
//!
//! A form names the zone of its times beside each of them. A hidden field contains the name, so the
//! times are read in the same zone, even if a setting has changed since the form was shown.

use super::error::Page;
use super::frame::zone_name;
use super::mistake::Mistake;
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
