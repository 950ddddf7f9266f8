//! The files that commands see: those of the machine that the languages need, or those that
//! go-judge's `mount.yaml` describes.

use super::mount_file::{FileMount, Mistake, MountFault, MountFile, MountFileError, read_text};
use crate::config::{GoJudgeConfig, TmpfsOptions};
use crate::core::engine::Lane;
use crate::core::program::usual_world;
use crate::service::Service;
use millibox::{BindMount, Mount, Network, Outcome, Request, RunResult, Step, TmpfsMount, World};
use rustix::io::Errno;
use std::ffi::OsString;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The working directory of commands, unless a `mount.yaml` sets a different one.
const WORK_DIRECTORY: &str = "/w";
/// The size of a tmpfs for which a `mount.yaml` sets none.
const DIRECTORY_BYTES: u64 = 128 << 20;
/// The number of files in a tmpfs without `nr_inodes`.
const DIRECTORY_INODES: u64 = 4 << 10;
/// The user and group that `/config` reports.
const USER: u32 = 1000;
/// The host name and the domain name of every run.
const HOST_NAME: &str = "millibox";
const DOMAIN_NAME: &str = "(none)";
/// The file with variables of all commands.
const VARIABLES: &str = "/.env";
/// The names of a run's procfs, besides the directories of processes.
const PROC_NAMES: [&str; 12] = [
    "cpuinfo",
    "filesystems",
    "loadavg",
    "meminfo",
    "mounts",
    "net",
    "self",
    "stat",
    "sys",
    "thread-self",
    "uptime",
    "version",
];
/// The links and masked paths of a file that names none.
const LINKS: [(&str, &str); 4] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];
const MASKS: [&str; 4] = [
    "/sys/firmware",
    "/sys/devices/virtual/powercap",
    "/usr/lib/wsl/drivers",
    "/usr/lib/wsl/lib",
];
/// The time limit of the trial run at the start.
const TRIAL_TIME_LIMIT: Duration = Duration::from_secs(10);

/// The files that commands see.
#[derive(Debug)]
pub struct FileSystem {
    world: World,
    /// The `mount.yaml` that describes the world.
    file: Option<PathBuf>,
    /// The working directory, which is a tmpfs.
    pub(super) work_directory: PathBuf,
    /// The size of the working directory, in bytes.
    pub(super) work_bytes: u64,
    /// The size of all directories that commands can write to, in bytes.
    pub(super) bytes: u64,
    /// Variables of all commands.
    pub(super) variables: Vec<(OsString, OsString)>,
    /// The user and group that `/config` reports.
    pub(super) ids: (u32, u32),
}

/// Why the files that commands see cannot be provided.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileSystemError {
    /// The `mount.yaml` cannot be used.
    #[error(transparent)]
    File(#[from] MountFileError),
    /// The sandbox does not work.
    #[error(transparent)]
    Sandbox(#[from] millibox::Error),
    /// The mounts cannot be made.
    #[error("{}: {result}", .file.display())]
    Trial {
        /// The `mount.yaml`.
        file: PathBuf,
        /// The result of a run with these mounts.
        result: RunResult,
    },
}

impl FileSystem {
    /// The files that the configuration chooses.
    ///
    /// # Errors
    /// The `mount.yaml` cannot be read, or contains a mistake.
    pub fn new(config: &GoJudgeConfig) -> Result<FileSystem, MountFileError> {
        match &config.mount_conf {
            Some(path) => FileSystem::from_file(path, MountFile::read(path)?),
            None => Ok(FileSystem::usual(config.tmp_fs_param)),
        }
    }

    fn usual(options: TmpfsOptions) -> FileSystem {
        let world = World::standard()
            .mounts()
            .iter()
            .filter(|mount| mount.path() != "/tmp")
            .fold(World::empty(), |world, mount| world.mount(mount.clone()))
            .mount(tmpfs("/tmp".as_ref(), options))
            .mount(tmpfs(WORK_DIRECTORY.as_ref(), options));
        let work_bytes = options.size.unwrap_or(DIRECTORY_BYTES);
        FileSystem {
            world,
            file: None,
            work_directory: WORK_DIRECTORY.into(),
            work_bytes,
            bytes: work_bytes.saturating_mul(2),
            variables: Vec::new(),
            ids: (USER, USER),
        }
    }

    fn from_file(path: &Path, file: MountFile) -> Result<FileSystem, MountFileError> {
        check_settings(&file).map_err(|mistake| mistake.in_file(path))?;
        let mut found = FileSystem {
            world: World::empty().network(Network::Loopback),
            file: Some(path.to_owned()),
            work_directory: WORK_DIRECTORY.into(),
            work_bytes: 0,
            bytes: 0,
            variables: Vec::new(),
            ids: (file.uid.unwrap_or(USER), file.gid.unwrap_or(USER)),
        };
        let mut binds: Vec<(&Path, &Path)> = Vec::new();
        // The targets of all mounts, with the size of each tmpfs.
        let mut targets: Vec<(&Path, Option<u64>)> = Vec::new();
        for mount in &file.mounts {
            let wrong = |fault: MountFault| Mistake::new(mount.line, fault).in_file(path);
            match &mount.value {
                FileMount::Bind {
                    source,
                    target,
                    read_only,
                } => {
                    let Some(bind) = bind(source, target, *read_only).map_err(wrong)? else {
                        tracing::info!(source = %source.display(), "a mount has no source");
                        continue;
                    };
                    if target == Path::new(VARIABLES) {
                        let text = read_text(source)?;
                        found.variables = variables(source, &text).map_err(wrong)?;
                    }
                    targets.push((target, None));
                    binds.push((target, source));
                    found.world = found.world.mount(bind);
                }
                FileMount::Tmpfs { target, options } => {
                    let size = options.size.unwrap_or(DIRECTORY_BYTES);
                    targets.push((target, Some(size)));
                    found.world = found.world.mount(tmpfs(target, *options));
                }
            }
        }
        let sizes = targets.iter().filter_map(|(_, size)| *size);
        found.bytes = sizes.fold(0, u64::saturating_add);
        let at = file.work_directory.as_ref();
        if let Some(at) = at {
            found.work_directory.clone_from(&at.value);
        }
        // A later mount covers an earlier one with the same target.
        let mut work = targets.iter().rev();
        let work = work.find(|(target, _)| *target == found.work_directory);
        found.work_bytes = work.and_then(|(_, size)| *size).ok_or_else(|| {
            let fault = MountFault::WorkDirectory(found.work_directory.clone());
            Mistake::new(at.map_or(1, |at| at.line), fault).in_file(path)
        })?;
        if file.has_proc {
            found.world = found.world.mount(Mount::proc("/proc").system_files());
        }
        let links = links(&file);
        for (path, target) in &links {
            found.world = found.world.mount(Mount::symlink(target, path));
        }
        let usual = MASKS.iter().map(|mask| (1, Path::new(mask)));
        let named = file.masks.iter().map(|it| (it.line, it.value.as_path()));
        let masks: Vec<(u32, &Path)> = match file.masks.is_empty() {
            true => usual.collect(),
            false => named.collect(),
        };
        for (line, masked) in masks {
            let mask =
                mask(masked, &binds, &links).map_err(|it| Mistake::new(line, it).in_file(path))?;
            if let Some(mask) = mask {
                found.world = found.world.mount(mask);
            }
        }
        if let Some(uid) = file.uid {
            found.world = found.world.uid(uid);
        }
        if let Some(gid) = file.gid {
            found.world = found.world.gid(gid);
        }
        Ok(found)
    }

    /// The world of a command with this memory limit.
    pub(super) fn world(&self, memory_bytes: Option<u64>) -> World {
        let world = self.world.clone();
        match (&self.file, memory_bytes) {
            (None, memory_bytes) => usual_world(world, memory_bytes),
            (Some(_), Some(bytes)) => world.memory(bytes),
            (Some(_), None) => world,
        }
    }

    /// Mounts everything that a `mount.yaml` describes, so that the operator sees an error at the
    /// start, before any client does.
    ///
    /// # Errors
    /// A mount fails, or the sandbox does not work.
    pub fn try_on(&self, service: &Service) -> Result<(), FileSystemError> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        // The directory is not executed, but only after all mounts.
        let request = Request::new(&self.work_directory)
            .world(&self.world(None))
            .current_dir(&self.work_directory)
            .real_time_limit(TRIAL_TIME_LIMIT);
        let supervisor = service.programs.engine.supervisor(Lane::CpuTime)?;
        let result = supervisor.run(&request)?.wait()?;
        match &result.outcome {
            Outcome::NotStarted(error) if error.step == Step::Exec => Ok(()),
            _ => Err(FileSystemError::Trial {
                file: file.clone(),
                result,
            }),
        }
    }
}

fn tmpfs(at: &Path, options: TmpfsOptions) -> TmpfsMount {
    Mount::tmpfs(at)
        .size_limit(options.size.unwrap_or(DIRECTORY_BYTES))
        .mode(options.mode.unwrap_or(0o777))
        .inode_limit(options.inodes.unwrap_or(DIRECTORY_INODES))
}

/// Checks the settings that every run has in the same way.
fn check_settings(file: &MountFile) -> Result<(), Mistake> {
    if let Some(at) = &file.writable_proc {
        return Err(Mistake::new(at.line, MountFault::WritableProc));
    }
    let loopback = ["ip", "link", "set", "dev", "lo", "up"];
    if let Some(command) = &file.init_command
        && !command.value.split_whitespace().eq(loopback)
    {
        return Err(Mistake::new(command.line, MountFault::InitCommand));
    }
    let names = [
        ("hostName", &file.host_name, HOST_NAME),
        ("domainName", &file.domain_name, DOMAIN_NAME),
    ];
    for (key, named, name) in names {
        if let Some(named) = named
            && named.value != name
        {
            let fault = MountFault::Name { key, name };
            return Err(Mistake::new(named.line, fault));
        }
    }
    Ok(())
}

/// A bind mount, or `None` if its source does not exist, as in go-judge. The mount is of the path
/// that was checked here: a program that can write to a directory of the path could put a link to
/// another file there later.
fn bind(source: &Path, target: &Path, read_only: bool) -> Result<Option<BindMount>, MountFault> {
    let found = source
        .canonicalize()
        .and_then(|real| Ok((source.metadata()?, real)));
    let (metadata, real) = match found {
        Ok(found) => found,
        Err(error) if error.raw_os_error() == Some(Errno::NOENT.raw_os_error()) => {
            return Ok(None);
        }
        Err(error) => {
            let path = source.to_owned();
            return Err(MountFault::Source { path, error });
        }
    };
    let kind = metadata.file_type();
    if real == Path::new("/") || real.starts_with("/proc") {
        return Err(MountFault::Host(source.to_owned()));
    }
    if kind.is_dir() && real.starts_with("/dev") {
        return Err(MountFault::Devices(source.to_owned()));
    }
    if kind.is_char_device() {
        return Ok(Some(Mount::device(&real, target).no_follow()));
    }
    if !kind.is_dir() && !kind.is_file() {
        return Err(MountFault::Special(source.to_owned()));
    }
    Ok(Some(match read_only {
        true => Mount::read_only(&real, target).no_follow(),
        false => Mount::read_write(&real, target).no_follow(),
    }))
}

/// The links of a file: their paths and targets.
fn links(file: &MountFile) -> Vec<(&Path, &Path)> {
    let usual = LINKS.iter();
    let usual = usual.map(|(path, target)| (Path::new(path), Path::new(target)));
    let named = file.links.iter().map(|link| &link.value);
    let named = named.map(|link| (link.path.as_path(), link.target.as_path()));
    match file.links.is_empty() {
        true => usual.collect(),
        false => named.collect(),
    }
}

/// Hides a path, or returns `None` if it does not exist. `binds` are targets and sources. A path
/// below a link would have to be hidden where the link leads to.
fn mask(
    path: &Path,
    binds: &[(&Path, &Path)],
    links: &[(&Path, &Path)],
) -> Result<Option<Mount>, MountFault> {
    if links.iter().any(|(link, _)| path.starts_with(link)) {
        return Err(MountFault::MaskBelowLink(path.to_owned()));
    }
    if let Ok(below) = path.strip_prefix("/proc") {
        let is_shown = match below.components().next() {
            Some(name) => PROC_NAMES.iter().any(|shown| name.as_os_str() == *shown),
            None => true,
        };
        return match is_shown {
            true => Err(MountFault::Mask(path.to_owned())),
            // A run's procfs does not have it.
            false => Ok(None),
        };
    }
    let sources = binds.iter().filter_map(|(target, source)| {
        let below = path.strip_prefix(target).ok()?;
        // A file joined with nothing would be looked up as a directory.
        let source = match below.as_os_str().is_empty() {
            true => source.to_path_buf(),
            false => source.join(below),
        };
        Some((target.components().count(), source))
    });
    let Some((_, source)) = sources.max_by_key(|(depth, _)| *depth) else {
        return Ok(None);
    };
    let metadata = match source.metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let path = source;
            return Err(MountFault::Source { path, error });
        }
    };
    Ok(Some(match metadata.is_dir() {
        true => Mount::tmpfs(path).read_only().into(),
        false => Mount::device("/dev/null", path).into(),
    }))
}

/// The variables in a file.
fn variables(path: &Path, text: &str) -> Result<Vec<(OsString, OsString)>, MountFault> {
    let lines = text.lines().map(str::trim).enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|(index, line)| {
            let variable = line
                .split_once('=')
                .filter(|(name, _)| !name.is_empty() && !line.contains('\0'))
                .map(|(name, value)| (name.into(), value.into()));
            variable.ok_or_else(|| MountFault::Variable {
                path: path.to_owned(),
                line: index + 1,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The world of a file, or the line and the fault of its mistake.
    fn read(text: &str) -> Result<FileSystem, MountFileError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mount.yaml");
        std::fs::write(&path, text).unwrap();
        FileSystem::from_file(&path, MountFile::read(&path)?)
    }

    #[test]
    fn faults_of_values_are_named() {
        const WORK: &str = "mount:\n- {type: tmpfs, target: /w}\n";
        let fault = |text: &str| match read(&format!("{WORK}{text}")) {
            Err(MountFileError::Value { line, fault, .. }) => (line, fault),
            other => panic!("{text}: {other:?}"),
        };
        let bound =
            |source: &str| fault(&format!("- {{type: bind, source: {source}, target: /a}}"));
        for source in ["/proc", "/proc/self", "/"] {
            assert!(matches!(bound(source), (3, MountFault::Host(_))));
        }
        assert!(matches!(bound("/dev"), (3, MountFault::Devices(_))));
        assert!(matches!(
            fault("procrw: true"),
            (3, MountFault::WritableProc)
        ));
        assert!(matches!(fault("initCmd: ls"), (3, MountFault::InitCommand)));
        assert!(matches!(fault("hostName: a"), (3, MountFault::Name { .. })));
        assert!(matches!(
            fault("domainName: a"),
            (3, MountFault::Name { .. })
        ));
        assert!(matches!(
            fault("workDir: /a"),
            (3, MountFault::WorkDirectory(_))
        ));
        assert!(matches!(
            fault("maskPath: [/proc/stat]"),
            (3, MountFault::Mask(_))
        ));
        read(&format!(
            "{WORK}maskPath: [/proc/kcore, /usr/none]\nhostName: millibox"
        ))
        .unwrap();
        read(&format!("{WORK}initCmd: ip link set dev lo up")).unwrap();
    }

    #[test]
    fn sources_that_do_not_exist_are_left_out() {
        let found = read(
            "mount:\n- {type: tmpfs, target: /w, data: size=1m}\n\
             - {type: tmpfs, target: /tmp, data: size=2m}\n\
             - {type: bind, source: missing, target: /a}\n\
             - {type: bind, source: /usr, target: /b}\n",
        )
        .unwrap();
        assert_eq!((found.work_bytes, found.bytes), (1 << 20, 3 << 20));
        let has = |path: &str| {
            found
                .world
                .mounts()
                .iter()
                .any(|mount| mount.path() == path)
        };
        assert_eq!((has("/a"), has("/b"), has("/dev/fd")), (false, true, true));
    }

    #[test]
    fn masks_hide_only_what_exists() {
        let binds = [
            (Path::new("/a"), Path::new("/usr")),
            (Path::new("/env"), Path::new("/usr/bin/env")),
        ];
        let links = [(Path::new("/lib"), Path::new("usr/lib"))];
        let masks = |path: &str| mask(path.as_ref(), &binds, &links).unwrap();
        assert!(matches!(masks("/env"), Some(Mount::Bind(_))));
        let error = mask("/lib/x".as_ref(), &binds, &links).unwrap_err();
        assert!(matches!(error, MountFault::MaskBelowLink(_)), "{error}");
        assert!(matches!(masks("/a/bin"), Some(Mount::Tmpfs(_))));
        assert!(matches!(masks("/a/bin/env"), Some(Mount::Bind(_))));
        assert!(masks("/a/none").is_none() && masks("/b").is_none());
    }

    #[test]
    fn variables_are_lines_of_a_file() {
        let path = Path::new("/srv/env");
        let found = variables(path, "# a\n\nA=1\n B=2=3 \n").unwrap();
        let expected = [("A", "1"), ("B", "2=3")].map(|(a, b)| (a.into(), b.into()));
        assert_eq!(found, expected);
        let error = variables(path, "A=1\nB").unwrap_err();
        assert!(matches!(error, MountFault::Variable { line: 2, .. }));
    }
}
