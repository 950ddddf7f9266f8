//! The tracer of a run with `Request::explain`: a thread of this process.

use crate::{Error, Mount, World};
use millibox_explain::{Explanation, Shown, View};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// A tracer. Its thread ends with the run.
#[derive(Debug)]
pub struct Tracing {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The socket for the target, until the request is encoded. While this process has it open, the
    /// tracer waits.
    socket: Option<Arc<OwnedFd>>,
    thread: Option<JoinHandle<Option<Explanation>>>,
    explanation: Option<Explanation>,
}

impl Tracing {
    /// Starts the tracer of a run in this world. `ids` are those of the run's user outside it.
    pub fn start(world: &World, ids: (u32, u32)) -> Result<Tracing, Error> {
        let failed = |error| Error::System {
            what: "start a tracer",
            error,
        };
        let (own, target) = millibox_explain::sockets().map_err(|errno| failed(errno.into()))?;
        let (rules, view) = (world.rules(), view(world));
        let thread = std::thread::Builder::new()
            .name("millibox-tracer".to_owned())
            .spawn(move || millibox_explain::explain(own, &rules, &view, ids))
            .map_err(failed)?;
        Ok(Tracing {
            state: Mutex::new(State {
                socket: Some(Arc::new(target)),
                thread: Some(thread),
                explanation: None,
            }),
        })
    }

    /// The socket that the run receives, at the first call.
    pub fn take_socket(&self) -> Option<Arc<OwnedFd>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.socket.take()
    }

    /// Waits for the end of the tracer.
    pub fn explanation(&self) -> Option<Explanation> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = state.thread.take() {
            state.explanation = thread.join().ok().flatten();
        }
        state.explanation.clone()
    }
}

/// What the mount operations of a world show.
fn view(world: &World) -> View {
    let mut view = View::new();
    for mount in world.mounts() {
        let shown = match mount {
            Mount::Bind(bind) => Shown::Bind {
                source: bind.source.clone(),
                read_only: bind.read_only,
            },
            Mount::Tmpfs(_) => Shown::Tmpfs,
            Mount::Proc(_) => Shown::Proc,
            Mount::Devices { .. } | Mount::Terminals { .. } => Shown::Devices,
            Mount::Etc { .. }
            | Mount::Sys { .. }
            | Mount::CreateDir { .. }
            | Mount::CreateFile { .. } => Shown::Created,
            Mount::Symlink { target, .. } => Shown::Link(target.clone()),
            Mount::NewRoot { path } => {
                view.change_root(path);
                continue;
            }
        };
        view.show(mount.path(), shown);
    }
    view
}
