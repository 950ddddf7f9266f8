//! Packages that Hydro exports (`packages/common/{types,cases,subtask}.ts` and the import of
//! `packages/hydrooj` in hydro-dev/Hydro).
//!
//! `problem.yaml` has the title, `problem.md` or `problem_LANGUAGE.md` the statement, and
//! `testdata` the tests, the checker and `config.yaml`. Without a list of tests, the names of the
//! files decide: `sum1.in`, or `sum2-1.in` in subtask 2.

use super::draft::{Checker, Convention, Draft, Group, Mode, Test};
use super::loss::{ForeignError, Loss};
use super::source::{Source, natural};
use super::text::{Settings, measure};
use crate::yaml::Node;
use std::collections::BTreeMap;

const CONFIG: &str = "testdata/config.yaml";
/// The points of a problem.
const POINTS: f64 = 100.0;
const DEFAULT_TIME: &str = "1000ms";
const DEFAULT_MEMORY: &str = "256m";
/// The checkers of testlib that Hydro has, and similar flags of the default output validator.
const CHECKERS: [(&str, &[&str]); 14] = [
    ("default", &["case_sensitive"]),
    ("strict", &["case_sensitive", "space_change_sensitive"]),
    ("wcmp", &["case_sensitive"]),
    ("lcmp", &["case_sensitive"]),
    ("fcmp", &["case_sensitive", "space_change_sensitive"]),
    ("hcmp", &["case_sensitive"]),
    ("icmp", &["case_sensitive"]),
    ("ncmp", &["case_sensitive"]),
    ("rcmp", &["float_tolerance", "1.5e-6"]),
    ("rcmp4", &["float_tolerance", "1e-4"]),
    ("rcmp6", &["float_tolerance", "1e-6"]),
    ("rcmp9", &["float_tolerance", "1e-9"]),
    ("yesno", &[]),
    ("nyesno", &[]),
];

pub fn read(source: &Source) -> Result<Draft, ForeignError> {
    let mut problem = Settings::read(source, "problem.yaml")?;
    let title = problem.text(&["title"]);
    let mut draft = Draft::new(title.unwrap_or_else(|| source.name.clone()));
    draft.is_scoring = true;
    let config = match source.file(CONFIG) {
        Some(_) => CONFIG,
        None => "testdata/config.yml",
    };
    let mut config = Settings::read(source, config)?;
    let kind = config.text(&["type"]);
    match kind.as_deref() {
        None | Some("default") => {}
        Some(other) => return Err(ForeignError::Kind(other.to_owned())),
    }
    if config
        .text(&["filename"])
        .is_some_and(|name| !name.is_empty())
    {
        return Err(ForeignError::Kind(
            "with named input and output files".to_owned(),
        ));
    }
    read_checker(source, &mut config, &mut draft)?;
    let mut tests = Tests::read(source, &mut config)?;
    tests.add(source, &mut draft)?;
    read_statements(source, &mut draft)?;
    // The identifier, the author and statistics belong to one site.
    for key in ["pid", "owner", "nSubmit", "nAccept", "tag", "reference"] {
        let _ = problem.take(&[key]);
    }
    for (file, settings) in [("problem.yaml", problem), (CONFIG, config)] {
        for key in settings.rest() {
            let file = file.to_owned();
            draft.losses.push(Loss::Setting { file, key });
        }
    }
    for name in source.names("additional_file")? {
        draft
            .losses
            .push(Loss::File(format!("additional_file/{name}")));
    }
    Ok(draft)
}

fn read_checker(
    source: &Source,
    config: &mut Settings,
    draft: &mut Draft,
) -> Result<(), ForeignError> {
    let kind = config
        .text(&["checker_type"])
        .unwrap_or_else(|| "default".to_owned());
    let name = match config.take(&["checker"]) {
        None => None,
        Some(node) => match node.text() {
            Some(name) => Some(name.to_owned()),
            None => Settings::of(&node).text(&["file"]),
        },
    };
    match (kind.as_str(), name) {
        ("testlib", Some(name)) if name.contains('.') => {
            draft.set_checker(source, &format!("testdata/{name}"), Convention::Testlib)
        }
        ("testlib", Some(name)) | ("default" | "strict", Some(name)) if !name.contains('.') => {
            named(&name, draft)
        }
        ("default" | "strict", None) => named(&kind, draft),
        (kind, name) => {
            let name = name.unwrap_or_default();
            Err(ForeignError::Kind(format!(
                "with a checker of the type {kind} ({name})"
            )))
        }
    }
}

/// Replaces a checker of Hydro by the default output validator.
fn named(name: &str, draft: &mut Draft) -> Result<(), ForeignError> {
    let known = CHECKERS.iter().find(|(known, _)| *known == name);
    let (_, flags) = known.ok_or_else(|| ForeignError::Missing(format!("the checker {name}")))?;
    draft.checker = Checker::Default(flags);
    draft
        .losses
        .push(Loss::Comparison(format!("the checker {name} of Hydro")));
    Ok(())
}

/// A test of the configuration.
#[derive(Debug)]
struct Case {
    input: String,
    output: String,
    points: Option<f64>,
    time: Option<String>,
    memory: Option<String>,
}

impl Case {
    fn of(node: &Node) -> Option<Case> {
        let mut case = Settings::of(node);
        Some(Case {
            input: case.text(&["input"])?,
            output: case.text(&["output"])?,
            points: case.number(&["score"]),
            time: case.text(&["time"]),
            memory: case.text(&["memory"]),
        })
    }
}

#[derive(Debug)]
struct Subtask {
    id: String,
    points: Option<f64>,
    mode: String,
    requires: Vec<String>,
    time: Option<String>,
    memory: Option<String>,
    cases: Vec<Case>,
}

/// The subtasks of a problem, and the limits of tests without own limits.
#[derive(Debug)]
struct Tests {
    subtasks: Vec<Subtask>,
    time: Option<String>,
    memory: Option<String>,
}

impl Tests {
    fn read(source: &Source, config: &mut Settings) -> Result<Tests, ForeignError> {
        let (time, memory) = (config.text(&["time"]), config.text(&["memory"]));
        let _ = config.take(&["score"]);
        let mut subtasks: Vec<Subtask> = Vec::new();
        for (index, node) in config.list(&["subtasks"]).iter().enumerate() {
            let mut one = Settings::of(node);
            let requires = one.list(&["if"]);
            let requires = requires.iter().filter_map(Node::text).map(str::to_owned);
            subtasks.push(Subtask {
                id: one.text(&["id"]).unwrap_or_else(|| (index + 1).to_string()),
                points: one.number(&["score"]),
                mode: one.text(&["type"]).unwrap_or_else(|| "min".to_owned()),
                requires: requires.collect(),
                time: one.text(&["time"]),
                memory: one.text(&["memory"]),
                cases: one.list(&["cases"]).iter().filter_map(Case::of).collect(),
            });
        }
        let cases = config.list(&["cases"]);
        if !cases.is_empty() {
            subtasks = vec![subtask(
                "1",
                "sum",
                cases.iter().filter_map(Case::of).collect(),
            )];
        }
        if subtasks.iter().all(|one| one.cases.is_empty()) {
            let found = by_names(&source.names("testdata")?);
            for (id, mode, cases) in found {
                match subtasks.iter_mut().find(|one| one.id == id) {
                    Some(known) => known.cases = cases,
                    None => subtasks.push(subtask(&id, mode, cases)),
                }
            }
        }
        subtasks.retain(|one| !one.cases.is_empty());
        if subtasks.is_empty() {
            return Err(ForeignError::NoTests("testdata".to_owned()));
        }
        subtasks.sort_by_key(|one| natural(&one.id));
        Ok(Tests {
            subtasks,
            time,
            memory,
        })
    }

    /// Adds groups and tests.
    fn add(&mut self, source: &Source, draft: &mut Draft) -> Result<(), ForeignError> {
        let (mut times, mut memories) = (Vec::new(), Vec::new());
        let is_exact = matches!(draft.checker, Checker::Default(_));
        let given = self.subtasks.iter().map(|one| one.points);
        let points = shares(POINTS, &given.collect::<Vec<_>>());
        // The groups of each subtask, by its number.
        let mut made: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (one, points) in self.subtasks.iter().zip(points) {
            let own = draft.groups.len();
            let given: Vec<Option<f64>> = one.cases.iter().map(|case| case.points).collect();
            let parts = shares(points, &given);
            let is_split = one.mode == "sum" && given.iter().any(Option::is_some);
            if !matches!(one.mode.as_str(), "min" | "sum") {
                draft.losses.push(Loss::Rule {
                    group: one.id.clone(),
                    rule: one.mode.clone(),
                });
            }
            let group = |name: String, points, mode| Group {
                name,
                points,
                mode,
                requires: Vec::new(),
            };
            // A checker of the package may give a part of the points.
            let whole = if is_exact { Mode::All } else { Mode::Min };
            match one.mode.as_str() {
                "sum" if !is_split => draft.groups.push(group(one.id.clone(), points, Mode::Sum)),
                "sum" => {}
                _ => draft.groups.push(group(one.id.clone(), points, whole)),
            }
            for (case, part) in one.cases.iter().zip(parts) {
                if is_split {
                    draft.groups.push(group(case.input.clone(), part, whole));
                }
                let file = |name: &str| source.needed(&format!("testdata/{name}"));
                draft.tests.push(Test {
                    name: case.input.trim_end_matches(".in").to_owned(),
                    input: file(&case.input)?,
                    answer: file(&case.output)?,
                    group: Some(draft.groups.len() - 1),
                });
                let time = [&case.time, &one.time, &self.time];
                let time = time.into_iter().flatten().next();
                times.push(milliseconds(time.map_or(DEFAULT_TIME, String::as_str))?);
                let memory = [&case.memory, &one.memory, &self.memory];
                let memory = memory.into_iter().flatten().next();
                memories.push(mebibytes(memory.map_or(DEFAULT_MEMORY, String::as_str))?);
            }
            let groups: Vec<usize> = (own..draft.groups.len()).collect();
            for on in &one.requires {
                for group in &groups {
                    match made.get(on) {
                        Some(required) => {
                            for index in required {
                                draft.require(*group, on, Some(*index));
                            }
                        }
                        None => draft.require(*group, on, None),
                    }
                }
            }
            made.insert(one.id.clone(), groups);
        }
        draft.set_limits(&times, &memories);
        Ok(())
    }
}

fn subtask(id: &str, mode: &str, cases: Vec<Case>) -> Subtask {
    Subtask {
        id: id.to_owned(),
        points: None,
        mode: mode.to_owned(),
        requires: Vec::new(),
        time: None,
        memory: None,
        cases,
    }
}

/// Divides points: what is left after the given ones is divided equally among the others, and the
/// last ones have one point more.
fn shares(total: f64, given: &[Option<f64>]) -> Vec<f64> {
    let is_given = |one: &Option<f64>| one.is_some_and(|points| points > 0.0);
    let sum: f64 = given.iter().flatten().sum();
    let open = given.iter().filter(|one| !is_given(one)).count();
    let rest = (total - sum).max(0.0);
    let base = (rest / open.max(1) as f64).floor();
    let mut left = open;
    let shares = given.iter().map(|one| match one {
        Some(points) if *points > 0.0 => *points,
        _ => {
            left -= 1;
            // The number of places after this one that receive one point more.
            let extra = rest - base * open as f64;
            if (left as f64) < extra.floor() {
                base + 1.0
            } else {
                base
            }
        }
    });
    shares.collect()
}

/// The tests of files without a configuration: the number of the subtask, its mode and its tests.
fn by_names(names: &[String]) -> Vec<(String, &'static str, Vec<Case>)> {
    let mut found: Vec<(String, &'static str, Vec<Case>)> = Vec::new();
    for name in names {
        let Some(stem) = name.strip_suffix(".in") else {
            continue;
        };
        let answers = ["out", "ans"].map(|extension| format!("{stem}.{extension}"));
        let Some(output) = answers.into_iter().find(|answer| names.contains(answer)) else {
            continue;
        };
        let digits = |text: &str| {
            let end = text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
            (text[..end].to_owned(), text[end..].to_owned())
        };
        let (before, number) = digits(stem);
        if number.is_empty() {
            continue;
        }
        let group = before
            .strip_suffix(['-', '_'])
            .map(|before| digits(before).1);
        let (id, mode) = match group {
            Some(group) if !group.is_empty() => (group, "min"),
            _ => ("1".to_owned(), "sum"),
        };
        let case = Case {
            input: name.clone(),
            output,
            points: None,
            time: None,
            memory: None,
        };
        match found.iter_mut().find(|(known, ..)| *known == id) {
            Some((.., cases)) => cases.push(case),
            None => found.push((id, mode, vec![case])),
        }
    }
    for (.., cases) in &mut found {
        cases.sort_by_key(|case| natural(&case.input));
    }
    found
}

fn limit(text: &str, units: &[(&str, f64)]) -> Result<u64, ForeignError> {
    let scaled = measure(text).and_then(|(number, unit)| {
        let (_, factor) = units.iter().find(|(known, _)| *known == unit)?;
        Some((number * factor).ceil())
    });
    let number = scaled.filter(|number| (1.0..=1e12).contains(number));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number is in the range above"
    )]
    let number = number.map(|number| number as u64);
    number.ok_or_else(|| ForeignError::Malformed {
        file: CONFIG.to_owned(),
        why: format!("{text} is not a limit"),
    })
}

fn milliseconds(text: &str) -> Result<u64, ForeignError> {
    limit(
        text,
        &[("ms", 1.0), ("s", 1000.0), ("us", 0.001), ("", 1000.0)],
    )
}

fn mebibytes(text: &str) -> Result<u64, ForeignError> {
    let (kib, gib) = (1.0 / 1024.0, 1024.0);
    let units = [
        ("k", kib),
        ("kb", kib),
        ("m", 1.0),
        ("mb", 1.0),
        ("", 1.0),
        ("g", gib),
        ("gb", gib),
    ];
    limit(text, &units)
}

fn read_statements(source: &Source, draft: &mut Draft) -> Result<(), ForeignError> {
    for name in source.names("")? {
        let stem = name.rsplit_once('.').map_or("", |(stem, _)| stem);
        let language = match stem.strip_prefix("problem") {
            Some("") => "en",
            // Languages have regions, such as `zh_TW`.
            Some(rest) => rest[1..].split('_').next().unwrap_or_default(),
            None => continue,
        };
        let is_statement = name.ends_with(".md") || name.ends_with(".pdf");
        let Some(file) = source.file(&name).filter(|_| is_statement) else {
            continue;
        };
        let is_known = draft.statements.iter().any(|(known, _)| known == language);
        if is_known || !(2..=3).contains(&language.len()) {
            draft.losses.push(Loss::Statement(name));
        } else {
            draft.statements.push((language.to_owned(), file));
        }
    }
    Ok(())
}
