//! Finds faults of a package: its files, its inputs and its answers.

use super::error::{FileAction, MachineError, ProgramFault, file};
use super::{Setter, SetterError, below};
use millibox_judge::batch::{Case, Worker};
use millibox_judge::checker::custom::{OutputValidator, checker_limits};
use millibox_judge::checker::{CheckResult, CheckerInstance};
use millibox_judge::failure::{JudgeFailure, Step};
use millibox_judge::tool::{ToolResult, ToolRun, memory_file};
use millibox_judge::verdict::Verdict;
use millibox_languages::program::{Executable, Limits};
use millibox_languages::staging::{StagedDirectory, StagingError};
use millibox_package::model::{Checker, Format, Kind, Probe, ProbeKind, Program, Scoring, Test};
use millibox_package::{Fault, Problem, Severity};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Exit status of an input validator that accepts, in the ICPC formats.
const ACCEPTED_STATUS: i32 = 42;

/// The faults, and what was examined.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Faults. Those of reading the package come first.
    pub faults: Vec<Fault>,
    /// Number of tests that were examined.
    pub tests: usize,
    /// Number of runs of input validators.
    pub validations: usize,
    /// Number of answers, and of outputs that test the checker, that the checker examined.
    pub answers: usize,
}

impl Report {
    /// Whether one of the faults is an error.
    pub fn has_errors(&self) -> bool {
        self.faults
            .iter()
            .any(|fault| fault.severity == Severity::Error)
    }

    fn add(&mut self, severity: Severity, path: &Path, message: impl Into<String>) {
        let message = one_line(&message.into());
        self.faults.push(Fault {
            path: path.to_owned(),
            line: None,
            column: None,
            severity,
            message,
            bound: None,
        });
    }

    /// Adds the remarks of parallel work.
    fn add_all(&mut self, all: Vec<Result<Remarks, SetterError>>) -> Result<(), SetterError> {
        for faults in all {
            for (severity, path, message) in faults? {
                self.add(severity, &path, message);
            }
        }
        Ok(())
    }
}

/// A fault message in one line. Compilers print several.
fn one_line(message: &str) -> String {
    message.lines().collect::<Vec<_>>().join("; ")
}

/// Faults, each with its file.
type Remarks = Vec<(Severity, PathBuf, String)>;

/// The result of reading one file.
struct FileScan {
    digest: [u8; 32],
    /// Probable mistakes, each with its line.
    remarks: Vec<(Option<u32>, String)>,
}

/// The programs that each test is tried with: validators for its input, the checker for its answer.
struct Tools<'a> {
    validators: Vec<(&'a Program, Executable)>,
    checker: Option<CheckerInstance>,
    limits: Limits,
}

impl Setter<'_> {
    /// Validates a package, which is a directory or an archive.
    ///
    /// # Errors
    /// There is no package, or it cannot be read at all, or the sandbox or the machine failed.
    /// Faults of the package are in the report.
    pub fn validate(&self, package: &Path) -> Result<Report, SetterError> {
        let mut report = Report::default();
        let problem = match millibox_package::read_whole(package) {
            Ok(problem) => problem,
            // All faults are the whole package's, so none of its files was read.
            Err(faults) if faults.iter().all(|fault| fault.path == package) => {
                return Err(SetterError::Package(faults));
            }
            Err(faults) => {
                report.faults = faults.into_iter().collect();
                return Ok(report);
            }
        };
        report.faults.extend(problem.warnings.iter().cloned());
        let tests: Vec<&Test> = self.complete(&problem, &mut report);
        report.tests = tests.len();
        let scans = self.parallel("files", &tests, |_: &mut Worker<'_>, test| {
            let input = scan(&test.input, true);
            let answer = test
                .answer
                .as_deref()
                .map(|answer| scan(answer, problem.kind == Kind::Batch))
                .transpose();
            (String::new(), input.and_then(|input| Ok((input, answer?))))
        });
        let mut inputs: BTreeMap<(String, [u8; 32]), &Test> = BTreeMap::new();
        let by_group = problem.scoring != Scoring::PassFail;
        for (test, scans) in tests.iter().zip(scans) {
            let (input, answer) = scans?;
            // Groups with points may share tests.
            let group = if by_group {
                group_of(&problem, test)
            } else {
                String::new()
            };
            if test.arguments.is_empty() && test.files.is_none() {
                let same = inputs.entry((group, input.digest)).or_insert(test);
                if same.name != test.name {
                    let message =
                        format!("the same as the input of test {}; remove one", same.name);
                    report.add(Severity::Warning, &test.input, message);
                }
            }
            let answer = answer.zip(test.answer.as_deref());
            for (scan, path) in std::iter::once((input, &*test.input)).chain(answer) {
                for (line, message) in scan.remarks {
                    let path = path.to_owned();
                    report.faults.push(Fault {
                        path,
                        line,
                        column: None,
                        severity: Severity::Warning,
                        message,
                        bound: None,
                    });
                }
            }
        }
        let tools = self.tools(&problem, &mut report)?;
        self.try_tests(&problem, &tests, &tools, &mut report)?;
        self.try_probes(&problem, &tools, &mut report)?;
        if let Some(unpacked) = &problem.unpacked {
            report.faults = report
                .faults
                .into_iter()
                .map(|fault| unpacked.fault(fault))
                .collect();
        }
        Ok(report)
    }

    /// Returns the tests whose files exist. Reports the others as faults.
    fn complete<'p>(&self, problem: &'p Problem, report: &mut Report) -> Vec<&'p Test> {
        let made = |test: &Test| {
            let generated = problem.format == Format::Sim
                && (problem
                    .generators
                    .iter()
                    .any(|generation| generation.test == test.name)
                    || problem.directory.join("Sipfile").is_file());
            if generated {
                "; `millibox problem gen` makes it"
            } else {
                ""
            }
        };
        problem
            .tests()
            .filter(|test| {
                let mut complete = true;
                for (what, path) in [
                    ("input", Some(&test.input)),
                    ("answer", test.answer.as_ref()),
                ] {
                    let Some(path) = path.filter(|path| !path.is_file()) else {
                        continue;
                    };
                    let message = format!(
                        "the {what} of test {} does not exist{}",
                        test.name,
                        made(test)
                    );
                    report.add(Severity::Error, path, message);
                    complete = false;
                }
                complete
            })
            .collect()
    }

    /// Compiles validators and checker. Reports those that cannot be compiled as faults.
    fn tools<'a>(
        &self,
        problem: &'a Problem,
        report: &mut Report,
    ) -> Result<Tools<'a>, SetterError> {
        let mut compile = |program: &Program| match self.compile(
            problem,
            program,
            Vec::new(),
            &problem.constants,
        ) {
            Ok(executable) => Ok(Some(executable)),
            Err(SetterError::Programs(faults)) => {
                for fault in faults {
                    // The report names the program as the fault's file.
                    let message = match fault {
                        ProgramFault::Build { fault, .. } => fault.to_string(),
                        other => other.to_string(),
                    };
                    report.add(Severity::Error, &program.path, message);
                }
                Ok(None)
            }
            Err(other) => Err(other),
        };
        let mut validators = Vec::new();
        for program in &problem.input_validators {
            if let Some(executable) = compile(program)? {
                validators.push((program, executable));
            }
        }
        // A grader needs a submission's results, so this only checks that it can be compiled.
        if let Some(grader) = &problem.grader {
            compile(grader)?;
        }
        let checker = match &problem.checker {
            Checker::Tokens => Some(CheckerInstance::tokens(problem.format)),
            Checker::Lines => Some(CheckerInstance::Lines),
            Checker::Custom {
                program,
                convention,
            } => match compile(program)? {
                Some(executable) => {
                    let custom = OutputValidator::of_package(
                        self.supervisor,
                        executable,
                        *convention,
                        problem,
                    )
                    .map_err(|error| SetterError::from(MachineError::CheckerData(error)))?;
                    Some(CheckerInstance::Custom(Arc::new(custom)))
                }
                None => None,
            },
        };
        if problem.format != Format::Sim && problem.input_validators.is_empty() {
            let directory = problem.directory.join("input_validators");
            report.add(
                Severity::Warning,
                &directory,
                "there is no input validator, so the inputs are unchecked; add one",
            );
        }
        // An interactive problem has no output to check, and a multi-pass problem has several.
        let checker = checker.filter(|_| problem.kind == Kind::Batch);
        Ok(Tools {
            validators,
            checker,
            limits: checker_limits(&problem.limits),
        })
    }

    fn try_tests(
        &self,
        problem: &Problem,
        tests: &[&Test],
        tools: &Tools<'_>,
        report: &mut Report,
    ) -> Result<(), SetterError> {
        let all = self.parallel("inputs and answers", tests, |worker, test| {
            let mut faults = Vec::new();
            let tried = self
                .refusals(problem, test, tools, true)
                .map(|refusals| {
                    for (program, refusal) in refusals {
                        let message = refusal.message(&below(problem, &program.path));
                        faults.push((Severity::Error, test.input.clone(), message));
                    }
                })
                .and_then(|()| self.check_answer(worker, problem, test, tools, &mut faults));
            (String::new(), tried.map(|()| faults))
        });
        report.add_all(all)?;
        report.validations = tools.validators.len() * tests.len();
        report.answers = if tools.checker.is_some() {
            tests.len()
        } else {
            0
        };
        Ok(())
    }

    /// The validators that reject a test's input, with their reasons. Unless `all` is set, the
    /// first one is enough.
    fn refusals<'t>(
        &self,
        problem: &Problem,
        test: &Test,
        tools: &Tools<'t>,
        all: bool,
    ) -> Result<Vec<(&'t Program, Refusal)>, SetterError> {
        let ids = self.supervisor.ids();
        let files = test.files.as_deref().map(|files| {
            let failed =
                |error: StagingError| file(FileAction::Stage, files, std::io::Error::from(error));
            StagedDirectory::within(&problem.directory, files, ids).map_err(failed)
        });
        let files = files.transpose()?;
        let mut refusals = Vec::new();
        for (program, executable) in &tools.validators {
            let beside = |files: &StagedDirectory| {
                let placed = executable.beside(files.path(), ids);
                placed.map_err(|source| JudgeFailure::Step {
                    step: Step::PlaceTestFiles,
                    source: source.into(),
                })
            };
            let with_files = files.as_ref().map(beside).transpose()?;
            let executable = with_files.as_ref().unwrap_or(executable);
            // In the format, the submission's arguments follow the validator's own.
            let flags = test.input_flags.of(program).iter().chain(&test.arguments);
            let done = self.validator(executable, flags, &test.input, tools)?;
            refusals.extend(Refusal::of(done).map(|refusal| (*program, refusal)));
            if !all && !refusals.is_empty() {
                break;
            }
        }
        Ok(refusals)
    }

    fn validator<'f>(
        &self,
        executable: &Executable,
        flags: impl Iterator<Item = &'f String>,
        input: &Path,
        tools: &Tools<'_>,
    ) -> Result<ToolResult, SetterError> {
        let opened = File::open(input).map_err(|error| file(FileAction::Read, input, error))?;
        let arguments: Vec<_> = flags.map(Into::into).collect();
        Ok(self.run(&ToolRun {
            executable,
            world: &executable.world,
            arguments: &arguments,
            environment: &[],
            limits: &tools.limits,
            input: Some(&opened),
            output: &memory_file()?,
        })?)
    }

    /// Checks the judges' answer as if a submission had written it.
    fn check_answer(
        &self,
        worker: &mut Worker<'_>,
        problem: &Problem,
        test: &Test,
        tools: &Tools<'_>,
        faults: &mut Remarks,
    ) -> Result<(), SetterError> {
        let (Some(checker), Some(path)) = (&tools.checker, &test.answer) else {
            return Ok(());
        };
        let (verdict, why) = self.check(worker, problem, test, path, checker)?;
        match verdict {
            Verdict::Accepted => {}
            Verdict::JudgeError => {
                faults.push((
                    Severity::Error,
                    path.clone(),
                    format!("the checker fails on this answer: {why}"),
                ));
            }
            _ => {
                let message =
                    format!("the checker does not accept this answer as an output: {why}");
                // In the ICPC formats, answers may have another form than outputs.
                let own = matches!(problem.checker, Checker::Custom { .. })
                    && problem.format != Format::Sim;
                let severity = if own {
                    Severity::Warning
                } else {
                    Severity::Error
                };
                faults.push((severity, path.clone(), message));
            }
        }
        Ok(())
    }

    /// Checks a file as if a submission had written it. Returns the verdict and its reason.
    fn check(
        &self,
        worker: &mut Worker<'_>,
        problem: &Problem,
        test: &Test,
        path: &Path,
        checker: &CheckerInstance,
    ) -> Result<(Verdict, String), SetterError> {
        // A file that cannot be read is no failure of the checker.
        File::open(path).map_err(|error| file(FileAction::Read, path, error))?;
        let case = Case::new(test, &problem.checker_flags);
        Ok(match checker.check_file(worker, &case, path) {
            Ok(CheckResult { answer, .. }) => {
                let failure = answer
                    .failure
                    .map_or_else(String::new, |failure| failure.to_string());
                (
                    answer.verdict,
                    [failure, answer.comment].join(" ").trim().to_owned(),
                )
            }
            Err(failure) => (Verdict::JudgeError, failure.to_string()),
        })
    }

    /// Runs the tests of the programs themselves. Invalid files must be rejected, valid ones
    /// accepted.
    fn try_probes(
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
            let why = "its output is not checked, because the problem is interactive or has \
                several passes";
            report.add(Severity::Warning, &probe.test.input, why);
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
        faults: &mut Remarks,
    ) -> Result<(), SetterError> {
        let Probe { kind, test, output } = probe;
        if *kind == ProbeKind::InvalidInput {
            let refusals = self.refusals(problem, test, tools, false)?;
            if !tools.validators.is_empty() && refusals.is_empty() {
                let message = "every input validator accepts it, but it must be rejected";
                faults.push((Severity::Error, test.input.clone(), message.to_owned()));
            }
            // A validator that crashes, by assert(3) for example, or hangs may never reach the
            // fault that the input contains.
            for (program, refusal) in refusals.into_iter().filter(|(_, refusal)| refusal.failed) {
                let message = format!(
                    "{} does not exit, as it must to reject it: {}",
                    below(problem, &program.path),
                    refusal.why
                );
                faults.push((Severity::Warning, test.input.clone(), message));
            }
            return Ok(());
        }
        let mut error =
            |path: &Path, message: String| faults.push((Severity::Error, path.to_owned(), message));
        for (program, refusal) in self.refusals(problem, test, tools, true)? {
            error(&test.input, refusal.message(&below(problem, &program.path)));
        }
        if problem.kind != Kind::Batch {
            return Ok(());
        }
        let (Some(_), Some(output)) = (&test.answer, output) else {
            let part = if test.answer.is_none() {
                ".ans"
            } else {
                ".out"
            };
            error(
                &test.input,
                format!("it tests the checker, which needs a file {part} beside it; add one"),
            );
            return Ok(());
        };
        let Some(checker) = &tools.checker else {
            return Ok(());
        };
        let (verdict, why) = self.check(worker, problem, test, output, checker)?;
        match (kind, verdict) {
            (_, Verdict::JudgeError) => {
                error(output, format!("the checker fails on this output: {why}"))
            }
            (ProbeKind::ValidOutput, Verdict::Accepted) => {}
            (ProbeKind::ValidOutput, _) => {
                error(
                    output,
                    format!("the checker rejects it, but it must be accepted: {why}"),
                );
            }
            (_, Verdict::Accepted) => {
                error(
                    output,
                    "the checker accepts it, but it must be rejected".to_owned(),
                );
            }
            _ => {}
        }
        Ok(())
    }
}

/// The answer of a validator that did not accept an input.
struct Refusal {
    why: String,
    /// Whether the validator did not exit.
    failed: bool,
}

impl Refusal {
    /// Reads a validator's result. `None`: it accepted the input.
    fn of(result: ToolResult) -> Option<Refusal> {
        let failed = result.exit_code.is_none();
        match (result.exit_code, result.failure) {
            (Some(ACCEPTED_STATUS), _) => None,
            (_, Some(failure)) => Some(Refusal {
                why: failure.to_string(),
                failed,
            }),
            (_, None) => {
                let why = format!("exited with 0, not with {ACCEPTED_STATUS} (accepted)");
                Some(Refusal { why, failed })
            }
        }
    }

    fn message(&self, program: &str) -> String {
        format!(
            "{program} {}: {}",
            if self.failed {
                "fails on it"
            } else {
                "rejects it"
            },
            self.why
        )
    }
}

/// Name of a test's group.
fn group_of(problem: &Problem, test: &Test) -> String {
    let has = |tests: &[Test]| tests.iter().any(|other| other.name == test.name);
    problem
        .groups()
        .find(|group| has(&group.tests))
        .map(|group| group.name.clone())
        .unwrap_or_default()
}

/// Reads a file once, for its digest and, if it is a `text`, for probable mistakes.
fn scan(path: &Path, text: bool) -> Result<FileScan, SetterError> {
    let failed = |error: std::io::Error| file(FileAction::Read, path, error);
    let mut source = File::open(path).map_err(failed)?;
    let mut digest = Sha256::new();
    let mut chunk = vec![0; 128 << 10];
    // The incomplete character at the end of the last chunk.
    let mut begun: Vec<u8> = Vec::new();
    let (mut line, mut last) = (1u32, None);
    let (mut carriage, mut zero, mut foreign) = (None, None, None);
    let mut first = true;
    let mut mark = false;
    loop {
        let read = match source.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => &chunk[..read],
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(error)),
        };
        digest.update(read);
        mark |= std::mem::take(&mut first) && read.starts_with(b"\xef\xbb\xbf");
        let begin = line;
        for byte in read {
            match byte {
                b'\n' => line = line.saturating_add(1),
                b'\r' => {
                    carriage.get_or_insert(line);
                }
                0 => {
                    zero.get_or_insert(line);
                }
                _ => {}
            }
        }
        last = read.last().copied();
        if foreign.is_none() {
            begun.extend_from_slice(read);
            match std::str::from_utf8(&begun) {
                Ok(_) => begun.clear(),
                Err(error) if error.error_len().is_none() => {
                    drop(begun.drain(..error.valid_up_to()))
                }
                Err(error) => {
                    let good = begun[..error.valid_up_to()]
                        .iter()
                        .filter(|byte| **byte == b'\n')
                        .count();
                    foreign = Some(begin.saturating_add(good as u32));
                }
            }
        }
    }
    if foreign.is_none() && !begun.is_empty() {
        foreign = Some(line);
    }
    let mut remarks = Vec::new();
    if text {
        let mut add = |line: Option<u32>, message: &str| remarks.push((line, message.to_owned()));
        if mark {
            add(Some(1), "begins with a byte-order mark; remove it");
        }
        if carriage.is_some() {
            add(
                carriage,
                "has a carriage return; lines end with a line feed alone",
            );
        }
        if zero.is_some() {
            add(zero, "has a zero byte; is this a text file?");
        } else if foreign.is_some() {
            add(foreign, "is not UTF-8");
        }
        match last {
            None => add(None, "is empty"),
            Some(b'\n') => {}
            Some(_) => add(Some(line), "its last line has no line feed; add one"),
        }
    }
    Ok(FileScan {
        digest: digest.finalize().into(),
        remarks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remarks(bytes: &[u8]) -> Vec<(Option<u32>, String)> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, bytes).unwrap();
        scan(&path, true).unwrap().remarks
    }

    #[test]
    fn scan_of_texts_finds_probable_mistakes() {
        assert!(remarks("1 2\n\u{e9}\n".as_bytes()).is_empty());
        let one = |bytes: &[u8], line: Option<u32>, part: &str| {
            let remarks = remarks(bytes);
            assert!(
                remarks.len() == 1 && remarks[0].0 == line && remarks[0].1.contains(part),
                "{remarks:?}"
            );
        };
        one(b"1\n2\r\n", Some(2), "carriage return");
        one(b"1\n2", Some(2), "no line feed");
        one(b"", None, "empty");
        one(b"a\nb\0\n", Some(2), "zero byte");
        one(b"a\nb\n\xff\n", Some(3), "not UTF-8");
        one(b"\xef\xbb\xbfa\n", Some(1), "byte-order mark");
        // A character cut off at the end of the file, and one across two chunks.
        assert!(
            remarks(b"a\xc3")
                .iter()
                .any(|(line, message)| *line == Some(1) && message.contains("not UTF-8"))
        );
        let mut long = vec![b'a'; (128 << 10) - 1];
        long.extend("\u{e9}\n".as_bytes());
        assert!(remarks(&long).is_empty());
    }
}
