//! A running supervisor.

use crate::connection::{Connection, NewRun};
use crate::info::Info;
use crate::process::Process;
use crate::tracing::Tracing;
use crate::{Error, Handle, Mistakes, Request, RequestMistake};
use millibox_wire::Hello;
use std::sync::{Arc, Mutex};

/// A running supervisor. Threads may share it by reference or [`Arc`].
///
/// Dropping it kills all runs and waits until they have ended. No processes or cgroups are left.
///
/// ```
/// use millibox::{Outcome, Request, Supervisor};
///
/// let Ok(supervisor) = Supervisor::start() else { return };
/// let result = supervisor.run(&Request::new("/bin/true")).and_then(|run| run.wait());
/// assert_eq!(result.unwrap().outcome, Outcome::Exited(0));
/// ```
///
/// The kernel may refuse to pass descriptors because this user has too many in transit (unix(7),
/// ETOOMANYREFS). It may also refuse to open a descriptor for the library because this process has
/// too many open (EMFILE). The library then raises the soft limit on open files of this process to
/// the hard limit.
pub struct Supervisor {
    connection: Arc<Connection>,
    info: Info,
    process: Arc<Mutex<Process>>,
    /// Whether the supervisor has no cgroups although the caller did not choose that backend by
    /// name.
    has_weak_backend: bool,
    /// Whether a slot has two or more runners.
    has_pairs: bool,
    /// Whether dropping this value waits for the supervisor's end.
    waits: bool,
}

impl Supervisor {
    pub(crate) fn new(
        connection: Arc<Connection>,
        hello: Hello,
        process: Arc<Mutex<Process>>,
        has_weak_backend: bool,
        has_pairs: bool,
    ) -> Supervisor {
        Supervisor {
            connection,
            info: Info::new(hello, has_weak_backend),
            process,
            has_weak_backend,
            has_pairs,
            waits: true,
        }
    }

    /// Requests a run. Does not wait for it; many runs may be outstanding.
    ///
    /// # Errors
    /// The request is not valid, or the supervisor has ended.
    pub fn run(&self, request: &Request) -> Result<Handle, Error> {
        let [id] = self.connection.ids();
        let tracing = request.tracing(self.info.ids())?;
        let run = new_run(id, request, self.weaker_limits(request), &tracing)?;
        self.connection.run([run])?;
        let connection = self.connection.clone();
        Ok(Handle::new(connection, id, request.names(), tracing))
    }

    /// Requests two runs that need each other, such as a solution and an interactor. Both start at
    /// the same time, or neither starts. The two runs share a slot. So any number of pairs may be
    /// outstanding on any number of slots, together with other runs, and no pair waits for a run of
    /// another pair.
    ///
    /// If one run is rejected, killed or cancelled while it waits, the other run is not started,
    /// and its result reports this. After their start they are independent: if the program of one
    /// cannot be executed, the other run continues.
    ///
    /// # Errors
    /// A request is not valid, a slot has [one runner](crate::Builder::runners_per_slot), or the
    /// supervisor has ended. Neither run starts.
    pub fn run_pair(&self, requests: [&Request; 2]) -> Result<[Handle; 2], Error> {
        let [first, second] = self.connection.ids();
        let mut mistakes = self.weaker_limits(requests[0]);
        if !self.has_pairs {
            mistakes.push(RequestMistake::PairNeedsTwoRunners);
        }
        let weaker = self.weaker_limits(requests[1]);
        let ids = self.info.ids();
        let tracing = [requests[0].tracing(ids)?, requests[1].tracing(ids)?];
        let runs = match (
            new_run(first, requests[0], mistakes, &tracing[0]),
            new_run(second, requests[1], weaker, &tracing[1]),
        ) {
            (Ok(first), Ok(second)) => [first, second],
            (first, second) => {
                let mistakes = [first.err(), second.err()].into_iter().flatten();
                return Err(Mistakes::joined(mistakes).into());
            }
        };
        self.connection.run(runs)?;
        let handle = |id, request: &Request, tracing| {
            Handle::new(self.connection.clone(), id, request.names(), tracing)
        };
        let [of_first, of_second] = tracing;
        Ok([
            handle(first, requests[0], of_first),
            handle(second, requests[1], of_second),
        ])
    }

    /// The process-tree limits in the request that no cgroup enforces. The list is empty if the
    /// caller chose the weaker backend by name.
    fn weaker_limits(&self, request: &Request) -> Vec<RequestMistake> {
        let limits = request.limits();
        // Advice about the backend does not help with limits that no backend accepts.
        if !self.has_weak_backend || limits.check().is_err() {
            return Vec::new();
        }
        let requested = [
            ("CPU bandwidth", limits.cpu_bandwidth.is_some(), false),
            ("swap limit", limits.swap.is_some(), false),
            ("memory limit", limits.memory.is_some(), true),
            ("process limit", limits.processes.is_some(), true),
            ("CPU-time limit", limits.cpu_time_ns.is_some(), true),
        ];
        let needs_cgroup = |(limit, _, has_weaker_form)| RequestMistake::NeedsCgroup {
            limit,
            has_weaker_form,
            declined: self.info.declined().to_vec(),
        };
        requested
            .into_iter()
            .filter(|(_, is_requested, _)| *is_requested)
            .map(needs_cgroup)
            .collect()
    }

    /// Facts about the supervisor: backend, slots, version and warnings.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// The number of requested runs whose results have not arrived and whose handles exist.
    ///
    /// Results arrive when a thread waits or polls for a result. Until then, runs that have ended
    /// are included.
    pub fn unfinished(&self) -> usize {
        self.connection.unfinished()
    }

    /// Ends the supervisor: kills all runs and waits until they have ended. Dropping it does the
    /// same.
    pub fn shut_down(self) {}

    /// Ends the supervisor without waiting, for a process that exits after this. The supervisor and
    /// its keeper kill all runs and remove everything that they created, which takes a few
    /// milliseconds after the exit. If this process is the init process of a PID namespace, it
    /// waits for this clean-up, because its exit would kill both processes.
    ///
    /// ```
    /// use millibox::{Request, Supervisor};
    ///
    /// let Ok(supervisor) = Supervisor::start() else { return };
    /// supervisor.run(&Request::new("/bin/true")).and_then(|run| run.wait()).unwrap();
    /// supervisor.leave();
    /// std::process::exit(0);
    /// ```
    pub fn leave(mut self) {
        self.connection.close();
        // If the keeper was killed, its cgroups remain, and dropping this value removes them.
        self.waits = std::process::id() == 1 || Process::locked(&self.process).has_ended();
    }

    /// Ends the supervisor without waiting; any thread may call this. All runs are killed, and
    /// threads that wait for them receive [`Error::Died`].
    pub fn close(&self) {
        self.connection.close();
    }

    /// Whether the supervisor is known to have ended or was asked to end. If it was killed, the
    /// next request detects that.
    pub fn is_dead(&self) -> bool {
        self.connection.is_dead()
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        if !self.waits || self.connection.is_elsewhere() {
            return;
        }
        self.connection.close();
        Process::locked(&self.process).wait_for_end();
    }
}

impl std::fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Supervisor")
            .field("pid", &self.info.pid())
            .field("backend", &self.info.backend())
            .finish()
    }
}

fn new_run(
    id: u64,
    request: &Request,
    mistakes: Vec<RequestMistake>,
    tracing: &Option<Tracing>,
) -> Result<NewRun, Mistakes<RequestMistake>> {
    let tracer = tracing.as_ref().and_then(Tracing::take_socket);
    let (body, descriptors) = request.encode(mistakes, tracer)?;
    Ok(NewRun {
        id,
        body,
        descriptors,
        output_limited: request.has_output_limit(),
    })
}
