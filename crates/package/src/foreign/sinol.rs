//! Sinolpacks, as oioioi reads them (`oioioi/sinolpack/package.py` of sio2project/oioioi).
//!
//! The names of all files begin with the short name of the package, which is that of its directory:
//! `in/abc1a.in`, `out/abc1a.out`, `prog/abc.cpp`, `prog/abcs1.cpp` (slow), `prog/abcb1.cpp`
//! (wrong), `prog/abcchk.cpp` (checker), `doc/abczad.pdf`. A test's name is a number, which is the
//! group, and letters. Group 0 and tests with `ocen` are samples.

use super::draft::{Convention, Draft, Group, Mode, Test};
use super::loss::{ForeignError, Loss};
use super::source::{Source, extension, natural};
use super::text::Settings;
use std::collections::BTreeMap;

const CONFIG: &str = "config.yml";
/// The limits of tests for which a package states none, in milliseconds and KiB.
const DEFAULT_TIME: f64 = 10_000.0;
const DEFAULT_MEMORY: f64 = 66_000.0;
/// The points of all groups, if the package states none.
const POINTS: usize = 100;
/// The sources that can be submissions.
const SOURCES: [&str; 8] = ["c", "cpp", "cc", "pas", "py", "java", "rs", "go"];

pub fn read(source: &Source) -> Result<Draft, ForeignError> {
    let mut config = Settings::read(source, CONFIG)?;
    let id = match short_name(source)? {
        Some(id) => id,
        None => return Err(ForeignError::NoTests("in".to_owned())),
    };
    let title = config.text(&["title"]);
    let mut draft = Draft::new(title.unwrap_or_else(|| id.clone()));
    draft.is_scoring = true;
    read_tests(source, &id, &mut config, &mut draft)?;
    read_programs(source, &id, &mut draft)?;
    read_statements(source, &id, &mut draft)?;
    for key in ["library", "interactive", "interactor"] {
        if config
            .text(&[key])
            .is_some_and(|text| !matches!(text.as_str(), "false" | ""))
        {
            return Err(ForeignError::Kind(key.to_owned()));
        }
    }
    // The name and the identifier are in the names of the files.
    let _ = config.take(&["sinol_task_id"]);
    for key in config.rest() {
        let file = CONFIG.to_owned();
        draft.losses.push(Loss::Setting { file, key });
    }
    let known = ["in", "out", "prog", "doc", CONFIG];
    for name in source.names("")? {
        if !known.contains(&name.as_str()) && !name.starts_with('.') {
            draft.losses.push(Loss::File(name));
        }
    }
    Ok(draft)
}

/// The longest beginning without a number at the end that all tests have.
fn short_name(source: &Source) -> Result<Option<String>, ForeignError> {
    let names = source.names("in")?;
    let inputs = names.iter().filter_map(|name| name.strip_suffix(".in"));
    let inputs: Vec<&str> = inputs.collect();
    let is_prefix = |id: &str| {
        !id.is_empty()
            && inputs.iter().all(|name| {
                let rest = name.strip_prefix(id);
                rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            })
    };
    if inputs.is_empty() {
        return Ok(None);
    }
    if is_prefix(&source.name) {
        return Ok(Some(source.name.clone()));
    }
    // An archive without a directory has lost the name.
    let first = inputs[0];
    let ends = first.char_indices().filter(|(_, c)| c.is_ascii_digit());
    let mut ids = ends.map(|(end, _)| first[..end].to_owned());
    Ok(ids.rfind(|id| is_prefix(id)))
}

/// The parts of a test's name: the group, and whether the test is a sample.
fn parts(name: &str) -> Option<(String, bool)> {
    let end = name
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(name.len());
    let (group, suffix) = name.split_at(end);
    if group.is_empty() {
        return None;
    }
    let is_zero = group.bytes().all(|digit| digit == b'0');
    Some((group.to_owned(), is_zero || suffix.contains("ocen")))
}

fn read_tests(
    source: &Source,
    id: &str,
    config: &mut Settings,
    draft: &mut Draft,
) -> Result<(), ForeignError> {
    let scores: BTreeMap<String, f64> = config.numbers(&["scores"]).into_iter().collect();
    let limits = |config: &mut Settings, one: &str, many: &str, default: f64| {
        let all = config.number(&[one]).unwrap_or(default);
        let own: BTreeMap<String, f64> = config.numbers(&[many]).into_iter().collect();
        move |name: &str, group: &str| *own.get(name).or(own.get(group)).unwrap_or(&all)
    };
    let time = limits(config, "time_limit", "time_limits", DEFAULT_TIME);
    let memory = limits(config, "memory_limit", "memory_limits", DEFAULT_MEMORY);
    let mut names = Vec::new();
    for file in source.names("in")? {
        match file
            .strip_suffix(".in")
            .and_then(|name| name.strip_prefix(id))
        {
            Some(name) if parts(name).is_some() => names.push(name.to_owned()),
            _ if file.starts_with('.') => {}
            _ => draft.losses.push(Loss::File(format!("in/{file}"))),
        }
    }
    names.sort_by_key(|name| natural(name));
    let (mut times, mut memories, mut groups) = (Vec::new(), Vec::new(), Vec::new());
    for name in names {
        let Some((group, is_sample)) = parts(&name) else {
            continue;
        };
        let input = format!("in/{id}{name}.in");
        let answer = source.file(&format!("out/{id}{name}.out"));
        let (Some(answer), input_path) = (answer, source.needed(&input)?) else {
            draft.losses.push(Loss::NoAnswer(input));
            continue;
        };
        times.push(whole(time(&name, &group)));
        memories.push(whole(memory(&name, &group) / 1024.0).max(1));
        let index = (!is_sample).then(|| {
            let found = groups.iter().position(|known| *known == group);
            found.unwrap_or_else(|| {
                groups.push(group.clone());
                groups.len() - 1
            })
        });
        draft.tests.push(Test {
            name: format!("{id}{name}"),
            input: input_path,
            answer,
            group: index,
        });
    }
    if draft.tests.is_empty() {
        return Err(ForeignError::NoTests("in".to_owned()));
    }
    draft.set_limits(&times, &memories);
    // As in oioioi: equal parts, and one point more for the last groups.
    let count = groups.len().max(1);
    let later = count - POINTS % count;
    for (index, group) in groups.into_iter().enumerate() {
        let equal = POINTS / count + usize::from(index >= later);
        let points = match scores.is_empty() {
            true => equal as f64,
            false => scores.get(&group).copied().unwrap_or(0.0),
        };
        draft.groups.push(Group {
            name: group,
            points,
            mode: Mode::Min,
            requires: Vec::new(),
        });
    }
    Ok(())
}

/// A limit as a whole number, rounded up.
fn whole(limit: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the conversion saturates"
    )]
    let whole = limit.ceil() as u64;
    whole
}

fn read_programs(source: &Source, id: &str, draft: &mut Draft) -> Result<(), ForeignError> {
    for file in source.names("prog")? {
        let path = format!("prog/{file}");
        let stem = file.split('.').next().unwrap_or_default();
        let Some(kind) = stem.strip_prefix(id) else {
            // Headers beside a checker are taken with it.
            if !matches!(extension(&file).as_str(), "h" | "hpp") {
                draft.losses.push(Loss::File(path));
            }
            continue;
        };
        if kind == "chk" {
            draft.set_checker(source, &path, Convention::Sio)?;
            continue;
        }
        if kind == "soc" {
            return Err(ForeignError::Kind("interactive".to_owned()));
        }
        // A number may precede and follow the letter, and a name may follow after a `_`.
        let kind = kind.split('_').next().unwrap_or_default();
        let letters: String = kind.chars().filter(|c| !c.is_ascii_digit()).collect();
        let directory = match letters.as_str() {
            "" => "accepted",
            "s" | "b" => "rejected",
            _ => {
                draft.losses.push(Loss::File(path));
                continue;
            }
        };
        if SOURCES.contains(&extension(&file).as_str()) {
            draft.submissions.push((directory, source.needed(&path)?));
        } else {
            draft.losses.push(Loss::File(path));
        }
    }
    Ok(())
}

fn read_statements(source: &Source, id: &str, draft: &mut Draft) -> Result<(), ForeignError> {
    for file in source.names("doc")? {
        let path = format!("doc/{file}");
        let stem = file
            .strip_suffix(".pdf")
            .and_then(|stem| stem.strip_prefix(id));
        let language = match stem.and_then(|stem| stem.strip_prefix("zad")) {
            // oioioi is Polish.
            Some("") => Some("pl"),
            Some(language) => language.strip_prefix('-'),
            None => None,
        };
        match language {
            Some(language) => {
                let statement = (language.to_owned(), source.needed(&path)?);
                draft.statements.push(statement);
            }
            None if file.contains("zad") => draft.losses.push(Loss::Statement(path)),
            None => draft.losses.push(Loss::File(path)),
        }
    }
    Ok(())
}
