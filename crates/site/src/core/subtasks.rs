//! The sum of the best subtasks over all submissions, as at IOI 2017 and later.
//!
//! A subtask is a group of tests with points that contains no other group.

use super::score::Score;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The part of a protocol that has the groups.
#[derive(Deserialize)]
struct Groups {
    #[serde(default)]
    groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    name: String,
    score: Option<i64>,
}

/// The points of the subtasks in a protocol, as they are stored with a judgement. `None` if their
/// sum is not the score, because then the problem combines its groups in a different way.
pub fn of_protocol(protocol: &str, score: i64) -> Option<String> {
    let Groups { groups } = serde_json::from_str(protocol).ok()?;
    let contains = |outer: &Group, inner: &Group| {
        let rest = inner.name.strip_prefix(&outer.name);
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    let is_subtask = |group: &&Group| !groups.iter().any(|inner| contains(group, inner));
    let points = groups.iter().filter(is_subtask);
    let points = points.filter_map(|group| Some((group.name.as_str(), group.score?)));
    let points: BTreeMap<&str, i64> = points.collect();
    if points.is_empty() || points.values().sum::<i64>() != score {
        return None;
    }
    serde_json::to_string(&points).ok()
}

/// The points of a participant for a problem: the sum of the best points for each subtask. It is
/// not less than the best score, in case the subtasks of some submissions are unknown.
pub fn best<'a>(submissions: impl Iterator<Item = (Option<&'a str>, Score)>) -> Score {
    let mut most = 0;
    let mut subtasks: BTreeMap<String, i64> = BTreeMap::new();
    for (groups, score) in submissions {
        most = score.0.max(most);
        let groups = groups.and_then(|groups| serde_json::from_str(groups).ok());
        let groups: BTreeMap<String, i64> = groups.unwrap_or_default();
        for (name, points) in groups {
            let known = subtasks.entry(name).or_default();
            *known = points.max(*known);
        }
    }
    Score(subtasks.values().sum::<i64>().max(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subtasks_are_the_innermost_groups_if_their_sum_is_the_score() {
        let group = |name, score| format!("{{\"name\":\"{name}\",\"score\":{score}}}");
        // Groups, score, stored points.
        let table = [
            (vec![], 0, None),
            (
                vec![group("0", "0"), group("1", "20")],
                20,
                Some(r#"{"0":0,"1":20}"#),
            ),
            (
                vec![
                    group("secret", "30"),
                    group("secret/a", "10"),
                    group("secret/b", "20"),
                ],
                30,
                Some(r#"{"secret/a":10,"secret/b":20}"#),
            ),
            // The names only begin alike.
            (
                vec![group("1", "10"), group("10", "20")],
                30,
                Some(r#"{"1":10,"10":20}"#),
            ),
            (
                vec![group("sample", "null"), group("1", "20")],
                20,
                Some(r#"{"1":20}"#),
            ),
            // The score is the least of the groups.
            (vec![group("a", "10"), group("b", "20")], 10, None),
        ];
        for (groups, score, expected) in table {
            let protocol = format!("{{\"groups\":[{}],\"tests\":[]}}", groups.join(","));
            assert_eq!(
                of_protocol(&protocol, score).as_deref(),
                expected,
                "{protocol}"
            );
        }
        assert_eq!(of_protocol("", 0), None);
    }

    #[test]
    fn best_points_of_each_subtask_are_added() {
        // Submissions with the points of their subtasks and their scores; the result.
        let table = [
            (vec![], 0),
            (vec![(None, 30)], 30),
            (
                vec![
                    (Some(r#"{"1":10,"2":0}"#), 10),
                    (Some(r#"{"1":0,"2":20}"#), 20),
                ],
                30,
            ),
            (
                vec![
                    (Some(r#"{"1":10,"2":5}"#), 15),
                    (Some(r#"{"1":10,"2":0}"#), 10),
                ],
                15,
            ),
            // One of them was judged by an earlier version of the site.
            (vec![(Some(r#"{"1":10}"#), 10), (None, 25)], 25),
            // A later version of the package has another subtask.
            (
                vec![(Some(r#"{"1":10}"#), 10), (Some(r#"{"2":20}"#), 20)],
                30,
            ),
        ];
        for (submissions, expected) in table {
            let all = submissions
                .iter()
                .map(|(groups, score)| (*groups, Score(*score)));
            assert_eq!(best(all), Score(expected), "{submissions:?}");
        }
    }
}
