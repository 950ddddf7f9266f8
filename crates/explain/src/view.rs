//! What a world shows, and what it would need to show a path.

use crate::host::{self, Found, MAX_LINKS, parts};
use std::path::{Path, PathBuf};

/// What a mount operation of a world shows at its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// A file or directory of the host.
    Bind {
        /// The path of the host.
        source: PathBuf,
        /// Whether the program may not write to it.
        read_only: bool,
    },
    /// A writable directory in memory.
    Tmpfs,
    /// A procfs.
    Proc,
    /// A directory with devices.
    Devices,
    /// An empty directory or file.
    Created,
    /// A symbolic link.
    Link(PathBuf),
}

/// What a program sees: mount operations in their order, with absolute paths.
#[derive(Debug, Clone, Default)]
pub struct View(Vec<(PathBuf, Shown)>);

/// The result of following a path in a world.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Followed {
    /// The world shows the path, which is at this place without links.
    Visible(PathBuf),
    /// The world does not show this component, which the rest follows.
    Lacks { missing: PathBuf, rest: PathBuf },
}

enum Step {
    There,
    Link(PathBuf),
    Missing,
}

impl View {
    /// Creates a world with an empty root.
    pub fn new() -> View {
        View::default()
    }

    /// Adds a mount operation, which covers earlier ones below the path.
    pub fn show(&mut self, path: &Path, shown: Shown) {
        let path = normal(path);
        if !matches!(shown, Shown::Created | Shown::Link(_)) {
            self.0.retain(|(earlier, _)| !earlier.starts_with(&path));
        }
        self.0.push((path, shown));
    }

    /// Makes a directory the root, as pivot_root(2) does.
    pub fn change_root(&mut self, root: &Path) {
        let root = normal(root);
        self.0 = std::mem::take(&mut self.0)
            .into_iter()
            .filter_map(|(path, shown)| {
                let below = path.strip_prefix(&root).ok()?;
                Some((Path::new("/").join(below), shown))
            })
            .collect();
    }

    /// The operation that shows a path: the latest of those nearest to it.
    pub(crate) fn nearest(&self, path: &Path) -> Option<&(PathBuf, Shown)> {
        (self.0.iter())
            .filter(|(at, _)| path.starts_with(at))
            .max_by_key(|(at, _)| at.components().count())
    }

    /// Whether an operation is at the path or below it.
    pub(crate) fn has_below(&self, path: &Path) -> bool {
        self.0.iter().any(|(at, _)| at.starts_with(path))
    }

    pub(crate) fn has_proc(&self) -> bool {
        self.0.iter().any(|(_, shown)| *shown == Shown::Proc)
    }

    fn component(&self, path: &Path) -> Step {
        match self.nearest(path) {
            Some((at, Shown::Link(target))) if at == path => Step::Link(target.clone()),
            Some((at, Shown::Bind { source, .. })) => {
                // The source itself is followed when it is mounted.
                let below = path.strip_prefix(at).unwrap_or(Path::new(""));
                if below.as_os_str().is_empty() {
                    return Step::There;
                }
                let on_host = source.join(below);
                match host::find(&on_host) {
                    Some(Found::Link(target)) => Step::Link(target),
                    Some(Found::Other) => Step::There,
                    None if self.has_below(path) => Step::There,
                    None => Step::Missing,
                }
            }
            Some((at, _)) if at == path => Step::There,
            _ if self.has_below(path) => Step::There,
            _ => Step::Missing,
        }
    }

    /// Follows an absolute path, with the links of the world.
    pub(crate) fn follow(&self, path: &Path) -> Followed {
        let mut at = PathBuf::from("/");
        let mut links = 0;
        let mut left = parts(path);
        while let Some(part) = left.pop_front() {
            if part == Path::new("..") {
                at.pop();
                continue;
            }
            let next = at.join(&part);
            match self.component(&next) {
                Step::There => at = next,
                Step::Link(target) if links < MAX_LINKS => {
                    links += 1;
                    if target.is_absolute() {
                        at = PathBuf::from("/");
                    }
                    for part in parts(&target).into_iter().rev() {
                        left.push_front(part);
                    }
                }
                Step::Link(_) | Step::Missing => {
                    return Followed::Lacks {
                        missing: next,
                        rest: left.into_iter().collect(),
                    };
                }
            }
        }
        Followed::Visible(at)
    }
}

/// Removes `.` and repeated slashes, and `..` with the component before it.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::from("/");
    for part in parts(path) {
        if part == Path::new("..") {
            normal.pop();
        } else {
            normal.push(part);
        }
    }
    normal
}

/// The number of components below `/`.
pub(crate) fn depth(path: &Path) -> usize {
    parts(path).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lacks(missing: &str, rest: &str) -> Followed {
        Followed::Lacks {
            missing: missing.into(),
            rest: rest.into(),
        }
    }

    #[test]
    fn path_is_followed_through_links_of_host_and_world() {
        let host = tempfile::tempdir().unwrap();
        let at = |name: &str| host.path().join(name);
        std::fs::create_dir(at("lib")).unwrap();
        std::os::unix::fs::symlink("/etc/x/y", at("lib/away")).unwrap();
        std::os::unix::fs::symlink("../lib/file", at("lib/near")).unwrap();
        std::fs::write(at("lib/file"), "").unwrap();
        let mut view = View::new();
        view.show(
            Path::new("/usr"),
            Shown::Bind {
                source: host.path().into(),
                read_only: true,
            },
        );
        view.show(Path::new("/lib"), Shown::Link("usr/lib".into()));
        view.show(Path::new("/etc/made/"), Shown::Created);
        let follow = |path: &str| view.follow(Path::new(path));
        assert_eq!(
            follow("/lib/near"),
            Followed::Visible("/usr/lib/file".into())
        );
        assert_eq!(follow("/lib/away/z"), lacks("/etc/x", "y/z"));
        assert_eq!(
            follow("//lib/./none/../file"),
            lacks("/usr/lib/none", "../file")
        );
        assert_eq!(follow("/etc/other"), lacks("/etc/other", ""));
        assert_eq!(
            follow("/../etc/made"),
            Followed::Visible("/etc/made".into())
        );
        assert_eq!(follow("/opt/a/b"), lacks("/opt", "a/b"));
    }

    #[test]
    fn link_to_itself_ends() {
        let mut view = View::new();
        view.show(Path::new("/a"), Shown::Link("a".into()));
        assert_eq!(view.follow(Path::new("/a/b")), lacks("/a", "b"));
    }

    #[test]
    fn later_mount_covers_earlier_mounts_below() {
        let mut view = View::new();
        view.show(Path::new("/a/b"), Shown::Created);
        view.show(Path::new("/a"), Shown::Tmpfs);
        assert_eq!(view.follow(Path::new("/a/b")), lacks("/a/b", ""));
        view.show(Path::new("/new/c"), Shown::Created);
        view.change_root(Path::new("/new"));
        assert_eq!(view.follow(Path::new("/c")), Followed::Visible("/c".into()));
        assert_eq!(view.follow(Path::new("/a")), lacks("/a", ""));
    }
}
