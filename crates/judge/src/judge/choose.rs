//! Which submissions are meant: those of a package by their names, others by their paths.

use millibox_languages::files::MAX_STORED_FILES;
use millibox_languages::suite::nearest;
use millibox_package::MAX_DEPTH;
use millibox_package::model::{Problem, Program, Submission};
use std::path::{Path, PathBuf};

/// Files of one submission that are looked for. With more than are allowed it is refused when it is
/// compiled.
const MAX_FILES: usize = MAX_STORED_FILES + 1;

/// Submissions that somebody names: of the package, by name or folder (`accepted/anna.cpp`,
/// `accepted`, `anna.cpp` if there is one of that name only) or by path; or a file or directory
/// from anywhere. Of the latter nothing is expected; they are written in `language`, if there is
/// one.
///
/// # Errors
/// There is nothing of that name, or it could be several.
pub fn choose(
    problem: &Problem,
    named: &Path,
    language: Option<&str>,
) -> Result<Vec<Submission>, String> {
    let of_package = |is: &dyn Fn(&Submission) -> bool| -> Vec<Submission> {
        let language = |mut submission: Submission| {
            submission.program.language =
                language.map(str::to_owned).or(submission.program.language);
            submission
        };
        problem
            .submissions
            .iter()
            .filter(|submission| is(submission))
            .cloned()
            .map(language)
            .collect()
    };
    let by_name = of_package(&|submission| Path::new(&submission.name).starts_with(named));
    // An empty path begins all others.
    if named.as_os_str().is_empty() {
        return Err("a submission without a name".to_owned());
    }
    if !by_name.is_empty() {
        return Ok(by_name);
    }
    if let Ok(path) = named.canonicalize() {
        let inside = |submission: &Submission| {
            submission
                .program
                .path
                .canonicalize()
                .is_ok_and(|program| program.starts_with(&path))
        };
        let by_path = of_package(&inside);
        if !by_path.is_empty() {
            return Ok(by_path);
        }
        return outside(named, language).map(|submission| vec![submission]);
    }
    let by_file = of_package(&|submission| Path::new(&submission.name).ends_with(named));
    match by_file.len() {
        1 => Ok(by_file),
        0 => {
            let names = problem.submissions.iter().flat_map(|submission| {
                let file = submission.name.rsplit('/').next().unwrap_or_default();
                let folder = submission.name.split('/').next().unwrap_or_default();
                [&*submission.name, file, folder]
            });
            let meant = nearest(&named.to_string_lossy(), names)
                .map(|near| format!("; did you mean {near}?"));
            Err(format!(
                "there is no file or directory {}, and no submission of that name in {}{}",
                named.display(),
                problem
                    .unpacked
                    .as_ref()
                    .map_or(&*problem.directory, |unpacked| unpacked.archive())
                    .display(),
                meant.unwrap_or_default()
            ))
        }
        _ => {
            let names: Vec<&str> = by_file
                .iter()
                .map(|submission| submission.name.as_str())
                .collect();
            Err(format!(
                "{} could be any of {}; say which",
                named.display(),
                names.join(", ")
            ))
        }
    }
}

fn outside(path: &Path, language: Option<&str>) -> Result<Submission, String> {
    let mut sources = Vec::new();
    if path.is_dir() {
        gather(path, &mut sources, 0).map_err(|why| format!("{}: {why}", path.display()))?;
        sources.sort();
        if sources.is_empty() {
            return Err(format!(
                "{}: a directory without files is no submission",
                path.display()
            ));
        }
    } else if !path.is_file() {
        // Whoever opens a FIFO may wait for ever.
        return Err(format!(
            "{}: neither a regular file nor a directory, so no submission",
            path.display()
        ));
    } else {
        sources.push(path.to_owned());
    }
    Ok(Submission {
        name: path.display().to_string(),
        program: Program {
            path: path.to_owned(),
            sources,
            language: language.map(str::to_owned),
            arguments: Vec::new(),
        },
        expected: Vec::new(),
        required: Vec::new(),
        score: None,
        for_time_limit: false,
    })
}

/// Regular files; none that is hidden, and no links. A directory that is too deep is taken for a
/// source itself: compiling refuses it.
fn gather(directory: &Path, sources: &mut Vec<PathBuf>, depth: usize) -> Result<(), String> {
    let failed = |error: std::io::Error| {
        format!("cannot read the directory {}: {error}", directory.display())
    };
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if kind.is_dir() && depth < MAX_DEPTH {
            gather(&entry.path(), sources, depth + 1)?;
        } else if kind.is_dir() || kind.is_file() {
            sources.push(entry.path());
        }
        if sources.len() >= MAX_FILES {
            break;
        }
    }
    Ok(())
}
