//! Runs groups of commands.
//!
//! A group is admitted as one request. Its commands run at the same time. Commands that exchange
//! data all need slots at the same time, so groups with pipes run on the lane for real time. A
//! semaphore with one permit for each of its slots ensures that a group starts only as a whole.

use super::GoJudge;
use super::INTERFACE;
use super::error::{GroupError, RequestError};
use super::member::Member;
use super::model::{Command, CommandResult, End, Group};
use super::pipes::{MAX_DESCRIPTORS, Pipes};
use super::plan::{self, StoredFiles};
use super::prepare::{Common, prepare};
use super::terminal::TerminalChannel;
use crate::config::LimitValues;
use crate::core::budget::Budget;
use crate::core::engine::Lane;
use crate::core::queue::Held;
use crate::http::headers::RunHeaders;
use crate::tokens::Client;
use futures_util::future::try_join_all;
use futures_util::{StreamExt, stream};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Requests of this dialect wait for a place as long as their clients do.
const PATIENCE: Duration = Duration::from_secs(365 * 24 * 3600);

/// The maximum number of pipes of a group.
const MAX_PIPES: u64 = 512;
/// The maximum number of its terminals.
const MAX_TERMINALS: u64 = 32;

/// The streams that connect a client with a run.
#[derive(Debug, Default)]
pub struct Attached {
    /// Descriptors of the commands, without those of pipes.
    pub ends: BTreeMap<End, OwnedFd>,
    /// Input and output of terminals, by the index of the command.
    pub terminals: BTreeMap<usize, TerminalChannel>,
    /// Whether the run takes part in a conversation, so that its real time counts.
    pub is_interactive: bool,
}

/// The results of a group.
#[derive(Debug)]
pub struct GroupReport {
    /// The results of the commands, in order.
    pub results: Vec<CommandResult>,
    /// The time in the queue.
    pub queued: Duration,
    /// The memory of the results, which must be kept until they are sent.
    pub held: Arc<Held>,
}

impl GroupReport {
    /// The headers of the answer. The outcome is that of a group's only command.
    pub fn headers(&self) -> RunHeaders<'static> {
        let outcome = match &self.results[..] {
            [result] => result.outcome,
            _ => None,
        };
        RunHeaders {
            id: None,
            outcome,
            queued: Some(self.queued),
        }
    }
}

/// Runs a group. If the future is dropped, the group is cancelled.
///
/// # Errors
/// There are no results: the request is not valid or not admitted, or the service failed.
pub async fn run(
    go_judge: &GoJudge,
    client: &Client,
    group: Group,
    attached: Attached,
) -> Result<GroupReport, GroupError> {
    let service = &go_judge.service;
    let result = run_group(go_judge, client, group, attached).await;
    match &result {
        Err(GroupError::QueueFull | GroupError::Refused(_)) => {
            service.metrics.count_refusal(INTERFACE);
        }
        Err(error) if error.is_service_failure() => {
            tracing::error!(%error, interface = INTERFACE, "the service failed");
            service.metrics.count_service_error();
        }
        _ => {}
    }
    result
}

async fn run_group(
    go_judge: &GoJudge,
    client: &Client,
    group: Group,
    mut attached: Attached,
) -> Result<GroupReport, GroupError> {
    let begin = Instant::now();
    let service = &go_judge.service;
    check(&group, &service.config.limits.max)?;
    let queue = &service.programs.queue;
    let is_coupled = !group.pipes.is_empty() || attached.is_interactive;
    let lane = if is_coupled {
        Lane::RealTime
    } else {
        Lane::CpuTime
    };
    let stored = StoredFiles::find(go_judge, client, &group)?;
    let mut ticket = client.ticket(group.size_bytes, PATIENCE);
    ticket.lane = lane;
    let memory = group.commands.iter().map(|command| command.memory_limit);
    // A group that requests more than the bounds of all requests together runs alone.
    let memory = match is_coupled {
        true => memory.fold(0, u64::saturating_add),
        false => memory.max().unwrap_or(0),
    };
    ticket.memory_bytes = memory.min(queue.bounds().memory_bytes);
    ticket.held_bytes =
        plan::plan(go_judge, &group, &stored, is_coupled).charge(queue.bounds().max_charge());
    let permit = queue.admit(ticket).await?;
    let queued = begin.elapsed();
    let _slots = if is_coupled {
        Some(go_judge.slots_for(group.commands.len()).await?)
    } else {
        None
    };
    let mut pipes = Pipes::new(&group)?;
    pipes.ends.append(&mut attached.ends);
    let budget = plan::budget(go_judge);
    let answer = Budget::new(service.config.requests.answer_bytes);
    let common = Common {
        service,
        file_system: &go_judge.file_system,
        stored: &stored,
        budget: &budget,
        answer: &answer,
    };
    let mut members = Vec::with_capacity(group.commands.len());
    for (index, command) in group.commands.into_iter().enumerate() {
        let terminal = attached.terminals.remove(&index);
        let member = prepare(common, index, command, &mut pipes.ends, terminal)?;
        members.push(member);
    }
    service
        .metrics
        .observe_admission(queued, begin.elapsed().saturating_sub(queued));
    let relays = pipes.relays.into_iter().map(|relay| relay.run(&budget));
    let relays = try_join_all(relays);
    let members = members.into_iter();
    let executing = members.map(|member| execute(go_judge, client, lane, member));
    // Commands that do not exchange data share the slot of the group, one after another.
    let at_once = if is_coupled { usize::MAX } else { 1 };
    let executed = stream::iter(executing)
        .buffered(at_once)
        .collect::<Vec<Result<CommandResult, GroupError>>>();
    let (executed, traffic) = tokio::join!(executed, relays);
    let held = permit.into_held();
    let mut results: Vec<CommandResult> = executed.into_iter().collect::<Result<_, _>>()?;
    for traffic in traffic?
        .into_iter()
        .filter(|traffic| !traffic.name.is_empty())
    {
        if let Some(result) = results.get_mut(traffic.writer) {
            result.files.insert(traffic.name, traffic.bytes);
        }
    }
    Ok(GroupReport {
        results,
        queued,
        held: Arc::new(held),
    })
}

async fn execute(
    go_judge: &GoJudge,
    client: &Client,
    lane: Lane,
    member: Member,
) -> Result<CommandResult, GroupError> {
    match member {
        Member::NotExecuted(result) => Ok(*result),
        Member::Ready(prepared) => prepared.execute(go_judge, client, lane).await,
    }
}

/// Checks that the service can carry out a group whose largest limits are `max`.
///
/// # Errors
/// The group is empty, exceeds a limit, or requires something that the service does not have.
pub fn check(group: &Group, max: &LimitValues) -> Result<(), RequestError> {
    if group.commands.is_empty() {
        return Err(RequestError::NoCommand);
    }
    at_most("cmd", group.commands.len() as u64, u64::from(max.processes))?;
    at_most("pipeMapping", group.pipes.len() as u64, MAX_PIPES)?;
    let terminals = group.commands.iter().filter(|command| command.tty);
    at_most("commands with tty", terminals.count() as u64, MAX_TERMINALS)?;
    group
        .commands
        .iter()
        .try_for_each(|command| check_command(command, max))
}

fn check_command(command: &Command, max: &LimitValues) -> Result<(), RequestError> {
    if !command.cpu_set.is_empty() {
        return Err(RequestError::Unsupported {
            field: "cpuSetLimit",
        });
    }
    let nanoseconds = |milliseconds: u64| milliseconds.saturating_mul(1_000_000);
    at_most("cpuLimit", command.cpu_limit, nanoseconds(max.cpu_ms))?;
    at_most("clockLimit", command.clock_limit, nanoseconds(max.wall_ms))?;
    at_most("memoryLimit", command.memory_limit, max.memory_bytes)?;
    at_most("procLimit", command.process_limit, u64::from(max.processes))?;
    at_most("files", command.files.len() as u64, MAX_DESCRIPTORS as u64)
}

fn at_most(field: &'static str, value: u64, max: u64) -> Result<(), RequestError> {
    if value > max {
        return Err(RequestError::AboveLimit { field, value, max });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_above_the_maximum_and_cpu_sets_are_rejected_by_name() {
        let max = LimitValues::default();
        check_command(&Command::default(), &max).unwrap();
        let field = |command: Command| match check_command(&command, &max) {
            Err(RequestError::AboveLimit { field, .. } | RequestError::Unsupported { field }) => {
                field
            }
            other => panic!("{other:?}"),
        };
        let command = Command::default;
        assert_eq!(
            [
                field(Command {
                    cpu_limit: u64::MAX,
                    ..command()
                }),
                field(Command {
                    memory_limit: max.memory_bytes + 1,
                    ..command()
                }),
                field(Command {
                    process_limit: 1 << 40,
                    ..command()
                }),
                field(Command {
                    cpu_set: "0".to_owned(),
                    ..command()
                }),
            ],
            ["cpuLimit", "memoryLimit", "procLimit", "cpuSetLimit"]
        );
    }
}
