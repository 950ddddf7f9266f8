//! The sockets of the service. They are bound before the service starts and before it drops the
//! privileges that low ports and directories of other users need.

use crate::config::{Config, Listen};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use tokio::net::{TcpListener as TokioTcpListener, UnixListener as TokioUnixListener};

/// Allows the user and the group to connect to the Unix socket.
const SOCKET_MODE: u32 = 0o660;
/// The maximum number of connections that the kernel keeps until they are accepted.
const BACKLOG: i32 = 1024;

/// Why the service cannot listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// An address cannot be used.
    #[error("cannot listen on {address}: {error}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The kernel's error.
        error: io::Error,
    },
    /// A Unix socket cannot be created.
    #[error("cannot listen on the Unix socket {}: {error}", .path.display())]
    BindUnix {
        /// The path.
        path: PathBuf,
        /// The kernel's error.
        error: io::Error,
    },
}

/// Bound addresses.
#[derive(Debug)]
pub struct Sockets {
    listeners: Vec<(Listen, TcpListener)>,
    unix: Option<(SocketFile, UnixListener)>,
}

/// The file of a Unix socket, which is removed when this value is dropped.
#[derive(Debug)]
pub struct SocketFile(PathBuf);

impl SocketFile {
    pub fn path(&self) -> &Path {
        &self.0
    }
}

/// Bound addresses that the runtime watches.
pub type Watched = (
    Vec<(Listen, TokioTcpListener)>,
    Option<(SocketFile, TokioUnixListener)>,
);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // If this fails, the next start removes the file.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Sockets {
    /// Binds all addresses of a configuration.
    ///
    /// # Errors
    /// One of the addresses cannot be used.
    pub fn bind(config: &Config) -> Result<Sockets, ServerError> {
        let mut listeners = Vec::new();
        for listen in config.addresses() {
            let address = listen.address;
            let bound = TcpListener::bind(address).and_then(|listener| {
                listener.set_nonblocking(true)?;
                lengthen_backlog(&listener)?;
                Ok(listener)
            });
            let listener = bound.map_err(|error| ServerError::Bind { address, error })?;
            listeners.push((listen, listener));
        }
        let unix = config.unix_socket.as_ref().map(|path| {
            bind_unix(path).map_err(|error| ServerError::BindUnix {
                path: path.clone(),
                error,
            })
        });
        Ok(Sockets {
            listeners,
            unix: unix.transpose()?,
        })
    }

    /// No addresses, for a runner that only front ends reach.
    pub fn none() -> Sockets {
        Sockets {
            listeners: Vec::new(),
            unix: None,
        }
    }

    /// Lets the runtime watch the sockets.
    pub(crate) fn watched(self) -> Result<Watched, ServerError> {
        let mut listeners = Vec::new();
        for (listen, listener) in self.listeners {
            let address = listen.address;
            let listener = TokioTcpListener::from_std(listener)
                .map_err(|error| ServerError::Bind { address, error })?;
            listeners.push((listen, listener));
        }
        let unix_listener = match self.unix {
            None => None,
            Some((file, listener)) => match TokioUnixListener::from_std(listener) {
                Ok(listener) => Some((file, listener)),
                Err(error) => {
                    let path = file.0.clone();
                    return Err(ServerError::BindUnix { path, error });
                }
            },
        };
        Ok((listeners, unix_listener))
    }

    /// Gives the Unix socket to another user and group.
    ///
    /// # Errors
    /// This process may not change the owner.
    pub fn give_to(&self, uid: u32, gid: u32) -> Result<(), ServerError> {
        let Some((SocketFile(path), _)) = &self.unix else {
            return Ok(());
        };
        std::os::unix::fs::lchown(path, Some(uid), Some(gid)).map_err(|error| {
            ServerError::BindUnix {
                path: path.clone(),
                error,
            }
        })
    }
}

/// Calls listen(2) once more, because the standard library does not let the caller set the backlog.
fn lengthen_backlog(listener: &impl AsFd) -> io::Result<()> {
    Ok(rustix::net::listen(listener, BACKLOG)?)
}

fn bind_unix(path: &Path) -> io::Result<(SocketFile, UnixListener)> {
    let is_stale = path
        .symlink_metadata()
        .is_ok_and(|found| found.file_type().is_socket())
        && std::os::unix::net::UnixStream::connect(path)
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
    if is_stale {
        std::fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    let file = SocketFile(path.to_owned());
    listener.set_nonblocking(true)?;
    lengthen_backlog(&listener)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(SOCKET_MODE))?;
    Ok((file, listener))
}
