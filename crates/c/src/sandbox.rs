//! The options of a sandbox, and a running sandbox.
#![allow(unsafe_code, reason = "the functions are exported by name")]

use crate::border::{self, Owned, checked, given, returned};
use crate::error::{Error, c_string};
use millibox::{BackendChoice, Builder, Supervisor};
use std::ffi::{CString, c_char};
use std::mem::MaybeUninit;

/// What limits and measures the programs.
#[repr(u32)]
#[derive(Clone, Copy)]
pub enum Backend {
    /// The best available backend. Without cgroups, limits that need a cgroup are rejected.
    Auto = 0,
    /// Version 2 cgroups.
    Cgroup2 = 1,
    /// Version 1 cgroups.
    Hybrid = 2,
    /// Resource limits of single processes, which are weaker.
    Rlimit = 3,
}

impl From<millibox::Backend> for Backend {
    fn from(backend: millibox::Backend) -> Backend {
        match backend {
            millibox::Backend::Cgroup2 => Backend::Cgroup2,
            millibox::Backend::Hybrid => Backend::Hybrid,
            // A newer backend would be stronger than what this value promises.
            _ => Backend::Rlimit,
        }
    }
}

/// The options of a sandbox. The functions that set options do not check the values;
/// millibox_sandbox_new reports all mistakes together.
#[derive(Default)]
pub struct Options {
    builder: Builder,
    mistakes: Vec<String>,
}

impl Options {
    fn set(&mut self, set: impl FnOnce(Builder) -> Result<Builder, String>) {
        match set(self.builder.clone()) {
            Ok(builder) => self.builder = builder,
            Err(mistake) => self.mistakes.push(mistake),
        }
    }
}

/// A running sandbox, which serves any number of runs, several at a time. Starting one takes some
/// milliseconds, so keep it for many runs.
///
/// Any number of threads may use a sandbox at the same time. After a fork(2), the child process
/// cannot use the sandbox of its parent: functions return MILLIBOX_CODE_FORKED, and freeing
/// the handle there does not end the sandbox. The child can start a sandbox of its own.
pub struct Sandbox {
    pub supervisor: Owned<Supervisor>,
    warnings: CString,
}

/// Creates options with default values. Free them with millibox_options_free.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_options_new() -> Option<Box<Options>> {
    border::or(None, || Some(Box::default()))
}

/// Frees options. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_options_free(options: Option<Box<Options>>) {
    border::or((), || drop(options));
}

/// Sets the path of the executable millibox-supervisor. By default, the environment variable
/// MILLIBOX_SUPERVISOR names it. Otherwise it is looked up in the directory of the running program,
/// in ../libexec/millibox relative to that directory, and on PATH.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_options_set_supervisor(
    options: Option<&mut Options>,
    path: *const c_char,
) {
    set(options, |builder| {
        let path = border::string(path).ok_or("millibox_options_set_supervisor: path is NULL")?;
        Ok(builder.executable(path))
    });
}

/// Sets the backend, a value of millibox_backend. The default is MILLIBOX_BACKEND_AUTO.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_options_set_backend(options: Option<&mut Options>, backend: u32) {
    const AUTO: u32 = Backend::Auto as u32;
    const CGROUP2: u32 = Backend::Cgroup2 as u32;
    const HYBRID: u32 = Backend::Hybrid as u32;
    const RLIMIT: u32 = Backend::Rlimit as u32;
    set(options, |builder| {
        let choice = match backend {
            AUTO => BackendChoice::Auto,
            CGROUP2 => BackendChoice::Cgroup2,
            HYBRID => BackendChoice::Hybrid,
            RLIMIT => BackendChoice::Rlimit,
            _ => {
                return Err(format!(
                    "millibox_options_set_backend: {backend} is no backend"
                ));
            }
        };
        Ok(builder.backend(choice))
    });
}

/// Sets the number of programs that run at the same time, from 1 to 512. The default is one for
/// each CPU.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_options_set_slots(options: Option<&mut Options>, slots: usize) {
    set(options, |builder| Ok(builder.slots(slots)));
}

/// Keeps each slot on one CPU, so that the times of programs vary less.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_options_set_pin_slots(options: Option<&mut Options>, pin: bool) {
    set(options, |builder| Ok(builder.pin_slots(pin)));
}

/// Sets the parent of the sandbox's cgroups, an absolute path in UTF-8 within the hierarchy. By
/// default, the environment variable MILLIBOX_CGROUP_PARENT names it, and otherwise the supervisor
/// chooses it.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_options_set_cgroup_parent(
    options: Option<&mut Options>,
    path: *const c_char,
) {
    set(options, |builder| {
        let path = border::string(path).and_then(|path| path.to_str());
        let path = path.ok_or("millibox_options_set_cgroup_parent: path is NULL or not UTF-8")?;
        Ok(builder.cgroup_parent(path))
    });
}

fn set(options: Option<&mut Options>, change: impl FnOnce(Builder) -> Result<Builder, String>) {
    border::or((), || {
        if let Some(options) = options {
            options.set(change);
        }
    });
}

/// Starts a sandbox. `options` may be NULL. The caller frees `*sandbox` with millibox_sandbox_free.
///
/// Fails with MILLIBOX_CODE_START if the supervisor cannot be found or started, and with
/// MILLIBOX_CODE_VERSION if the version of the supervisor differs from that of the library.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn millibox_sandbox_new(
    options: Option<&Options>,
    sandbox: Option<&mut MaybeUninit<Option<Box<Sandbox>>>>,
) -> Option<Box<Error>> {
    checked(|| {
        returned(sandbox, "sandbox", || {
            let builder = match options {
                Some(options) if !options.mistakes.is_empty() => {
                    return Err(Error::invalid(options.mistakes.join("\n")));
                }
                Some(options) => options.builder.clone(),
                None => Supervisor::builder(),
            };
            let supervisor = builder.start()?;
            let warnings = supervisor.info().warnings().iter();
            let warnings: Vec<String> = warnings.map(ToString::to_string).collect();
            Ok(Some(Sandbox {
                supervisor: Owned::new(supervisor),
                warnings: c_string(warnings.join("\n")),
            }))
        })
    })
}

/// Ends the sandbox with all programs in it, without waiting. Any thread may call this. Threads
/// that wait for a run receive MILLIBOX_CODE_CLOSED. The handle must still be freed.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_sandbox_close(sandbox: Option<&Sandbox>) {
    border::or((), || {
        if let Some(sandbox) = sandbox {
            sandbox.supervisor.close();
        }
    });
}

/// Ends the sandbox with all programs in it, waits until they have ended, and frees it. No other
/// thread may be using it. Runs of the sandbox are freed separately, before or after it. NULL is
/// allowed.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_sandbox_free(sandbox: Option<Box<Sandbox>>) {
    border::or((), || drop(sandbox));
}

/// Returns the backend that limits and measures programs.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_sandbox_backend(sandbox: Option<&Sandbox>) -> Backend {
    border::or(Backend::Auto, || {
        sandbox.map_or(Backend::Auto, |sandbox| {
            sandbox.supervisor.info().backend().into()
        })
    })
}

/// Returns the number of programs that can run at the same time.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_sandbox_slots(sandbox: Option<&Sandbox>) -> usize {
    border::or(0, || {
        sandbox.map_or(0, |sandbox| sandbox.supervisor.info().slots())
    })
}

/// Returns what does not work fully on this machine, one sentence on each line, in UTF-8. The
/// string is empty if everything works. It lives as long as the sandbox.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_sandbox_warnings(sandbox: Option<&Sandbox>) -> *const c_char {
    sandbox.map_or(c"".as_ptr(), |sandbox| sandbox.warnings.as_ptr())
}

impl Sandbox {
    /// Checks a handle of the caller.
    ///
    /// # Errors
    /// The pointer is NULL.
    pub fn given(sandbox: Option<&Sandbox>) -> Result<&Supervisor, Error> {
        Ok(&given(sandbox, "sandbox")?.supervisor)
    }
}
