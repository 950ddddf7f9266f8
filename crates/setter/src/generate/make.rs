//! Generates files with generators and the model solution.

use super::workspace::{PendingFile, Source, Task, Workspace};
use crate::error::{FileAction, FileFault, FileKind, MakeFault, ProgramFault, file};
use crate::programs::{SETTER_LIMITS, all};
use crate::record::content;
use crate::{Setter, SetterError, below};
use millibox_judge::batch::Worker;
use millibox_judge::report::counted;
use millibox_judge::tool::{ToolRun, memory_file};
use millibox_languages::program::Limits;
use millibox_package::{Fault, Problem, Severity, ToolFault};
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The file is kept, because a person wrote or changed it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("kept, because a person wrote or changed it; remove it to generate it again ({by})")]
#[non_exhaustive]
pub struct KeptFile {
    /// The generator with its arguments, or the model solution.
    pub by: String,
}

impl Setter<'_> {
    /// Generates the files and returns those that may be put in place. Warns of files that are kept
    /// because a person wrote them.
    pub(super) fn make<'p>(
        &self,
        what: &str,
        workspace: &mut Workspace<'p>,
        tasks: Vec<Task<'p>>,
    ) -> Result<Vec<PendingFile<'p>>, SetterError> {
        if tasks.is_empty() {
            return Ok(Vec::new());
        }
        let (problem, options) = (workspace.problem, workspace.options);
        let made = all(self.parallel(what, &tasks, |_: &mut Worker<'_>, task| {
            let made = self
                .make_one(problem, task, options.check)
                .map_err(|error| error.about(task));
            let line = match &made {
                Ok((_, bytes)) => format!(
                    "{}: {}, {}",
                    below(problem, &task.place),
                    counted(*bytes, "byte"),
                    task.by
                ),
                Err(_) => format!("{}: failed", below(problem, &task.place)),
            };
            (line, made)
        }))?;
        let mut ready = Vec::new();
        for (task, (digest, bytes)) in tasks.into_iter().zip(made) {
            let there = content(&task.place)?;
            let changed = there.as_ref() != Some(&digest);
            let made = workspace
                .record
                .content()
                .files
                .get(&below(problem, &task.place));
            if changed && there.is_some() && made.map(|made| &made.content) != there.as_ref() {
                let kept = ToolFault::new(KeptFile { by: task.by });
                let fault = Fault::new(task.place, Severity::Warning, kept);
                workspace.report.warnings.push(fault);
                continue;
            }
            ready.push(PendingFile {
                task,
                digest,
                bytes,
                changed,
            });
        }
        Ok(ready)
    }

    /// Generates one file and returns its digest and length.
    fn make_one(
        &self,
        problem: &Problem,
        task: &Task<'_>,
        check: bool,
    ) -> Result<(String, u64), MakeError> {
        let failed = |error: std::io::Error| file(FileAction::Write, &task.place, error);
        match &task.source {
            Source::Text(text) => std::fs::write(&task.new, text).map_err(failed)?,
            Source::Copy(from) => {
                let mut from =
                    File::open(from).map_err(|error| file(FileAction::Read, from, error))?;
                let mut to = File::create(&task.new).map_err(failed)?;
                std::io::copy(&mut from, &mut to).map_err(failed)?;
            }
            Source::Run { .. } | Source::Answer { .. } => {
                let output = File::options()
                    .read(true)
                    .write(true)
                    .create_new(true)
                    .open(&task.new);
                let output = output.map_err(failed)?;
                self.write(problem, task, &output)?;
                if check {
                    let again = memory_file().map_err(SetterError::from)?;
                    self.write(problem, task, &again)?;
                    if let Some(at) = difference(&output, &again).map_err(failed)? {
                        return Err(MakeFault::Unstable { byte: at + 1 }.into());
                    }
                }
            }
        }
        let bytes = task.new.metadata().map_err(failed)?.len();
        if bytes == 0 && matches!(task.source, Source::Run { .. }) {
            return Err(MakeFault::Empty.into());
        }
        let digest = content(&task.new)?
            .ok_or_else(|| file(FileAction::Write, &task.place, FileFault::Vanished))?;
        Ok((digest, bytes))
    }

    /// Runs the program that generates the file.
    fn write(&self, problem: &Problem, task: &Task<'_>, output: &File) -> Result<(), MakeError> {
        let result = match &task.source {
            Source::Run {
                executable,
                arguments,
                environment,
                ..
            } => self.run(&ToolRun {
                executable,
                world: &executable.world,
                arguments,
                environment,
                limits: &SETTER_LIMITS,
                input: None,
                output,
            }),
            Source::Answer { executable, input } => {
                let memory = task
                    .test
                    .memory
                    .or(problem.limits.memory)
                    .unwrap_or(SETTER_LIMITS.memory);
                let arguments: Vec<OsString> =
                    task.test.arguments.iter().map(OsString::from).collect();
                self.run(&ToolRun {
                    executable,
                    world: &executable.world,
                    arguments: &arguments,
                    environment: &[],
                    limits: &Limits {
                        memory,
                        ..SETTER_LIMITS
                    },
                    input: Some(
                        &File::open(input).map_err(|error| file(FileAction::Read, input, error))?,
                    ),
                    output,
                })
            }
            Source::Text(_) | Source::Copy(_) => return Ok(()),
        };
        let result = result.map_err(SetterError::from)?;
        result
            .failure
            .map_or(Ok(()), |failure| Err(MakeFault::Failed(failure).into()))
    }
}

/// Why a file was not generated: a fault of its program, or an error that does not concern the
/// file.
enum MakeError {
    Fault(MakeFault),
    Other(SetterError),
}

impl MakeError {
    fn about(self, task: &Task<'_>) -> SetterError {
        let fault = match self {
            MakeError::Fault(fault) => fault,
            MakeError::Other(error) => return error,
        };
        let kind = if task.place == task.test.input {
            FileKind::Input
        } else {
            FileKind::Answer
        };
        let (test, by, seed) = (task.test.name.clone(), task.by.clone(), task.seed);
        ProgramFault::Make {
            test,
            kind,
            by,
            seed,
            fault,
        }
        .into()
    }
}

impl From<MakeFault> for MakeError {
    fn from(fault: MakeFault) -> MakeError {
        MakeError::Fault(fault)
    }
}

impl From<SetterError> for MakeError {
    fn from(error: SetterError) -> MakeError {
        MakeError::Other(error)
    }
}

/// Returns the position of the first difference between two files.
fn difference(one: &File, other: &File) -> std::io::Result<Option<u64>> {
    let mut buffers = [vec![0; 64 << 10], vec![0; 64 << 10]];
    let mut at = 0;
    loop {
        let [left, right] = &mut buffers;
        let (read, again) = (fill(one, left, at)?, fill(other, right, at)?);
        let same = left[..read]
            .iter()
            .zip(&right[..again])
            .take_while(|(a, b)| a == b)
            .count();
        if same < read.max(again) {
            return Ok(Some(at + same as u64));
        }
        if read == 0 {
            return Ok(None);
        }
        at += read as u64;
    }
}

fn fill(file: &File, buffer: &mut [u8], at: u64) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], at + filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}
