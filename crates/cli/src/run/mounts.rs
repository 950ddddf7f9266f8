//! Options that add to the world's files: `--ro`, `--rw`, `--tmpfs`, `--proc`, `--dev`.
//!
//! A later mount covers an earlier one, so the options keep their order on the command line.

use crate::values::{self, Bind, Tmpfs};
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::error::Error;
use clap::{ArgMatches, Command, FromArgMatches};
use millibox::{Mount, World};
use std::path::{Path, PathBuf};

/// The heading of the options that decide what the program sees.
pub(super) const WORLD: &str = "World (what the program sees)";

/// The options as clap returns them, grouped by option.
#[derive(Debug, clap::Args)]
struct ByOption {
    /// Show a file or directory of the host, read-only
    ///
    /// SRC is a path of the host, relative to the current directory. DST is an absolute path in the
    /// sandbox and defaults to the absolute path of SRC. Write `\:` for a colon in a path. The
    /// options --ro, --rw, --tmpfs, --proc and --dev can be repeated; a later mount covers an
    /// earlier one.
    ///
    /// Example: --ro ./data:/data
    #[arg(
        long,
        value_name = "SRC[:DST]",
        value_parser = OsStringValueParser::new().try_map(values::bind),
        help_heading = WORLD,
    )]
    ro: Vec<Bind>,
    /// Show a file or directory of the host, writable
    ///
    /// The program can write to it if the sandbox's user has permission to do so.
    ///
    /// Example: --rw .:/work
    #[arg(
        long,
        value_name = "SRC[:DST]",
        value_parser = OsStringValueParser::new().try_map(values::bind),
        help_heading = WORLD,
    )]
    rw: Vec<Bind>,
    /// Mount an empty writable directory in memory
    ///
    /// It has at most SIZE bytes (units as for --memory-limit) and INODES files and directories,
    /// including itself. Its content counts as memory of the run and is removed afterwards.
    ///
    /// Example: --tmpfs /tmp:10M:1000
    #[arg(
        long,
        value_name = "DST[:SIZE[:INODES]]",
        value_parser = OsStringValueParser::new().try_map(values::tmpfs),
        help_heading = WORLD,
    )]
    tmpfs: Vec<Tmpfs>,
    /// Mount a procfs that shows only the processes of the run
    ///
    /// Example: --proc /proc
    #[arg(
        long,
        value_name = "DST",
        value_parser = OsStringValueParser::new().try_map(values::mount_point),
        help_heading = WORLD,
    )]
    proc: Vec<PathBuf>,
    /// Mount a directory with the devices null, zero, full, random and urandom
    ///
    /// Example: --dev /dev
    #[arg(
        long,
        value_name = "DST",
        value_parser = OsStringValueParser::new().try_map(values::mount_point),
        help_heading = WORLD,
    )]
    dev: Vec<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Added {
    ReadOnly(Bind),
    ReadWrite(Bind),
    Tmpfs(Tmpfs),
    Proc(PathBuf),
    Dev(PathBuf),
}

impl Added {
    fn at(&self) -> &Path {
        match self {
            Added::ReadOnly(Bind { at, .. })
            | Added::ReadWrite(Bind { at, .. })
            | Added::Tmpfs(Tmpfs { at, .. }) => at,
            Added::Proc(at) | Added::Dev(at) => at,
        }
    }
}

/// The mounts in the order of the command line.
#[derive(Debug, Default)]
pub struct Mounts(Vec<Added>);

impl clap::Args for Mounts {
    fn augment_args(command: Command) -> Command {
        ByOption::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        ByOption::augment_args_for_update(command)
    }
}

impl FromArgMatches for Mounts {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Mounts, Error> {
        Mounts::from_arg_matches_mut(&mut matches.clone())
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Mounts, Error> {
        let indices = |name: &str| {
            matches
                .indices_of(name)
                .map(|all| all.collect::<Vec<_>>())
                .unwrap_or_default()
        };
        let [ro, rw, tmpfs, proc, dev] = ["ro", "rw", "tmpfs", "proc", "dev"].map(indices);
        let values = ByOption::from_arg_matches_mut(matches)?;
        let mut all: Vec<(usize, Added)> = Vec::new();
        all.extend(
            ro.into_iter()
                .zip(values.ro.into_iter().map(Added::ReadOnly)),
        );
        all.extend(
            rw.into_iter()
                .zip(values.rw.into_iter().map(Added::ReadWrite)),
        );
        all.extend(
            tmpfs
                .into_iter()
                .zip(values.tmpfs.into_iter().map(Added::Tmpfs)),
        );
        all.extend(
            proc.into_iter()
                .zip(values.proc.into_iter().map(Added::Proc)),
        );
        all.extend(dev.into_iter().zip(values.dev.into_iter().map(Added::Dev)));
        all.sort_by_key(|(place, _)| *place);
        Ok(Mounts(all.into_iter().map(|(_, added)| added).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Mounts::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Mounts {
    /// The standard world, with or without pseudo-terminals, and without the mounts that these
    /// options replace.
    pub fn standard_world(&self, has_terminals: bool) -> World {
        let mut standard = World::standard();
        if has_terminals {
            standard = standard.terminals();
        }
        if self.0.is_empty() {
            return standard;
        }
        let replaced = |mount: &&Mount| {
            self.0
                .iter()
                .any(|added| mount.path().starts_with(added.at()))
        };
        standard
            .mounts()
            .iter()
            .filter(|mount| !replaced(mount))
            .fold(World::empty(), |w, mount| w.mount(mount.clone()))
    }

    /// Adds the mounts to the world.
    pub fn add_to(&self, world: World) -> World {
        self.0.iter().fold(world, |world, added| match added {
            Added::ReadOnly(Bind { source, at }) => world.read_only(source, at),
            Added::ReadWrite(Bind { source, at }) => world.read_write(source, at),
            Added::Tmpfs(Tmpfs { at, size, inodes }) => {
                let mut mount = Mount::tmpfs(at);
                if let Some(size) = size {
                    mount = mount.size_limit(*size);
                }
                if let Some(inodes) = inodes {
                    mount = mount.inode_limit(*inodes);
                }
                world.mount(mount)
            }
            Added::Proc(at) => world.mount(Mount::proc(at)),
            Added::Dev(at) => world.dev(at),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        mounts: Mounts,
    }

    fn parse(line: &str) -> Mounts {
        Line::try_parse_from(line.split(' ')).unwrap().mounts
    }

    #[test]
    fn mounts_keep_the_order_of_the_command_line() {
        let mounts = parse(
            "x --ro /usr:/a --tmpfs /a/b --rw=/usr:/a/b/c --ro /bin:/d --proc /p --dev /a/dev",
        );
        let paths: Vec<&str> = mounts
            .0
            .iter()
            .filter_map(|added| added.at().to_str())
            .collect();
        assert_eq!(paths, ["/a", "/a/b", "/a/b/c", "/d", "/p", "/a/dev"]);
        assert!(matches!(mounts.0[2], Added::ReadWrite(_)));
    }

    #[test]
    fn mounts_replace_those_of_the_standard_world() {
        let at = |world: &World, path: &str| {
            world
                .mounts()
                .iter()
                .filter(|mount| mount.path() == Path::new(path))
                .count()
        };
        let mounts = parse("x --tmpfs /tmp:1M --tmpfs /dev");
        let world = mounts.standard_world(false);
        assert_eq!(
            (
                at(&world, "/tmp"),
                at(&world, "/dev/null"),
                at(&world, "/usr")
            ),
            (0, 0, 1)
        );
        let world = mounts.add_to(world);
        let limited = Mount::tmpfs("/tmp").size_limit(1 << 20).into();
        assert!(world.mounts().contains(&limited));
        assert_eq!(at(&parse("x").standard_world(false), "/tmp"), 1);
    }
}
