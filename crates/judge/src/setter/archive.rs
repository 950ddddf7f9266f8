//! The package in a `.zip`: the same bytes for the same files, whoever packs them and when.

use super::Trouble;
use millibox_package::Problem;
use millibox_package::model::Format;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use zip::write::{SimpleFileOptions, ZipWriter};

/// What the ICPC formats, in any of their versions, have at the top of a package.
const ICPC: [&str; 23] = [
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
/// Directories one in another.
const DEEPEST: usize = 32;

/// What was packed.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The archive.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// Files in it.
    pub files: usize,
    /// Files and directories at the package's top that are not of the format, and not in it.
    pub left_out: Vec<String>,
}

/// Packs a package that was read. An ICPC package's files are at the archive's top, where DOMjudge and
/// Kattis look; a Sim package's in a directory, where Sim looks. An archive that is there is replaced when
/// the new one is complete.
///
/// # Errors
/// A file cannot be read or written, or a symbolic link leads out of the package.
pub fn pack(problem: &Problem, to: &Path) -> Result<Report, Trouble> {
    let place = std::path::absolute(to).map_err(|error| Trouble::file("write", to, &error))?;
    let mut files = Files { root: real(&problem.directory)?, found: BTreeSet::new(), left_out: Vec::new() };
    for name in names(&problem.directory)? {
        let hidden = name.starts_with('.') && name != ".timelimit";
        let wanted = match problem.format {
            Format::Sim => !hidden && !is_rubbish(&name, ""),
            Format::Legacy | Format::Icpc2023 => ICPC.contains(&&*name),
        };
        let path = problem.directory.join(&name);
        if wanted && path != place {
            files.add(&path, &name, 0)?;
        } else if !hidden && path != place {
            files.left_out.push(name);
        }
    }
    let top = match problem.format {
        Format::Sim => {
            let directory = real(&problem.directory)?;
            let name = directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            format!("{name}/")
        }
        Format::Legacy | Format::Icpc2023 => String::new(),
    };
    let parent = place.parent().unwrap_or(Path::new("/"));
    let failed = |error: &dyn std::fmt::Display| Trouble::file("write", &place, error);
    // As any new file: the umask takes away what it does.
    let temporary = tempfile::Builder::new()
        .prefix(".millibox-zip-")
        .permissions(fs::Permissions::from_mode(0o666))
        .tempfile_in(parent)
        .map_err(|error| failed(&error))?;
    let mut writer = ZipWriter::new(temporary);
    for (name, path) in &files.found {
        let mut file = File::open(path).map_err(|error| Trouble::file("read", path, &error))?;
        let metadata = file.metadata().map_err(|error| Trouble::file("read", path, &error))?;
        let mode = if metadata.permissions().mode() & 0o100 != 0 { 0o755 } else { 0o644 };
        // The time is that with which the format's calendar begins, whatever the default is.
        let options = SimpleFileOptions::default()
            .last_modified_time(zip::DateTime::default())
            .unix_permissions(mode)
            .large_file(metadata.len() >= u64::from(u32::MAX));
        writer.start_file(format!("{top}{name}"), options).map_err(|error| failed(&error))?;
        io::copy(&mut file, &mut writer).map_err(|error| failed(&error))?;
    }
    let temporary = writer.finish().map_err(|error| failed(&error))?;
    let bytes = temporary.as_file().metadata().map_err(|error| failed(&error))?.len();
    temporary.persist(&place).map_err(|error| failed(&error.error))?;
    Ok(Report { path: to.to_owned(), bytes, files: files.found.len(), left_out: files.left_out })
}

/// Files of the package, by name with `/`: sorted.
struct Files {
    /// Without symbolic links in it.
    root: PathBuf,
    found: BTreeSet<(String, PathBuf)>,
    left_out: Vec<String>,
}

impl Files {
    fn add(&mut self, path: &Path, name: &str, depth: usize) -> Result<(), Trouble> {
        if depth > DEEPEST {
            return Err(Trouble::file("pack", path, &format!("directories nested deeper than {DEEPEST}")));
        }
        // What it leads to is packed: not every reader knows links.
        let leads_to = real(path)?;
        if !leads_to.starts_with(&self.root) {
            let what = format!("it leads to {}, outside the package", leads_to.display());
            return Err(Trouble::file("pack", path, &what));
        }
        let metadata = leads_to.metadata().map_err(|error| Trouble::file("look at", path, &error))?;
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
        || name == "__pycache__"
        || (directory == "utils" && name == "cache")
}

fn real(path: &Path) -> Result<PathBuf, Trouble> {
    path.canonicalize().map_err(|error| Trouble::file("find", path, &error))
}

fn names(directory: &Path) -> Result<Vec<String>, Trouble> {
    let failed = |error: &dyn std::fmt::Display| Trouble::file("read the directory", directory, error);
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).map_err(|error| failed(&error))? {
        let name = entry.map_err(|error| failed(&error))?.file_name();
        names.push(name.into_string().map_err(|name| failed(&format!("{name:?} is no UTF-8; rename it")))?);
    }
    names.sort();
    Ok(names)
}
