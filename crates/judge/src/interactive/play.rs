//! Watches two communicating programs until both have ended.

use super::decide::{Conversation, DRAIN_TIMEOUT, END_GRACE};
use super::link::Link;
use crate::cancel::CancelToken;
use crate::convention::Answer;
use crate::failure::{JudgeFailure, Step};
use crate::feedback::{WATCH_INTERVAL, Watch};
use crate::verdict::Verdict;
use millibox::{Handle, Outcome, RunResult};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// Maximum skew between the client's clock and the clock that stamps runs.
const CLOCK_SKEW: Duration = Duration::from_millis(1);

/// Interval at which the token is checked after the interactor has ended.
const CANCEL_INTERVAL: Duration = Duration::from_millis(50);

/// Waits until both programs have ended, and lets each see the other's end at the right time. A
/// cancelled token ends both.
///
/// `interpret` reads the interactor's answer from its run. An interactor that leaves more in its
/// feedback directory than `watch` allows has failed.
pub(super) fn play(
    [interactor, solution]: &[Handle; 2],
    mut from_interactor: Link,
    mut from_solution: Link,
    watch: Watch<'_>,
    token: &CancelToken,
    interpret: impl FnOnce(&RunResult) -> Answer,
) -> Result<Conversation, JudgeFailure> {
    // `Some` until the interactor has ended.
    let mut watching = Some((watch, interpret));
    let mut answered: Option<(RunResult, Answer)> = None;
    let mut interactor_saw_end = false;
    let mut ended: Option<RunResult> = None;
    // The time at which the judge shows the interactor the solution's end.
    let mut show_end_at: Option<Instant> = None;
    // The time at which the judge discards the solution's unread output.
    let mut drain_at: Option<Instant> = None;
    loop {
        if answered.is_none()
            && let Some(run) = interactor.try_wait()?
            && let Some((watch, interpret)) = watching.take()
        {
            let answer = watch
                .finish()
                .map_or_else(|| interpret(&run), Answer::failed);
            if answer.verdict == Verdict::Accepted {
                // The solution must still exit with 0. It may keep writing to a pipe without a
                // reader, which must not kill it.
                from_interactor.close_writer();
                from_solution.discard_output();
            } else if ended.is_none() {
                // The rest of the run cannot change the verdict.
                solution.kill();
            }
            answered = Some((run, answer));
        }
        if ended.is_none()
            && let Some(run) = solution.try_wait()?
        {
            let grace = if run.outcome == Outcome::Exited(0) {
                Duration::ZERO
            } else {
                END_GRACE + CLOCK_SKEW
            };
            show_end_at = Some(Instant::now() + grace);
            ended = Some(run);
        }
        if let (Some(_), Some(_)) = (&answered, &ended) {
            break;
        }
        if show_end_at.is_some_and(|when| when <= Instant::now()) {
            show_end_at = None;
            interactor_saw_end = true;
            from_solution.close_writer();
            from_interactor.discard_output();
            if ended
                .as_ref()
                .is_some_and(|run| run.outcome != Outcome::Exited(0))
            {
                drain_at = Some(Instant::now() + DRAIN_TIMEOUT);
            }
        }
        if drain_at.is_some_and(|when| when <= Instant::now()) {
            drain_at = None;
            from_solution.discard_unread();
        }

        from_interactor.advance()?;
        from_solution.advance()?;
        if from_solution.is_over_limit() {
            solution.kill_for_output();
        }
        // A pipe hangs up when its program ends, which the result reports. It also hangs up when a
        // running program closes its output. Such a program still has its input open.
        from_interactor.propagate_end(&from_solution, answered.is_some());
        from_solution.propagate_end(&from_interactor, ended.is_some());

        let mut watched: Vec<(BorrowedFd, PollFlags)> = Vec::with_capacity(4);
        if answered.is_none() {
            watched.push((interactor.event()?, PollFlags::IN));
        }
        if ended.is_none() {
            watched.push((solution.event()?, PollFlags::IN));
        }
        watched.extend(from_interactor.poll_target());
        watched.extend(from_solution.poll_target());
        let next = show_end_at
            .or(drain_at)
            .map(|when| when.saturating_duration_since(Instant::now()));
        let lingers = from_interactor
            .linger_timeout()
            .into_iter()
            .chain(from_solution.linger_timeout());
        let check_due = Some(if watching.is_some() {
            WATCH_INTERVAL
        } else {
            CANCEL_INTERVAL
        });
        let timeout = next.into_iter().chain(lingers).chain(check_due).min();
        wait(&watched, timeout)?;
        if token.is_cancelled() {
            interactor.cancel();
            solution.cancel();
        }
        if let Some((watch, _)) = &mut watching {
            watch.check(interactor);
        }
    }
    match (answered, ended) {
        (Some((interactor_run, answer)), Some(_)) => {
            // The bytes left in the pipe count as output as well.
            if from_solution.is_over_limit_with_unmoved() {
                solution.kill_for_output();
            }
            // `kill_for_output` may have changed the result.
            let solution = solution.wait()?;
            Ok(Conversation {
                solution,
                interactor: interactor_run,
                answer,
                interactor_saw_end,
            })
        }
        _ => Err(JudgeFailure::ConversationCutShort),
    }
}

fn wait(
    watched: &[(BorrowedFd, PollFlags)],
    timeout: Option<Duration>,
) -> Result<(), JudgeFailure> {
    let mut ready: Vec<PollFd> = watched
        .iter()
        .map(|(fd, flags)| PollFd::from_borrowed_fd(*fd, *flags))
        .collect();
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    match poll(&mut ready, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(JudgeFailure::step(Step::WaitForConversation, errno)),
    }
}
