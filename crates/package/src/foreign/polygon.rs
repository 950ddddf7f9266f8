//! Packages of Codeforces Polygon: `problem.xml` and the files that it names, as in
//! `cmscontrib/loaders/polygon.py` of cms-dev/cms and the packages that Polygon itself builds.
//!
//! The "full" package contains the tests; the "standard" package has to generate them first.
//! Checkers use testlib, which the package contains.

use super::draft::{Convention, Draft, Group, Mode, Test};
use super::loss::{ForeignError, Loss};
use super::source::{Source, extension};
use super::xml::Element;
use std::path::PathBuf;

const FILE: &str = "problem.xml";
/// The name of the tests on which solutions are judged.
const TESTSET: &str = "tests";
const LANGUAGES: [(&str, &str); 12] = [
    ("english", "en"),
    ("russian", "ru"),
    ("polish", "pl"),
    ("german", "de"),
    ("ukrainian", "uk"),
    ("spanish", "es"),
    ("french", "fr"),
    ("italian", "it"),
    ("portuguese", "pt"),
    ("chinese", "zh"),
    ("japanese", "ja"),
    ("kazakh", "kk"),
];

pub fn read(source: &Source) -> Result<Draft, ForeignError> {
    let text = source.text(FILE)?.unwrap_or_default();
    let problem = Element::parse(FILE, &text)?;
    let names: Vec<&Element> = match problem.child("names") {
        Some(names) => names.all("name").collect(),
        None => Vec::new(),
    };
    let english = names
        .iter()
        .find(|name| name.attribute("language") == "english");
    let title = english
        .or(names.first())
        .map(|name| name.attribute("value"));
    let title = title.filter(|title| !title.is_empty());
    let mut draft = Draft::new(title.unwrap_or(problem.attribute("short-name")).to_owned());
    let judging = problem.child("judging");
    let judging = judging.ok_or_else(|| missing("judging"))?;
    for key in ["input-file", "output-file"] {
        if !judging.attribute(key).is_empty() {
            return Err(ForeignError::Kind(format!("with an {key}")));
        }
    }
    if problem.at(&["assets", "interactor"]).is_some() {
        return Err(ForeignError::Kind("interactive".to_owned()));
    }
    let mut sets = judging.all("testset");
    let tests = sets.find(|set| set.attribute("name") == TESTSET);
    let tests = tests.ok_or_else(|| missing("testset"))?;
    for set in judging.all("testset") {
        if set.attribute("name") != TESTSET {
            let name = format!("testset {}", set.attribute("name"));
            draft.losses.push(Loss::File(name));
        }
    }
    read_limits(tests, &mut draft)?;
    let all = read_tests(source, tests, &mut draft)?;
    read_points(tests, all, &mut draft);
    if let Some(checker) = problem.at(&["assets", "checker", "source"]) {
        draft.set_checker(source, checker.attribute("path"), Convention::Testlib)?;
    }
    read_solutions(source, &problem, &mut draft)?;
    read_statements(source, &problem, &mut draft);
    for part in ["validators", "extra-validators"] {
        if problem
            .at(&["assets", part])
            .is_some_and(|it| !it.children.is_empty())
        {
            draft.losses.push(Loss::File(part.to_owned()));
        }
    }
    for part in ["materials", "stresses"] {
        let is_listed = problem
            .child(part)
            .is_some_and(|it| !it.children.is_empty());
        if is_listed || source.is_directory(part) {
            draft.losses.push(Loss::File(part.to_owned()));
        }
    }
    Ok(draft)
}

fn missing(name: &str) -> ForeignError {
    ForeignError::Malformed {
        file: FILE.to_owned(),
        why: format!("it has no element {name}"),
    }
}

fn read_limits(tests: &Element, draft: &mut Draft) -> Result<(), ForeignError> {
    let number = |name: &str| {
        let text = tests.child(name).map_or("", |it| it.text.trim());
        text.parse::<u64>().map_err(|_| ForeignError::Malformed {
            file: FILE.to_owned(),
            why: format!("{name} is not a number: {text}"),
        })
    };
    // In bytes.
    let memory = (number("memory-limit")? >> 20).max(1);
    draft.set_limits(&[number("time-limit")?], &[memory]);
    Ok(())
}

/// A test with its settings.
struct Listed {
    test: Test,
    is_sample: bool,
    points: f64,
    group: String,
}

fn read_tests(
    source: &Source,
    tests: &Element,
    draft: &mut Draft,
) -> Result<Vec<Listed>, ForeignError> {
    let pattern = |name: &str, default: &str| {
        let text = tests.child(name).map_or("", |it| it.text.trim());
        if text.is_empty() {
            default.to_owned()
        } else {
            text.to_owned()
        }
    };
    let input = pattern("input-path-pattern", "tests/%02d");
    let answer = pattern("answer-path-pattern", "tests/%02d.a");
    let listed = tests.child("tests").ok_or_else(|| missing("tests"))?;
    let mut all = Vec::new();
    for (index, test) in listed.all("test").enumerate() {
        let name = fill(&input, index + 1);
        let Some(path) = source.file(&name) else {
            // Tests that a generator creates are only in the full package.
            return Err(match index {
                0 => ForeignError::NoTests("tests".to_owned()),
                _ => ForeignError::Missing(name),
            });
        };
        let Some(answer) = source.file(&fill(&answer, index + 1)) else {
            draft.losses.push(Loss::NoAnswer(name));
            continue;
        };
        all.push(Listed {
            test: Test {
                name: (index + 1).to_string(),
                input: path,
                answer,
                group: None,
            },
            is_sample: test.attribute("sample") == "true",
            points: test.attribute("points").parse().unwrap_or(0.0),
            group: test.attribute("group").to_owned(),
        });
    }
    if all.is_empty() {
        return Err(ForeignError::NoTests("tests".to_owned()));
    }
    Ok(all)
}

/// A path from a pattern such as `tests/%02d`.
fn fill(pattern: &str, number: usize) -> String {
    let Some((before, after)) = pattern.split_once('%') else {
        return pattern.to_owned();
    };
    let Some((width, after)) = after.split_once('d') else {
        return pattern.to_owned();
    };
    let width: usize = width.trim_start_matches('0').parse().unwrap_or(0);
    format!("{before}{number:0width$}{after}", width = width.min(20))
}

/// Makes groups of points. Without points, the problem is a pass-fail problem, and its groups have
/// no effect.
fn read_points(tests: &Element, all: Vec<Listed>, draft: &mut Draft) {
    let groups: Vec<&Element> = match tests.child("groups") {
        Some(groups) => groups.all("group").collect(),
        None => Vec::new(),
    };
    draft.is_scoring = all.iter().any(|one| one.points > 0.0);
    if !draft.is_scoring {
        draft.tests.extend(all.into_iter().map(|one| Test {
            group: (!one.is_sample).then_some(0),
            ..one.test
        }));
        return;
    }
    let setting = |name: &str| groups.iter().find(|group| group.attribute("name") == name);
    // The indices of the groups that a group of the package has become.
    let mut made: Vec<(String, Vec<usize>)> = Vec::new();
    for one in &all {
        if made.iter().any(|(name, _)| *name == one.group) {
            continue;
        }
        let members = || all.iter().filter(|other| other.group == one.group);
        let is_complete = setting(&one.group)
            .is_some_and(|group| group.attribute("points-policy") == "complete-group");
        let points: f64 = members().map(|member| member.points).sum();
        let is_equal = members().all(|member| member.points == one.points);
        let own = draft.groups.len();
        if points == 0.0 && members().all(|member| member.is_sample) {
            made.push((one.group.clone(), Vec::new()));
        } else if is_complete || (is_equal && !one.group.is_empty()) {
            let mode = if is_complete { Mode::All } else { Mode::Sum };
            draft.groups.push(group(&one.group, points, mode));
            made.push((one.group.clone(), vec![own]));
        } else {
            // Each test has its own points.
            for member in members() {
                draft
                    .groups
                    .push(group(&member.test.name, member.points, Mode::All));
            }
            made.push((one.group.clone(), (own..draft.groups.len()).collect()));
        }
    }
    let mut used: Vec<usize> = vec![0; made.len()];
    for one in all {
        let Some(at) = made.iter().position(|(name, _)| *name == one.group) else {
            continue;
        };
        let indices = &made[at].1;
        let group = indices.get(used[at]).or(indices.first()).copied();
        if indices.len() > 1 {
            used[at] += 1;
        }
        draft.tests.push(Test { group, ..one.test });
    }
    for setting in groups {
        let name = setting.attribute("name");
        let Some(dependencies) = setting.child("dependencies") else {
            continue;
        };
        let indices = |name: &str| {
            let found = made.iter().find(|(known, _)| known == name);
            found.map(|(_, indices)| indices.clone())
        };
        for dependency in dependencies.all("dependency") {
            let on = dependency.attribute("group");
            for dependent in indices(name).unwrap_or_default() {
                match indices(on) {
                    // Samples give no points, so a submission that fails them has other faults.
                    Some(required) if required.is_empty() => {}
                    Some(required) => {
                        for index in required {
                            draft.require(dependent, on, Some(index));
                        }
                    }
                    None => draft.require(dependent, on, None),
                }
            }
        }
    }
}

fn group(name: &str, points: f64, mode: Mode) -> Group {
    Group {
        name: name.to_owned(),
        points,
        mode,
        requires: Vec::new(),
    }
}

fn read_solutions(
    source: &Source,
    problem: &Element,
    draft: &mut Draft,
) -> Result<(), ForeignError> {
    let Some(solutions) = problem.at(&["assets", "solutions"]) else {
        return Ok(());
    };
    for solution in solutions.all("solution") {
        let Some(path) = solution.child("source").map(|it| it.attribute("path")) else {
            continue;
        };
        let directory = match solution.attribute("tag") {
            "main" | "accepted" => "accepted",
            "wrong-answer" | "presentation-error" => "wrong_answer",
            "time-limit-exceeded" => "time_limit_exceeded",
            "rejected" | "failed" | "memory-limit-exceeded" => "rejected",
            _ => {
                draft.losses.push(Loss::Verdict(path.to_owned()));
                continue;
            }
        };
        let file = source.needed(path)?;
        match directory {
            // The model solution comes first.
            "accepted" if solution.attribute("tag") == "main" => {
                draft.submissions.insert(0, (directory, file));
            }
            _ => draft.submissions.push((directory, file)),
        }
    }
    Ok(())
}

fn read_statements(source: &Source, problem: &Element, draft: &mut Draft) {
    let Some(statements) = problem.child("statements") else {
        return;
    };
    let mut sources: Vec<(String, String)> = Vec::new();
    for statement in statements.all("statement") {
        let path = statement.attribute("path");
        let name = statement.attribute("language");
        let known = LANGUAGES.iter().find(|(known, _)| *known == name);
        let language = known.map_or("en", |(_, code)| code).to_owned();
        let file: Option<PathBuf> = source.file(path);
        match (extension(path).as_str(), file) {
            ("pdf", Some(file)) => draft.statements.push((language, file)),
            _ => sources.push((language, path.to_owned())),
        }
    }
    for (language, path) in sources {
        // Polygon has the same statement as PDF.
        if !draft.statements.iter().any(|(known, _)| *known == language) {
            draft.losses.push(Loss::Statement(path));
        }
    }
}
