//! Finds the tools of a suite, and starts them in the sandbox.

use super::availability::{
    Availability, InstallationFault, Obstacle, QueryFault, Remedy, ToolFault,
};
use super::captured;
use super::error::first_line;
use super::messages::printable;
use super::reach::find_closed;
use super::world::{in_system, world};
use crate::suite::{Root, Suite, Surroundings, Tool};
use millibox::{Outcome, Request, RunError, Step, Supervisor};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Directories that are searched first. They are the same for every user, and the sandbox's user
/// can reach them.
const SYSTEM_DIRECTORIES: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];
/// PATH of all compilers and programs.
pub(super) const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// A tool that needs more time to print its version or root is considered broken.
const TOOL_TIMEOUT: Duration = Duration::from_secs(20);

/// Maximum number of bytes of a version that are read.
const MAX_VERSION_BYTES: u64 = 1 << 16;

/// The tools of a suite, which work in the sandbox.
#[derive(Debug)]
pub(super) struct Tools {
    /// Path of each tool, which is the same inside and outside the sandbox.
    pub(super) paths: BTreeMap<String, PathBuf>,
    /// Installations to mount in addition to the system.
    pub(super) roots: Vec<PathBuf>,
    /// The first line of the first tool's version.
    pub(super) version: String,
    /// Paths, stamps and versions, which distinguish these tools from others with the same names.
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

struct UsableTool {
    path: PathBuf,
    root: Option<PathBuf>,
    /// Everything that the tool printed about its version.
    version: String,
    /// Size and modification time of the executable.
    stamp: String,
}

/// Returns the first candidate that works. If none works, the error describes the first candidate.
fn find_one(
    supervisor: &Supervisor,
    suite: &Suite,
    tool: &Tool,
) -> Result<UsableTool, Availability> {
    let mut first_error = None;
    for candidate in candidates(tool) {
        match try_one(supervisor, suite, tool, &candidate) {
            Ok(found) => return Ok(found),
            Err(unusable) => {
                first_error.get_or_insert(unusable);
            }
        }
    }
    Err(first_error.unwrap_or_else(|| Availability::Missing {
        program: tool.program.clone(),
        remedy: Remedy::Install {
            package: tool.package.clone(),
            hint: None,
        },
    }))
}

/// Returns the executables with the name of the tool, without duplicates.
fn candidates(tool: &Tool) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places: Vec<PathBuf> = if tool.program.starts_with('/') {
        vec![PathBuf::from(&tool.program)]
    } else {
        let of_system = SYSTEM_DIRECTORIES
            .iter()
            .map(PathBuf::from)
            .chain(tool.directories.iter().map(PathBuf::from));
        let all = of_system.chain(std::env::split_paths(&path));
        all.filter(|directory| directory.is_absolute())
            .map(|directory| directory.join(&tool.program))
            .collect()
    };
    let mut seen = Vec::new();
    let mode = if tool.executable { 0o111 } else { 0o444 };
    let usable = |path: &PathBuf| {
        path.metadata()
            .is_ok_and(|file| file.is_file() && file.mode() & mode != 0)
    };
    let mut new = |path: &PathBuf| {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        let new = !seen.contains(&real);
        seen.push(real);
        new
    };
    places
        .into_iter()
        .filter(|path| usable(path) && new(path))
        .collect()
}

fn try_one(
    supervisor: &Supervisor,
    suite: &Suite,
    tool: &Tool,
    candidate: &Path,
) -> Result<UsableTool, Availability> {
    let unreachable = |reason: Obstacle| Availability::Unreachable {
        program: candidate.to_owned(),
        reason,
        remedy: Remedy::Install {
            package: tool.package.clone(),
            hint: tool.hint.clone(),
        },
    };
    let broken = |reason: ToolFault| Availability::Broken {
        program: candidate.to_owned(),
        reason: Box::new(reason),
        remedy: Remedy::Reinstall {
            package: tool.package.clone(),
        },
    };
    let sandbox_fails = |reason: ToolFault| Availability::Broken {
        program: candidate.to_owned(),
        reason: Box::new(reason),
        remedy: Remedy::Doctor,
    };
    let real = candidate
        .canonicalize()
        .map_err(|error| broken(ToolFault::Io(error.into())))?;
    let (path, root) = if in_system(&real) {
        // Keep the path that was found if it exists in the sandbox, because the behaviour of some
        // programs depends on the name.
        (
            if in_system(candidate) {
                candidate.to_owned()
            } else {
                real.clone()
            },
            None,
        )
    } else {
        installation(tool, candidate, &real).map_err(|fault| {
            match find_closed(&real, supervisor.info().ids()) {
                Some(closed) => unreachable(Obstacle::Closed(closed)),
                None => broken(fault.into()),
            }
        })?
    };
    let stamp = match path.metadata() {
        Ok(file) => format!("{} {} {}", file.size(), file.mtime(), file.mtime_nsec()),
        Err(error) => return Err(broken(ToolFault::Io(error.into()))),
    };
    if !tool.executable {
        return Ok(UsableTool {
            path,
            root,
            version: String::new(),
            stamp,
        });
    }
    let roots: Vec<PathBuf> = root.iter().cloned().collect();
    let world = world(&surroundings(suite), &roots)
        .map_err(|error| sandbox_fails(ToolFault::World(error)))?;
    let mut request = Request::new(&path)
        .args(tool.version.iter().cloned())
        .env("PATH", SEARCH_PATH)
        .world(&world)
        .real_time_limit(TOOL_TIMEOUT);
    for (name, value) in suite
        .compile
        .iter()
        .flat_map(|compile| &compile.surroundings.env)
    {
        request = request.env(name, value);
    }
    let captured = captured::run(supervisor, request, b"", MAX_VERSION_BYTES)
        .map_err(|failure| sandbox_fails(ToolFault::Run(failure)))?;
    let text = [captured.stdout, captured.stderr].concat();
    let version = printable(&text, text.len() as u64).trim().to_owned();
    match captured.result.outcome {
        Outcome::Exited(0) => {}
        Outcome::NotStarted(error) => {
            // This user may have more rights than the sandbox's user. The only possible reason is
            // then a directory that the sandbox's user may not enter.
            let place = root.as_deref().unwrap_or(&path);
            return Err(match find_closed(place, supervisor.info().ids()) {
                Some(closed) => unreachable(Obstacle::Closed(closed)),
                None if is_permission_denied(&error) => {
                    unreachable(Obstacle::Denied(Box::new(error)))
                }
                None if error.step == Step::Exec => broken(ToolFault::NotRun(error)),
                None => sandbox_fails(ToolFault::NotRun(error)),
            });
        }
        Outcome::SandboxError(error) => return Err(sandbox_fails(ToolFault::NotRun(error))),
        _ => {
            return Err(broken(ToolFault::Version {
                result: captured.result,
                message: first_line(&version),
            }));
        }
    }
    Ok(UsableTool {
        path,
        root,
        version,
        stamp,
    })
}

fn is_permission_denied(error: &RunError) -> bool {
    error.errno == Some(rustix::io::Errno::ACCESS.raw_os_error())
}

/// What a tool sees when it prints its version. This is everything that it sees when it compiles or
/// runs.
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

/// Returns the executable of a tool outside the system's directories, and the directory to mount.
fn installation(
    tool: &Tool,
    candidate: &Path,
    real: &Path,
) -> Result<(PathBuf, Option<PathBuf>), InstallationFault> {
    let root = match &tool.root {
        Root::Alone => return Ok((real.to_owned(), Some(real.to_owned()))),
        Root::Above(levels) => real
            .ancestors()
            .nth(*levels)
            .ok_or_else(|| InstallationFault::NoDirectory {
                executable: real.to_owned(),
                levels: *levels,
            })?
            .to_owned(),
        Root::Printed(arguments) => {
            let printed = query(candidate, arguments)?;
            Path::new(&printed)
                .canonicalize()
                .map_err(|error| InstallationFault::Printed {
                    printed,
                    cause: error.into(),
                })?
        }
    };
    // A wrong root must not expose the files of users.
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .and_then(|home| home.canonicalize().ok());
    if root.iter().count() < 3 || home.is_some_and(|home| home.starts_with(&root)) {
        return Err(InstallationFault::TooLarge(root));
    }
    let inside = root
        .join("bin")
        .join(Path::new(&tool.program).file_name().unwrap_or_default());
    let path = if inside.is_file() {
        inside
    } else {
        real.to_owned()
    };
    if !path.starts_with(&root) && !in_system(&path) {
        return Err(InstallationFault::Outside {
            executable: path,
            root,
        });
    }
    let root = (!in_system(&root)).then_some(root);
    Ok((path, root))
}

/// Returns the path that a tool prints. The tool runs outside the sandbox, because it belongs to
/// the user and comes from the user's PATH.
fn query(program: &Path, arguments: &[String]) -> Result<String, InstallationFault> {
    query_path(program, arguments).map_err(|fault| InstallationFault::Query {
        command: format!("{} {}", program.display(), arguments.join(" ")),
        fault,
    })
}

fn query_path(program: &Path, arguments: &[String]) -> Result<String, QueryFault> {
    let io = |error: std::io::Error| QueryFault::Io(error.into());
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(io)?;
    // A path fits into the pipe, so it can be read after the tool has exited.
    let end = Instant::now() + TOOL_TIMEOUT;
    let status = loop {
        match child.try_wait().map_err(io)? {
            Some(status) => break status,
            None if Instant::now() < end => std::thread::sleep(Duration::from_millis(2)),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(QueryFault::Timeout);
            }
        }
    };
    let mut printed = [0; 4096];
    let length = match &child.stdout {
        Some(stdout) => rustix::io::read(stdout, &mut printed).map_err(QueryFault::Read)?,
        None => 0,
    };
    match std::str::from_utf8(&printed[..length]).map(str::trim) {
        Ok(path) if status.success() && path.starts_with('/') => Ok(path.to_owned()),
        Ok(text) if status.success() => Err(QueryFault::NoPath(text.to_owned())),
        _ => Err(QueryFault::Failed(status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_returns_printed_path_only() {
        let query =
            |script: &str| query_path(Path::new("/bin/sh"), &["-c".to_owned(), script.to_owned()]);
        assert_eq!(query("echo /opt/x"), Ok("/opt/x".to_owned()));
        assert_eq!(query("echo x"), Err(QueryFault::NoPath("x".to_owned())));
        let Err(QueryFault::Failed(status)) = query("echo /x; exit 3") else {
            panic!("a failed command printed a path")
        };
        assert_eq!(status.code(), Some(3));
    }

    #[test]
    fn installation_with_home_is_rejected() {
        let Some(home) = std::env::var_os("HOME")
            .map(PathBuf::from)
            .and_then(|home| home.canonicalize().ok())
        else {
            return;
        };
        let tool = |root| Tool {
            program: "x".into(),
            executable: true,
            directories: Vec::new(),
            package: "x".into(),
            version: Vec::new(),
            root,
            hint: None,
        };
        let real = home.join("bin/x");
        assert_eq!(
            installation(&tool(Root::Above(2)), &real, &real),
            Err(InstallationFault::TooLarge(home))
        );
        let alone = installation(&tool(Root::Alone), &real, &real).unwrap();
        assert_eq!(alone, (real.clone(), Some(real)));
    }
}
