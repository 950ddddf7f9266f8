//! Converts packages of other systems into packages of the ICPC format 2025-09.
//!
//! | format | written by | recognized by |
//! | --- | --- | --- |
//! | sinolpack | oioioi, sinol-make | directories `in` and `out`, without a Simfile |
//! | Polygon | Codeforces Polygon | `problem.xml` |
//! | Italian YAML | CMS and its tools | `task.yaml` |
//! | Hydro | Hydro | `problem.yaml` beside a directory `testdata` |
//!
//! A conversion copies files and runs no program, so tests that a tool of the other system would
//! generate must exist. It returns a list of everything that it leaves out ([`Loss`]). Only what
//! would change verdicts silently is an error ([`ForeignError`]).
//!
//! | file | content |
//! | --- | --- |
//! | `source` | the files of the other package |
//! | `draft` | a package that is being converted, and how it is written |
//! | `loss` | what is left out, and why a package is rejected |
//! | `text`, `xml` | YAML and XML of other systems |
//! | `sinol`, `polygon`, `cms`, `hydro` | the formats |
//! | `adapter.c` | calls the checkers of other systems |

mod cms;
mod draft;
mod hydro;
mod loss;
mod polygon;
mod sinol;
mod source;
mod text;
mod xml;

pub use loss::{ForeignError, Loss};

use crate::fault::log::Log;
use crate::machine::is_of_machine;
use source::Source;
use std::fmt::{self, Display};
use std::io;
use std::path::Path;
use zip::result::ZipError;

/// The format of another system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// The packages of oioioi.
    Sinolpack,
    /// The packages of Codeforces Polygon.
    Polygon,
    /// The Italian YAML format of CMS.
    ItalianYaml,
    /// The packages of Hydro.
    Hydro,
}

impl Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Sinolpack => "sinolpack",
            Format::Polygon => "Polygon",
            Format::ItalianYaml => "CMS (Italian YAML)",
            Format::Hydro => "Hydro",
        })
    }
}

/// A conversion.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Conversion {
    /// The format of the package that was converted.
    pub format: Format,
    /// The title.
    pub title: String,
    /// The number of tests.
    pub tests: usize,
    /// What was left out.
    pub losses: Vec<Loss>,
}

/// Whether an archive seems to contain the package of another system. Only the names of its entries
/// are read.
///
/// # Errors
/// The archive cannot be read. A file that is no archive is not an error.
pub fn is_foreign(archive: &Path) -> io::Result<bool> {
    let file = std::fs::File::open(archive)?;
    let archive = match zip::ZipArchive::new(std::io::BufReader::new(file)) {
        Ok(archive) => archive,
        Err(ZipError::Io(error)) if is_of_machine(&error) => return Err(error),
        Err(_) => return Ok(false),
    };
    let names: Vec<_> = archive.file_names().flatten().collect();
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let is_own = |name: &&&str| !name.starts_with("__MACOSX/") && !name.starts_with('.');
    let mut tops = names
        .iter()
        .filter(is_own)
        .map(|name| name.split('/').next());
    let first = tops.next().flatten().unwrap_or_default();
    let prefix = match tops.all(|top| top == Some(first)) {
        true => format!("{first}/"),
        false => String::new(),
    };
    let below = |prefix: &str| {
        let names = names.iter().filter_map(|name| name.strip_prefix(prefix));
        names.collect::<Vec<&str>>()
    };
    Ok([prefix.as_str(), ""].into_iter().any(|prefix| {
        let names = below(prefix);
        let has = |name: &str| names.contains(&name);
        let within = |directory: &str| names.iter().any(|name| name.starts_with(directory));
        let is_icpc = has("problem.yaml") && !within("testdata/");
        has("problem.xml")
            || has("task.yaml")
            || (has("problem.yaml") && within("testdata/") && !within("data/"))
            || (within("in/") && within("out/") && !has("Simfile") && !is_icpc)
    }))
}

/// Converts the package of another system to a new package in the directory `to`, which must be
/// empty. `path` is a directory or a `.zip` archive. Returns `None` if the format of `path` is not
/// one of [`Format`].
///
/// # Errors
/// The package cannot be read or converted, or the new one cannot be written.
pub fn convert(path: &Path, to: &Path) -> Result<Option<Conversion>, ForeignError> {
    let unpacked;
    let root = if path.is_dir() {
        path
    } else {
        let log = Log::new(path);
        let Some(directory) = crate::archive::unpack(path, &log) else {
            return Err(ForeignError::Archive(Box::new(log.finish().err())));
        };
        unpacked = directory;
        unpacked.path()
    };
    let named = path.file_stem().unwrap_or_default();
    let Some((format, source)) = detect(root, &named.to_string_lossy())? else {
        return Ok(None);
    };
    let draft = match format {
        Format::Sinolpack => sinol::read(&source)?,
        Format::Polygon => polygon::read(&source)?,
        Format::ItalianYaml => cms::read(&source)?,
        Format::Hydro => hydro::read(&source)?,
    };
    let losses = draft.write(to)?;
    Ok(Some(Conversion {
        format,
        title: draft.title,
        tests: draft.tests.len(),
        losses,
    }))
}

/// The format of a package in `root`, or in the only directory in it. `named` is the name of the
/// archive, after which some packages are called.
fn detect(root: &Path, named: &str) -> Result<Option<(Format, Source)>, ForeignError> {
    let here = Source::new(root, named)?;
    if let Some(format) = format(&here) {
        return Ok(Some((format, here)));
    }
    let Some(only) = here.only_directory()? else {
        return Ok(None);
    };
    let below = Source::new(&root.join(&only), &only)?;
    Ok(format(&below).map(|format| (format, below)))
}

fn format(source: &Source) -> Option<Format> {
    if source.file("problem.xml").is_some() {
        Some(Format::Polygon)
    } else if source.file("task.yaml").is_some() {
        Some(Format::ItalianYaml)
    } else if source.file("problem.yaml").is_some()
        && source.is_directory("testdata")
        && !source.is_directory("data")
    {
        Some(Format::Hydro)
    } else if source.is_directory("in")
        && source.is_directory("out")
        && source.file("Simfile").is_none()
        && source.file("problem.yaml").is_none()
    {
        Some(Format::Sinolpack)
    } else {
        None
    }
}
