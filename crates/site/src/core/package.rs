//! The data that the site keeps of a problem package in addition to the archive.

pub mod editorial;

use self::editorial::Editorial;
use super::latex;
use super::markdown::MAX_STATEMENT;
use super::sample::Sample;
use super::score::{PASSED, Score};
use crate::blobs::{BlobError, Blobs};
use millibox_package::model::{Format, Problem, Scoring};
use millibox_package::{Fault, foreign};
use millibox_setter::import::{self, ImportError};
use millibox_worker::archive::{self, ArchiveError, below};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fs::File as DiskFile;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The maximum size of a statement or an image, in bytes.
pub const MAX_FILE: u64 = 10 << 20;
/// The maximum size of a LaTeX source with the values of constants, in bytes.
const MAX_LATEX: usize = 10 << 20;
/// The maximum number of statements and images in a package.
const MAX_FILES: usize = 100;
/// The maximum size of an input or answer that is shown as an example, in bytes.
const MAX_SAMPLE: u64 = 4 << 10;
/// The maximum number of examples that are shown.
const MAX_SAMPLES: usize = 10;
/// Directories with statements in ICPC packages.
pub const STATEMENT_DIRECTORIES: [&str; 2] = ["statement", "problem_statement"];

/// The data of a package that pages show.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The title.
    pub name: String,
    /// The short name.
    pub label: String,
    /// The maximum points.
    pub max_score: Option<i64>,
    /// The number of tests.
    pub tests: usize,
    /// The limit on CPU time, unless tests differ or it is measured.
    pub cpu_time_ms: Option<u64>,
    /// The largest limit on CPU time of a test, unless it is measured.
    #[serde(default)]
    pub longest_cpu_time_ms: Option<u64>,
    /// The limit on memory.
    pub memory_bytes: Option<u64>,
    /// Whether submissions communicate with an interactor.
    pub interactive: bool,
    /// The names of groups with initial tests.
    pub initial_groups: Vec<String>,
    /// Statements, at most one in Markdown for each language.
    pub statements: Vec<Statement>,
    /// Statements in LaTeX without a PDF.
    #[serde(default)]
    pub sources: Vec<Source>,
    /// Images of statements.
    pub images: Vec<File>,
    /// Hints and solutions.
    #[serde(default)]
    pub editorial: Editorial,
    /// Examples of input and output.
    pub samples: Vec<Sample>,
    /// Warnings about the package.
    pub warnings: Vec<String>,
}

/// A statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// The language, such as `en`.
    pub language: String,
    /// Whether the statement is a PDF; otherwise it is Markdown.
    pub is_pdf: bool,
    /// The digest of its content.
    pub digest: String,
}

/// A statement in LaTeX.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// The language, such as `en`.
    pub language: String,
    /// The path in the package.
    pub path: PathBuf,
    /// The digest of the source without comments.
    pub digest: String,
    /// Why there is no PDF, once a job has tried to make one. The reason is secret, like the
    /// package.
    pub failure: Option<String>,
}

/// A file of the package.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct File {
    /// The name, as statements refer to it.
    pub name: String,
    /// The media type.
    pub media: String,
    /// The digest of its content.
    pub digest: String,
}

/// Why a package cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// It contains errors.
    #[error("the package has errors: {}", list(.0))]
    Faults(Vec<Fault>),
    /// The machine failed while the package was read, for example because its disk is full.
    #[error("cannot read the package: {}", list(.0))]
    Machine(Vec<Fault>),
    /// The package cannot be read or stored.
    #[error("cannot store the package: {0}")]
    System(#[from] std::io::Error),
    /// It cannot be stored.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The package of another system cannot be converted.
    #[error("the package cannot be imported: {0}")]
    Import(Box<ImportError>),
    /// The package of another system has what millibox does not have.
    #[error("the package cannot be imported: {0}")]
    Foreign(Box<foreign::ForeignError>),
}

impl From<ArchiveError> for PackageError {
    fn from(error: ArchiveError) -> PackageError {
        match error {
            ArchiveError::Faults(faults) => PackageError::Faults(faults),
            ArchiveError::Machine(faults) => PackageError::Machine(faults),
            ArchiveError::System(error) => PackageError::System(error),
        }
    }
}

fn list(faults: &[Fault]) -> String {
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    lines.join("; ")
}

impl PackageError {
    /// The errors, or the cause of the failure.
    pub fn lines(&self) -> String {
        match self {
            PackageError::Faults(faults) => {
                let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
                lines.join("\n")
            }
            error => error.to_string(),
        }
    }
}

impl Manifest {
    /// The stored form.
    pub fn json(&self) -> String {
        // Texts and numbers can always be represented in JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the stored form. An unreadable form becomes an empty manifest.
    pub fn of_json(text: &str) -> Manifest {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// Remarks for the owner of the package.
    pub fn remarks(&self) -> Vec<&str> {
        let warnings = self.warnings.iter().map(String::as_str);
        let failures = self.sources.iter().filter_map(|it| it.failure.as_deref());
        warnings.chain(failures).collect()
    }

    /// The input or output of a sample, by the name of its file: `sample-1.in`, `sample-1.ans`.
    pub fn sample(&self, name: &str) -> Option<&str> {
        let (number, extension) = name.strip_prefix("sample-")?.split_once('.')?;
        let index = number.parse::<usize>().ok()?.checked_sub(1)?;
        let sample = self.samples.get(index)?;
        match extension {
            "in" => Some(&sample.input),
            "ans" => Some(&sample.output),
            _ => None,
        }
    }

    /// All statements, the best first for a reader of these languages. The language matters more
    /// than the form.
    pub fn offers(&self, languages: &[impl AsRef<str>]) -> Vec<Offer<'_>> {
        let stated = self.statements.iter().map(|one| Offer {
            language: &one.language,
            form: if one.is_pdf {
                Form::Pdf
            } else {
                Form::Markdown
            },
            digest: &one.digest,
        });
        let sources = self.sources.iter().map(|one| Offer {
            language: &one.language,
            form: Form::Latex,
            digest: &one.digest,
        });
        ranked(stated.chain(sources).collect(), languages)
    }
}

/// Sorts texts: the best first for a reader of these languages.
fn ranked<'m>(mut offers: Vec<Offer<'m>>, languages: &[impl AsRef<str>]) -> Vec<Offer<'m>> {
    let rank = |language: &str| {
        let mut wanted = languages.iter().map(AsRef::as_ref);
        let place = wanted.position(|wanted| is_same_language(wanted, language));
        place.unwrap_or(languages.len())
    };
    offers.sort_by_key(|one| (rank(one.language), one.language, one.form));
    offers
}

/// Whether a statement suits the readers of a language. A statement without a region suits all
/// regions, and the other way round.
fn is_same_language(wanted: &str, language: &str) -> bool {
    let main = |tag: &str| {
        let main = tag.split(['-', '_']).next().unwrap_or_default();
        main.to_ascii_lowercase()
    };
    main(wanted) == main(language)
}

/// The form of a statement. The first one suits most readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Markdown, which pages show.
    Markdown,
    /// A PDF.
    Pdf,
    /// A source without a PDF.
    Latex,
}

/// A statement that a page shows or links to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer<'m> {
    /// The language.
    pub language: &'m str,
    /// The form.
    pub form: Form,
    /// The digest of its content.
    pub digest: &'m str,
}

/// Opens a package whose archive is stored. `name` is the name of the uploaded file.
///
/// # Errors
/// The package contains errors or cannot be read.
pub fn open(archive: &Path, name: &str) -> Result<(Problem, tempfile::TempDir), PackageError> {
    Ok(archive::open(archive, name)?)
}

/// Converts a stored package of another system and stores the result. Returns its digest, and a
/// line for everything that was left out. Other archives stay as they are.
///
/// # Errors
/// The package cannot be converted, or the result cannot be stored.
pub fn taken_over(
    blobs: &Blobs,
    digest: &str,
    name: &str,
) -> Result<(String, Vec<String>), PackageError> {
    let archive = blobs.path(digest);
    if !foreign::is_foreign(&archive)? {
        return Ok((digest.to_owned(), Vec::new()));
    }
    let directory = millibox_package::temporary::directory()?;
    // Some packages are called after their archives.
    let stem = Path::new(name).file_stem().unwrap_or("package".as_ref());
    let mut link = directory.path().join(stem);
    link.set_extension("zip");
    std::os::unix::fs::symlink(&archive, &link)?;
    let new = tempfile::Builder::new()
        .prefix("new-")
        .tempdir_in(directory.path())?;
    let packed = new.path().join("package.zip");
    let imported = match import::import_archive(&link, &packed) {
        Ok(imported) => imported,
        Err(ImportError::Unknown) => return Ok((digest.to_owned(), Vec::new())),
        Err(ImportError::Faults(faults)) => {
            let faults: Vec<Fault> = faults.into_iter().collect();
            return Err(ArchiveError::from(faults).into());
        }
        Err(ImportError::Foreign(error)) if !error.is_of_machine() => {
            return Err(PackageError::Foreign(Box::new(error)));
        }
        Err(error) => return Err(PackageError::Import(Box::new(error))),
    };
    let mut blob = blobs.begin()?;
    let mut reader = DiskFile::open(&packed)?;
    let mut chunk = vec![0; 1 << 20];
    loop {
        let read = std::io::Read::read(&mut reader, &mut chunk)?;
        if read == 0 {
            break;
        }
        blob.write(&chunk[..read])?;
    }
    let losses = imported.conversion.losses.iter();
    let losses = losses.map(|loss| format!("not taken over: {loss}"));
    Ok((blob.finish()?, losses.collect()))
}

/// Reads the data of a package that pages show, and stores its statements and images.
///
/// # Errors
/// The package contains errors, or its files cannot be stored.
pub fn read(archive: &Path, name: &str, blobs: &Blobs) -> Result<Manifest, PackageError> {
    let (problem, directory) = open(archive, name)?;
    manifest(&problem, directory.path(), blobs)
}

/// Returns the data that pages show of a package that was opened in `directory`. Stores its
/// statements and images.
///
/// # Errors
/// The files cannot be stored.
pub fn manifest(
    problem: &Problem,
    directory: &Path,
    blobs: &Blobs,
) -> Result<Manifest, PackageError> {
    let max_score = match problem.scoring {
        Scoring::PassFail => Some(PASSED.0),
        Scoring::Points { maximum, .. } => maximum.is_finite().then(|| Score::of_points(maximum).0),
    };
    let initial = problem.groups().filter(|group| group.sample);
    let mut manifest = Manifest {
        name: problem.name.clone(),
        label: problem.label.clone(),
        max_score,
        tests: problem.tests().count(),
        cpu_time_ms: cpu_time_ms(problem),
        longest_cpu_time_ms: longest_cpu_time_ms(problem),
        memory_bytes: problem.limits.memory,
        interactive: problem.kind.is_interactive(),
        initial_groups: initial.map(|group| group.name.clone()).collect(),
        samples: samples(problem),
        warnings: problem
            .warnings
            .iter()
            .map(|fault| below(fault.clone(), directory).to_string())
            .collect(),
        ..Manifest::default()
    };
    for path in statement_files(problem)? {
        store(problem, &path, blobs, &mut manifest)?;
    }
    editorial::store(problem, blobs, &mut manifest)?;
    // One PDF for each language.
    let pdfs = manifest.statements.iter().filter(|one| one.is_pdf);
    let mut seen: HashSet<String> = pdfs.map(|pdf| pdf.language.clone()).collect();
    manifest
        .sources
        .retain(|source| seen.insert(source.language.clone()));
    Ok(manifest)
}

/// The limits on CPU time that the package states for its tests.
fn cpu_times(problem: &Problem) -> impl Iterator<Item = Option<Duration>> {
    problem
        .tests()
        .map(|test| test.cpu_time.or(problem.limits.cpu_time))
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The largest limit on CPU time.
fn longest_cpu_time_ms(problem: &Problem) -> Option<u64> {
    cpu_times(problem).flatten().max().map(milliseconds)
}

/// The limit on CPU time that all tests share.
fn cpu_time_ms(problem: &Problem) -> Option<u64> {
    let mut limits = cpu_times(problem);
    let first = limits.next()??;
    limits
        .all(|limit| limit == Some(first))
        .then(|| milliseconds(first))
}

/// The files of a package that may be statements or images of them.
fn statement_files(problem: &Problem) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut directories: Vec<PathBuf> = STATEMENT_DIRECTORIES
        .map(|name| problem.directory.join(name))
        .into();
    if let Some(statement) = &problem.statement {
        files.push(statement.clone());
        directories.clear();
    }
    for directory in directories.iter().filter(|directory| directory.is_dir()) {
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    files.truncate(MAX_FILES);
    Ok(files)
}

fn below_package(problem: &Problem, path: &Path) -> PathBuf {
    let below = path.strip_prefix(&problem.directory);
    below.unwrap_or(path).to_owned()
}

/// Whether a file in LaTeX is a statement rather than a part of a statement.
fn is_statement(problem: &Problem, stem: &str) -> bool {
    problem.statement.is_some() || stem == "problem" || stem.starts_with("problem.")
}

/// Stores a statement or image. Other files are left out.
fn store(
    problem: &Problem,
    path: &Path,
    blobs: &Blobs,
    manifest: &mut Manifest,
) -> Result<(), PackageError> {
    let name = path.file_name().and_then(|name| name.to_str());
    let (Some(name), Some((stem, extension))) = (name, name.and_then(|it| it.rsplit_once('.')))
    else {
        return Ok(());
    };
    if std::fs::metadata(path)?.len() > MAX_FILE {
        return Ok(());
    }
    let language = stem.rsplit_once('.').map_or("en", |(_, language)| language);
    let media = image_type(name).unwrap_or_default();
    match extension {
        _ if !media.is_empty() || ["md", "pdf"].contains(&extension) => {}
        "tex" if is_statement(problem, stem) => {
            // TeX replaces constants in its own way. These are in the source that pages offer.
            let source = latex::without_comments(&std::fs::read(path)?);
            let filled = problem
                .constants
                .fill_latex(&source, MAX_LATEX)
                .ok()
                .flatten();
            manifest.sources.push(Source {
                language: language.to_owned(),
                path: below_package(problem, path),
                digest: blobs.put(&filled.unwrap_or(source))?,
                failure: None,
            });
            return Ok(());
        }
        _ => return Ok(()),
    }
    let content = match extension {
        "md" => match read_text(problem, path)? {
            Ok(content) => content,
            Err(warning) => {
                manifest.warnings.push(warning);
                return Ok(());
            }
        },
        _ => std::fs::read(path)?,
    };
    let is_pdf = extension == "pdf";
    if is_pdf && !content.starts_with(b"%PDF-") {
        return Ok(());
    }
    let digest = blobs.put(&content)?;
    if media.is_empty() {
        manifest.statements.push(Statement {
            language: language.to_owned(),
            is_pdf,
            digest,
        });
    } else {
        manifest.images.push(File {
            name: name.to_owned(),
            media: media.to_owned(),
            digest,
        });
    }
    Ok(())
}

/// The media type of a file that is an image.
fn image_type(name: &str) -> Option<&'static str> {
    match name.rsplit_once('.')?.1 {
        "png" => Some("image/png"),
        "jpg" | "jpeg" => Some("image/jpeg"),
        "gif" => Some("image/gif"),
        "svg" => Some("image/svg+xml"),
        _ => None,
    }
}

/// A text in Markdown with the values of constants, or a warning if it is too long.
fn read_text(problem: &Problem, path: &Path) -> std::io::Result<Result<Vec<u8>, String>> {
    let content = std::fs::read(path)?;
    let filled = problem.constants.fill(&content, MAX_STATEMENT);
    Ok(match filled.map(|filled| filled.unwrap_or(content)) {
        Ok(filled) if filled.len() <= MAX_STATEMENT => Ok(filled),
        _ => Err(format!(
            "{}: the text has more than {} KiB, and is not shown",
            below_package(problem, path).display(),
            MAX_STATEMENT >> 10
        )),
    })
}

/// Small examples of an ICPC package. The initial tests of Sim packages are not shown.
fn samples(problem: &Problem) -> Vec<Sample> {
    if problem.format == Format::Sim || problem.kind.is_interactive() {
        return Vec::new();
    }
    let groups = problem.groups().filter(|group| group.sample);
    groups
        .flat_map(|group| &group.tests)
        .filter_map(|test| {
            Some(Sample {
                input: small_text(&test.input)?,
                output: small_text(test.answer.as_deref()?)?,
            })
        })
        .take(MAX_SAMPLES)
        .collect()
}

fn small_text(path: &Path) -> Option<String> {
    let is_small = path.metadata().ok()?.len() <= MAX_SAMPLE;
    is_small.then(|| std::fs::read_to_string(path).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The languages and forms that are offered to a reader of Polish, for these files.
    fn offered(names: &[&str], languages: &[&str]) -> Vec<String> {
        let mut manifest = Manifest::default();
        for name in names {
            let (language, extension) = name.split_once('.').unwrap();
            let (language, digest) = (language.to_owned(), "d".to_owned());
            match extension {
                "tex" => manifest.sources.push(Source {
                    language,
                    path: PathBuf::new(),
                    digest,
                    failure: None,
                }),
                form => manifest.statements.push(Statement {
                    language,
                    is_pdf: form == "pdf",
                    digest,
                }),
            }
        }
        let offers = manifest.offers(languages).into_iter();
        let names = offers.map(|one| format!("{}.{:?}", one.language, one.form));
        names.collect()
    }

    #[test]
    fn statements_in_the_language_of_the_reader_come_first() {
        let polish = |names: &[&str]| offered(names, &["pl", "en"]);
        assert_eq!(
            polish(&["de.md", "en.md", "pl.md", "pl.pdf"]),
            ["pl.Markdown", "pl.Pdf", "en.Markdown", "de.Markdown"]
        );
        assert_eq!(
            polish(&["sv.md", "en.pdf", "da.tex"]),
            ["en.Pdf", "da.Latex", "sv.Markdown"],
            "Markdown in another language does not precede a PDF"
        );
        assert_eq!(polish(&["sv.md", "sv.pdf"]), ["sv.Markdown", "sv.Pdf"]);
        assert_eq!(polish(&["en.tex", "sv.md"])[0], "en.Latex");
        assert_eq!(polish(&["en.md", "pl-PL.pdf"])[0], "pl-PL.Pdf");
        assert_eq!(
            offered(&["en.md", "pt.md"], &["pt-BR", "en"])[0],
            "pt.Markdown"
        );
        assert!(polish(&[]).is_empty());
    }
}
