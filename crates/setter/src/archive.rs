//! Packs a package as a `.zip` archive. The same files produce the same bytes.

use super::SetterError;
use super::error::{FileAction, FileFault, MachineError, Remedy, file};
use millibox_package::model::Format;
use millibox_package::{MAX_DEPTH, PYTHON_CACHE, Problem};
use rustix::fs::{Access, AtFlags, CWD};
use serde::{Serialize, Serializer};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;
use zip::result::ZipError;
use zip::write::{SimpleFileOptions, ZipWriter};

/// The names at the top level of a package in any version of the ICPC format.
const ICPC_NAMES: [&str; 23] = [
    ".timelimit",
    "answer_validators",
    "attachments",
    "data",
    "domjudge-problem.ini",
    "generators",
    "graders",
    "include",
    "input_format_validators",
    "input_validators",
    "input_visualizer",
    "output_validator",
    "output_validators",
    "output_visualizer",
    "problem.yaml",
    "problem_statement",
    "problem.pdf",
    "solution",
    "statement",
    "static_validator",
    "static_validators",
    "submissions",
    "test_group.yaml",
];

/// Describes an archive that was packed.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The archive's path. In JSON, bytes that are not UTF-8 are replaced.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// The archive's length.
    pub bytes: u64,
    /// Number of files in the archive.
    pub files: usize,
    /// Files and directories at the package's top level that the format does not define. They are
    /// not packed.
    pub left_out: Vec<String>,
}

/// Packs a package that was read from `package`.
///
/// The files of an ICPC package are at the top level of the archive, where DOMjudge and Kattis
/// expect them. The files of a Sim package are in a directory, where Sim expects them. An existing
/// archive is replaced when the new one is complete, but only if it is a regular file. The function
/// calls `is_stopped` frequently, and replaces nothing once it returns true.
///
/// # Errors
/// A file cannot be read or written, a symbolic link leads out of the package, or the work was
/// stopped.
pub fn pack(
    problem: &Problem,
    package: &Path,
    to: &Path,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Report, SetterError> {
    let place = place(to).map_err(|fault| file(FileAction::Write, to, fault))?;
    let mut files = Files {
        root: real(&problem.directory)?,
        found: BTreeSet::new(),
        left_out: Vec::new(),
    };
    for name in names(&problem.directory)? {
        let hidden = name.starts_with('.') && name != ".timelimit";
        let wanted = match problem.format {
            Format::Sim => !hidden && !is_rubbish(&name, ""),
            Format::Legacy | Format::Icpc2023 => ICPC_NAMES.contains(&&*name),
        };
        let path = problem.directory.join(&name);
        if path.canonicalize().is_ok_and(|real| real == place) {
            // This is an earlier archive.
        } else if wanted {
            files.add(&path, &name, 0)?;
        } else if !hidden {
            files.left_out.push(name);
        }
    }
    let top = match problem.format {
        Format::Sim => {
            // If the package is itself an archive, it was unpacked to a directory with a random
            // name.
            let name = match &problem.unpacked {
                Some(unpacked) if unpacked.path() == problem.directory => {
                    package.file_stem().map(OsStr::to_owned)
                }
                _ => real(&problem.directory)?.file_name().map(OsStr::to_owned),
            };
            format!("{}/", name.unwrap_or_default().to_string_lossy())
        }
        Format::Legacy | Format::Icpc2023 => String::new(),
    };
    let failed = |error: io::Error| file(FileAction::Write, to, error);
    let temporary = temporary(&place).map_err(failed)?;
    let bytes = write(&files, &top, temporary.as_file(), to, is_stopped)?;
    if is_stopped() {
        return Err(stopped());
    }
    temporary
        .persist(&place)
        .map_err(|error| failed(error.error))?;
    Ok(Report {
        path: to.to_owned(),
        bytes,
        files: files.found.len(),
        left_out: files.left_out,
    })
}

fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

fn stopped() -> SetterError {
    MachineError::Stopped.into()
}

/// Returns the archive's real path. Either nothing exists there yet, or it is a regular file,
/// possibly behind a link.
fn place(to: &Path) -> Result<PathBuf, FileFault> {
    const NOT_REGULAR: FileFault = FileFault::NotRegular(Remedy::NameAnother);
    // These paths name open files. A new file at such a path would have no effect on the open file.
    if [
        "/proc",
        "/dev/fd",
        "/dev/stdin",
        "/dev/stdout",
        "/dev/stderr",
    ]
    .iter()
    .any(|open| to.starts_with(open))
    {
        return Err(NOT_REGULAR);
    }
    match to.metadata() {
        Ok(metadata) if metadata.is_file() => {
            // Replacing a file needs permission for its directory. Overwriting it would need
            // permission for the file itself, which is checked here.
            OpenOptions::new().append(true).open(to)?;
            Ok(to.canonicalize()?)
        }
        Ok(_) => Err(NOT_REGULAR),
        Err(error) if error.kind() == ErrorKind::NotFound => match to.is_symlink() {
            true => Err(FileFault::DanglingLink),
            false => Ok(std::path::absolute(to)?),
        },
        Err(error) => Err(error.into()),
    }
}

/// Creates an empty file beside the archive's path.
fn temporary(place: &Path) -> io::Result<NamedTempFile> {
    let directory = place.parent().unwrap_or(Path::new("/"));
    // Check first, because tempfile's error names a random path.
    rustix::fs::accessat(
        CWD,
        directory,
        Access::WRITE_OK | Access::EXEC_OK,
        AtFlags::EACCESS,
    )?;
    // Use the mode of any new file, from which the umask removes bits.
    tempfile::Builder::new()
        .prefix(".millibox-zip-")
        .permissions(fs::Permissions::from_mode(0o666))
        .tempfile_in(directory)
        .map_err(|error| error.kind().into())
}

/// Writes the archive and returns its length.
fn write(
    files: &Files,
    top: &str,
    archive: &File,
    to: &Path,
    is_stopped: &dyn Fn() -> bool,
) -> Result<u64, SetterError> {
    let failed = |fault: FileFault| file(FileAction::Write, to, fault);
    let refused = |error: ZipError| match error {
        ZipError::Io(error) => failed(error.into()),
        error => failed(FileFault::Zip(error)),
    };
    let over = Cell::new(false);
    let mut writer = ZipWriter::new(StickyWriter {
        over: &over,
        file: archive,
    });
    let written: Result<(), SetterError> = files.found.iter().try_for_each(|(name, path)| {
        let unreadable = |error: io::Error| file(FileAction::Read, path, error);
        let source = File::open(path).map_err(unreadable)?;
        let metadata = source.metadata().map_err(unreadable)?;
        let mode = if metadata.permissions().mode() & 0o100 != 0 {
            0o755
        } else {
            0o644
        };
        // Use a fixed time, the first one that the format can represent. zip's default may change.
        let options = SimpleFileOptions::default()
            .last_modified_time(zip::DateTime::default())
            .unix_permissions(mode)
            .large_file(metadata.len() >= u64::from(u32::MAX));
        writer
            .start_file(format!("{top}{name}"), options)
            .map_err(refused)?;
        io::copy(
            &mut StoppableReader {
                file: source,
                is_stopped,
            },
            &mut writer,
        )
        .map_err(|error| match over.get() {
            true => failed(error.into()),
            false if is_stopped() => stopped(),
            false => unreadable(error),
        })?;
        Ok(())
    });
    // When the writer is dropped, it would finish the archive, and would print to standard error if
    // it failed.
    over.set(written.is_err());
    written?;
    writer.finish().map_err(refused)?;
    if over.get() {
        return Err(failed(FileFault::Incomplete));
    }
    archive
        .metadata()
        .map(|metadata| metadata.len())
        .map_err(|error| failed(error.into()))
}

/// Writes to a file until the first error. After an error, or once `over` is set, it discards all
/// bytes.
struct StickyWriter<'a> {
    over: &'a Cell<bool>,
    file: &'a File,
}

impl Write for StickyWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.over.get() {
            return Ok(bytes.len());
        }
        let written = (&*self.file).write(bytes);
        // The caller retries a write that was interrupted.
        self.over.set(
            written
                .as_ref()
                .is_err_and(|error| error.kind() != ErrorKind::Interrupted),
        );
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for StickyWriter<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        (&*self.file).seek(to)
    }
}

/// A file whose reads fail once the work is stopped.
struct StoppableReader<'a> {
    file: File,
    is_stopped: &'a dyn Fn() -> bool,
}

impl Read for StoppableReader<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        // Not ErrorKind::Interrupted, which callers retry.
        if (self.is_stopped)() {
            Err(io::Error::other("stopped"))
        } else {
            self.file.read(bytes)
        }
    }
}

/// The files of the package, sorted by name with `/` as separator.
struct Files {
    /// The package's path without symbolic links.
    root: PathBuf,
    found: BTreeSet<(String, PathBuf)>,
    left_out: Vec<String>,
}

impl Files {
    fn add(&mut self, path: &Path, name: &str, depth: usize) -> Result<(), SetterError> {
        if depth > MAX_DEPTH {
            return Err(file(FileAction::Pack, path, FileFault::TooDeep(MAX_DEPTH)));
        }
        // Pack the target of the link, because not every reader supports links.
        let leads_to = real(path)?;
        if !leads_to.starts_with(&self.root) {
            return Err(file(FileAction::Pack, path, FileFault::Outside(leads_to)));
        }
        let metadata = leads_to
            .metadata()
            .map_err(|error| file(FileAction::Inspect, path, error))?;
        if metadata.is_file() {
            self.found.insert((name.to_owned(), leads_to));
        } else if metadata.is_dir() {
            for below in names(&leads_to)? {
                if !is_rubbish(&below, name) {
                    self.add(&path.join(&below), &format!("{name}/{below}"), depth + 1)?;
                }
            }
        }
        Ok(())
    }
}

/// Whether editors, compilers or other tools leave files of this name behind.
fn is_rubbish(name: &str, directory: &str) -> bool {
    let left = [".o", ".pyc", ".class", ".swp", ".bak", ".orig"]
        .iter()
        .any(|end| name.ends_with(end));
    left || name.starts_with('.')
        || name.ends_with('~')
        || name == PYTHON_CACHE
        || (directory == "utils" && name == "cache")
}

fn real(path: &Path) -> Result<PathBuf, SetterError> {
    path.canonicalize()
        .map_err(|error| file(FileAction::Find, path, error))
}

fn names(directory: &Path) -> Result<Vec<String>, SetterError> {
    let failed = |fault: FileFault| file(FileAction::ReadDirectory, directory, fault);
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).map_err(|error| failed(error.into()))? {
        let name = entry.map_err(|error| failed(error.into()))?.file_name();
        names.push(
            name.into_string()
                .map_err(|name| failed(FileFault::NameNotUtf8(name)))?,
        );
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pack_of_sim_package_uses_directory_with_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        // The source archive has its files at the top level.
        let mut writer = ZipWriter::new(File::create(at("sums.zip")).unwrap());
        for name in ["in/1a.in", "out/1a.out", "prog/s.cpp"] {
            writer
                .start_file(name, SimpleFileOptions::default())
                .unwrap();
        }
        writer
            .start_file("Simfile", SimpleFileOptions::default())
            .unwrap();
        writer
            .write_all(b"name: Sums\nlabel: sum\nmemory_limit: 64\nsolutions: [prog/s.cpp]\n")
            .unwrap();
        writer.finish().unwrap();
        let problem =
            millibox_package::read(&at("sums.zip")).unwrap_or_else(|faults| panic!("{faults}"));
        pack(&problem, &at("sums.zip"), &at("new.zip"), &|| false).unwrap();
        let packed = zip::ZipArchive::new(File::open(at("new.zip")).unwrap()).unwrap();
        let names: Vec<_> = packed
            .file_names()
            .map(|name| name.unwrap().into_owned())
            .collect();
        assert!(
            names.len() == 4 && names.iter().all(|name| name.starts_with("sums/")),
            "{names:?}"
        );
    }
}
