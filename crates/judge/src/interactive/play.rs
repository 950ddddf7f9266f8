//! Watches two programs that talk, until both have ended.

use super::Conversation;
use super::decide::{DRAIN_TIMEOUT, END_GRACE};
use super::link::Link;
use crate::batch::JudgeFailure;
use crate::convention::Answer;
use crate::feedback::{WATCH_INTERVAL, Watch};
use crate::verdict::Verdict;
use millibox::{Handle, Outcome, RunResult};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// The client's clock and the one that stamps runs need not go at quite the same rate.
const CLOCK_SKEW: Duration = Duration::from_millis(1);

/// Waits until both have ended, and tells each of the other's end when it is time. `says` reads an
/// interactor's answer from its run, once; an interactor that leaves more than `watch` allows has failed.
pub(super) fn play(
    [interactor, solution]: &[Handle; 2],
    mut from_interactor: Link,
    mut from_solution: Link,
    watch: Watch<'_>,
    says: impl FnOnce(&RunResult) -> Answer,
) -> Result<Conversation, JudgeFailure> {
    // Both until the interactor has ended.
    let mut watching = Some((watch, says));
    let mut said: Option<(RunResult, Answer)> = None;
    let mut told = false;
    let mut ended: Option<RunResult> = None;
    // When the interactor is to see that the solution has ended.
    let mut tell: Option<Instant> = None;
    // When it has read of it what it will.
    let mut rest: Option<Instant> = None;
    loop {
        if said.is_none()
            && let Some(run) = interactor.try_wait()?
            && let Some((watch, says)) = watching.take()
        {
            let answer = watch.finish().map_or_else(|| says(&run), Answer::failed);
            if answer.verdict == Verdict::Accepted {
                // It still has to end as it should. It may write on; nobody reads it, and to
                // die of that would be no fault of its.
                from_interactor.close_writer();
                from_solution.discard_output();
            } else if ended.is_none() {
                // Nothing that it could do now matters.
                solution.kill();
            }
            said = Some((run, answer));
        }
        if ended.is_none()
            && let Some(run) = solution.try_wait()?
        {
            let grace = if run.outcome == Outcome::Exited(0) { Duration::ZERO } else { END_GRACE + CLOCK_SKEW };
            tell = Some(Instant::now() + grace);
            ended = Some(run);
        }
        if let (Some(_), Some(_)) = (&said, &ended) {
            break;
        }
        if tell.is_some_and(|when| when <= Instant::now()) {
            tell = None;
            told = true;
            from_solution.close_writer();
            from_interactor.discard_output();
            if ended.as_ref().is_some_and(|run| run.outcome != Outcome::Exited(0)) {
                rest = Some(Instant::now() + DRAIN_TIMEOUT);
            }
        }
        if rest.is_some_and(|when| when <= Instant::now()) {
            rest = None;
            from_solution.discard_unread();
        }

        from_interactor.advance()?;
        from_solution.advance()?;
        if from_solution.is_over_limit() {
            solution.kill_for_output();
        }
        // A pipe that hangs up means the end of a program, which its result will tell, or that
        // it has closed its output and lives on, which shows by the input that it keeps.
        from_interactor.propagate_end(&from_solution, said.is_some());
        from_solution.propagate_end(&from_interactor, ended.is_some());

        let mut watched: Vec<(BorrowedFd, PollFlags)> = Vec::with_capacity(4);
        if said.is_none() {
            watched.push((interactor.event()?, PollFlags::IN));
        }
        if ended.is_none() {
            watched.push((solution.event()?, PollFlags::IN));
        }
        watched.extend(from_interactor.poll_target());
        watched.extend(from_solution.poll_target());
        let next = tell.or(rest).map(|when| when.saturating_duration_since(Instant::now()));
        let lingers = from_interactor.linger_timeout().into_iter().chain(from_solution.linger_timeout());
        let looks = watching.is_some().then_some(WATCH_INTERVAL);
        let timeout = next.into_iter().chain(lingers).chain(looks).min();
        wait(&watched, timeout)?;
        if let Some((watch, _)) = &mut watching {
            watch.check(interactor);
        }
    }
    match (said, ended) {
        (Some((interactor_run, answer)), Some(_)) => {
            // What is left in the pipe was written, too.
            if from_solution.is_over_limit_with_unmoved() {
                solution.kill_for_output();
            }
            // That may have changed what the result says.
            let solution = solution.wait()?;
            Ok(Conversation { solution, interactor: interactor_run, answer, told })
        }
        _ => Err(JudgeFailure("the conversation ended before its programs".to_owned())),
    }
}

fn wait(watched: &[(BorrowedFd, PollFlags)], timeout: Option<Duration>) -> Result<(), JudgeFailure> {
    let mut ready: Vec<PollFd> = watched.iter().map(|(fd, flags)| PollFd::from_borrowed_fd(*fd, *flags)).collect();
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    match poll(&mut ready, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(JudgeFailure::new("wait for the solution and the interactor", &errno)),
    }
}
