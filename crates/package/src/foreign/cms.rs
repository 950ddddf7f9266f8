//! The Italian YAML format, as CMS reads it (`cmscontrib/loaders/italy_yaml.py` of cms-dev/cms).
//!
//! `task.yaml` has the settings, with old Italian names as alternatives. Tests are
//! `input/inputN.txt` and `output/outputN.txt`, from 0 on. In `gen/GEN`, each line is a test, and a
//! comment `ST: POINTS` begins a subtask; `# COPY: FILE` is a test, too.

use super::draft::{Convention, Draft, Group, Mode, Test};
use super::loss::{ForeignError, Loss};
use super::source::{Source, extension};
use super::text::Settings;

const TASK: &str = "task.yaml";
/// The points of a task without subtasks.
const POINTS: f64 = 100.0;
/// The limits of tasks that state none: in CMS, they have no limit.
const DEFAULT_SECONDS: f64 = 10.0;
const DEFAULT_MEMORY: f64 = 512.0;

pub fn read(source: &Source) -> Result<Draft, ForeignError> {
    let mut task = Settings::read(source, TASK)?;
    let name = task.text(&["name", "nome_breve"]);
    let title = task.text(&["title", "nome"]).or(name);
    let mut draft = Draft::new(title.unwrap_or_else(|| source.name.clone()));
    draft.is_scoring = true;
    if task
        .text(&["output_only"])
        .is_some_and(|text| text.eq_ignore_ascii_case("true"))
    {
        return Err(ForeignError::Kind("OutputOnly".to_owned()));
    }
    for manager in [
        "check/manager",
        "cor/manager",
        "check/manager.cpp",
        "cor/manager.cpp",
    ] {
        if source.file(manager).is_some() {
            return Err(ForeignError::Kind("Communication".to_owned()));
        }
    }
    let seconds = task
        .number(&["time_limit", "timeout"])
        .unwrap_or(DEFAULT_SECONDS);
    let memory = task
        .number(&["memory_limit", "memlimit"])
        .unwrap_or(DEFAULT_MEMORY);
    let whole = |number: f64| number.ceil().clamp(1.0, 1e12);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the bounds are those of the clamp"
    )]
    draft.set_limits(&[whole(seconds * 1000.0) as u64], &[whole(memory) as u64]);
    let total = task.number(&["total_value"]).unwrap_or(POINTS);
    read_tests(source, total, &mut draft)?;
    read_checker(source, &mut draft)?;
    read_solutions(source, &mut draft)?;
    let language = task.text(&["primary_language"]);
    let language = language.unwrap_or_else(|| "it".to_owned());
    for path in ["statement/statement.pdf", "testo/testo.pdf"] {
        if let Some(file) = source.file(path) {
            draft.statements.push((language, file));
            break;
        }
    }
    // These settings are those of contests, or repeat what the files say.
    for key in ["n_input", "score_precision", "infile", "outfile"] {
        let Some(text) = task.text(&[key]) else {
            continue;
        };
        // An empty name means standard input and output; the judge always uses them.
        if matches!(key, "infile" | "outfile") && !text.is_empty() {
            let file = TASK.to_owned();
            draft.losses.push(Loss::Setting {
                file,
                key: key.to_owned(),
            });
        }
    }
    for key in task.rest() {
        let file = TASK.to_owned();
        draft.losses.push(Loss::Setting { file, key });
    }
    for name in source.names("att")? {
        draft.losses.push(Loss::File(format!("att/{name}")));
    }
    Ok(draft)
}

/// The subtasks of `gen/GEN`: the points and the number of tests of each.
fn subtasks(text: &str) -> Result<Vec<(f64, usize)>, ForeignError> {
    let mut subtasks: Vec<(f64, usize)> = Vec::new();
    let mut without = 0;
    for line in text.lines() {
        let (test, comment) = match line.split_once('#') {
            Some((test, comment)) => (test.trim(), comment.trim()),
            None => (line.trim(), ""),
        };
        if let Some(points) = comment.strip_prefix("ST:") {
            let number: f64 = points.trim().parse().map_err(|_| ForeignError::Malformed {
                file: "gen/GEN".to_owned(),
                why: format!("{points} is not a number of points"),
            })?;
            subtasks.push((number, 0));
        } else if !test.is_empty() || comment.starts_with("COPY:") {
            match subtasks.last_mut() {
                Some((_, tests)) => *tests += 1,
                None => without += 1,
            }
        }
    }
    if without > 0 {
        // Without subtasks, each test has an equal part of the points.
        return Ok(Vec::new());
    }
    Ok(subtasks)
}

fn read_tests(source: &Source, total: f64, draft: &mut Draft) -> Result<(), ForeignError> {
    let subtasks = match source.text("gen/GEN")? {
        Some(text) => subtasks(&text)?,
        None => Vec::new(),
    };
    let inputs = source.names("input")?.len();
    let mut ends = Vec::new();
    for (index, (points, tests)) in subtasks.iter().enumerate() {
        ends.push(ends.last().unwrap_or(&0) + tests);
        draft.groups.push(Group {
            name: format!("subtask{}", index + 1),
            points: *points,
            mode: Mode::Min,
            requires: Vec::new(),
        });
    }
    if subtasks.is_empty() {
        draft.groups.push(Group {
            name: "tests".to_owned(),
            points: total,
            mode: Mode::Sum,
            requires: Vec::new(),
        });
        ends.push(usize::MAX);
    }
    let mut number = 0;
    while let Some(input) = source.file(&format!("input/input{number}.txt")) {
        let answer = source.needed(&format!("output/output{number}.txt"))?;
        let group = ends.iter().position(|end| number < *end);
        let group = group.ok_or_else(|| ForeignError::Malformed {
            file: "gen/GEN".to_owned(),
            why: format!("it lists fewer tests than exist: {number} is in no subtask"),
        })?;
        draft.tests.push(Test {
            name: format!("input{number}"),
            input,
            answer,
            // The first subtask has the examples if it gives no points.
            group: (group > 0 || draft.groups[0].points > 0.0).then_some(group),
        });
        number += 1;
    }
    if number == 0 {
        return Err(ForeignError::NoTests("input".to_owned()));
    }
    if !subtasks.is_empty() && ends.last() != Some(&number) {
        return Err(ForeignError::Missing(format!("input/input{number}.txt")));
    }
    if inputs > number {
        draft
            .losses
            .push(Loss::File(format!("{} files of input", inputs - number)));
    }
    Ok(())
}

fn read_checker(source: &Source, draft: &mut Draft) -> Result<(), ForeignError> {
    for stem in ["check/checker", "cor/correttore"] {
        for extension in ["cpp", "cc", "c"] {
            let name = format!("{stem}.{extension}");
            if source.file(&name).is_some() {
                return draft.set_checker(source, &name, Convention::Cms);
            }
        }
        if source.file(stem).is_some() {
            return Err(ForeignError::Checker(stem.to_owned()));
        }
    }
    Ok(())
}

fn read_solutions(source: &Source, draft: &mut Draft) -> Result<(), ForeignError> {
    for file in source.names("sol")? {
        let path = format!("sol/{file}");
        let stem = file.split('.').next().unwrap_or_default();
        if stem == "grader" || stem == "stub" {
            return Err(ForeignError::Kind(format!("Batch with {file}")));
        }
        let is_source = matches!(
            extension(&file).as_str(),
            "c" | "cpp" | "cc" | "pas" | "py" | "java" | "rs"
        );
        match stem {
            "solution" | "soluzione" if is_source => {
                draft.submissions.push(("accepted", source.needed(&path)?));
            }
            _ if is_source => draft.losses.push(Loss::Verdict(path)),
            _ => draft.losses.push(Loss::File(path)),
        }
    }
    Ok(())
}
