//! Finding the programs of a suite, and trying them in the sandbox.

use super::captured;
use super::messages::printable;
use super::world::{in_system, world};
use crate::suite::{Root, Suite, Surroundings, Tool};
use millibox::{Outcome, Request, RunError, Step, Supervisor};
use serde::Serialize;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The system's own come first: they are the same for every user, and the sandbox's user reaches
/// them.
const DIRECTORIES: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];
/// PATH of all compilers and programs.
pub(super) const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// A tool that is asked for its version or root takes less, or is broken.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whether a suite can be used here, as found by starting its tools in the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Availability {
    /// Its tools are there and work.
    Available {
        /// What the first of them says of itself, in one line.
        version: String,
    },
    /// A tool is not installed.
    Missing {
        /// Its name.
        program: String,
        /// What mends it.
        remedy: String,
    },
    /// A tool is installed where the sandbox's user cannot reach it.
    Unreachable {
        /// Its path.
        program: PathBuf,
        /// What is in the way.
        why: String,
        /// What mends it.
        remedy: String,
    },
    /// A tool does not work in the sandbox.
    Broken {
        /// Its path.
        program: PathBuf,
        /// What came of trying.
        said: String,
        /// What mends it.
        remedy: String,
    },
}

impl Availability {
    /// Whether the suite can be used.
    pub fn is_available(&self) -> bool {
        matches!(self, Availability::Available { .. })
    }

    /// What mends it, if it needs mending.
    pub fn remedy(&self) -> Option<&str> {
        match self {
            Availability::Available { .. } => None,
            Availability::Missing { remedy, .. }
            | Availability::Unreachable { remedy, .. }
            | Availability::Broken { remedy, .. } => Some(remedy),
        }
    }
}

impl std::fmt::Display for Availability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Availability::Available { version } => f.write_str(version),
            Availability::Missing { program, .. } => write!(f, "{program} is not installed"),
            Availability::Unreachable { program, why, .. } => {
                write!(
                    f,
                    "{} is out of the sandbox's reach: {why}",
                    program.display()
                )
            }
            Availability::Broken { program, said, .. } => {
                write!(
                    f,
                    "{} does not work in the sandbox: {said}",
                    program.display()
                )
            }
        }
    }
}

/// The tools of a suite, found and tried.
#[derive(Debug)]
pub(super) struct Tools {
    /// Each tool's path, which is the same inside and outside.
    pub(super) paths: BTreeMap<String, PathBuf>,
    /// What must be bound beside the system.
    pub(super) roots: Vec<PathBuf>,
    /// What the first says of itself, in one line.
    pub(super) version: String,
    /// All that tells these tools from others of the same names.
    pub(super) identity: String,
}

/// Finds all tools of the suite.
pub(super) fn find(supervisor: &Supervisor, suite: &Suite) -> Result<Tools, Availability> {
    let mut all = Tools {
        paths: BTreeMap::new(),
        roots: Vec::new(),
        version: String::new(),
        identity: String::new(),
    };
    for tool in &suite.tools {
        let found = find_one(supervisor, suite, tool)?;
        if all.version.is_empty() {
            all.version = found
                .version
                .lines()
                .map(str::trim)
                .find(|line| !line.is_empty())
                .unwrap_or("?")
                .to_owned();
        }
        all.identity.push_str(&format!(
            "{:?}\n{}\n{}\n",
            found.path, found.stamp, found.version
        ));
        all.paths.insert(tool.program.clone(), found.path);
        if let Some(root) = found.root.filter(|root| !all.roots.contains(root)) {
            all.roots.push(root);
        }
    }
    Ok(all)
}

struct Found {
    path: PathBuf,
    root: Option<PathBuf>,
    /// All that it said of its version.
    version: String,
    /// Size and time of its file.
    stamp: String,
}

/// The first one that works; if none does, why the first one does not.
fn find_one(supervisor: &Supervisor, suite: &Suite, tool: &Tool) -> Result<Found, Availability> {
    let mut why = None;
    for candidate in candidates(tool) {
        match try_one(supervisor, suite, tool, &candidate) {
            Ok(found) => return Ok(found),
            Err(unusable) => {
                why.get_or_insert(unusable);
            }
        }
    }
    Err(why.unwrap_or_else(|| Availability::Missing {
        program: tool.program.clone(),
        remedy: format!("apt install {}", tool.package),
    }))
}

/// Executables of this name, none twice.
fn candidates(tool: &Tool) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places: Vec<PathBuf> = if tool.program.starts_with('/') {
        vec![PathBuf::from(&tool.program)]
    } else {
        let of_system = DIRECTORIES
            .iter()
            .map(PathBuf::from)
            .chain(tool.directories.iter().map(PathBuf::from));
        let all = of_system.chain(std::env::split_paths(&path));
        all.filter(|directory| directory.is_absolute())
            .map(|directory| directory.join(&tool.program))
            .collect()
    };
    let mut seen = Vec::new();
    let executable = |path: &PathBuf| {
        path.metadata()
            .is_ok_and(|file| file.is_file() && file.mode() & 0o111 != 0)
    };
    let mut new = |path: &PathBuf| {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        let new = !seen.contains(&real);
        seen.push(real);
        new
    };
    places
        .into_iter()
        .filter(|path| executable(path) && new(path))
        .collect()
}

fn try_one(
    supervisor: &Supervisor,
    suite: &Suite,
    tool: &Tool,
    candidate: &Path,
) -> Result<Found, Availability> {
    let unreachable = |why: String| Availability::Unreachable {
        program: candidate.to_owned(),
        why,
        remedy: match &tool.hint {
            Some(hint) => format!("apt install {}, {hint}", tool.package),
            None => format!("apt install {}", tool.package),
        },
    };
    let broken = |said: String| Availability::Broken {
        program: candidate.to_owned(),
        said,
        remedy: format!("apt install --reinstall {}", tool.package),
    };
    let helpless = |said: String| Availability::Broken {
        program: candidate.to_owned(),
        said,
        remedy: "millibox doctor".to_owned(),
    };
    let real = candidate
        .canonicalize()
        .map_err(|error| broken(error.to_string()))?;
    let (path, root) = if in_system(&real) {
        // As it was found, where that can be seen: some programs look at the name they are called
        // by.
        (
            if in_system(candidate) {
                candidate.to_owned()
            } else {
                real.clone()
            },
            None,
        )
    } else {
        installation(tool, candidate, &real).map_err(|why| {
            match closed(&real, supervisor.info().ids()) {
                Some(closed) => unreachable(closed),
                None => broken(why),
            }
        })?
    };
    let roots: Vec<PathBuf> = root.iter().cloned().collect();
    let mut request = Request::new(&path)
        .args(tool.version.iter().cloned())
        .env("PATH", SEARCH_PATH)
        .world(&world(&surroundings(suite), &roots).map_err(&helpless)?)
        .real_time_limit(PATIENCE);
    for (name, value) in suite
        .compile
        .iter()
        .flat_map(|compile| &compile.surroundings.env)
    {
        request = request.env(name, value);
    }
    let captured = captured::run(supervisor, request, b"", 1 << 16).map_err(&helpless)?;
    let text = [captured.stdout, captured.stderr].concat();
    let said = printable(&text, text.len() as u64).trim().to_owned();
    match &captured.result.outcome {
        Outcome::Exited(0) => {}
        // Our user may be allowed more than the sandbox's: then this is all that is wrong.
        Outcome::NotStarted(error) => {
            return Err(
                match closed(root.as_deref().unwrap_or(&path), supervisor.info().ids()) {
                    Some(why) => unreachable(why),
                    None if refused(error) => unreachable(error.to_string()),
                    None if error.step == Step::Exec => broken(error.to_string()),
                    None => helpless(error.to_string()),
                },
            );
        }
        Outcome::SandboxError(error) => return Err(helpless(error.to_string())),
        _ if said.is_empty() => return Err(broken(captured.result.to_string())),
        _ => {
            return Err(broken(format!(
                "{}: {}",
                captured.result,
                said.lines().next().unwrap_or_default()
            )));
        }
    }
    let stamp = match path.metadata() {
        Ok(file) => format!("{} {} {}", file.size(), file.mtime(), file.mtime_nsec()),
        Err(error) => return Err(broken(error.to_string())),
    };
    Ok(Found {
        path,
        root,
        version: said,
        stamp,
    })
}

fn refused(error: &RunError) -> bool {
    error.errno == Some(rustix::io::Errno::ACCESS.raw_os_error())
}

/// What a tool sees when it is asked for its version: all that it sees at its work.
fn surroundings(suite: &Suite) -> Surroundings {
    let mut all = Surroundings {
        proc: true,
        scratch: 16 << 20,
        seccomp: "default".to_owned(),
        ..Default::default()
    };
    if let Some(compile) = &suite.compile {
        all.mounts
            .extend(compile.surroundings.mounts.iter().cloned());
    }
    all.mounts
        .extend(suite.run.surroundings.mounts.iter().cloned());
    all.mounts.sort();
    all.mounts.dedup();
    all
}

/// The executable of a tool outside of the system's directories, and what must be bound for it.
fn installation(
    tool: &Tool,
    candidate: &Path,
    real: &Path,
) -> Result<(PathBuf, Option<PathBuf>), String> {
    let root = match &tool.root {
        Root::Alone => return Ok((real.to_owned(), Some(real.to_owned()))),
        Root::Above(levels) => real
            .ancestors()
            .nth(*levels)
            .ok_or_else(|| format!("{} has no {levels} directories above it", real.display()))?
            .to_owned(),
        Root::Printed(arguments) => {
            let printed = ask(candidate, arguments)?;
            let root = PathBuf::from(&printed);
            root.canonicalize()
                .map_err(|error| format!("it says that it is installed in {printed:?}: {error}"))?
        }
    };
    // Not to show the sandbox more than was meant.
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .and_then(|home| home.canonicalize().ok());
    if root.iter().count() < 3 || home.is_some_and(|home| home.starts_with(&root)) {
        return Err(format!(
            "its installation {} is too much to be shown to strangers",
            root.display()
        ));
    }
    let inside = root
        .join("bin")
        .join(tool.program.rsplit('/').next().unwrap_or_default());
    let path = if inside.is_file() {
        inside
    } else {
        real.to_owned()
    };
    if !path.starts_with(&root) && !in_system(&path) {
        return Err(format!(
            "{} is not in its installation {}",
            path.display(),
            root.display()
        ));
    }
    let root = (!in_system(&root)).then_some(root);
    Ok((path, root))
}

/// What the tool prints, outside of the sandbox: it is the user's own, from their PATH.
fn ask(program: &Path, arguments: &[String]) -> Result<String, String> {
    let failed = |why: &dyn std::fmt::Display| {
        format!("{} {}: {why}", program.display(), arguments.join(" "))
    };
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(&error))?;
    // A path fits into the pipe, so it can be read when all is over.
    let end = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait().map_err(|error| failed(&error))? {
            Some(status) => break status,
            None if Instant::now() < end => std::thread::sleep(Duration::from_millis(2)),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(failed(&"it does not come to an end"));
            }
        }
    };
    let mut printed = [0; 4096];
    let length = match &child.stdout {
        Some(stdout) => rustix::io::read(stdout, &mut printed).map_err(|errno| failed(&errno))?,
        None => 0,
    };
    match std::str::from_utf8(&printed[..length]).map(str::trim) {
        Ok(path) if status.success() && path.starts_with('/') => Ok(path.to_owned()),
        Ok(text) if status.success() => {
            Err(failed(&format!("it printed {text:?}, which is no path")))
        }
        _ => Err(failed(&status)),
    }
}

/// The directory (or file) on the way to `path` that is closed to a user.
pub(super) fn closed(path: &Path, (uid, gid): (u32, u32)) -> Option<String> {
    let mut way: Vec<&Path> = path.ancestors().collect();
    way.reverse();
    way.into_iter().find_map(|place| {
        let metadata = place.metadata().ok()?;
        let shift = if metadata.uid() == uid {
            6
        } else if metadata.gid() == gid {
            3
        } else {
            0
        };
        let closed = metadata.mode() >> shift & 1 == 0;
        closed.then(|| {
            format!(
                "{} (mode {:o}) is closed to user {uid}",
                place.display(),
                metadata.mode() & 0o7777
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_closed_directory_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        let mode = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap()
        };
        mode(directory.path(), 0o755);
        mode(&inner, 0o700);
        let stranger = (directory.path().metadata().unwrap().uid() + 1, u32::MAX);
        let said = closed(&inner, stranger).unwrap();
        assert!(
            said.starts_with(&inner.display().to_string()) && said.contains("mode 700"),
            "{said}"
        );
        assert_eq!(closed(&inner, (stranger.0 - 1, u32::MAX)), None);
        mode(&inner, 0o711);
        assert_eq!(closed(&inner, stranger), None);
    }

    #[test]
    fn a_tool_says_where_it_lies() {
        let ask = |script: &str| ask(Path::new("/bin/sh"), &["-c".to_owned(), script.to_owned()]);
        assert_eq!(ask("echo /opt/x"), Ok("/opt/x".to_owned()));
        assert!(ask("echo x").unwrap_err().contains("no path"));
        assert!(ask("echo /x; exit 3").unwrap_err().contains("3"));
    }

    #[test]
    fn a_home_is_not_shown() {
        let Some(home) = std::env::var_os("HOME")
            .map(PathBuf::from)
            .and_then(|home| home.canonicalize().ok())
        else {
            return;
        };
        let tool = |root| Tool {
            program: "x".into(),
            directories: Vec::new(),
            package: "x".into(),
            version: Vec::new(),
            root,
            hint: None,
        };
        let real = home.join("bin/x");
        let why = installation(&tool(Root::Above(2)), &real, &real).unwrap_err();
        assert!(why.contains("too much"), "{why}");
        let alone = installation(&tool(Root::Alone), &real, &real).unwrap();
        assert_eq!(alone, (real.clone(), Some(real)));
    }
}
