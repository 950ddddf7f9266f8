//! The JSON documents that describe the service.

use crate::config::LimitValues;
use crate::core::catalog;
use serde::Serialize;
use utoipa::ToSchema;

/// A runtime.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Runtime {
    /// The unique name.
    pub id: String,
    /// The language, which its variants share.
    pub language: String,
    /// The display name.
    pub title: String,
    /// The version of the compiler or interpreter.
    pub version: String,
    /// Other names.
    pub aliases: Vec<String>,
    /// Whether a program file is compiled from the sources.
    pub compiled: bool,
    /// The file name of a single source.
    pub file_name: String,
    /// Extensions of sources, without the dot.
    pub extensions: Vec<String>,
}

impl From<&catalog::Runtime> for Runtime {
    fn from(runtime: &catalog::Runtime) -> Runtime {
        Runtime {
            id: runtime.name.clone(),
            language: runtime.language.clone(),
            title: runtime.title.clone(),
            version: runtime.version.clone().unwrap_or_default(),
            aliases: runtime.aliases.clone(),
            compiled: runtime.is_compiled,
            file_name: runtime.file_name.clone(),
            extensions: runtime.extensions.clone(),
        }
    }
}

/// The service.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Info {
    /// The version of millibox.
    pub version: String,
    /// How runs are limited: `cgroup2`, `hybrid` or `rlimit`.
    pub backend: String,
    /// The user id of the service.
    pub user: u32,
    /// Seconds since the start.
    pub uptime_s: u64,
    /// Running requests whose CPU time is limited.
    pub running: usize,
    /// The maximum number of such requests.
    pub max_running: usize,
    /// Running requests whose real time is limited.
    pub running_real_time: usize,
    /// The maximum number of such requests.
    pub max_running_real_time: usize,
    /// The sum of the memory limits of running requests.
    pub running_memory_bytes: u64,
    /// The maximum sum of these limits.
    pub max_running_memory_bytes: u64,
    /// Requests that wait.
    pub queued: usize,
    /// The maximum number of waiting requests.
    pub max_queued: usize,
    /// The sum of the sizes of waiting requests.
    pub queued_bytes: u64,
    /// The maximum sum of these sizes.
    pub max_queued_bytes: u64,
    /// Limits of a request that does not specify any.
    pub default_limits: LimitSet,
    /// The largest limits.
    pub max_limits: LimitSet,
    /// The largest body of a request.
    pub max_body_bytes: usize,
    /// Dialects that this service offers.
    pub dialects: Vec<String>,
}

/// All limits.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct LimitSet {
    /// CPU time in milliseconds.
    pub cpu_ms: u64,
    /// Real time in milliseconds.
    pub wall_ms: u64,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Processes and threads.
    pub processes: u32,
    /// Maximum number of bytes of standard output that are kept. The same number applies to
    /// standard error.
    pub output_bytes: u64,
    /// Maximum size of all files that the program writes, in bytes.
    pub files_bytes: u64,
    /// Open files of one process.
    pub open_files: u64,
}

impl From<&LimitValues> for LimitSet {
    fn from(values: &LimitValues) -> LimitSet {
        let LimitValues {
            cpu_ms,
            wall_ms,
            memory_bytes,
            processes,
            output_bytes,
            files_bytes,
            open_files,
        } = *values;
        LimitSet {
            cpu_ms,
            wall_ms,
            memory_bytes,
            processes,
            output_bytes,
            files_bytes,
            open_files,
        }
    }
}
