//! Settings of groups that problem.yaml may also contain (legacy `grading`), and ranges of points.
//!
//! Packages that are older than testdata.yaml have these settings in problem.yaml. As in
//! problemtools, the settings then apply to all groups and replace those of testdata.yaml.

use crate::fault::icpc::{GroupFault, HeaderFault};
use crate::fault::log::Log;
use crate::fault::text::Number;
use crate::keys::Keys;
use crate::yaml;

/// Settings of problem.yaml that replace those of all groups.
#[derive(Debug, Clone, Copy, Default)]
pub struct Grading {
    /// Whether the first failure ends a group.
    pub stop: Option<bool>,
    pub accept_score: Option<f64>,
    pub reject_score: Option<f64>,
    pub range: Option<(f64, f64)>,
}

/// Reads the settings from `grading` of problem.yaml.
pub fn read(keys: &Keys<'_>, log: &Log) -> Grading {
    for key in ["on_reject", "accept_score", "reject_score", "range"] {
        if let Some(node) = keys.get(key) {
            log.warning(&node.place, HeaderFault::OldGrading { key });
        }
    }
    // The old names are those of problemtools, in which `worst_error` changes nothing.
    let words = [
        ("break", Some(true)),
        ("continue", Some(false)),
        ("first_error", Some(true)),
        ("grade", Some(false)),
        ("worst_error", None),
    ];
    Grading {
        stop: keys.one_of("on_reject", &words).flatten(),
        accept_score: keys.number("accept_score"),
        reject_score: keys.number("reject_score"),
        range: range(keys, log),
    }
}

/// Reads a range `MINIMUM MAXIMUM`. The words `inf`, `+inf` and `-inf` are infinite.
pub fn range(keys: &Keys<'_>, log: &Log) -> Option<(f64, f64)> {
    let node = keys.get("range")?;
    let numbers: Option<Vec<f64>> = node.text().and_then(|text| {
        text.split_whitespace()
            .map(|word| match word {
                "inf" | "+inf" => Some(f64::INFINITY),
                "-inf" => Some(f64::NEG_INFINITY),
                word => yaml::number(word),
            })
            .collect()
    });
    match numbers.as_deref() {
        Some(&[least, most]) if least <= most => Some((least, most)),
        Some(&[least, most]) => {
            let (min, max) = (Number(least), Number(most));
            log.error(&node.place, GroupFault::ReversedRange { min, max });
            None
        }
        _ => {
            let found = node.found();
            log.error(&node.place, GroupFault::Range { found });
            None
        }
    }
}
