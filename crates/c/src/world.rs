//! What a program sees.
#![allow(unsafe_code, reason = "the functions are exported by name")]

use crate::border;
use millibox::Mount;
use std::ffi::{OsStr, c_char};

/// The files with which a world begins.
#[repr(u32)]
#[derive(Clone, Copy)]
pub enum WorldKind {
    /// Programs and libraries of the host, an empty /tmp, and what programs expect of a usual
    /// machine in /dev, /etc, /proc and /sys. This is the default.
    Standard = 0,
    /// Programs and libraries of the host, harmless devices, and an empty /tmp.
    Minimal = 1,
    /// An empty root.
    Empty = 2,
}

/// The network of a program.
#[repr(u32)]
#[derive(Clone, Copy)]
pub enum Network {
    /// No network.
    None = 0,
    /// A loopback interface of its own.
    Loopback = 1,
}

/// What a program sees: files, ids and network. Runs in equal worlds share their
/// preparation, so keep a world for many programs.
///
/// Threads may use a world at the same time while no thread changes it. The functions that change a
/// world do not check the values; the start of a program reports all mistakes together.
#[derive(Clone)]
pub struct ProgramWorld {
    pub world: millibox::World,
    pub mistakes: Vec<String>,
}

/// Creates a world. `kind` is a value of millibox_world_kind. Free it with millibox_world_free.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_world_new(kind: u32) -> Option<Box<ProgramWorld>> {
    border::or(None, || {
        const STANDARD: u32 = WorldKind::Standard as u32;
        const MINIMAL: u32 = WorldKind::Minimal as u32;
        const EMPTY: u32 = WorldKind::Empty as u32;
        let (world, mistake) = match kind {
            STANDARD => (millibox::World::standard(), None),
            MINIMAL => (millibox::World::minimal(), None),
            EMPTY => (millibox::World::empty(), None),
            _ => (
                millibox::World::empty(),
                Some(format!("millibox_world_new: {kind} is no kind of world")),
            ),
        };
        let mistakes = mistake.into_iter().collect();
        Some(Box::new(ProgramWorld { world, mistakes }))
    })
}

/// Frees a world. Programs and prepared interpreters that use the world keep it. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_world_free(world: Option<Box<ProgramWorld>>) {
    border::or((), || drop(world));
}

/// Shows a file or directory of the host at a path of the world, read-only. Both paths must be
/// absolute. The sandbox's unprivileged user must be able to reach the source.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_world_add_read_only(
    world: Option<&mut ProgramWorld>,
    source: *const c_char,
    at: *const c_char,
) {
    change(world, |world| {
        let (source, at) = pair("millibox_world_add_read_only", source, at)?;
        Ok(world.read_only(source, at))
    });
}

/// Shows a file or directory of the host at a path of the world. The program may write wherever the
/// sandbox's unprivileged user may write. Both paths must be absolute.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_world_add_read_write(
    world: Option<&mut ProgramWorld>,
    source: *const c_char,
    at: *const c_char,
) {
    change(world, |world| {
        let (source, at) = pair("millibox_world_add_read_write", source, at)?;
        Ok(world.read_write(source, at))
    });
}

/// Adds an empty writable file system in memory, new for each run, with at most `bytes` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_world_add_tmpfs(
    world: Option<&mut ProgramWorld>,
    at: *const c_char,
    bytes: u64,
) {
    change(world, |world| {
        let at = border::string(at).ok_or("millibox_world_add_tmpfs: at is NULL")?;
        Ok(world.mount(Mount::tmpfs(at).size_limit(bytes)))
    });
}

/// Adds a symbolic link.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_world_add_symlink(
    world: Option<&mut ProgramWorld>,
    target: *const c_char,
    at: *const c_char,
) {
    change(world, |world| {
        let (target, at) = pair("millibox_world_add_symlink", target, at)?;
        Ok(world.mount(Mount::symlink(target, at)))
    });
}

/// Sets the network, a value of millibox_network. The default is MILLIBOX_NETWORK_NONE.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_world_set_network(world: Option<&mut ProgramWorld>, network: u32) {
    const NONE: u32 = Network::None as u32;
    const LOOPBACK: u32 = Network::Loopback as u32;
    change(world, |world| match network {
        NONE => Ok(world.network(millibox::Network::None)),
        LOOPBACK => Ok(world.network(millibox::Network::Loopback)),
        _ => Err(format!(
            "millibox_world_set_network: {network} is no network"
        )),
    });
}

/// Sets the user and group id that the program sees.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_world_set_ids(world: Option<&mut ProgramWorld>, uid: u32, gid: u32) {
    change(world, |world| Ok(world.uid(uid).gid(gid)));
}

/// Sets the memory that /proc/meminfo states. It is no limit: also call
/// millibox_program_set_memory_limit.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_world_set_stated_memory(world: Option<&mut ProgramWorld>, bytes: u64) {
    change(world, |world| Ok(world.memory(bytes)));
}

fn pair<'a>(
    function: &str,
    source: *const c_char,
    at: *const c_char,
) -> Result<(&'a OsStr, &'a OsStr), String> {
    match (border::string(source), border::string(at)) {
        (Some(source), Some(at)) => Ok((source, at)),
        _ => Err(format!("{function}: a path is NULL")),
    }
}

fn change(
    world: Option<&mut ProgramWorld>,
    change: impl FnOnce(millibox::World) -> Result<millibox::World, String>,
) {
    border::or((), || {
        let Some(world) = world else { return };
        match change(world.world.clone()) {
            Ok(changed) => world.world = changed,
            Err(mistake) => world.mistakes.push(mistake),
        }
    });
}
