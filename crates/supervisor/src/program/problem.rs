//! Encodes the problems of a template as the numbers of a [`Failure`].

use crate::launch::Failure;
use crate::sys::Errno;
use millibox_wire::{ProcessEnd, Step, TemplateProblem, Unfit};

/// The numbers of [`TemplateProblem`] in a [`Failure`].
const PROBLEMS: [TemplateProblem; 13] = [
    TemplateProblem::NotReady,
    TemplateProblem::CpuTime,
    TemplateProblem::OutOfMemory,
    TemplateProblem::Unfit(Unfit::Backend),
    TemplateProblem::Unfit(Unfit::SeparatePid1),
    TemplateProblem::Unfit(Unfit::MountBelowTmpfs),
    TemplateProblem::Unfit(Unfit::Seccomp),
    TemplateProblem::Unfit(Unfit::RootInside),
    TemplateProblem::Unfit(Unfit::Namespaces),
    TemplateProblem::Unfit(Unfit::Protocol),
    TemplateProblem::Unfit(Unfit::Threads),
    TemplateProblem::Unfit(Unfit::SharedMemory),
    TemplateProblem::Unfit(Unfit::TooLong),
];

/// The number of [`TemplateProblem::Ended`] in a [`Failure`].
const ENDED: u32 = u32::MAX;

/// The number of [`TemplateProblem::NotExecuted`] in a [`Failure`].
const NOT_EXECUTED: u32 = u32::MAX - 1;

/// The failure of a template. The errno is the signal or the negative exit status of a template
/// that has ended.
pub fn failure(problem: TemplateProblem) -> Failure {
    let (object, errno) = match problem {
        TemplateProblem::Ended(ProcessEnd::Exited(status)) => (ENDED, -status),
        TemplateProblem::Ended(ProcessEnd::Killed(signal)) => (ENDED, signal),
        TemplateProblem::NotExecuted { errno } => (NOT_EXECUTED, errno),
        other => {
            let number = PROBLEMS.iter().position(|known| *known == other);
            (number.map_or(ENDED, |number| number as u32), 0)
        }
    };
    Failure {
        object,
        ..Failure::new(Step::Ready, Errno(errno))
    }
}

/// The problem that a failure in [`Step::Ready`] describes.
pub fn problem(object: u32, errno: Errno) -> TemplateProblem {
    match (PROBLEMS.get(object as usize), errno.0) {
        (Some(problem), _) => *problem,
        (None, errno) if object == NOT_EXECUTED => TemplateProblem::NotExecuted { errno },
        (None, signal @ 1..) => TemplateProblem::Ended(ProcessEnd::Killed(signal)),
        (None, status) => TemplateProblem::Ended(ProcessEnd::Exited(-status)),
    }
}

pub fn unfit_failure(unfit: Unfit) -> Failure {
    failure(TemplateProblem::Unfit(unfit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problem_survives_its_failure() {
        let ended = [
            TemplateProblem::Ended(ProcessEnd::Exited(0)),
            TemplateProblem::Ended(ProcessEnd::Exited(3)),
            TemplateProblem::Ended(ProcessEnd::Killed(9)),
            TemplateProblem::NotExecuted { errno: 2 },
        ];
        for expected in PROBLEMS.into_iter().chain(ended) {
            let failure = failure(expected);
            assert_eq!(problem(failure.object, Errno(failure.errno)), expected);
        }
    }
}
