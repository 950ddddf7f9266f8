//! Reads go-judge's `mount.yaml`: its keys, their types, and the line of each value. `file_system`
//! decides what the values mean.

use crate::config::{TmpfsError, TmpfsOptions};
use millibox_package::Faults;
use millibox_package::yaml::{self, Node, Value};
use std::path::{Path, PathBuf};

/// The largest file that is read.
const MAX_FILE_BYTES: u64 = 1 << 20;
const KEYS: &[&str] = &[
    "mount",
    "symLink",
    "maskPath",
    "initCmd",
    "workDir",
    "hostName",
    "domainName",
    "uid",
    "gid",
    "proc",
    "procrw",
];
const MOUNT_KEYS: &[&str] = &["type", "source", "target", "readonly", "data"];
const LINK_KEYS: &[&str] = &["linkPath", "target"];

/// A value with its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct At<T> {
    pub line: u32,
    pub value: T,
}

/// The content of a file.
#[derive(Debug, Default)]
pub(super) struct MountFile {
    pub mounts: Vec<At<FileMount>>,
    pub links: Vec<At<FileLink>>,
    pub masks: Vec<At<PathBuf>>,
    pub init_command: Option<At<String>>,
    pub work_directory: Option<At<PathBuf>>,
    pub host_name: Option<At<String>>,
    pub domain_name: Option<At<String>>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    pub has_proc: bool,
    pub writable_proc: Option<At<()>>,
}

/// An entry of `mount`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileMount {
    Bind {
        source: PathBuf,
        target: PathBuf,
        read_only: bool,
    },
    Tmpfs {
        target: PathBuf,
        options: TmpfsOptions,
    },
}

/// An entry of `symLink`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileLink {
    pub path: PathBuf,
    pub target: PathBuf,
}

/// Why a `mount.yaml` cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MountFileError {
    /// The file, or a file that it names, cannot be read.
    #[error("cannot read {}: {error}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        error: std::io::Error,
    },
    /// The file is too large.
    #[error(
        "{} has more than {max_bytes} bytes; set mount_conf to the path of go-judge's mount.yaml",
        .path.display()
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The largest size.
        max_bytes: u64,
    },
    /// The file is not valid YAML.
    #[error(transparent)]
    Syntax(#[from] Faults),
    /// A value of the file cannot be used.
    #[error("{}:{line}: {fault}", .path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u32,
        /// The mistake.
        fault: MountFault,
    },
}

/// Why a value of a `mount.yaml` cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MountFault {
    /// A value has a wrong type.
    #[error("{name} must be {expected}")]
    Type {
        /// The name of the value.
        name: &'static str,
        /// The expected type.
        expected: &'static str,
    },
    /// The key is unknown.
    #[error("{key:?} is not a key of {of}; the keys are {}", .known.join(", "))]
    Key {
        /// The key.
        key: String,
        /// The map in which it stands.
        of: &'static str,
        /// The known keys.
        known: &'static [&'static str],
    },
    /// The key occurs twice.
    #[error("the key {0:?} occurs twice; remove one of the two lines")]
    Repeated(String),
    /// A key is missing.
    #[error("{of} needs the key {key}")]
    Missing {
        /// The missing key.
        key: &'static str,
        /// The map that needs it.
        of: &'static str,
    },
    /// The type of a mount is unknown.
    #[error("{0:?} is not a type of mount; use bind or tmpfs")]
    Kind(String),
    /// The options of a tmpfs are invalid.
    #[error(transparent)]
    Options(#[from] TmpfsError),
    /// A path in the sandbox is invalid.
    #[error("{} is not a path in the sandbox; write an absolute path without ..", .0.display())]
    Path(PathBuf),
    /// The source is a part of the host that commands must not see.
    #[error(
        "{} would show processes of the host; write `proc: true`, and bind only the files and \
         directories that commands need", .0.display()
    )]
    Host(PathBuf),
    /// The source is a directory of devices.
    #[error(
        "devices below {} cannot be used through their directory; bind each device, such as \
         /dev/null, and write a tmpfs for /dev/shm", .0.display()
    )]
    Devices(PathBuf),
    /// The source is neither a file nor a directory.
    #[error(
        "{} is a socket, a pipe or a block device; bind only files, directories and character \
         devices", .0.display()
    )]
    Special(PathBuf),
    /// The source cannot be examined.
    #[error("cannot examine {}: {error}; make it accessible to the service", .path.display())]
    Source {
        /// The source.
        path: PathBuf,
        /// The kernel's error.
        error: std::io::Error,
    },
    /// A line of the file with variables is invalid.
    #[error("line {line} of {} is not NAME=VALUE, or has a NUL character", .path.display())]
    Variable {
        /// The file that is bound to /.env.
        path: PathBuf,
        /// Its line, counted from 1.
        line: usize,
    },
    /// The working directory is not a tmpfs.
    #[error(
        "the working directory {} must be a tmpfs; add a mount with `type: tmpfs` and this target",
        .0.display()
    )]
    WorkDirectory(PathBuf),
    /// A file that the service writes for each run cannot be masked.
    #[error("{} describes only the run, and cannot be masked; remove this line", .0.display())]
    Mask(PathBuf),
    /// The path is below a link, where nothing can be mounted.
    #[error("{} is below a link; mask the path to which the link leads", .0.display())]
    MaskBelowLink(PathBuf),
    /// Names of hosts cannot be chosen.
    #[error("the {key} of all commands is {name:?}; remove this line")]
    Name {
        /// The key.
        key: &'static str,
        /// The name that commands see.
        name: &'static str,
    },
    /// /proc cannot be made writable.
    #[error("/proc is always read-only; remove procrw, and write `proc: true`")]
    WritableProc,
    /// No command can be executed before the first one.
    #[error(
        "initCmd is not supported, because each command has a sandbox of its own; remove this \
         line. The loopback interface is already up"
    )]
    InitCommand,
}

/// A mistake and its line.
pub(super) type Mistake = At<MountFault>;

impl Mistake {
    pub fn new(line: u32, value: impl Into<MountFault>) -> Mistake {
        At {
            line,
            value: value.into(),
        }
    }

    pub fn in_file(self, path: &Path) -> MountFileError {
        MountFileError::Value {
            path: path.to_owned(),
            line: self.line,
            fault: self.value,
        }
    }
}

impl MountFile {
    /// Reads a file. Relative sources begin at the directory of the file.
    ///
    /// # Errors
    /// The file cannot be read, or contains a mistake.
    pub fn read(path: &Path) -> Result<MountFile, MountFileError> {
        let text = read_text(path)?;
        let directory = std::path::absolute(path).map_err(|error| MountFileError::Read {
            path: path.to_owned(),
            error,
        })?;
        let directory = directory.parent().unwrap_or(Path::new("/"));
        match yaml::read(path, &text)? {
            Some(node) => MountFile::parse(&node, directory).map_err(|it| it.in_file(path)),
            None => Ok(MountFile::default()),
        }
    }

    fn parse(node: &Node, directory: &Path) -> Result<MountFile, Mistake> {
        let keys = Keys::of(node, "the file", KEYS)?;
        let mounts = keys.list("mount")?.iter();
        let links = keys.list("symLink")?.iter();
        let masks = keys.list("maskPath")?.iter();
        let mask = |node: &Node| -> Result<At<PathBuf>, Mistake> {
            Ok(At {
                line: node.line(),
                value: inside(scalar(node, "maskPath")?.into(), node.line())?,
            })
        };
        let writable_proc = keys.flag("procrw")?.filter(|flag| flag.value);
        Ok(MountFile {
            mounts: mounts
                .map(|node| FileMount::parse(node, directory))
                .collect::<Result<_, _>>()?,
            links: links.map(FileLink::parse).collect::<Result<_, _>>()?,
            masks: masks.map(mask).collect::<Result<_, _>>()?,
            init_command: keys.text("initCmd")?,
            work_directory: keys.path("workDir")?,
            host_name: keys.text("hostName")?,
            domain_name: keys.text("domainName")?,
            uid: keys.id("uid")?,
            gid: keys.id("gid")?,
            has_proc: keys.flag("proc")?.is_some_and(|flag| flag.value),
            writable_proc: writable_proc.map(|At { line, .. }| At { line, value: () }),
        })
    }
}

/// The text of a file.
pub(super) fn read_text(path: &Path) -> Result<String, MountFileError> {
    let failed = |error| MountFileError::Read {
        path: path.to_owned(),
        error,
    };
    let too_large = std::fs::metadata(path).map_err(failed)?.len() > MAX_FILE_BYTES;
    if too_large {
        return Err(MountFileError::TooLarge {
            path: path.to_owned(),
            max_bytes: MAX_FILE_BYTES,
        });
    }
    std::fs::read_to_string(path).map_err(failed)
}

impl FileMount {
    fn parse(node: &Node, directory: &Path) -> Result<At<FileMount>, Mistake> {
        const NAME: &str = "an entry of mount";
        let keys = Keys::of(node, NAME, MOUNT_KEYS)?;
        let kind = keys.text("type")?.ok_or_else(|| keys.missing("type"))?;
        let target = keys.path("target")?.ok_or_else(|| keys.missing("target"))?;
        let value = match kind.value.as_str() {
            "bind" => {
                let source = keys.text("source")?.ok_or_else(|| keys.missing("source"))?;
                FileMount::Bind {
                    source: directory.join(source.value),
                    target: target.value,
                    read_only: keys.flag("readonly")?.is_none_or(|flag| flag.value),
                }
            }
            "tmpfs" => {
                let data = keys.text("data")?;
                let options = data.map(|data| {
                    let options = data.value.parse::<TmpfsOptions>();
                    options.map_err(|error| Mistake::new(data.line, error))
                });
                FileMount::Tmpfs {
                    target: target.value,
                    options: options.transpose()?.unwrap_or_default(),
                }
            }
            _ => return Err(Mistake::new(kind.line, MountFault::Kind(kind.value))),
        };
        Ok(At {
            line: node.line(),
            value,
        })
    }
}

impl FileLink {
    fn parse(node: &Node) -> Result<At<FileLink>, Mistake> {
        let keys = Keys::of(node, "an entry of symLink", LINK_KEYS)?;
        let path = keys.path("linkPath")?;
        let target = keys.text("target")?;
        Ok(At {
            line: node.line(),
            value: FileLink {
                path: path.ok_or_else(|| keys.missing("linkPath"))?.value,
                target: target.ok_or_else(|| keys.missing("target"))?.value.into(),
            },
        })
    }
}

/// A map whose keys are known.
struct Keys<'a> {
    line: u32,
    name: &'static str,
    pairs: &'a [(Node, Node)],
}

impl<'a> Keys<'a> {
    fn of(
        node: &'a Node,
        name: &'static str,
        known: &'static [&'static str],
    ) -> Result<Keys<'a>, Mistake> {
        let Value::Mapping(pairs) = &node.value else {
            return Err(wrong_type(node, name, "a map of keys and values"));
        };
        for (index, (key, _)) in pairs.iter().enumerate() {
            let text = scalar(key, "a key")?;
            if !known.contains(&text) {
                let (key_name, of) = (text.to_owned(), name);
                let fault = MountFault::Key {
                    key: key_name,
                    of,
                    known,
                };
                return Err(Mistake::new(key.line(), fault));
            }
            if pairs[..index].iter().any(|(it, _)| it.text() == Some(text)) {
                let fault = MountFault::Repeated(text.to_owned());
                return Err(Mistake::new(key.line(), fault));
            }
        }
        Ok(Keys {
            line: node.line(),
            name,
            pairs,
        })
    }

    fn missing(&self, key: &'static str) -> Mistake {
        Mistake::new(self.line, MountFault::Missing { key, of: self.name })
    }

    /// The value of a key, unless it is null.
    fn get(&self, key: &str) -> Option<&'a Node> {
        let mut pairs = self.pairs.iter();
        let (_, node) = pairs.find(|(name, _)| name.text() == Some(key))?;
        (!matches!(node.value, Value::Null)).then_some(node)
    }

    fn text(&self, key: &'static str) -> Result<Option<At<String>>, Mistake> {
        let node = self.get(key);
        node.map(|node| {
            Ok(At {
                line: node.line(),
                value: scalar(node, key)?.to_owned(),
            })
        })
        .transpose()
    }

    /// A path in the sandbox.
    fn path(&self, key: &'static str) -> Result<Option<At<PathBuf>>, Mistake> {
        let text = self.text(key)?;
        text.map(|At { line, value }| {
            let value = inside(value.into(), line)?;
            Ok(At { line, value })
        })
        .transpose()
    }

    fn flag(&self, key: &'static str) -> Result<Option<At<bool>>, Mistake> {
        let node = self.get(key);
        node.map(|node| {
            let value = node.text().and_then(yaml::boolean);
            let value = value.ok_or_else(|| wrong_type(node, key, "true or false"))?;
            let line = node.line();
            Ok(At { line, value })
        })
        .transpose()
    }

    /// The id of a user or group. 0 stands for the default, as in go-judge.
    fn id(&self, key: &'static str) -> Result<Option<u32>, Mistake> {
        let Some(node) = self.get(key) else {
            return Ok(None);
        };
        let id = node.text().and_then(yaml::whole);
        let id = id.and_then(|id| u32::try_from(id).ok().filter(|id| *id < u32::MAX));
        let id = id.ok_or_else(|| wrong_type(node, key, "a number below 4294967295"))?;
        Ok((id > 0).then_some(id))
    }

    fn list(&self, key: &'static str) -> Result<&'a [Node], Mistake> {
        match self.get(key) {
            None => Ok(&[]),
            Some(node) => match &node.value {
                Value::Sequence(nodes) => Ok(nodes),
                _ => Err(wrong_type(node, key, "a list")),
            },
        }
    }
}

fn wrong_type(node: &Node, name: &'static str, expected: &'static str) -> Mistake {
    Mistake::new(node.line(), MountFault::Type { name, expected })
}

fn scalar<'a>(node: &'a Node, name: &'static str) -> Result<&'a str, Mistake> {
    node.text()
        .ok_or_else(|| wrong_type(node, name, "a string"))
}

/// An absolute path in the sandbox. As in go-judge, the slash at the beginning is optional.
fn inside(path: PathBuf, line: u32) -> Result<PathBuf, Mistake> {
    let mut whole = PathBuf::from("/");
    for part in path.components() {
        match part {
            std::path::Component::Normal(part) => whole.push(part),
            std::path::Component::RootDir | std::path::Component::CurDir => {}
            _ => return Err(Mistake::new(line, MountFault::Path(path))),
        }
    }
    if whole.parent().is_none() {
        return Err(Mistake::new(line, MountFault::Path(path)));
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<MountFile, Mistake> {
        let node = yaml::read(Path::new("mount.yaml"), text).unwrap().unwrap();
        MountFile::parse(&node, Path::new("/srv"))
    }

    #[test]
    fn values_are_read_as_by_go_judge() {
        let file = parse(
            "mount:\n  - {type: bind, source: /usr, target: /usr, readonly: true}\n  \
             - {type: bind, source: data, target: data/./, readonly: false}\n  \
             - {type: bind, source: names, target: /etc/passwd}\n  \
             - {type: tmpfs, target: /w, data: 'size=1m'}\n\
             symLink: [{linkPath: /dev/fd, target: /proc/self/fd}]\nmaskPath: [/sys/firmware]\n\
             workDir: /w\nuid: 1536\ngid: 0\nproc: true\nprocrw: false\n",
        )
        .unwrap();
        let bind = |source: &str, target: &str, read_only| FileMount::Bind {
            source: source.into(),
            target: target.into(),
            read_only,
        };
        let tmpfs = FileMount::Tmpfs {
            target: "/w".into(),
            options: "size=1m".parse().unwrap(),
        };
        let mounts: Vec<FileMount> = file.mounts.into_iter().map(|it| it.value).collect();
        let expected = [
            bind("/usr", "/usr", true),
            bind("/srv/data", "/data", false),
            // Only a file that says so is writable.
            bind("/srv/names", "/etc/passwd", true),
            tmpfs,
        ];
        assert_eq!(mounts, expected);
        assert_eq!((file.links.len(), file.masks.len()), (1, 1));
        assert_eq!(
            (file.uid, file.gid, file.has_proc),
            (Some(1536), None, true)
        );
        assert!(file.writable_proc.is_none());
    }

    #[test]
    fn mistakes_have_their_lines() {
        for (text, line) in [
            ("- a", 1),
            ("proc: true\nmounts: []", 2),
            ("proc: true\nproc: false", 2),
            ("proc: yes", 1),
            ("uid: -1", 1),
            ("mount: {}", 1),
            ("mount:\n- type: bind\n  target: /a", 2),
            ("mount:\n- type: bind\n  source: a\n  target: /a/../b", 4),
            ("mount:\n- type: overlay\n  target: /a", 2),
            ("mount:\n- type: tmpfs\n  target: /a\n  data: size=0", 4),
            ("mount:\n- type: tmpfs\n  target: /", 3),
            ("maskPath:\n- /a\n- ..", 3),
            ("symLink:\n- linkPath: /a", 2),
        ] {
            let mistake = parse(text).unwrap_err();
            assert_eq!(mistake.line, line, "{text}: {}", mistake.value);
        }
    }
}
