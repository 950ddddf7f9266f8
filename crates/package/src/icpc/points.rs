//! Points of groups in scoring problems of the versions 2023-07 and 2025-09.

use super::group::{Aggregation, MaxScore};
use crate::fault::icpc::GroupFault;
use crate::fault::log::Log;
use crate::fault::text::{Excerpt, Number, Suggestion};
use crate::model::{Group, Rules, ScoreMode};
use std::collections::HashMap;

/// The points of `secret` if the package states none.
pub const DEFAULT_POINTS: f64 = 100.0;

/// Sets the rules of `secret` and of the groups in it from the settings in `own` and `others`.
pub fn set_rules(secret: &mut Group, own: &Aggregation, others: &[Aggregation], log: &Log) {
    let is_bounded = own.max_score != Some(MaxScore::Unbounded);
    let mode = own.mode.unwrap_or(ScoreMode::Sum);
    let most = own.max_score.unwrap_or(MaxScore::Points(DEFAULT_POINTS));
    secret.rules = scoring_rules(own, mode, most, secret.tests.len(), log);
    if own.require_pass.iter().any(|name| name != "sample") {
        log.error(&own.place, GroupFault::SecretRequires);
    }
    let names: Vec<String> = secret
        .groups
        .iter()
        .map(|group| group.name.clone())
        .collect();
    let places: HashMap<&str, usize> = names
        .iter()
        .enumerate()
        .map(|(at, name)| (&**name, at))
        .collect();
    let modes: Vec<ScoreMode> = others
        .iter()
        .map(|other| other.mode.unwrap_or(ScoreMode::PassFail))
        .collect();
    let mut sum = 0.0;
    for (index, (group, other)) in secret.groups.iter_mut().zip(others).enumerate() {
        let most = other.max_score.unwrap_or(MaxScore::Unbounded);
        match most {
            MaxScore::Points(points) => sum += points,
            MaxScore::Unbounded if is_bounded => {
                log.error(&other.place, GroupFault::NoMaxScore);
            }
            MaxScore::Unbounded => {}
        }
        if mode == ScoreMode::PassFail && modes[index] != ScoreMode::PassFail {
            log.error(&other.place, GroupFault::NotPassFail);
        }
        for name in &other.require_pass {
            let named = places.get(&**name).copied();
            match named {
                _ if name == "sample" => {}
                Some(named) if named < index && modes[named] == ScoreMode::PassFail => {}
                Some(named) if named < index => {
                    let group = name.into();
                    log.error(
                        &other.require_place,
                        GroupFault::RequiredNotPassFail { group },
                    );
                }
                Some(_) => {
                    let group = name.into();
                    log.error(&other.require_place, GroupFault::RequiredLater { group });
                }
                None => {
                    let known = names[..index].iter().map(String::as_str).chain(["sample"]);
                    let suggestion = if log.is_full() {
                        Suggestion::NONE
                    } else {
                        Suggestion::new(name, known)
                    };
                    let group = Excerpt::new(name);
                    log.error(
                        &other.require_place,
                        GroupFault::RequiredUnknown { group, suggestion },
                    );
                }
            }
        }
        group.rules = scoring_rules(other, modes[index], most, group.tests.len(), log);
    }
    if let MaxScore::Points(most) = most
        && mode == ScoreMode::Sum
        && sum > most
    {
        let (sum, max) = (Number(sum), Number(most));
        log.warning(&own.place, GroupFault::TooManyPoints { sum, max });
    }
}

fn scoring_rules(
    own: &Aggregation,
    mode: ScoreMode,
    most: MaxScore,
    tests: usize,
    log: &Log,
) -> Rules {
    let points = match most {
        MaxScore::Points(points) => Some(points),
        MaxScore::Unbounded => None,
    };
    if mode == ScoreMode::PassFail && points.is_none() {
        log.error(&own.place, GroupFault::PassFailUnbounded);
    }
    let of_test = |points: f64| match mode {
        ScoreMode::Sum => points / tests.max(1) as f64,
        _ => points,
    };
    Rules {
        // Unless points are summed, a group has no points after its first failed test.
        stop_at_first_failure: mode != ScoreMode::Sum && tests > 0,
        score: mode,
        accept_score: points.filter(|_| mode != ScoreMode::PassFail).map(of_test),
        reject_score: Some(0.0),
        range: Some((0.0, points.unwrap_or(f64::INFINITY))),
        points,
        require_pass: own.require_pass.clone(),
        ..Rules::default()
    }
}
