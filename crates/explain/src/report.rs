//! The report of a trace.

use crate::host;
use crate::record::{Failed, Record};
use crate::trace::{Rules, action};
use crate::view::{Followed, Shown, View, depth, normal};
use millibox_seccomp::{Action, Arch};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What a program lacked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The system calls that the seccomp policy refused, the most frequent first.
    pub refused_calls: Vec<RefusedCall>,
    /// The number of further refused calls, which are not in the list because it is full.
    pub omitted_calls: u64,
    /// The paths that the program could not use although the host has them.
    pub missing_paths: Vec<MissingPath>,
    /// The number of further failed look-ups, which are not in the list because it is full.
    pub omitted_paths: u64,
    /// The number of failed look-ups whose paths could not be read.
    pub unreadable_paths: u64,
    /// The shortest list of changes to the world that would show all paths of `missing_paths` that
    /// have an option.
    pub options: Vec<Change>,
}

/// A system call that the seccomp policy refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RefusedCall {
    /// The kernel's name; for an unknown call, its number.
    pub name: String,
    /// How often it was refused.
    pub count: u64,
    /// The action, as a policy writes it, for example `errno:EPERM`.
    pub action: String,
    /// The rule; `None` for the policy's default action and for a program without a policy.
    pub rule: Option<RefusalRule>,
}

/// The rule of a policy that refused a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RefusalRule {
    /// The name of the policy.
    pub policy: String,
    /// The line of the rule's action, starting at 1.
    pub line: usize,
    /// The reason that the policy states.
    pub why: String,
}

/// A path that the program could not use in its world.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MissingPath {
    /// The absolute path as the program named it. Bytes that are not UTF-8 are replaced.
    pub path: String,
    /// How often a look-up failed.
    pub count: u64,
    /// The error: `ENOENT`, `EACCES` or `EROFS`.
    pub error: &'static str,
    /// The change that would show the path; `None` if no single option would.
    pub option: Option<Change>,
}

/// A change to a world.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(tag = "option", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Change {
    /// Show a path of the host, read-only.
    Ro {
        /// The path, on the host and in the world.
        path: String,
    },
    /// Make a path of the host writable.
    Rw {
        /// The path on the host.
        source: String,
        /// The path in the world.
        path: String,
    },
    /// Mount a writable directory in memory.
    Tmpfs {
        /// The path in the world.
        path: String,
    },
    /// Mount a procfs.
    Proc {
        /// The path in the world.
        path: String,
    },
    /// Mount the usual devices.
    Dev {
        /// The path in the world.
        path: String,
    },
}

impl Change {
    /// The option of `millibox run`, quoted for a shell.
    pub fn option(&self) -> String {
        let colons = |path: &str| path.replace(':', "\\:");
        match self {
            Change::Ro { path } => format!("--ro {}", quoted(&colons(path))),
            Change::Rw { source, path } if source == path => {
                format!("--rw {}", quoted(&colons(path)))
            }
            Change::Rw { source, path } => {
                format!(
                    "--rw {}",
                    quoted(&format!("{}:{}", colons(source), colons(path)))
                )
            }
            Change::Tmpfs { path } => format!("--tmpfs {}", quoted(&colons(path))),
            Change::Proc { path } => format!("--proc {}", quoted(path)),
            Change::Dev { path } => format!("--dev {}", quoted(path)),
        }
    }

    /// The path for `mounts` in a language suite, if the change is one that a suite can make there.
    pub fn suite_mount(&self) -> Option<&str> {
        match self {
            Change::Ro { path } => Some(path),
            _ => None,
        }
    }
}

/// A word of a shell command. Control characters are written as escapes (`$'...'`), so that a
/// terminal shows them and the shell still reads the same word.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%\\".contains(c);
    if !word.is_empty() && word.chars().all(|c| plain(c) && c != '\\') {
        return word.to_owned();
    }
    if word.chars().any(is_unprintable) {
        let mut text = String::from("$'");
        for c in word.chars() {
            match c {
                '\'' | '\\' => text.extend(['\\', c]),
                c if is_unprintable(c) => text.push_str(&format!("\\u{:04x}", c as u32)),
                c => text.push(c),
            }
        }
        text.push('\'');
        return text;
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Whether a character could change how a terminal shows the text around it: control characters,
/// separators, and marks that change the direction of text.
fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
}

/// A text of the program for a terminal: control characters are escaped.
pub fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unprintable(c) || c == '\\' {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Directories whose children belong to different programs and users. A list of missing files in
/// them must not be shortened to the whole directory.
const BROAD: &[&str] = &[
    "/boot", "/dev", "/etc", "/home", "/media", "/mnt", "/proc", "/root", "/run", "/srv", "/sys",
    "/tmp", "/var",
];
/// Broad directories whose children are broad as well.
const VERY_BROAD: &[&str] = &["/home", "/run", "/srv", "/sys", "/var"];
/// The files of the directory that `--dev` mounts.
const DEVICES: &[&str] = &[
    "/dev",
    "/dev/fd",
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/stderr",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/urandom",
    "/dev/zero",
];

impl Explanation {
    /// Explains a record. Looks up the paths of the record on the host.
    pub(crate) fn of(record: &Record, rules: &Rules, view: &View) -> Explanation {
        let mut refused_calls: Vec<RefusedCall> = (record.refusals.sorted().into_iter())
            .map(|(refusal, count)| {
                let arch = Arch::native();
                let name = match arch.name(refusal.nr) {
                    Some(name) if refusal.arch == arch.audit_value() => name.to_owned(),
                    _ => format!("call {} of architecture {:#x}", refusal.nr, refusal.arch),
                };
                let rule = (rules.policy.as_ref().zip(refusal.rule))
                    .and_then(|(policy, index)| policy.rules().get(index));
                RefusedCall {
                    name,
                    count,
                    action: action(refusal.result)
                        .unwrap_or(Action::Errno(libc::ENOSYS as u16))
                        .to_string(),
                    rule: rule.map(|rule| RefusalRule {
                        policy: rule.policy().to_owned(),
                        line: rule.line(),
                        why: rule.why().to_owned(),
                    }),
                }
            })
            .collect();
        refused_calls.sort_by_key(|call| std::cmp::Reverse(call.count));
        let (missing_paths, options) = missing(record.failed.sorted(), view);
        Explanation {
            refused_calls,
            omitted_calls: record.refusals.left_out,
            missing_paths,
            omitted_paths: record.failed.left_out,
            unreadable_paths: record.unreadable,
            options,
        }
    }

    /// Whether the program lacked nothing.
    pub fn is_empty(&self) -> bool {
        self.refused_calls.is_empty()
            && self.missing_paths.is_empty()
            && [
                self.omitted_calls,
                self.omitted_paths,
                self.unreadable_paths,
            ] == [0; 3]
    }
}

/// What a failed look-up needs.
enum Need {
    /// This path of the host, of which the world lacks `missing`.
    Path {
        wanted: PathBuf,
        missing: PathBuf,
    },
    Change(Change),
    /// No option helps.
    Nothing,
}

fn missing(failed: Vec<(Failed, u64)>, view: &View) -> (Vec<MissingPath>, Vec<Change>) {
    let needs: Vec<(Failed, u64, Need)> = (failed.into_iter())
        .filter_map(|(failed, count)| {
            let need = need(&failed, view)?;
            Some((failed, count, need))
        })
        .collect();
    let wanted: BTreeMap<&Path, &Path> = (needs.iter())
        .filter_map(|(_, _, need)| match need {
            Need::Path { wanted, missing } => Some((wanted.as_path(), missing.as_path())),
            _ => None,
        })
        .collect();
    let merged = merge(&wanted);
    let mut options = BTreeSet::new();
    let mut paths: Vec<MissingPath> = Vec::new();
    for (failed, count, need) in &needs {
        let option = match need {
            Need::Path { wanted, .. } => {
                // The outermost of the merged paths that contain this one.
                let path = merged.iter().find(|path| wanted.starts_with(path));
                path.map(|path| Change::Ro { path: text(path) })
            }
            Need::Change(change) => Some(change.clone()),
            Need::Nothing => None,
        };
        options.extend(option.clone());
        paths.push(MissingPath {
            path: text(Path::new(OsStr::from_bytes(&failed.path))),
            count: *count,
            error: match failed.errno {
                libc::EACCES => "EACCES",
                libc::EROFS => "EROFS",
                _ => "ENOENT",
            },
            option,
        });
    }
    paths.sort_by_key(|path| std::cmp::Reverse(path.count));
    (paths, options.into_iter().collect())
}

/// Replaces paths below a missing directory by the directory. The result has no path below another,
/// and lists outer paths first.
fn merge(wanted: &BTreeMap<&Path, &Path>) -> BTreeSet<PathBuf> {
    let mut below: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for (path, missing) in wanted {
        *below.entry(common(path, missing)).or_default() += 1;
    }
    let mut merged: BTreeSet<PathBuf> = BTreeSet::new();
    for (path, missing) in wanted {
        let directory = common(path, missing);
        let chosen = if below.get(&directory).is_some_and(|count| *count > 1) {
            directory
        } else {
            path.to_path_buf()
        };
        if !BROAD.iter().any(|broad| chosen == Path::new(broad)) {
            merged.insert(chosen);
        }
    }
    let all = merged.clone();
    // A path sorts after every directory that contains it.
    merged.retain(|path| {
        !all.iter()
            .any(|outer| outer != path && path.starts_with(outer))
    });
    merged
}

/// The directory that could be shown in place of a wanted path: the outermost missing directory
/// that is not too broad; otherwise the path itself.
fn common(wanted: &Path, missing: &Path) -> PathBuf {
    let in_list = |list: &[&str], path: &Path| list.iter().any(|broad| path == Path::new(broad));
    let first = wanted.components().take(2).collect::<PathBuf>();
    let least = match () {
        () if in_list(VERY_BROAD, &first) => 3,
        () => 2,
    };
    let length = depth(missing).max(least);
    wanted.components().take(length + 1).collect()
}

/// What a failed look-up needs, or `None` if the host does not have the path either.
fn need(failed: &Failed, view: &View) -> Option<Need> {
    let path = Path::new(OsStr::from_bytes(&failed.path));
    match failed.errno {
        libc::EROFS => Some(writable(path, view)?),
        libc::EACCES => host::exists(path).then_some(Need::Nothing),
        _ => not_found(path, view),
    }
}

fn not_found(path: &Path, view: &View) -> Option<Need> {
    if !host::exists(path) {
        return None;
    }
    let Followed::Lacks { missing, rest } = view.follow(path) else {
        // The file exists, so the loader or interpreter that it names is missing.
        return Some(Need::Nothing);
    };
    if missing.starts_with("/proc") {
        let path = "/proc".to_owned();
        return Some(match view.has_proc() {
            false => Need::Change(Change::Proc { path }),
            true => Need::Nothing,
        });
    }
    let wanted = normal(&missing.join(rest));
    if missing.starts_with("/dev") {
        let is_usual = DEVICES.iter().any(|device| wanted == Path::new(device));
        let path = "/dev".to_owned();
        return Some(match is_usual {
            true => Need::Change(Change::Dev { path }),
            false => Need::Nothing,
        });
    }
    // millibox creates no mount points below directories of the host.
    let below_host = matches!(view.nearest(&missing), Some((_, Shown::Bind { .. })));
    if below_host || !host::exists(&wanted) {
        return Some(Need::Nothing);
    }
    Some(Need::Path { wanted, missing })
}

/// What a program needs to write to a path.
fn writable(path: &Path, view: &View) -> Option<Need> {
    let at = match view.follow(path) {
        Followed::Visible(at) => at,
        Followed::Lacks { missing, .. } => missing,
    };
    match view.nearest(&at) {
        Some((mounted, Shown::Bind { source, .. })) => {
            let below = at.strip_prefix(mounted).ok()?;
            let on_host = source.join(below);
            let parent = on_host.parent().unwrap_or(&on_host);
            (host::exists(&on_host) || host::exists(parent)).then(|| {
                Need::Change(Change::Rw {
                    source: text(source),
                    path: text(mounted),
                })
            })
        }
        _ => {
            let parent = at.parent().filter(|parent| depth(parent) > 0);
            let directory = if view.has_below(&at) {
                &at
            } else {
                parent.unwrap_or(&at)
            };
            // A new directory at this place would hide what the world shows below it.
            let hides = view.has_below(directory);
            host::exists(directory).then(|| match hides {
                true => Need::Nothing,
                false => Need::Change(Change::Tmpfs {
                    path: text(directory),
                }),
            })
        }
    }
}

fn text(path: &Path) -> String {
    String::from_utf8_lossy(path.as_os_str().as_bytes()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(wanted: &[(&str, &str)]) -> Vec<String> {
        let wanted = (wanted.iter())
            .map(|(path, missing)| (Path::new(*path), Path::new(*missing)))
            .collect();
        merge(&wanted).iter().map(|path| text(path)).collect()
    }

    #[test]
    fn children_of_missing_directory_are_merged() {
        assert_eq!(
            merged(&[
                ("/etc/fonts/fonts.conf", "/etc/fonts"),
                ("/etc/fonts/conf.d/10.conf", "/etc/fonts"),
                ("/etc/passwd", "/etc/passwd"),
            ]),
            ["/etc/fonts", "/etc/passwd"]
        );
        assert_eq!(merged(&[("/opt/a/lib/x", "/opt")]), ["/opt/a/lib/x"]);
        assert_eq!(
            merged(&[("/opt/a/lib/x", "/opt"), ("/opt/a/bin/y", "/opt")]),
            ["/opt/a"]
        );
        assert_eq!(
            merged(&[("/opt/a/x", "/opt"), ("/opt/b/y", "/opt")]),
            ["/opt/a/x", "/opt/b/y"]
        );
    }

    #[test]
    fn broad_directories_are_not_proposed() {
        assert_eq!(
            merged(&[
                ("/etc/passwd", "/etc"),
                ("/etc/group", "/etc"),
                ("/etc", "/etc")
            ]),
            ["/etc/group", "/etc/passwd"]
        );
        assert_eq!(
            merged(&[("/home/a/x", "/home"), ("/home/a/y", "/home")]),
            ["/home/a/x", "/home/a/y"]
        );
        assert_eq!(
            merged(&[("/home/a/d/x", "/home"), ("/home/a/d/y", "/home")]),
            ["/home/a/d"]
        );
    }

    #[test]
    fn option_is_one_shell_word() {
        let ro = |path: &str| {
            Change::Ro {
                path: path.to_owned(),
            }
            .option()
        };
        assert_eq!(ro("/etc/fonts"), "--ro /etc/fonts");
        assert_eq!(ro("/a b"), "--ro '/a b'");
        assert_eq!(ro("/a:b"), "--ro '/a\\:b'");
        assert_eq!(ro("/it's"), "--ro '/it'\\''s'");
        assert_eq!(ro("/\u{1b}[2J'"), "--ro $'/\\u001b[2J\\''");
        assert_eq!(shown("/a\n\u{1b}\u{202e}é"), "/a\\n\\u{1b}\\u{202e}é");
    }

    #[test]
    fn file_in_read_only_mount_needs_the_mount_writable() {
        let host = tempfile::tempdir().unwrap();
        let mut view = View::new();
        let source = host.path().to_owned();
        let read_only = true;
        view.show(Path::new("/work"), Shown::Bind { source, read_only });
        view.show(Path::new("/etc/a"), Shown::Created);
        let need = |path: &str, errno| {
            let failed = Failed {
                path: path.into(),
                errno,
            };
            let (paths, options) = missing(vec![(failed, 1)], &view);
            assert_eq!(paths.len(), options.len().max(paths.len()));
            options
        };
        assert_eq!(
            need("/work/new", libc::EROFS),
            [Change::Rw {
                source: text(host.path()),
                path: "/work".into()
            }]
        );
        assert_eq!(
            need("/var/new", libc::EROFS),
            [Change::Tmpfs {
                path: "/var".into()
            }]
        );
        assert_eq!(need("/etc/new", libc::EROFS), []);
        assert_eq!(
            need("/proc/self/status", libc::ENOENT),
            [Change::Proc {
                path: "/proc".into()
            }]
        );
        assert_eq!(
            need("/dev/null", libc::ENOENT),
            [Change::Dev {
                path: "/dev".into()
            }]
        );
        assert_eq!(need("/no/such/path", libc::ENOENT), []);
    }
}
