//! Finds the submissions that a name or path selects.

use millibox_languages::files::MAX_STORED_FILES;
use millibox_languages::suite::nearest;
use millibox_package::MAX_DEPTH;
use millibox_package::model::{Problem, Program, Submission};
use std::io;
use std::path::{Path, PathBuf};

/// Maximum number of files that are listed for a submission. It is one more than the compiler's
/// limit, so that the compiler rejects a submission with too many files.
const MAX_FILES: usize = MAX_STORED_FILES + 1;

/// Why a name selects no submission.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelectionError {
    /// The name is empty.
    #[error("the name of a submission is empty")]
    Empty,
    /// Neither a file nor a submission has this name.
    #[error(
        "there is no file or directory {}, and no submission of that name in {}{}",
        .name.display(), .package.display(), SpellingHint(.nearest)
    )]
    Unknown {
        /// The name.
        name: PathBuf,
        /// The package.
        package: PathBuf,
        /// The most similar name of a submission.
        nearest: Option<String>,
    },
    /// Several submissions have this file name.
    #[error("{} could be any of {}; name one of them", .name.display(), .submissions.join(", "))]
    Ambiguous {
        /// The file name.
        name: PathBuf,
        /// The names of the submissions.
        submissions: Vec<String>,
    },
    /// The directory has no files.
    #[error("{}: a directory without files is not a submission", .0.display())]
    EmptyDirectory(PathBuf),
    /// The path leads to a FIFO, device or socket.
    #[error("{}: a submission must be a regular file or a directory", .0.display())]
    NotRegular(PathBuf),
    /// A directory cannot be read.
    #[error(
        "{}: cannot read the directory {}: {source}",
        .submission.display(), .directory.display()
    )]
    Directory {
        /// The submission.
        submission: PathBuf,
        /// The directory that cannot be read.
        directory: PathBuf,
        /// The error from the kernel.
        source: io::Error,
    },
}

struct SpellingHint<'a>(&'a Option<String>);

impl std::fmt::Display for SpellingHint<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(name) => write!(f, "; did you mean {name}?"),
            None => Ok(()),
        }
    }
}

/// Returns the submissions that a name selects.
///
/// A name selects submissions of the package by name or folder (`accepted/anna.cpp`, `accepted`),
/// by path, or by a file name that only one of them has (`anna.cpp`). A name that selects none of
/// these is the path of a file or directory outside the package, which has no expected result.
/// `language` overrides the language of the submissions.
///
/// # Errors
/// The name selects nothing, or a file name is ambiguous.
pub fn choose(
    problem: &Problem,
    named: &Path,
    language: Option<&str>,
) -> Result<Vec<Submission>, SelectionError> {
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
    // All paths start with the empty path.
    if named.as_os_str().is_empty() {
        return Err(SelectionError::Empty);
    }
    let by_name = of_package(&|submission| Path::new(&submission.name).starts_with(named));
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
        0 => Err(unknown(problem, named)),
        _ => Err(SelectionError::Ambiguous {
            name: named.to_owned(),
            submissions: by_file
                .into_iter()
                .map(|submission| submission.name)
                .collect(),
        }),
    }
}

fn unknown(problem: &Problem, named: &Path) -> SelectionError {
    let names = problem.submissions.iter().flat_map(|submission| {
        let file = submission.name.rsplit('/').next().unwrap_or_default();
        let folder = submission.name.split('/').next().unwrap_or_default();
        [&*submission.name, file, folder]
    });
    SelectionError::Unknown {
        name: named.to_owned(),
        package: problem
            .unpacked
            .as_ref()
            .map_or(&*problem.directory, |unpacked| unpacked.archive())
            .to_owned(),
        nearest: nearest(&named.to_string_lossy(), names).map(str::to_owned),
    }
}

/// A submission outside the package.
fn outside(path: &Path, language: Option<&str>) -> Result<Submission, SelectionError> {
    let mut sources = Vec::new();
    if path.is_dir() {
        gather(path, &mut sources, 0).map_err(|(directory, source)| SelectionError::Directory {
            submission: path.to_owned(),
            directory,
            source,
        })?;
        sources.sort();
        if sources.is_empty() {
            return Err(SelectionError::EmptyDirectory(path.to_owned()));
        }
    } else if !path.is_file() {
        // Opening a FIFO may block forever.
        return Err(SelectionError::NotRegular(path.to_owned()));
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

/// Lists regular files, except hidden files and links. A directory that is nested too deeply is
/// listed as a source, so that the compiler rejects it.
fn gather(
    directory: &Path,
    sources: &mut Vec<PathBuf>,
    depth: usize,
) -> Result<(), (PathBuf, io::Error)> {
    let failed = |error: io::Error| (directory.to_owned(), error);
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
