//! PDFs of statements in LaTeX.
//!
//! A statement is compiled like a submission: in the sandbox, with limits, from copies of its
//! files, into memory. Without a PDF, pages offer the source. This is not a failure of the job: the
//! log and the page of versions state the reason.

use super::{JobError, Running};
use crate::core::latex;
use crate::core::package::{self, MAX_FILE, Manifest, Source, Statement};
use crate::db::problem;
use millibox_judge::judge::Machine;
use millibox_languages::compile::{CompileError, Limit, Options, Toolbox};
use millibox_languages::files::SourceFile;
use millibox_languages::suite::{ChoiceError, Faults};
use millibox_package::model::Problem;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The maximum number of files of a statement.
const MAX_FILES: usize = 500;
/// The maximum size of all files of a statement, in bytes.
const MAX_BYTES: u64 = 32 << 20;
/// How long one job compiles statements. Other jobs wait meanwhile.
const STATEMENTS_LAST: Duration = Duration::from_secs(5 * 60);
/// The file that includes a fragment.
const DOCUMENT: &str = "millibox-statement.tex";

/// Why there is no PDF.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// No program can be used, the source is wrong, or a limit was exceeded.
    #[error("{error}{}", end_of(.log))]
    Compile { error: CompileError, log: String },
    /// A file is missing in the statement or in the installation of LaTeX.
    #[error(
        "LaTeX does not find {file}; put the file beside the statement, or ask the administrator \
         of the site to install the package that contains it{}", end_of(.log)
    )]
    File { file: String, log: String },
    /// lualatex lacks a part of its own.
    #[error(
        "lualatex is installed without luaotfload; try: apt install {}",
        latex::FONT_LOADER_PACKAGE
    )]
    Incomplete,
    /// There was no time left.
    #[error(
        "the job has compiled statements for {} minutes; compile this one with a further job",
        STATEMENTS_LAST.as_secs() / 60
    )]
    NoTime,
    /// The fragment has a name that LaTeX would interpret.
    #[error("the name may contain letters, digits, '.', '-' and '_' only")]
    Name,
    /// The directory of the statement has too many files.
    #[error(
        "the directory of the statement has more than {MAX_FILES} files or {} MiB",
        MAX_BYTES >> 20
    )]
    TooMany,
    /// The program wrote too much. The message for compilers of submissions would be misleading.
    #[error("output limit")]
    TooLong,
    /// The program has created something other than a PDF.
    #[error("the result is not a PDF of at most {} MiB", MAX_FILE >> 20)]
    NoPdf,
    /// A file cannot be read.
    #[error("a file of the statement: {0}")]
    System(#[from] std::io::Error),
    /// The description of the program contains errors.
    #[error("{0}")]
    Suites(#[from] Faults),
    /// No suite describes the program.
    #[error("{0}")]
    Suite(#[from] ChoiceError),
}

/// The time that a job has for statements.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    end: Instant,
}

impl Budget {
    /// The budget of a job that begins now.
    pub(super) fn begin(now: Instant) -> Budget {
        Budget {
            end: now + STATEMENTS_LAST,
        }
    }

    fn check(self, now: Instant) -> Result<(), Failure> {
        (now < self.end).then_some(()).ok_or(Failure::NoTime)
    }
}

fn end_of(text: &str) -> String {
    match text.trim() {
        "" => String::new(),
        text => format!("; the end of the log:\n{text}"),
    }
}

impl Running<'_> {
    /// Creates PDFs of the statements of a package that was read.
    pub(super) fn compile_statements(
        &self,
        problem: &Problem,
        manifest: &mut Manifest,
        budget: Budget,
    ) -> Result<(), JobError> {
        if manifest.sources.is_empty() {
            return Ok(());
        }
        let machine = Machine::start(self.runner.builder.clone(), Some(1), &self.runner.cpus)?;
        self.until_stopped(&machine, || {
            for source in std::mem::take(&mut manifest.sources) {
                let made = budget
                    .check(Instant::now())
                    .and_then(|()| self.pdf(&machine, problem, manifest, &source));
                self.check()?;
                let path = source.path.display();
                match made {
                    Ok(pdf) => {
                        self.say(format!("{path}: compiled"));
                        manifest.statements.push(Statement {
                            digest: self.app().blobs.put(&pdf)?,
                            language: source.language,
                            is_pdf: true,
                        });
                    }
                    Err(failure) => {
                        let failure = format!("{path}: not compiled: {failure}");
                        self.say(&failure);
                        manifest.sources.push(Source {
                            failure: Some(failure),
                            ..source
                        });
                    }
                }
            }
            Ok(())
        })
    }

    fn pdf(
        &self,
        machine: &Machine,
        problem: &Problem,
        manifest: &Manifest,
        source: &Source,
    ) -> Result<Vec<u8>, Failure> {
        let (main, files) = files(problem, manifest, source)?;
        let text = std::fs::read(problem.directory.join(&source.path))?;
        let suites = latex::suites()?;
        let cache = self.runner.cache.clone();
        let toolbox = Toolbox::new(machine.supervisor(), suites, cache);
        let options = Options {
            main: Some(main),
            ..Options::default()
        };
        let mut engines = latex::engines(&String::from_utf8_lossy(&text)).into_iter();
        let mut needs_other = None;
        let mut missing = None;
        loop {
            let Some(engine) = engines.next() else {
                // The list of programs is never empty.
                return Err(missing.or(needs_other).unwrap_or(Failure::NoPdf));
            };
            let suite = toolbox.suites().named(engine)?;
            let compilation = toolbox.compile_files(suite, files.clone(), &options);
            let log = compilation.messages;
            match compilation.result {
                Ok(made) => return read_pdf(&made.files.path().join("statement.pdf")),
                Err(error @ CompileError::Unavailable(_)) => {
                    missing.get_or_insert(Failure::Compile { error, log });
                }
                Err(CompileError::Limit(Limit::Output(_) | Limit::Room(_))) => {
                    return Err(Failure::TooLong);
                }
                Err(error) if latex::needs_other_engine(&log) => {
                    needs_other = Some(Failure::Compile { error, log });
                }
                Err(_) if latex::lacks_font_loader(&log) => {
                    missing.get_or_insert(Failure::Incomplete);
                }
                Err(error) => {
                    return Err(match latex::missing_file(&log).map(str::to_owned) {
                        Some(file) => Failure::File { file, log },
                        None => Failure::Compile { error, log },
                    });
                }
            }
        }
    }

    /// Compiles the statements of all versions that lack a PDF. Results with these versions do not
    /// change.
    pub(super) fn compile_again(&self, id: i64) -> Result<(), JobError> {
        let versions = self.block_on(problem::versions(&self.app().db, id))?;
        let budget = Budget::begin(Instant::now());
        let mut changed = Vec::new();
        for version in versions {
            let mut manifest = Manifest::of_json(&version.manifest);
            if manifest.sources.is_empty() {
                continue;
            }
            self.say(format!("version {}", version.number));
            let archive = self.app().blobs.path(&version.digest);
            let (problem, _directory) = package::open(&archive, "package.zip")?;
            self.compile_statements(&problem, &mut manifest, budget)?;
            changed.push((version.id, manifest.json()));
        }
        self.block_on(async {
            let mut tx = self.app().db.begin().await?;
            for (version, manifest) in &changed {
                problem::set_manifest(&mut tx, *version, manifest).await?;
            }
            self.commit(tx, &format!("/problems/{id}/versions")).await
        })
    }
}

/// The files that TeX sees, and the name of the file to compile. TeX sees everything in and below
/// the directory of the statement. The directory of the package also contains tests and solutions,
/// so only files directly in it are visible.
fn files(
    problem: &Problem,
    manifest: &Manifest,
    source: &Source,
) -> Result<(String, Vec<SourceFile>), Failure> {
    let main = problem.directory.join(&source.path);
    let directory = main.parent().unwrap_or(&problem.directory);
    let (mut files, mut left) = (Vec::new(), MAX_BYTES);
    let mut waiting = vec![directory.to_owned()];
    while let Some(next) = waiting.pop() {
        let mut entries: Vec<_> = std::fs::read_dir(&next)?.collect::<Result<_, _>>()?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let (path, kind) = (entry.path(), entry.file_type()?);
            let Some(name) = plain_name(directory, &path) else {
                continue;
            };
            if kind.is_dir() && directory != problem.directory {
                waiting.push(path);
            } else if kind.is_file() {
                let length = entry.metadata()?.len();
                left = left.checked_sub(length).ok_or(Failure::TooMany)?;
                files.push(SourceFile::new(name, std::fs::read(&path)?));
            }
            if files.len() + waiting.len() > MAX_FILES {
                return Err(Failure::TooMany);
            }
        }
    }
    let name = main.file_name().and_then(|name| name.to_str());
    let name = name.ok_or(Failure::Name)?.to_owned();
    let text = std::fs::read(&main)?;
    let is_fragment = latex::is_fragment(&String::from_utf8_lossy(&text));
    // The statement may be a link within the package.
    if files.iter().all(|file| file.name != Path::new(&name)) {
        files.push(SourceFile::new(&name, text));
    }
    if !is_fragment {
        return Ok((name, files));
    }
    let is_plain = |symbol: char| symbol.is_ascii_alphanumeric() || ".-_".contains(symbol);
    if !name.chars().all(is_plain) {
        return Err(Failure::Name);
    }
    let samples = latex::printable_samples(&manifest.samples);
    let (language, constants) = (&source.language, &problem.constants);
    let document = latex::document(&name, language, samples.len(), constants);
    let mut add = |name: String, content: &str| {
        let name = PathBuf::from(name);
        files.retain(|file| file.name != name);
        files.push(SourceFile::new(name, content));
    };
    add(DOCUMENT.to_owned(), &document);
    for (number, sample) in (1..).zip(samples) {
        add(format!("sample-{number}.in"), &sample.input);
        add(format!("sample-{number}.ans"), &sample.output);
    }
    Ok((DOCUMENT.to_owned(), files))
}

/// The path below a directory, if commands do not interpret it and it is not hidden.
fn plain_name(directory: &Path, path: &Path) -> Option<PathBuf> {
    let below = path.strip_prefix(directory).ok()?;
    let text = below.to_str()?;
    let is_plain = !text.contains(|symbol: char| symbol.is_control() || "{}".contains(symbol));
    let is_hidden = path.file_name()?.to_str()?.starts_with('.');
    (is_plain && !is_hidden).then(|| below.to_owned())
}

fn read_pdf(path: &Path) -> Result<Vec<u8>, Failure> {
    let length = path.metadata()?.len();
    let content = std::fs::read(path)?;
    if length <= MAX_FILE && content.starts_with(b"%PDF-") {
        return Ok(content);
    }
    Err(Failure::NoPdf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_a_job_for_statements_is_bounded() {
        let now = Instant::now();
        let budget = Budget::begin(now);
        assert!(budget.check(now).is_ok());
        let end = budget.check(now + STATEMENTS_LAST);
        assert!(matches!(end, Err(Failure::NoTime)), "{end:?}");
    }
}
