//! Adding problems and versions.

use super::statements::Budget;
use super::{JobError, Running};
use crate::app::App;
use crate::core::package::{self, Manifest, editorial};
use crate::core::time::Time;
use crate::db::judgement::{self, NewJudgement};
use crate::db::problem::{self, NewVersion, Version, Visibility};
use crate::db::submission::{self, Kind, NewSubmission};
use crate::db::{Result as DbResult, Tx};
use crate::judging::languages::{self, Language};
use millibox_fleet::message::MAX_MESSAGE_BYTES;
use millibox_package::is_of_machine;
use millibox_package::model::{Problem, Submission};
use millibox_setter::archive;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The maximum length of the name of a problem, in characters.
const MAX_NAME: usize = 128;
/// The maximum size of a solution that is judged, in bytes. Encoded in base64, it must fit into a
/// message to a worker.
const MAX_SOLUTION: u64 = 700 << 10;
const _: () = assert!(MAX_SOLUTION / 3 * 4 + (16 << 10) < MAX_MESSAGE_BYTES as u64);

/// A solution of a package.
#[derive(Debug)]
pub struct Solution {
    pub(crate) name: String,
    pub(crate) language: String,
    pub(crate) file_name: String,
    pub(crate) content: Vec<u8>,
}

/// A package that was read.
#[derive(Debug)]
pub struct Package {
    /// The digest of its archive. It differs from that of the upload if the upload was the package
    /// of another system.
    pub digest: String,
    /// The data that pages show.
    pub manifest: Manifest,
    /// The submissions in the package that can be judged here.
    pub solutions: Vec<Solution>,
    /// The names of the submissions in the package that cannot be judged here, with the reasons.
    pub skipped: Vec<(String, SolutionFault)>,
}

/// Why a submission in a package cannot be judged here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SolutionFault {
    /// It has several files.
    #[error("it has several files")]
    SeveralFiles,
    /// The name of its file is not in UTF-8.
    #[error("its name is not in UTF-8")]
    Name,
    /// Its language is not installed.
    #[error("its language is not installed")]
    Language,
    /// Its file is too long.
    #[error("it is too long")]
    TooLong,
    /// Its file cannot be read.
    #[error("{0}")]
    System(#[from] std::io::Error),
}

/// Reads a stored package. `name` is the name of the uploaded file.
///
/// # Errors
/// The package contains errors, or its files cannot be stored.
pub fn read(app: &App, digest: &str, name: &str) -> Result<Package, package::PackageError> {
    let (digest, losses) = package::taken_over(&app.blobs, digest, name)?;
    let (problem, directory) = package::open(&app.blobs.path(&digest), name)?;
    let mut package = describe(app, &problem, directory.path(), digest)?;
    package.manifest.warnings.extend(losses);
    Ok(package)
}

/// Reads a package that was opened in `directory`.
fn describe(
    app: &App,
    problem: &Problem,
    directory: &Path,
    digest: String,
) -> Result<Package, package::PackageError> {
    let manifest = package::manifest(problem, directory, &app.blobs)?;
    let mut package = Package {
        digest,
        manifest,
        solutions: Vec::new(),
        skipped: Vec::new(),
    };
    for one in &problem.submissions {
        match solution(&app.languages, one) {
            Ok(solution) => package.solutions.push(solution),
            // Another attempt may read it. Otherwise, the version would lack it for good.
            Err(SolutionFault::System(error)) if is_of_machine(&error) => return Err(error.into()),
            Err(fault) => package.skipped.push((one.name.clone(), fault)),
        }
    }
    Ok(package)
}

pub(super) fn solution(
    installed: &[Language],
    one: &Submission,
) -> Result<Solution, SolutionFault> {
    let [source] = &one.program.sources[..] else {
        return Err(SolutionFault::SeveralFiles);
    };
    let file_name = source.file_name().and_then(|name| name.to_str());
    let file_name = file_name.ok_or(SolutionFault::Name)?;
    if source.metadata()?.len() > MAX_SOLUTION {
        return Err(SolutionFault::TooLong);
    }
    let content = std::fs::read(source)?;
    let language = match &one.program.language {
        Some(name) => installed.iter().find(|language| language.name == *name),
        None => languages::of_source(installed, file_name, &content),
    };
    let language = language.ok_or(SolutionFault::Language)?;
    Ok(Solution {
        name: one.name.clone(),
        language: language.name.clone(),
        file_name: file_name.to_owned(),
        content,
    })
}

/// Adds a version of a problem, and queues the submissions in the package. Returns its id.
pub async fn insert(
    tx: &mut Tx,
    problem_id: i64,
    package: &Package,
    note: &str,
    user: i64,
) -> DbResult<i64> {
    let now = Time::now();
    let new = NewVersion {
        problem_id,
        digest: &package.digest,
        manifest: &package.manifest.json(),
        note,
        user,
    };
    let version = problem::insert_version(tx, &new, now).await?;
    for one in &package.solutions {
        let new = NewSubmission {
            user_id: user,
            problem_id,
            round_problem_id: None,
            participant_id: None,
            language: &one.language,
            kind: Kind::Model,
            file_name: &one.file_name,
            source: &one.content,
        };
        let submission_id = submission::insert(tx, &new, now).await?;
        submission::set_model(tx, submission_id, version, &one.name).await?;
        let new = NewJudgement {
            submission_id,
            version_id: version,
            user_id: user,
            priority: judgement::MODEL,
            is_first: true,
        };
        judgement::insert(tx, &new, now).await?;
    }
    Ok(version)
}

/// The name of a new problem.
pub fn problem_name(manifest: &Manifest) -> String {
    manifest.name.chars().take(MAX_NAME).collect()
}

impl Running<'_> {
    fn read(&self, digest: &str, name: &str) -> Result<Package, JobError> {
        let blobs = &self.app().blobs;
        let (digest, losses) = package::taken_over(blobs, digest, name)?;
        let (problem, directory) = package::open(&blobs.path(&digest), name)?;
        let mut package = describe(self.app(), &problem, directory.path(), digest)?;
        package.manifest.warnings.extend(losses);
        let manifest = &package.manifest;
        self.say(format!("{}: {} tests", manifest.name, manifest.tests));
        for warning in &manifest.warnings {
            self.say(format!("warning: {warning}"));
        }
        for (name, fault) in &package.skipped {
            self.say(format!("not judged: {name}: {fault}"));
        }
        let budget = Budget::begin(Instant::now());
        self.compile_statements(&problem, &mut package.manifest, budget)?;
        self.check()?;
        Ok(package)
    }

    pub(super) fn add_problem(
        &self,
        digest: &str,
        file_name: &str,
        visibility: Visibility,
    ) -> Result<(), JobError> {
        let package = self.read(digest, file_name)?;
        let user = self.job.created_by;
        self.block_on(async {
            let mut tx = self.app().db.begin().await?;
            let name = problem_name(&package.manifest);
            let id = problem::insert(&mut tx, &name, visibility, user, Time::now()).await?;
            problem::set_label(&mut tx, id, &package.manifest.label).await?;
            crate::db::job::set_problem(&mut tx, self.job.id, id).await?;
            insert(&mut tx, id, &package, "", user).await?;
            self.commit(tx, &format!("/problems/{id}")).await
        })?;
        self.app().queue.wake();
        Ok(())
    }

    pub(super) fn add_version(
        &self,
        id: i64,
        digest: &str,
        file_name: &str,
        note: &str,
    ) -> Result<(), JobError> {
        self.add_version_after(None, id, digest, file_name, note)
    }

    /// Adds a version that was derived from another one, if that is still the current one.
    fn add_version_after(
        &self,
        last: Option<&Version>,
        id: i64,
        digest: &str,
        file_name: &str,
        note: &str,
    ) -> Result<(), JobError> {
        let package = self.read(digest, file_name)?;
        self.block_on(async {
            let mut tx = self.app().db.begin().await?;
            if problem::by_id(&mut tx, id).await?.is_none() {
                return Err(JobError::NoProblem);
            }
            let current = problem::current_version(&mut tx, id).await?;
            let is_last = |last: &Version| current.as_ref().is_some_and(|one| one.id == last.id);
            if !last.is_none_or(is_last) {
                return Err(JobError::NewerVersion);
            }
            insert(&mut tx, id, &package, note, self.job.created_by).await?;
            self.commit(tx, &format!("/problems/{id}/versions")).await
        })?;
        self.app().queue.wake();
        Ok(())
    }

    /// The current version of a problem, unpacked to a directory that may be changed.
    pub(super) fn unpack(&self, id: i64) -> Result<(Version, Unpacked), JobError> {
        let current = self.block_on(problem::current_version(&self.app().db, id))?;
        let version = current.ok_or(JobError::NoProblem)?;
        let archive = self.app().blobs.path(&version.digest);
        let (problem, link) = package::open(&archive, "package.zip")?;
        // The reader's directory must not be changed.
        let directory = millibox_package::temporary::directory()?;
        let root = directory.path().join("package");
        copy(&problem.directory, &root)?;
        Ok((
            version,
            Unpacked {
                problem,
                root,
                _directories: [directory, link],
            },
        ))
    }

    /// Adds the changed package as a version.
    pub(super) fn add_changed(
        &self,
        last: &Version,
        id: i64,
        root: &Path,
        note: &str,
    ) -> Result<(), JobError> {
        let problem = millibox_package::read(root).map_err(SetterError::Package)?;
        let directory = millibox_package::temporary::directory()?;
        let to = directory.path().join("package.zip");
        archive::pack(&problem, root, &to, &|| self.token.is_cancelled())?;
        let digest = self.app().blobs.put_file(&to)?;
        self.add_version_after(Some(last), id, &digest, "package.zip", note)
    }

    pub(super) fn change_statement(
        &self,
        id: i64,
        digest: &str,
        file_name: &str,
    ) -> Result<(), JobError> {
        let (version, unpacked) = self.unpack(id)?;
        let content = std::fs::read(self.app().blobs.path(digest))?;
        let place = unpacked.statement(file_name)?;
        self.say(format!(
            "statement: {}",
            place
                .strip_prefix(&unpacked.root)
                .unwrap_or(&place)
                .display()
        ));
        if let Some(parent) = place.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&place, content)?;
        let note = format!("statement {file_name}");
        self.add_changed(&version, id, &unpacked.root, &note)
    }
}

use millibox_setter::SetterError;

/// A package whose files may be changed.
pub(super) struct Unpacked {
    problem: Problem,
    /// The directory of the package.
    pub(super) root: PathBuf,
    _directories: [tempfile::TempDir; 2],
}

impl Unpacked {
    /// The path of a statement with this name.
    fn statement(&self, file_name: &str) -> Result<PathBuf, JobError> {
        let new = Path::new(file_name);
        if editorial::is_note(file_name) {
            return Ok(self.root.join(editorial::DIRECTORY).join(new));
        }
        let extension = |path: &Path| path.extension().map(std::ffi::OsStr::to_owned);
        if let Some(statement) = &self.problem.statement {
            if extension(statement) != extension(new) {
                let known = statement.file_name().unwrap_or_default().to_owned();
                return Err(JobError::StatementExtension { known });
            }
            let below = statement.strip_prefix(&self.problem.directory);
            let below = below.map_err(|_| JobError::NoStatement)?;
            return Ok(self.root.join(below));
        }
        let name = new.file_name().ok_or(JobError::NoStatement)?;
        let directories = package::STATEMENT_DIRECTORIES.map(|name| self.root.join(name));
        let directory = directories.iter().find(|path| path.is_dir());
        Ok(directory.unwrap_or(&directories[0]).join(name))
    }
}

/// Copies a directory. Its links were checked when the archive was unpacked.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            std::fs::copy(entry.path(), &to)?;
        }
    }
    Ok(())
}
