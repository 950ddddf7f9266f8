//! Conversions between the library's types and the protocol's types. They are functions because
//! implementations of `From` would make the protocol's types public.

use crate::{
    BindMount, Figures, FrameFault, Mount, Outcome, ProcMount, RunResult, Start, TmpfsMount,
};
use millibox_wire as wire;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

fn bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}

pub fn mount_to_wire(mount: &Mount) -> wire::Mount {
    match mount {
        Mount::Bind(BindMount {
            source,
            at,
            read_only,
            recursive,
            no_exec,
            no_follow,
            device,
        }) => wire::Mount::Bind {
            source: bytes(source),
            at: bytes(at),
            read_only: *read_only,
            recursive: *recursive,
            no_exec: *no_exec,
            no_follow: *no_follow,
            device: *device,
        },
        Mount::Tmpfs(TmpfsMount {
            at,
            size,
            memory,
            inodes,
            mode,
            read_only,
            no_exec,
        }) => wire::Mount::Tmpfs {
            at: bytes(at),
            size: size.or(*memory),
            inodes: *inodes,
            mode: *mode,
            read_only: *read_only,
            no_exec: *no_exec,
        },
        Mount::Proc(ProcMount {
            at,
            processes_only,
            system,
        }) => wire::Mount::Proc {
            at: bytes(at),
            processes_only: *processes_only,
            system: system.map(|memory| wire::SystemFiles { memory }),
        },
        Mount::Devices { at } => wire::Mount::Devices { at: bytes(at) },
        Mount::Terminals { at } => wire::Mount::Terminals { at: bytes(at) },
        Mount::Sys { at } => wire::Mount::Sys { at: bytes(at) },
        Mount::Etc { at, home } => wire::Mount::Etc {
            at: bytes(at),
            home: bytes(home),
        },
        Mount::CreateDir { path, mode } => wire::Mount::CreateDir {
            path: bytes(path),
            mode: *mode,
        },
        Mount::CreateFile { path, mode } => wire::Mount::CreateFile {
            path: bytes(path),
            mode: *mode,
        },
        Mount::Symlink { target, path } => wire::Mount::Symlink {
            target: bytes(target),
            path: bytes(path),
        },
        Mount::NewRoot { path } => wire::Mount::NewRoot { path: bytes(path) },
    }
}

pub fn result_of_wire(result: wire::RunResult) -> RunResult {
    RunResult {
        outcome: outcome_of_wire(result.outcome),
        exit_code: result.exit_code,
        signal: result.signal,
        figures: figures_of_wire(result.figures),
        ended_ns: result.ended_ns,
        backend: result.backend,
        start: start_of_wire(result.start),
    }
}

fn start_of_wire(start: wire::Start) -> Start {
    match start {
        wire::Start::Cold(why) => Start::Cold(why),
        wire::Start::Prepared {
            cpu_ns,
            memory_bytes,
        } => Start::Prepared {
            cpu_ns,
            memory_bytes,
        },
    }
}

fn outcome_of_wire(outcome: wire::Outcome) -> Outcome {
    match outcome {
        wire::Outcome::Exited(code) => Outcome::Exited(code),
        wire::Outcome::Signaled(signal) => Outcome::Signaled(signal),
        wire::Outcome::RealTimeLimit => Outcome::RealTimeLimit,
        wire::Outcome::CpuTimeLimit => Outcome::CpuTimeLimit,
        wire::Outcome::MemoryLimit => Outcome::MemoryLimit,
        wire::Outcome::OutputLimit => Outcome::OutputLimit,
        wire::Outcome::Cancelled => Outcome::Cancelled,
        wire::Outcome::Killed => Outcome::Killed,
        wire::Outcome::NotStarted(error) => Outcome::NotStarted(error),
        wire::Outcome::SandboxError(error) => Outcome::SandboxError(error),
    }
}

fn figures_of_wire(figures: wire::Figures) -> Figures {
    Figures {
        real_time_ns: figures.real_time_ns,
        cpu_user_ns: figures.cpu_user_ns,
        cpu_system_ns: figures.cpu_system_ns,
        peak_memory_bytes: figures.peak_memory_bytes,
        peak_processes: figures.peak_processes,
    }
}

pub fn fault_of_decoding(error: wire::DecodeError) -> FrameFault {
    match error {
        wire::DecodeError::Short(bytes) => FrameFault::Short(bytes),
        wire::DecodeError::Protocol(word) => FrameFault::Protocol(word),
        wire::DecodeError::Kind(kind) => FrameFault::UnknownKind(kind),
        wire::DecodeError::Malformed(error) => FrameFault::Malformed(error.to_string()),
        wire::DecodeError::Trailing(bytes) => FrameFault::TrailingBytes(bytes),
    }
}
