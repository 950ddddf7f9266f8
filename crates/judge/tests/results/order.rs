//! Tests that are judged in parallel have the same results as tests that are judged one after
//! another.

use crate::tree::*;
use millibox_judge::failure::JudgeFailure;
use millibox_judge::scoring::{Grade, Grading, JudgedTest, Plan, Progress, TestState};
use millibox_judge::verdict::{Points, Verdict};
use millibox_package::model::{Format, Group, Problem, Rules, ScoreMode, Scoring, VerdictMode};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Verdict and points of a part when tests are judged one after another.
type PartResult = (Verdict, f64);

/// A grader whose answer depends on its whole input and on the order of the lines.
fn grader(input: &str) -> Result<Grade, JudgeFailure> {
    let parts: Vec<(&str, f64)> = input
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(verdict, points)| (verdict, points.parse().unwrap()))
        .collect();
    let sum = parts
        .iter()
        .enumerate()
        .map(|(index, part)| (index + 1) as f64 * part.1)
        .sum::<f64>();
    let said = match (parts.len(), parts.last().unwrap()) {
        (3, _) => "WA".to_owned(),
        (5, _) => return Err(JudgeFailure::NoGrader),
        (_, ("RTE", _)) => "AC".to_owned(),
        (_, (last, _)) => (*last).to_owned(),
    };
    parse_grade(&format!("{said} {sum}\n"))
}

/// A simple reference implementation that judges one test after another.
struct Naive<'a> {
    scoring: bool,
    results: &'a [JudgedTest],
    next: usize,
    judged: BTreeSet<usize>,
    fail_fast: bool,
    over: bool,
    /// Verdicts of groups by name. A skipped group has the verdict that caused it to be skipped.
    groups: BTreeMap<String, Verdict>,
}

impl Naive<'_> {
    fn test(&mut self, rules: &Rules) -> Option<PartResult> {
        let test = self.next;
        self.next += 1;
        if self.over {
            return None;
        }
        self.judged.insert(test);
        let result = &self.results[test].result;
        let accepted = result.verdict == Verdict::Accepted;
        self.over = self.fail_fast && !accepted;
        let points = match result.score {
            Some(Points::Absolute(points)) => points,
            Some(other) => panic!("{other:?} is not made here"),
            None if accepted => rules.accept_score.unwrap_or(0.0),
            None => rules.reject_score.unwrap_or(0.0),
        };
        Some((result.verdict, points))
    }

    fn skip(&mut self, group: &Group, why: Verdict) {
        self.next += group.all_tests().count();
        for group in group.groups() {
            let nothing = group.all_tests().next().is_none();
            self.groups.insert(
                group.name.clone(),
                if nothing { Verdict::Accepted } else { why },
            );
        }
    }

    fn group(&mut self, group: &Group) -> Option<PartResult> {
        let rules = &group.rules;
        // A group without a verdict contains this group, and both have no tests.
        let required = rules
            .require_pass
            .iter()
            .filter_map(|name| self.groups.get(name).copied());
        let failed = { required }.find(|said| *said != Verdict::Accepted);
        if let Some(verdict) = failed
            && group.all_tests().next().is_some()
            && !self.over
        {
            self.skip(group, verdict);
            return Some((verdict, 0.0));
        }
        let mut said = Vec::new();
        let mut ignored = Vec::new();
        let mut stopped = None;
        let stops = |part: Option<PartResult>| {
            part.map(|(verdict, _)| verdict)
                .filter(|verdict| rules.stop_at_first_failure && *verdict != Verdict::Accepted)
        };
        let tests = group.tests.iter().map(|test| (&test.name, None));
        let mut parts: Vec<_> = tests
            .chain(group.groups.iter().map(|inner| (&inner.name, Some(inner))))
            .collect();
        parts.sort_by_key(|(name, _)| *name);
        for (_, inner) in parts {
            let part = match (stopped, inner) {
                (Some(verdict), Some(inner)) => {
                    self.skip(inner, verdict);
                    continue;
                }
                (Some(_), None) => {
                    self.next += 1;
                    continue;
                }
                (None, Some(inner)) => self.group(inner),
                (None, None) => self.test(rules),
            };
            stopped = stops(part);
            let counts = !(rules.ignore_sample && inner.is_some_and(|inner| inner.sample));
            if counts { &mut said } else { &mut ignored }.extend(part);
        }
        if said.is_empty() {
            said = ignored;
        }
        let result = (!said.is_empty()).then(|| self.grade(rules, &said));
        self.over |= self.fail_fast && result.is_some_and(|said| said.0 != Verdict::Accepted);
        // If judging has ended, the verdict of a group without results is not used.
        self.groups.insert(
            group.name.clone(),
            result.map_or(Verdict::Accepted, |said| said.0),
        );
        result
    }

    fn grade(&self, rules: &Rules, said: &[PartResult]) -> PartResult {
        let gravest = said.iter().map(|part| part.0).max().unwrap();
        if rules.grader.is_some() && gravest != Verdict::JudgeError {
            let lines = said.iter().map(|(verdict, points)| match verdict {
                Verdict::Accepted => format!("AC {points}\n"),
                Verdict::WrongAnswer => format!("WA {points}\n"),
                Verdict::TimeLimit => format!("TLE {points}\n"),
                Verdict::RunTimeError => format!("RTE {points}\n"),
                other => panic!("{other:?} is not made here"),
            });
            let out_of_range = |points| {
                rules
                    .range
                    .is_some_and(|(least, most)| !(least..=most).contains(&points))
            };
            return match grader(&lines.collect::<String>()) {
                Ok(Grade {
                    verdict: Verdict::Accepted,
                    points,
                }) if out_of_range(points) => (Verdict::JudgeError, 0.0),
                Ok(Grade { verdict, points }) => (verdict, points),
                Err(_) => (Verdict::JudgeError, 0.0),
            };
        }
        let first = said
            .iter()
            .map(|part| part.0)
            .find(|verdict| *verdict != Verdict::Accepted);
        let verdict = match rules.verdict {
            _ if gravest == Verdict::JudgeError => return (Verdict::JudgeError, 0.0),
            VerdictMode::Worst => gravest,
            VerdictMode::First => first.unwrap_or(Verdict::Accepted),
            VerdictMode::AnyAccepted if said.iter().any(|part| part.0 == Verdict::Accepted) => {
                Verdict::Accepted
            }
            VerdictMode::AnyAccepted => gravest,
            VerdictMode::AlwaysAccept => Verdict::Accepted,
        };
        let points = || said.iter().map(|part| part.1);
        let sum = points().sum::<f64>();
        let points = match rules.score {
            ScoreMode::Sum => sum,
            ScoreMode::Average => sum / said.len() as f64,
            ScoreMode::Minimum => points().reduce(f64::min).unwrap(),
            ScoreMode::Maximum => points().reduce(f64::max).unwrap(),
            ScoreMode::PassFail if verdict == Verdict::Accepted => rules.points.unwrap(),
            ScoreMode::PassFail => 0.0,
        };
        match rules.range {
            Some((least, most))
                if self.scoring
                    && verdict == Verdict::Accepted
                    && !(least..=most).contains(&points) =>
            {
                (Verdict::JudgeError, 0.0)
            }
            _ => (verdict, points),
        }
    }
}

fn rules() -> impl Strategy<Value = Rules> {
    use VerdictMode::*;
    let verdict = prop_oneof![
        4 => Just(Worst),
        2 => Just(First),
        1 => Just(AnyAccepted),
        1 => Just(AlwaysAccept),
    ];
    let score = prop_oneof![
        3 => Just(ScoreMode::Sum),
        1 => Just(ScoreMode::Minimum),
        1 => Just(ScoreMode::Maximum),
        1 => Just(ScoreMode::Average),
        1 => Just(ScoreMode::PassFail),
    ];
    let range = prop_oneof![6 => Just(None), 1 => Just(Some((0.0, 6.0)))];
    (
        any::<bool>(),
        verdict,
        score,
        range,
        prop::bool::weighted(0.3),
    )
        .prop_map(|(stop, verdict, score, range, own)| {
            let score = if own { ScoreMode::Sum } else { score };
            Rules {
                stop_at_first_failure: stop,
                verdict,
                score,
                // Use whole numbers, because their sum does not depend on the order.
                accept_score: (score != ScoreMode::PassFail).then_some(4.0),
                reject_score: Some(1.0),
                points: (score == ScoreMode::PassFail).then_some(8.0),
                range,
                grader: own.then(Vec::new),
                ..Rules::default()
            }
        })
}

fn tree() -> impl Strategy<Value = Group> {
    let leaf = (rules(), 0..4usize).prop_map(|(rules, tests)| group("", rules, tests, vec![]));
    leaf.prop_recursive(3, 12, 4, |inner| {
        (rules(), 0..3usize, prop::collection::vec(inner, 1..4))
            .prop_map(|(rules, tests, groups)| group("", rules, tests, groups))
    })
}

/// Gives tests and groups unique names in which the two kinds alternate, and adds requirements.
/// Each entry of `requires` is a group and an earlier group.
fn named(
    mut root: Group,
    sample: bool,
    requires: &[(prop::sample::Index, prop::sample::Index)],
) -> Group {
    /// Each group's name, the number of its first test, and the number after its last test.
    type Ranges = Vec<(String, usize, usize)>;
    fn name(group: &mut Group, next: &mut usize, tests: &mut usize, ranges: &mut Ranges) {
        *next += 1;
        group.name = format!("{next:03}");
        let index = ranges.len();
        ranges.push((group.name.clone(), *tests, 0));
        let (mut own, mut inner) = (group.tests.iter_mut(), group.groups.iter_mut());
        loop {
            let (test, group) = (own.next(), inner.next());
            if test.is_none() && group.is_none() {
                break;
            }
            if let Some(test) = test {
                *next += 1;
                test.name = format!("{next:03}");
                *tests += 1;
            }
            if let Some(group) = group {
                name(group, next, tests, ranges);
            }
        }
        ranges[index].2 = *tests;
    }
    fn find<'a>(group: &'a mut Group, name: &str) -> Option<&'a mut Group> {
        if group.name == name {
            return Some(group);
        }
        group.groups.iter_mut().find_map(|inner| find(inner, name))
    }
    let mut ranges = Vec::new();
    name(&mut root, &mut 0, &mut 0, &mut ranges);
    for (who, whom) in requires {
        let who = who.index(ranges.len());
        let (who_name, first, _) = &ranges[who];
        let before: Vec<&String> = ranges[..who]
            .iter()
            .skip(1)
            .filter(|(_, _, end)| end <= first)
            .map(|(name, _, _)| name)
            .collect();
        if !before.is_empty() {
            let required = before[whom.index(before.len())].clone();
            find(&mut root, who_name)
                .unwrap()
                .rules
                .require_pass
                .push(required);
        }
    }
    if sample && let Some(first) = root.groups.first_mut() {
        first.sample = true;
        root.rules.ignore_sample = true;
    }
    root
}

#[derive(Debug, Clone)]
struct Case {
    problem: Problem,
    results: Vec<JudgedTest>,
    fail_fast: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let requires = prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index)>(), 0..3);
    let fail_fast = prop::bool::weighted(0.2);
    (tree(), any::<bool>(), requires, any::<bool>(), fail_fast)
        .prop_map(|(root, sample, requires, scoring, fail_fast)| {
            (named(root, sample, &requires), scoring, fail_fast)
        })
        .prop_filter("tests", |(root, _, _)| root.all_tests().next().is_some())
        .prop_flat_map(|(root, scoring, fail_fast)| {
            let mut problem = problem(Format::Legacy, POINTS, Rules::default(), vec![]);
            problem.grader = Some(program());
            problem.root = root;
            if !scoring {
                problem.scoring = Scoring::PassFail;
                without_graders(&mut problem.root);
            }
            let tests = problem.tests().count();
            let result = prop_oneof![
                12 => Just("AC"),
                2 => Just("AC=3"),
                2 => Just("WA"),
                1 => Just("TL"),
                1 => Just("RE"),
                1 => Just("JE"),
            ];
            let results = prop::collection::vec(result, tests);
            (Just(problem), results, Just(fail_fast))
        })
        .prop_map(|(problem, words, fail_fast)| {
            // Points in an all-or-nothing group are a judge error, which other tests cover.
            let all_or_nothing = |test: &str| {
                let mut groups = problem
                    .groups()
                    .filter(|group| group.rules.score == ScoreMode::PassFail);
                groups.any(|group| group.tests.iter().any(|own| own.name == test))
            };
            let results = problem.tests().zip(words).map(|(test, word)| {
                let word = if word == "AC=3" && all_or_nothing(&test.name) {
                    "AC"
                } else {
                    word
                };
                crate::tree::word(word).unwrap()
            });
            let results = results.collect();
            Case {
                problem,
                results,
                fail_fast,
            }
        })
}

/// Only scoring problems have graders.
fn without_graders(group: &mut Group) {
    group.rules.grader = None;
    group.groups.iter_mut().for_each(without_graders);
}

/// Answers all gradings that are due.
fn grade(progress: &mut Progress<'_>) {
    while let Some(Grading { group, input, .. }) = progress.next_grading() {
        progress.grade(group, grader(&input));
    }
}

fn start<'p>(plan: &'p Plan, case: &Case) -> Progress<'p> {
    let progress = Progress::new(plan);
    if case.fail_fast {
        progress.fail_fast()
    } else {
        progress
    }
}

fn check(
    case: &Case,
    progress: &Progress<'_>,
    naive: &Naive<'_>,
    said: Option<PartResult>,
) -> Result<(), TestCaseError> {
    prop_assert!(progress.is_finished());
    let submission = progress.submission();
    prop_assert_eq!(submission.verdict, said.map(|said| said.0));
    if naive.scoring {
        let points = said
            .filter(|said| said.0 != Verdict::JudgeError)
            .map(|said| said.1);
        prop_assert_eq!(submission.points, points);
    }
    for test in 0..case.results.len() {
        let judged = *progress.state(test) == TestState::Judged;
        prop_assert_eq!(judged, naive.judged.contains(&test), "test {}", test);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 3000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn results_in_any_order_equal_sequential_judging(
        case in case(),
        workers in 1..6usize,
        choices in prop::collection::vec(any::<prop::sample::Index>(), 64),
    ) {
        let plan = Plan::new(&case.problem).unwrap();
        let scoring = plan.scores();
        let mut naive = Naive {
            scoring,
            results: &case.results,
            next: 0,
            judged: BTreeSet::new(),
            fail_fast: case.fail_fast,
            over: false,
            groups: BTreeMap::new(),
        };
        let root = case.problem.root.clone();
        let said = naive.group(&root);

        let mut progress = start(&plan, &case);
        let mut running: Vec<usize> = Vec::new();
        let mut grading: Option<Grading> = None;
        let mut settled: Vec<TestState> = Vec::new();
        let mut choices = choices.iter().cycle();
        loop {
            // Cancel tests that are no longer needed.
            running.retain(|test| progress.is_needed(*test));
            while running.len() < workers && let Some(test) = progress.next_test() {
                prop_assert!(progress.judged(test).is_none());
                running.push(test);
            }
            if let Some(next) = progress.next_grading() {
                prop_assert!(grading.replace(next).is_none(), "two gradings are due");
            }
            if running.is_empty() && grading.is_none() {
                break;
            }
            // Deliver a test's result or a grader's answer.
            let open = running.len() + usize::from(grading.is_some());
            let choice = choices.next().unwrap().index(open);
            if choice < running.len() {
                let test = running.swap_remove(choice);
                progress.record(test, case.results[test].clone());
            } else if let Some(Grading { group, input, .. }) = grading.take() {
                progress.grade(group, grader(&input));
            }
            // A settled test does not change, and the number of settled tests never decreases.
            let now: Vec<TestState> = (0..progress.settled())
                .map(|test| progress.state(test).clone())
                .collect();
            prop_assert!(now.starts_with(&settled));
            settled = now;
        }
        check(&case, &progress, &naive, said)?;

        // A single worker runs only the tests that count.
        let mut progress = start(&plan, &case);
        while let Some(test) = progress.next_test() {
            prop_assert!(naive.judged.contains(&test), "test {} is not needed", test);
            progress.record(test, case.results[test].clone());
            grade(&mut progress);
        }
        check(&case, &progress, &naive, said)?;

        // Recording all results in reverse order leads to the same outcome.
        let mut progress = start(&plan, &case);
        for test in (0..case.results.len()).rev() {
            progress.record(test, case.results[test].clone());
        }
        grade(&mut progress);
        check(&case, &progress, &naive, said)?;
    }
}
