//! The messages between the user of a supervisor and the process that starts it.

use std::fmt::Debug;
use std::io;
use std::os::fd::OwnedFd;

/// The numeric options of a supervisor. A launcher sends only these to the process that starts the
/// supervisor.
///
/// ```
/// use millibox::{LaunchOptions, Supervisor};
///
/// let options = LaunchOptions { slots: Some(2), ..LaunchOptions::default() };
/// let builder = Supervisor::builder().launch_options(options);
/// let Ok(supervisor) = builder.start() else { return };
/// assert_eq!(supervisor.info().slots(), 2);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaunchOptions {
    /// See [`Builder::slots`](crate::Builder::slots).
    pub slots: Option<usize>,
    /// See [`Builder::runners_per_slot`](crate::Builder::runners_per_slot).
    pub runners_per_slot: Option<usize>,
    /// See [`Builder::pin_slots`](crate::Builder::pin_slots).
    pub pin_slots: bool,
    /// See [`Builder::cpus`](crate::Builder::cpus).
    pub cpus: Option<Vec<usize>>,
}

/// The client's ends of a supervisor that was started. They can be sent to another process. The
/// supervisor ends when the process that started it ends, or when the last copy of the socket is
/// closed.
///
/// ```
/// use millibox::{Launched, Supervisor};
///
/// let Ok((launched, process)) = Supervisor::builder().launch() else { return };
/// let Launched { socket, stderr, .. } = launched;
/// drop((socket, stderr)); // No copy of the socket is left, so the supervisor ends.
/// process.wait_for_end();
/// ```
#[derive(Debug)]
pub struct Launched {
    /// The connection.
    pub socket: OwnedFd,
    /// The read end of the supervisor's standard error.
    pub stderr: OwnedFd,
    /// The pidfd of the process (pidfd_open(2)).
    pub process: OwnedFd,
}

/// Starts supervisors in place of [`Builder::start`](crate::Builder::start); see
/// [`Builder::launcher`](crate::Builder::launcher).
///
/// ```
/// use millibox::{LaunchOptions, Launched, Launcher, Supervisor};
/// use std::{io, sync::Arc};
///
/// /// Starts supervisors in this process. A real launcher asks a privileged one.
/// #[derive(Debug)]
/// struct Here;
///
/// impl Launcher for Here {
///     fn launch(&self, options: &LaunchOptions) -> io::Result<Launched> {
///         let builder = Supervisor::builder().launch_options(options.clone());
///         let (launched, process) = builder.launch().map_err(io::Error::other)?;
///         std::thread::spawn(move || process.wait_for_end());
///         Ok(launched)
///     }
/// }
///
/// let builder = Supervisor::builder().slots(1).launcher(Arc::new(Here));
/// let Ok(supervisor) = builder.start() else { return };
/// assert_eq!(supervisor.info().slots(), 1);
/// ```
pub trait Launcher: Debug + Send + Sync {
    /// Starts a supervisor with these options. Waits until it has started.
    ///
    /// # Errors
    /// The other process has ended, or it cannot start a supervisor.
    fn launch(&self, options: &LaunchOptions) -> io::Result<Launched>;
}
