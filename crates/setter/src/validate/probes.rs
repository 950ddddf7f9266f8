//! Runs the package's tests of its validators and its checker.

use super::fault::ValidationFault;
use super::report::{FoundFaults, Report};
use super::tools::{Checked, Tools};
use crate::{Setter, SetterError, below};
use millibox_judge::batch::Worker;
use millibox_package::model::{Kind, Probe, ProbeKind};
use millibox_package::{Problem, Severity};
use std::path::Path;

impl Setter<'_> {
    /// Runs all probes. Invalid files must be rejected, and valid files must be accepted.
    pub(super) fn try_probes(
        &self,
        problem: &Problem,
        tools: &Tools<'_>,
        report: &mut Report,
    ) -> Result<(), SetterError> {
        let probes = &problem.probes;
        let outputs = probes
            .iter()
            .filter(|probe| probe.kind != ProbeKind::InvalidInput);
        if let Some(probe) = outputs
            .clone()
            .next()
            .filter(|_| problem.kind != Kind::Batch)
        {
            report.add(
                Severity::Warning,
                &probe.test.input,
                ValidationFault::OutputUnchecked,
            );
        }
        if probes.is_empty() {
            return Ok(());
        }
        let all = self.parallel(
            "tests of validators and checker",
            probes,
            |worker, probe| {
                let mut faults = Vec::new();
                let tried = self.try_probe(worker, problem, probe, tools, &mut faults);
                (String::new(), tried.map(|()| faults))
            },
        );
        report.add_all(all)?;
        report.validations += probes.len() * tools.validators.len();
        report.answers += if tools.checker.is_some() {
            outputs.count()
        } else {
            0
        };
        Ok(())
    }

    fn try_probe(
        &self,
        worker: &mut Worker<'_>,
        problem: &Problem,
        probe: &Probe,
        tools: &Tools<'_>,
        faults: &mut FoundFaults,
    ) -> Result<(), SetterError> {
        let Probe {
            kind, test, output, ..
        } = probe;
        if *kind == ProbeKind::InvalidInput {
            let refusals = self.refusals(problem, test, tools, false)?;
            if !tools.validators.is_empty() && refusals.is_empty() {
                let fault = ValidationFault::InvalidInputAccepted;
                faults.push((Severity::Error, test.input.clone(), fault));
            }
            // A validator that crashes (for example by assert(3)) or hangs may never reach the
            // fault that the input contains.
            for (program, refusal) in refusals {
                if !refusal.is_failure() {
                    continue;
                }
                let program = below(problem, &program.path);
                let fault = ValidationFault::ValidatorCrashes { program, refusal };
                faults.push((Severity::Warning, test.input.clone(), fault));
            }
            return Ok(());
        }
        let mut error = |path: &Path, fault: ValidationFault| {
            faults.push((Severity::Error, path.to_owned(), fault));
        };
        for (program, refusal) in self.refusals(problem, test, tools, true)? {
            let program = below(problem, &program.path);
            error(
                &test.input,
                ValidationFault::InputRejected { program, refusal },
            );
        }
        if problem.kind != Kind::Batch {
            return Ok(());
        }
        let (Some(_), Some(output)) = (&test.answer, output) else {
            let extension = if test.answer.is_none() {
                ".ans"
            } else {
                ".out"
            };
            error(&test.input, ValidationFault::IncompleteProbe { extension });
            return Ok(());
        };
        let Some(checker) = &tools.checker else {
            return Ok(());
        };
        match (kind, self.check(worker, problem, test, output, checker)?) {
            (_, Checked::Failed(failure)) => {
                error(output, ValidationFault::CheckerFailsOnOutput(failure));
            }
            (ProbeKind::ValidOutput, Checked::Accepted) => {}
            (ProbeKind::ValidOutput, Checked::Rejected { comment }) => {
                error(output, ValidationFault::ValidOutputRejected { comment });
            }
            (_, Checked::Accepted) => error(output, ValidationFault::InvalidOutputAccepted),
            _ => {}
        }
        Ok(())
    }
}
