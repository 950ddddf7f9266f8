//! The package in a `.zip`: the same bytes for the same files, whoever packs them and when.

use super::SetterError;
use millibox_package::model::Format;
use millibox_package::{DEEPEST, LEFT_BEHIND, Problem};
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

/// What the ICPC formats, in any of their versions, have at the top of a package.
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

/// What was packed.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The archive. As text, what is no UTF-8 in it is shown as that.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// Files in it.
    pub files: usize,
    /// Files and directories at the package's top that are not of the format, and not in it.
    pub left_out: Vec<String>,
}

/// Packs a package that was read from `package`. An ICPC package's files are at the archive's top, where DOMjudge and
/// Kattis look; a Sim package's in a directory, where Sim looks. An archive that is there is replaced when
/// the new one is complete; what is no regular file is not. Nothing is once this `is_stopped`, which is asked again and
/// again.
///
/// # Errors
/// A file cannot be read or written, a symbolic link leads out of the package, or it was stopped.
pub fn pack(
    problem: &Problem,
    package: &Path,
    to: &Path,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Report, SetterError> {
    let place = place(to).map_err(|why| SetterError::file("write", to, &why))?;
    let mut files = Files { root: real(&problem.directory)?, found: BTreeSet::new(), left_out: Vec::new() };
    for name in names(&problem.directory)? {
        let hidden = name.starts_with('.') && name != ".timelimit";
        let wanted = match problem.format {
            Format::Sim => !hidden && !is_rubbish(&name, ""),
            Format::Legacy | Format::Icpc2023 => ICPC_NAMES.contains(&&*name),
        };
        let path = problem.directory.join(&name);
        if path.canonicalize().is_ok_and(|real| real == place) {
            // The archive of before.
        } else if wanted {
            files.add(&path, &name, 0)?;
        } else if !hidden {
            files.left_out.push(name);
        }
    }
    let top = match problem.format {
        Format::Sim => {
            // Where an archive was unpacked is a directory with a name that nobody gave it.
            let name = match &problem.unpacked {
                Some(unpacked) if unpacked.path() == problem.directory => package.file_stem().map(OsStr::to_owned),
                _ => real(&problem.directory)?.file_name().map(OsStr::to_owned),
            };
            format!("{}/", name.unwrap_or_default().to_string_lossy())
        }
        Format::Legacy | Format::Icpc2023 => String::new(),
    };
    let failed = |error: &dyn std::fmt::Display| SetterError::file("write", to, error);
    let temporary = temporary(&place).map_err(|error| failed(&error))?;
    let bytes = write(&files, &top, temporary.as_file(), to, is_stopped)?;
    if is_stopped() {
        return Err(stopped());
    }
    temporary.persist(&place).map_err(|error| failed(&error.error))?;
    Ok(Report { path: to.to_owned(), bytes, files: files.found.len(), left_out: files.left_out })
}

fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

fn stopped() -> SetterError {
    SetterError::Machine("it was stopped".to_owned())
}

/// Where the archive goes: nothing is there yet, or a regular file, perhaps behind a link.
fn place(to: &Path) -> Result<PathBuf, String> {
    const OTHER: &str = "it is no regular file; name another place";
    // Behind these is what is open somewhere; nothing that is put in its place would go there.
    if ["/proc", "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr"].iter().any(|open| to.starts_with(open)) {
        return Err(OTHER.to_owned());
    }
    let said = |error: io::Error| error.to_string();
    match to.metadata() {
        Ok(found) if found.is_file() => {
            // The right to replace a file is its directory's, the right to write is its own.
            OpenOptions::new().append(true).open(to).map_err(said)?;
            to.canonicalize().map_err(said)
        }
        Ok(_) => Err(OTHER.to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => match to.is_symlink() {
            true => Err("it is a symbolic link to nothing; name another place".to_owned()),
            false => std::path::absolute(to).map_err(said),
        },
        Err(error) => Err(said(error)),
    }
}

/// An empty file beside the place.
fn temporary(place: &Path) -> io::Result<NamedTempFile> {
    let directory = place.parent().unwrap_or(Path::new("/"));
    // The kernel's own words, which tempfile wraps in a path that nobody gave.
    rustix::fs::accessat(CWD, directory, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)?;
    // As any new file: the umask takes away what it does.
    tempfile::Builder::new()
        .prefix(".millibox-zip-")
        .permissions(fs::Permissions::from_mode(0o666))
        .tempfile_in(directory)
        .map_err(|error| error.kind().into())
}

/// Writes all of it; its length.
fn write(files: &Files, top: &str, file: &File, to: &Path, is_stopped: &dyn Fn() -> bool) -> Result<u64, SetterError> {
    let failed = |error: &dyn std::fmt::Display| SetterError::file("write", to, error);
    let refused = |error: ZipError| match error {
        ZipError::Io(error) => failed(&error),
        error => failed(&error),
    };
    let over = Cell::new(false);
    let mut writer = ZipWriter::new(StickyWriter { over: &over, file });
    let written: Result<(), SetterError> = files.found.iter().try_for_each(|(name, path)| {
        let file = File::open(path).map_err(|error| SetterError::file("read", path, &error))?;
        let metadata = file.metadata().map_err(|error| SetterError::file("read", path, &error))?;
        let mode = if metadata.permissions().mode() & 0o100 != 0 { 0o755 } else { 0o644 };
        // The time is that with which the format's calendar begins, whatever the default is.
        let options = SimpleFileOptions::default()
            .last_modified_time(zip::DateTime::default())
            .unix_permissions(mode)
            .large_file(metadata.len() >= u64::from(u32::MAX));
        writer.start_file(format!("{top}{name}"), options).map_err(refused)?;
        io::copy(&mut StoppableReader { file, is_stopped }, &mut writer).map_err(|error| match over.get() {
            true => failed(&error),
            false if is_stopped() => stopped(),
            false => SetterError::file("read", path, &error),
        })?;
        Ok(())
    });
    // Dropped, the writer would finish what it has, and say on standard error that it cannot.
    over.set(written.is_err());
    written?;
    writer.finish().map_err(refused)?;
    if over.get() {
        return Err(failed(&"not all of it was written"));
    }
    file.metadata().map(|metadata| metadata.len()).map_err(|error| failed(&error))
}

/// The file, until its first error; what is written then, and when it is over, goes nowhere.
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
        // Whoever is interrupted tries again.
        self.over.set(written.as_ref().is_err_and(|error| error.kind() != ErrorKind::Interrupted));
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

/// A file that cannot be read any more once all is to end.
struct StoppableReader<'a> {
    file: File,
    is_stopped: &'a dyn Fn() -> bool,
}

impl Read for StoppableReader<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        // Whoever is told that it was interrupted tries again.
        if (self.is_stopped)() { Err(io::Error::other("stopped")) } else { self.file.read(bytes) }
    }
}

/// Files of the package, by name with `/`: sorted.
struct Files {
    /// Without symbolic links in it.
    root: PathBuf,
    found: BTreeSet<(String, PathBuf)>,
    left_out: Vec<String>,
}

impl Files {
    fn add(&mut self, path: &Path, name: &str, depth: usize) -> Result<(), SetterError> {
        if depth > DEEPEST {
            return Err(SetterError::file("pack", path, &format!("directories nested deeper than {DEEPEST}")));
        }
        // What it leads to is packed: not every reader knows links.
        let leads_to = real(path)?;
        if !leads_to.starts_with(&self.root) {
            let what = format!("it leads to {}, outside the package", leads_to.display());
            return Err(SetterError::file("pack", path, &what));
        }
        let metadata = leads_to.metadata().map_err(|error| SetterError::file("look at", path, &error))?;
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

/// What editors, compilers and other tools leave behind.
fn is_rubbish(name: &str, directory: &str) -> bool {
    let left = [".o", ".pyc", ".class", ".swp", ".bak", ".orig"].iter().any(|end| name.ends_with(end));
    left || name.starts_with('.')
        || name.ends_with('~')
        || name == LEFT_BEHIND
        || (directory == "utils" && name == "cache")
}

fn real(path: &Path) -> Result<PathBuf, SetterError> {
    path.canonicalize().map_err(|error| SetterError::file("find", path, &error))
}

fn names(directory: &Path) -> Result<Vec<String>, SetterError> {
    let failed = |error: &dyn std::fmt::Display| SetterError::file("read the directory", directory, error);
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).map_err(|error| failed(&error))? {
        let name = entry.map_err(|error| failed(&error))?.file_name();
        names.push(name.into_string().map_err(|name| failed(&format!("{name:?} is no UTF-8; rename it")))?);
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sim_package_is_packed_in_a_directory_of_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        // Its files are at the archive's top.
        let mut writer = ZipWriter::new(File::create(at("sums.zip")).unwrap());
        for name in ["in/1a.in", "out/1a.out", "prog/s.cpp"] {
            writer.start_file(name, SimpleFileOptions::default()).unwrap();
        }
        writer.start_file("Simfile", SimpleFileOptions::default()).unwrap();
        writer.write_all(b"name: Sums\nlabel: sum\nmemory_limit: 64\nsolutions: [prog/s.cpp]\n").unwrap();
        writer.finish().unwrap();
        let problem = millibox_package::read(&at("sums.zip")).unwrap_or_else(|faults| panic!("{faults}"));
        pack(&problem, &at("sums.zip"), &at("new.zip"), &|| false).unwrap();
        let packed = zip::ZipArchive::new(File::open(at("new.zip")).unwrap()).unwrap();
        let names: Vec<_> = packed.file_names().map(|name| name.unwrap().into_owned()).collect();
        assert!(names.len() == 4 && names.iter().all(|name| name.starts_with("sums/")), "{names:?}");
    }
}
