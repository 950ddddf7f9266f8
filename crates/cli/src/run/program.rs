//! Which file PROGRAM is.
//!
//! A path can be meant inside the world or outside. What the world shows is taken there,
//! always; only what it does not show is run from the host, by descriptor. So nobody who
//! mounts something over a path gets another file than that.

use super::options::Args;
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

/// Where a name is looked for if the environment has no PATH.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Symbolic links that are followed in search of a file, as in path_resolution(7).
const MAX_LINKS: usize = 40;

/// The result of [`choose`].
pub enum Chosen {
    /// A request with program, arguments and working directory, and the file that PROGRAM means.
    Request(Box<Request>, Meant),
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
    /// The kernel refuses to look at it or to open it.
    Inaccessible(std::io::Error),
    /// The caller may not enter a directory on the way to it.
    ClosedDirectory(std::io::Error, PathBuf),
    /// It can be executed but not read. Inside the sandbox no path leads to it, so it must be
    /// opened.
    Unreadable(std::io::Error),
    NotRegular,
    NotExecutable,
    /// The kernel passes the script's path to an interpreter, and inside the sandbox there is no
    /// such path.
    HiddenScript,
}

impl CannotExecute {
    /// The kernel's error number, if it refused something.
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
                    "{error}; you may not enter {directory}: chmod +x, or choose another place"
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
                write!(
                    f,
                    "it is a script that the sandbox does not show: add --ro {path}"
                )
            }
        }
    }
}

/// What the user can do about a [`RunError`], known from the command line.
#[derive(Debug)]
pub enum Remedy {
    /// A file or directory is closed to the sandbox's user.
    Closed { place: PathBuf, mode: u32, uid: u32 },
    /// The program exists neither in the run's world nor at this path of the host.
    Nowhere(PathBuf),
    /// The program was not found in the directories of PATH.
    SearchPath,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remedy::Closed { place, mode, uid } => write!(
                f,
                "{} (mode {mode:o}) is closed to user {uid}, which the sandbox runs as: chmod o+x, \
                 or choose a --user with access",
                place.display()
            ),
            Remedy::Nowhere(path) => {
                write!(
                    f,
                    "neither the run's world nor the host has this file; on the host it would be \
                     {}",
                    path.display()
                )
            }
            Remedy::SearchPath => f.write_str(
                "the run's world has no such file in these directories; --env PATH=... sets where \
                 to look it up",
            ),
        }
    }
}

/// What a PROGRAM is, as far as can be told from outside.
pub enum Meant {
    /// It is looked for, or the world has it from nowhere on the host.
    Inside,
    File(HostFile),
    /// Not shown by the world, and not on the host, where it would be this.
    Nowhere(PathBuf),
}

/// A file of the host that is to be executed.
pub struct HostFile {
    path: PathBuf,
    /// It is open: nobody goes through the directories above it.
    open: bool,
}

impl HostFile {
    /// The first directory on the way, or the file itself, that is closed to the sandbox's user,
    /// who is not the caller if root started millibox.
    fn closed(&self, (uid, gid): (u32, u32)) -> Option<Remedy> {
        let way: Vec<&Path> = self
            .path
            .ancestors()
            .take(if self.open { 1 } else { usize::MAX })
            .collect();
        way.into_iter().rev().find_map(|place| {
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

/// See the module.
pub fn choose(args: &Args, world: &World) -> Result<Chosen, Failure> {
    let Some(typed) = args.program.first().filter(|typed| !typed.is_empty()) else {
        return Err(Failure::option("PROGRAM is empty"));
    };
    let inside = args.cwd.clone().unwrap_or_else(|| PathBuf::from("/"));
    let mut meant = Meant::Inside;
    let program = if !typed.as_bytes().contains(&b'/') {
        Program::Search(typed.clone(), search_path(&args.env))
    } else {
        let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        match find(typed, &inside, &here, world) {
            Found::Inside(path) => {
                if let Some(path) = seen(world, &inside.join(&path)) {
                    meant = Meant::File(HostFile { path, open: false });
                }
                Program::Path(path)
            }
            Found::Nowhere(path) => {
                // Let the sandbox say so: it sees more of its world than we do.
                meant = Meant::Nowhere(path);
                Program::Path(typed.clone())
            }
            Found::Host(path) => match open(&path) {
                Ok(program) => {
                    meant = Meant::File(HostFile { path, open: true });
                    Program::Descriptor(program.into())
                }
                Err(why) => return Ok(Chosen::CannotExecute(why)),
            },
        }
    };
    Ok(Chosen::Request(
        Box::new(Request::of(program).args(&args.program).current_dir(inside)),
        meant,
    ))
}

/// Names the program that could not be executed, if it was a descriptor, which has no name; and
/// returns what the user can do about the error.
pub fn explain(
    error: &mut RunError,
    args: &Args,
    world: &World,
    meant: &Meant,
    ids: (u32, u32),
) -> Option<Remedy> {
    if let (Some(directory), Step::WorkingDirectory) = (&args.cwd, error.step) {
        let host = seen(world, directory).filter(|_| error.errno == Some(libc::EACCES))?;
        return HostFile {
            path: host,
            open: false,
        }
        .closed(ids);
    }
    let typed = args.program.first().filter(|_| error.step == Step::Exec)?;
    error
        .subject
        .get_or_insert_with(|| typed.display().to_string());
    let found = matches!(error.hint, Some(Hint::InterpreterMissing));
    match (meant, error.errno) {
        (Meant::File(file), Some(libc::EACCES)) => file.closed(ids),
        (Meant::Nowhere(path), Some(libc::ENOENT)) if !found => Some(Remedy::Nowhere(path.clone())),
        (_, Some(libc::ENOENT)) if !found && !typed.as_bytes().contains(&b'/') => {
            Some(Remedy::SearchPath)
        }
        _ => None,
    }
}

/// Directories of PATH; an empty one is the working directory, as in execvp(3).
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
    /// Neither there nor on the host, where it would be this.
    Nowhere(PathBuf),
}

fn find(typed: &OsStr, inside: &Path, here: &Path, world: &World) -> Found {
    // Shown at this path? For an absolute path this settles it, whether or not the file is
    // there: a missing /usr/bin/x is a missing program.
    let shown = seen(world, &inside.join(typed));
    if shown
        .as_ref()
        .is_some_and(|host| Path::new(typed).is_absolute() || host.symlink_metadata().is_ok())
    {
        return Found::Inside(typed.to_owned());
    }
    let host: PathBuf = here.join(typed).components().collect();
    // Of what we cannot look at, nobody says that it is not there.
    if host
        .metadata()
        .is_err_and(|error| error.kind() == ErrorKind::NotFound)
    {
        return match shown {
            Some(_) => Found::Inside(typed.to_owned()),
            None => Found::Nowhere(host),
        };
    }
    match shown_elsewhere(world, &host) {
        Some(path) => Found::Inside(path.into()),
        None => Found::Host(host),
    }
}

/// The file of the host that the world shows at a path, there or not.
fn seen(world: &World, path: &Path) -> Option<PathBuf> {
    let mut path = plain(path);
    for _ in 0..MAX_LINKS {
        // A later mount covers earlier ones.
        let (mount, rest) = world.mounts().iter().rev().find_map(|mount| {
            let rest = path.strip_prefix(OsStr::from_bytes(mount.path())).ok()?;
            Some((mount, rest.to_owned()))
        })?;
        match mount {
            Mount::Bind { source, .. } => {
                return Some(joined(Path::new(OsStr::from_bytes(source)), &rest));
            }
            Mount::Symlink { target, path: at } => {
                let at = Path::new(OsStr::from_bytes(at));
                let target = at
                    .parent()
                    .unwrap_or(Path::new("/"))
                    .join(OsStr::from_bytes(target));
                path = plain(&joined(&target, &rest));
            }
            _ => return None,
        }
    }
    None
}

/// The path inside at which a bind shows this file of the host.
fn shown_elsewhere(world: &World, host: &Path) -> Option<PathBuf> {
    // The file itself may be a link to somewhere that the world has as well; its directory
    // is where it is.
    let host = host.parent()?.canonicalize().ok()?.join(host.file_name()?);
    world.mounts().iter().rev().find_map(|mount| {
        let Mount::Bind {
            source,
            at,
            device: false,
            ..
        } = mount
        else {
            return None;
        };
        let source = Path::new(OsStr::from_bytes(source));
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
        let path = joined(Path::new(OsStr::from_bytes(at)), &rest);
        // Unless another mount covers it.
        (seen(world, &path)? == joined(source, &rest)).then_some(path)
    })
}

/// `join` that adds no slash when there is nothing to add.
fn joined(path: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() {
        path.to_owned()
    } else {
        path.join(rest)
    }
}

/// Without `.` and `..`, as if there were no symbolic links.
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

/// Opens a program of the host that the caller may read and execute.
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

/// The first directory on the way to a file that we may not enter.
fn closed_directory(path: &Path) -> Option<&Path> {
    let way: Vec<&Path> = path.ancestors().skip(1).collect();
    let may_enter =
        |place: &Path| rustix::fs::accessat(CWD, place, Access::EXEC_OK, AtFlags::EACCESS).is_ok();
    way.into_iter().rev().find(|place| !may_enter(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find_in(world: &World, typed: &str, inside: &str, here: &Path) -> Found {
        find(OsStr::new(typed), Path::new(inside), here, world)
    }

    #[test]
    fn what_the_world_shows_is_taken_there() {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path().canonicalize().unwrap();
        std::fs::create_dir(here.join("sub")).unwrap();
        std::fs::write(here.join("sub/a.out"), "x").unwrap();
        let inside = |path: &str| Found::Inside(path.into());

        let minimal = World::minimal();
        assert_eq!(find_in(&minimal, "/bin/sh", "/", &here), inside("/bin/sh"));
        assert_eq!(
            find_in(&minimal, "/usr/bin/there-is-none", "/", &here),
            inside("/usr/bin/there-is-none")
        );
        assert_eq!(
            find_in(&minimal, "./none", "/", &here),
            Found::Nowhere(here.join("none"))
        );
        assert_eq!(
            find_in(&minimal, "./none", "/usr/bin", &here),
            inside("./none")
        );
        // Outside of the world, or under its empty /tmp.
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
    fn only_executables_are_opened() {
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
    fn where_names_are_looked_for() {
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
