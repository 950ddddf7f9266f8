//! Groups of tests and their points.

use super::config::{Config, Item};
use super::names;
use super::values::SIMFILE;
use crate::fault::log::{Log, Place};
use crate::fault::sim::SimfileFault;
use crate::fault::text::Excerpt;
use crate::model::{Group, Rules, ScoreMode, Test};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The total number of points of all groups if the Simfile assigns none.
const DEFAULT_POINTS: i64 = 100;
/// The fraction of the time limit up to which a test receives all its points.
const FULL_POINTS_UNTIL: f64 = 2.0 / 3.0;

/// Returns groups with their tests and points, in order.
pub fn groups(tests: Vec<Test>, config: &Config<'_>, log: &Log) -> Vec<Group> {
    let mut by_name: HashMap<String, Vec<Test>> = HashMap::new();
    for test in tests {
        let name = names::group(&test.name).unwrap_or("0").to_owned();
        by_name.entry(name).or_default().push(test);
    }
    let mut groups: Vec<Group> = by_name
        .into_iter()
        .map(|(name, tests)| Group {
            name,
            tests,
            ..Group::default()
        })
        .collect();
    groups.sort_by(|a, b| names::group_order(&a.name).cmp(&names::group_order(&b.name)));
    let points = match config.array("scoring") {
        Some(items) => points(items, &groups, config, log),
        None => split(&groups),
    };
    for group in &mut groups {
        group
            .tests
            .sort_by(|a, b| names::test_order(&a.name).cmp(&names::test_order(&b.name)));
        group.sample = group.name == "0";
        group.rules = Rules {
            // All initial tests are judged, because contestants see their results.
            stop_at_first_failure: !group.sample,
            score: ScoreMode::Minimum,
            points: Some(points.get(&group.name).copied().unwrap_or(0) as f64),
            time_graded_from: Some(FULL_POINTS_UNTIL),
            ..Rules::default()
        };
    }
    groups
}

/// Reads the items `GROUP POINTS` of `scoring`.
fn points(
    items: &[Item],
    groups: &[Group],
    config: &Config<'_>,
    log: &Log,
) -> BTreeMap<String, i64> {
    let mut points = BTreeMap::new();
    let names: BTreeSet<&str> = groups.iter().map(|group| &*group.name).collect();
    for item in items {
        let words = item.words();
        let [group, number] = words[..] else {
            let text = Excerpt::new(&item.text);
            log.error(&item.place, SimfileFault::Scoring { text });
            continue;
        };
        if !group.bytes().all(|byte| byte.is_ascii_digit()) {
            let group = group.into();
            log.error(&item.place, SimfileFault::NotGroup { group });
            continue;
        }
        let group = names::plain(group).to_owned();
        let Ok(number) = number.parse::<i32>() else {
            let (group, points) = (group.into(), number.into());
            log.error(&item.place, SimfileFault::Points { group, points });
            continue;
        };
        if !names.contains(&*group) {
            let group = Excerpt::new(&group);
            log.error(&item.place, SimfileFault::GroupWithoutTests { group });
        }
        if points.insert(group.clone(), i64::from(number)).is_some() {
            let group = group.into();
            log.error(&item.place, SimfileFault::RepeatedGroup { group });
        }
    }
    for group in groups
        .iter()
        .filter(|group| group.name != "0" && !points.contains_key(&group.name))
    {
        let place = config
            .place("scoring")
            .cloned()
            .unwrap_or_else(|| Place::file(SIMFILE));
        let group = Excerpt::new(&group.name);
        log.error(&place, SimfileFault::GroupWithoutPoints { group });
    }
    points
}

/// Splits the points evenly among all groups except group 0. The last groups receive the remainder.
fn split(groups: &[Group]) -> BTreeMap<String, i64> {
    let mut groups: Vec<&Group> = groups.iter().filter(|group| group.name != "0").collect();
    groups.reverse();
    let mut left = DEFAULT_POINTS;
    let mut points = BTreeMap::new();
    while let Some(group) = groups.pop() {
        let share = left / (groups.len() as i64 + 1);
        left -= share;
        points.insert(group.name.clone(), share);
    }
    points
}
