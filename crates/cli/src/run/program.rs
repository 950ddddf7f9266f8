//! The file that PROGRAM names.
//!
//! A path can name a file of the world or of the host. A file that the world shows is always
//! executed inside the world. Only a file that the world does not show is executed from the host,
//! by descriptor. So a file that is mounted over a path is the one that is executed.

use super::options::{Args, DEFAULT_PATH};
use crate::failure::Failure;
use millibox::{Hint, Mount, Program, Request, RunError, Step, World};
use rustix::fs::{Access, AtFlags, CWD};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// The largest number of symbolic links that are followed, as in path_resolution(7).
const MAX_LINKS: usize = 40;

/// The result of [`choose`].
pub enum ProgramChoice {
    /// A request with program, arguments and working directory, and the file that PROGRAM names.
    Request(Box<Request>, ProgramFile),
    /// The program cannot be executed.
    CannotExecute(CannotExecute),
}

/// A program of the host that cannot be executed, found before a sandbox was started.
#[derive(Debug)]
pub struct CannotExecute {
    path: PathBuf,
    problem: ProgramProblem,
}

/// Why a program of the host cannot be executed.
#[derive(Debug)]
enum ProgramProblem {
    /// It cannot be inspected or opened.
    Inaccessible(std::io::Error),
    /// The caller may not enter a directory above it.
    ClosedDirectory(std::io::Error, PathBuf),
    /// The caller may execute it but not read it. The sandbox does not show it, so it must be
    /// opened for reading.
    Unreadable(std::io::Error),
    NotRegular,
    NotExecutable,
    /// It is a script. The kernel passes the script's path to an interpreter, and that path does
    /// not exist inside the sandbox.
    HiddenScript,
}

impl CannotExecute {
    /// The kernel's error number, if a system call failed.
    pub fn errno(&self) -> Option<i32> {
        match &self.problem {
            ProgramProblem::Inaccessible(error)
            | ProgramProblem::ClosedDirectory(error, _)
            | ProgramProblem::Unreadable(error) => error.raw_os_error(),
            _ => None,
        }
    }
}

impl fmt::Display for CannotExecute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        write!(f, "cannot execute {path}: ")?;
        match &self.problem {
            ProgramProblem::Inaccessible(error) => error.fmt(f),
            ProgramProblem::ClosedDirectory(error, directory) => {
                let directory = directory.display();
                write!(
                    f,
                    "{error}; you may not enter {directory}: chmod +x, or move the program"
                )
            }
            ProgramProblem::Unreadable(error) => {
                write!(f, "{error}; you may not read it: chmod +r")
            }
            ProgramProblem::NotRegular => f.write_str("it is not a regular file"),
            ProgramProblem::NotExecutable => {
                f.write_str("you may not execute it: chmod +x, or run its interpreter")
            }
            ProgramProblem::HiddenScript => {
                write!(f, "the sandbox does not show this script: add --ro {path}")
            }
        }
    }
}

/// What the user can do about a [`RunError`], known from the command line.
#[derive(Debug)]
pub enum Remedy {
    /// The sandbox's user has no access to a file or directory.
    Closed { place: PathBuf, mode: u32, uid: u32 },
    /// The program exists neither in the run's world nor at this path of the host.
    Missing(PathBuf),
    /// The program was not found in the directories of PATH.
    SearchPath,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remedy::Closed { place, mode, uid } => write!(
                f,
                "{} (mode {mode:o}) is not accessible to user {uid}, which the sandbox runs as: \
                 chmod o+x, or choose a --user with access",
                place.display()
            ),
            Remedy::Missing(path) => {
                write!(
                    f,
                    "neither the run's world nor the host has this file; on the host it would be \
                     {}",
                    path.display()
                )
            }
            Remedy::SearchPath => f.write_str(
                "the run's world has no such file in these directories; --env PATH=... sets the \
                 directories to search",
            ),
        }
    }
}

/// The file that PROGRAM names, if it is known before the run.
pub enum ProgramFile {
    /// It is looked up inside the world, or is a file that only the world has.
    Inside,
    /// It is this file of the host.
    Host(HostFile),
    /// Neither the world nor the host has it; this would be its path on the host.
    Missing(PathBuf),
}

/// A file of the host that will be executed.
pub struct HostFile {
    path: PathBuf,
    /// It is executed by descriptor, so permissions on directories above it do not matter.
    is_open: bool,
}

impl HostFile {
    /// The remedy if the sandbox's user has no access to the file or to a directory above it. That
    /// user is not the caller if root started millibox.
    fn closed(&self, (uid, gid): (u32, u32)) -> Option<Remedy> {
        let paths: Vec<&Path> = self
            .path
            .ancestors()
            .take(if self.is_open { 1 } else { usize::MAX })
            .collect();
        paths.into_iter().rev().find_map(|place| {
            let found = place.metadata().ok()?;
            let shift = match (found.uid() == uid, found.gid() == gid) {
                (true, _) => 6,
                (false, true) => 3,
                (false, false) => 0,
            };
            let closed = found.mode() >> shift & 1 == 0;
            closed.then(|| Remedy::Closed {
                place: place.to_owned(),
                mode: found.mode() & 0o7777,
                uid,
            })
        })
    }
}

/// Chooses the file that PROGRAM names, and builds a request for it.
pub fn choose(args: &Args, world: &World) -> Result<ProgramChoice, Failure> {
    let Some(typed) = args.program.first().filter(|typed| !typed.is_empty()) else {
        return Err(Failure::option("PROGRAM is empty"));
    };
    let inside = args.cwd.clone().unwrap_or_else(|| PathBuf::from("/"));
    let mut program_file = ProgramFile::Inside;
    let program = if !typed.as_bytes().contains(&b'/') {
        Program::Search(typed.clone(), search_path(&args.env))
    } else {
        let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        match find(typed, &inside, &here, world) {
            Found::Inside(path) => {
                if let Some(path) = seen(world, &inside.join(&path)) {
                    program_file = ProgramFile::Host(HostFile {
                        path,
                        is_open: false,
                    });
                }
                Program::Path(path)
            }
            Found::Missing(path) => {
                // The sandbox knows its world better, so let it report the error.
                program_file = ProgramFile::Missing(path);
                Program::Path(typed.clone())
            }
            Found::Host(path) => match open(&path) {
                Ok(program) => {
                    program_file = ProgramFile::Host(HostFile {
                        path,
                        is_open: true,
                    });
                    Program::Descriptor(program.into())
                }
                Err(why) => return Ok(ProgramChoice::CannotExecute(why)),
            },
        }
    };
    Ok(ProgramChoice::Request(
        Box::new(Request::of(program).args(&args.program).current_dir(inside)),
        program_file,
    ))
}

/// Returns a remedy for the error. Adds the name of the program if it was executed by descriptor.
pub fn explain(
    error: &mut RunError,
    args: &Args,
    world: &World,
    program_file: &ProgramFile,
    ids: (u32, u32),
) -> Option<Remedy> {
    if let (Some(directory), Step::WorkingDirectory) = (&args.cwd, error.step) {
        let host = seen(world, directory).filter(|_| error.errno == Some(libc::EACCES))?;
        return HostFile {
            path: host,
            is_open: false,
        }
        .closed(ids);
    }
    let typed = args.program.first().filter(|_| error.step == Step::Exec)?;
    error
        .subject
        .get_or_insert_with(|| typed.display().to_string());
    let exists = matches!(error.hint, Some(Hint::InterpreterMissing));
    match (program_file, error.errno) {
        (ProgramFile::Host(file), Some(libc::EACCES)) => file.closed(ids),
        (ProgramFile::Missing(path), Some(libc::ENOENT)) if !exists => {
            Some(Remedy::Missing(path.clone()))
        }
        (_, Some(libc::ENOENT)) if !exists && !typed.as_bytes().contains(&b'/') => {
            Some(Remedy::SearchPath)
        }
        _ => None,
    }
}

/// The directories of PATH. An empty one is the working directory, as in execvp(3).
fn search_path(environment: &[(OsString, OsString)]) -> Vec<OsString> {
    let path = environment
        .iter()
        .rev()
        .find(|(name, _)| name == "PATH")
        .map(|(_, value)| value.as_os_str());
    path.unwrap_or(OsStr::new(DEFAULT_PATH))
        .as_bytes()
        .split(|&byte| byte == b':')
        .map(|directory| {
            if directory.is_empty() {
                OsStr::new(".")
            } else {
                OsStr::from_bytes(directory)
            }
            .to_owned()
        })
        .collect()
}

#[derive(Debug, PartialEq, Eq)]
enum Found {
    /// Execute this path inside.
    Inside(OsString),
    /// Execute this file of the host.
    Host(PathBuf),
    /// Neither the world nor the host has the file; this would be its path on the host.
    Missing(PathBuf),
}

fn find(typed: &OsStr, inside: &Path, here: &Path, world: &World) -> Found {
    // An absolute path below a mount is a path of the world, even if the file is missing: a missing
    // /usr/bin/x is a missing program.
    let shown = seen(world, &inside.join(typed));
    if shown
        .as_ref()
        .is_some_and(|host| Path::new(typed).is_absolute() || host.symlink_metadata().is_ok())
    {
        return Found::Inside(typed.to_owned());
    }
    let host: PathBuf = here.join(typed).components().collect();
    // A file that cannot be inspected may exist.
    if host
        .metadata()
        .is_err_and(|error| error.kind() == ErrorKind::NotFound)
    {
        return match shown {
            Some(_) => Found::Inside(typed.to_owned()),
            None => Found::Missing(host),
        };
    }
    match shown_elsewhere(world, &host) {
        Some(path) => Found::Inside(path.into()),
        None => Found::Host(host),
    }
}

/// The path of the host that the world shows at a path. Its file may be missing.
fn seen(world: &World, path: &Path) -> Option<PathBuf> {
    let mut path = plain(path);
    for _ in 0..MAX_LINKS {
        // A later mount covers earlier ones.
        let (mount, rest) = world.mounts().iter().rev().find_map(|mount| {
            let rest = path.strip_prefix(mount.path()).ok()?;
            Some((mount, rest.to_owned()))
        })?;
        match mount {
            Mount::Bind(bind) => return Some(joined(bind.source(), &rest)),
            Mount::Symlink {
                target, path: at, ..
            } => {
                let target = at.parent().unwrap_or(Path::new("/")).join(target);
                path = plain(&joined(&target, &rest));
            }
            _ => return None,
        }
    }
    None
}

/// The path inside at which a bind shows this file of the host.
fn shown_elsewhere(world: &World, host: &Path) -> Option<PathBuf> {
    // The file may be a link whose target also exists in the world, so resolve its directory only.
    let host = host.parent()?.canonicalize().ok()?.join(host.file_name()?);
    world.mounts().iter().rev().find_map(|mount| {
        let Mount::Bind(bind) = mount else {
            return None;
        };
        if bind.is_device() {
            return None;
        }
        let source = bind.source();
        let given = source
            .parent()
            .and_then(|parent| Some(parent.canonicalize().ok()?.join(source.file_name()?)));
        let rest = match given.filter(|given| *given == host) {
            Some(_) => PathBuf::new(),
            None => host
                .strip_prefix(source.canonicalize().ok()?)
                .ok()?
                .to_owned(),
        };
        let path = joined(bind.at(), &rest);
        // Another mount may cover it.
        (seen(world, &path)? == joined(source, &rest)).then_some(path)
    })
}

/// Joins two paths, without a trailing slash if `rest` is empty.
fn joined(path: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() {
        path.to_owned()
    } else {
        path.join(rest)
    }
}

/// The path without `.` and `..`; symbolic links are ignored.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// Opens a program of the host, which the caller must be allowed to read and execute.
fn open(path: &Path) -> Result<OwnedFd, CannotExecute> {
    let cannot = |problem| CannotExecute {
        path: path.to_owned(),
        problem,
    };
    let metadata = path
        .metadata()
        .map_err(|error| match closed_directory(path) {
            Some(closed) if error.kind() == ErrorKind::PermissionDenied => {
                cannot(ProgramProblem::ClosedDirectory(error, closed.to_owned()))
            }
            _ => cannot(ProgramProblem::Inaccessible(error)),
        })?;
    if !metadata.is_file() {
        return Err(cannot(ProgramProblem::NotRegular));
    }
    rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS)
        .map_err(|_| cannot(ProgramProblem::NotExecutable))?;
    let mut file = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => cannot(ProgramProblem::Unreadable(error)),
        _ => cannot(ProgramProblem::Inaccessible(error)),
    })?;
    let mut first = [0; 2];
    if file.read(&mut first).is_ok_and(|read| read == 2) && &first == b"#!" {
        return Err(cannot(ProgramProblem::HiddenScript));
    }
    Ok(file.into())
}

/// The first directory above a file that this process may not enter.
fn closed_directory(path: &Path) -> Option<&Path> {
    let directories: Vec<&Path> = path.ancestors().skip(1).collect();
    let may_enter =
        |path: &Path| rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok();
    directories.into_iter().rev().find(|path| !may_enter(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find_in(world: &World, typed: &str, inside: &str, here: &Path) -> Found {
        find(OsStr::new(typed), Path::new(inside), here, world)
    }

    #[test]
    fn file_shown_by_the_world_is_executed_inside() {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path().canonicalize().unwrap();
        std::fs::create_dir(here.join("sub")).unwrap();
        std::fs::write(here.join("sub/a.out"), "x").unwrap();
        let inside = |path: &str| Found::Inside(path.into());

        let minimal = World::minimal();
        assert_eq!(find_in(&minimal, "/bin/sh", "/", &here), inside("/bin/sh"));
        assert_eq!(
            find_in(&minimal, "/usr/bin/missing", "/", &here),
            inside("/usr/bin/missing")
        );
        assert_eq!(
            find_in(&minimal, "./none", "/", &here),
            Found::Missing(here.join("none"))
        );
        assert_eq!(
            find_in(&minimal, "./none", "/usr/bin", &here),
            inside("./none")
        );
        // The world does not show it, or its empty /tmp hides it.
        assert_eq!(
            find_in(&minimal, "sub/a.out", "/", &here),
            Found::Host(here.join("sub/a.out"))
        );
        let absolute = here.join("sub/a.out");
        let absolute = absolute.to_str().unwrap();
        assert_eq!(
            find_in(&minimal, absolute, "/", &here),
            Found::Host(absolute.into())
        );

        let bound = World::minimal().read_only(here.join("sub"), "/work");
        assert_eq!(
            find_in(&bound, "./sub/a.out", "/", &here),
            inside("/work/a.out")
        );
        assert_eq!(find_in(&bound, absolute, "/", &here), inside("/work/a.out"));
        assert_eq!(
            find_in(&bound, "./a.out", "/work", &here),
            inside("./a.out")
        );
        assert_eq!(
            find_in(&bound, "/work/b.out", "/", &here),
            inside("/work/b.out")
        );
        let covered = bound.mount(Mount::tmpfs("/work"));
        assert_eq!(
            find_in(&covered, absolute, "/", &here),
            Found::Host(absolute.into())
        );
        let file = World::minimal().read_only(absolute, "/solution");
        assert_eq!(
            find_in(&file, "./a.out", "/", &here.join("sub")),
            Found::Inside("/solution".into())
        );
    }

    #[test]
    fn open_rejects_files_that_cannot_be_executed() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("p");
        let problem = |content: &str, mode: u32| {
            std::fs::write(&path, content).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            open(&path).err().map(|error| error.problem)
        };
        assert!(problem("\x7fELF", 0o755).is_none());
        assert!(matches!(
            problem("\x7fELF", 0o644),
            Some(ProgramProblem::NotExecutable)
        ));
        assert!(matches!(
            problem("#!/bin/sh\n", 0o755),
            Some(ProgramProblem::HiddenScript)
        ));
        assert!(
            open(directory.path())
                .is_err_and(|error| matches!(error.problem, ProgramProblem::NotRegular))
        );
        assert!(
            open(&directory.path().join("none"))
                .is_err_and(|error| error.errno() == Some(libc::ENOENT))
        );
    }

    #[test]
    fn search_path_with_empty_entry_uses_working_directory() {
        let of = |path: &str| {
            search_path(&[
                ("PATH".into(), "/never".into()),
                ("PATH".into(), path.into()),
            ])
        };
        assert_eq!(search_path(&[]).len(), 3);
        assert_eq!(of("/a:/b"), ["/a", "/b"]);
        assert_eq!(of(":/b"), [".", "/b"]);
    }
}
