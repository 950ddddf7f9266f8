//! Carries out runs of programs.

use super::{Attachment, Event, ProgramError, ProgramReport, ProgramRun, ProgramSource};
use super::{Source, StopOn, Test, TestReport};
use crate::core::budget::Budget;
use crate::core::catalog::{Catalog, CatalogError, Program, ScriptError, SourceFile};
use crate::core::engine::Engine;
use crate::core::execution::{ExecutionError, InputContent, InputFile};
use crate::core::queue::{Held, Permit, Queue, Refusal, Ticket};
use bytes::Bytes;
use millibox::Outcome;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Runs programs: admits, compiles and executes them.
#[derive(Debug, Clone)]
pub struct Programs {
    /// Executes programs.
    pub engine: Engine,
    /// Compiles them.
    pub catalog: Catalog,
    /// Admits them.
    pub queue: Queue,
}

impl Programs {
    /// Runs a program on its tests. If the future is dropped, the run is cancelled.
    ///
    /// # Errors
    /// There is no result: the run was refused or cannot be executed, or the service failed.
    pub async fn run(&self, run: ProgramRun) -> Result<ProgramReport, ProgramError> {
        self.run_attached(run, None).await
    }

    /// Runs a program that is connected to a client during its first test.
    ///
    /// # Errors
    /// Those of [`Programs::run`].
    pub async fn run_attached(
        &self,
        run: ProgramRun,
        attachment: Option<Attachment>,
    ) -> Result<ProgramReport, ProgramError> {
        let begin = Instant::now();
        let run = self.with_script(run).await?;
        run.check()?;
        let permit = self.admit(&run).await?;
        let queued = begin.elapsed();
        self.run_now(run, queued, attachment, Some(permit)).await
    }

    /// Puts the sources of an interpreted program into the working directory, unless they are
    /// checked before the run. The interpreter that runs them reports a syntax error, so a new
    /// script costs one start of the interpreter. Such scripts share their world, so an interpreter
    /// can be prepared for all of them.
    ///
    /// # Errors
    /// A source has a path that cannot be used, or no supervisor is running.
    pub async fn with_script(&self, run: ProgramRun) -> Result<ProgramRun, CatalogError> {
        let ProgramSource::Sources {
            runtime,
            files,
            entry,
            is_checked: false,
            ..
        } = &run.source
        else {
            return Ok(run);
        };
        let paths: Vec<&Path> = files.iter().map(|file| file.path.as_path()).collect();
        let main = self.catalog.main_source(runtime, &paths, entry.as_deref());
        let Some(main) = main.filter(|_| !runtime.is_compiled) else {
            return Ok(run);
        };
        let program = match self.catalog.script(runtime, main).await {
            Ok(Some(program)) => program,
            // The compilation reports that the language cannot be used.
            Ok(None) | Err(ScriptError::Language(_)) => return Ok(run),
            Err(ScriptError::Catalog(error)) => return Err(error),
            Err(ScriptError::NoSupervisor) => return Err(CatalogError::NoSupervisor),
        };
        let sources = files.iter().map(|file| InputFile {
            path: file.path.clone(),
            content: InputContent::File {
                content: file.content.clone(),
                mode: 0o644,
            },
        });
        Ok(ProgramRun {
            files: run.files.iter().cloned().chain(sources).collect(),
            source: ProgramSource::Program(program),
            ..run
        })
    }

    /// Waits until a run may start. The ticket may charge more memory of the service than the run
    /// needs, for what the caller does with it.
    ///
    /// # Errors
    /// The run is refused.
    pub async fn admit(&self, run: &ProgramRun) -> Result<Permit, Refusal> {
        let max_charge = self.queue.bounds().max_charge();
        self.queue.admit(run.admission(max_charge)).await
    }

    /// Runs a program for which the caller holds a permit and which waited this long in the queue.
    ///
    /// # Errors
    /// There is no result: the run cannot be executed, or the service failed.
    pub async fn run_admitted(
        &self,
        run: ProgramRun,
        queued: Duration,
    ) -> Result<ProgramReport, ProgramError> {
        run.check()?;
        self.run_now(run, queued, None, None).await
    }

    async fn run_now(
        &self,
        run: ProgramRun,
        queued: Duration,
        mut attachment: Option<Attachment>,
        mut permit: Option<Permit>,
    ) -> Result<ProgramReport, ProgramError> {
        let begin = Instant::now();
        run.observe(Event::Started { queued }).await;
        let (compiled, program) = match &run.source {
            ProgramSource::Command(command) if command.is_empty() => {
                return Err(ProgramError::NoCommand);
            }
            ProgramSource::Command(_) => (None, None),
            ProgramSource::Program(program) => (None, Some(program.clone())),
            ProgramSource::Sources {
                runtime,
                files,
                entry,
                limits,
                is_checked: _,
            } => {
                let sources = read_sources(files).await?;
                let compiled = self
                    .catalog
                    .compile(runtime, sources, entry.clone(), *limits)
                    .await?;
                run.observe(Event::Compiled(compiled.clone())).await;
                let program = compiled.result.clone().ok();
                if program.is_none() {
                    return Ok(ProgramReport {
                        compiled: Some(compiled),
                        tests: Vec::new(),
                        queued,
                        setup: begin.elapsed(),
                        total: queued + begin.elapsed(),
                        held: held(permit),
                    });
                }
                (Some(compiled), program)
            }
        };
        let setup = begin.elapsed();
        let mut tests: Vec<TestReport> = Vec::with_capacity(run.tests.len());
        let answer = Budget::new(run.answer_bytes.max(run.test_bytes()));
        let mut stopped = false;
        for (index, test) in run.tests.iter().enumerate() {
            if stopped {
                tests.push(TestReport {
                    id: test.id.clone(),
                    report: None,
                    passed: None,
                });
                continue;
            }
            if index > 0
                && let Some(held) = permit
            {
                let ticket = run.admission(self.queue.bounds().max_charge());
                permit = Some(self.queue.give_way(held, ticket).await?);
            }
            run.observe(Event::TestStarted { index }).await;
            let attachment = attachment.take();
            let mut report = self
                .run_test(&run, program.as_deref(), index, test, attachment)
                .await?;
            stopped = run.stop_on.stops(&report);
            match tests.last_mut() {
                Some(last) if run.keeps_last => last.drop_output(),
                _ if run.keeps_last => {}
                _ => report.keep_within(&answer),
            }
            if run.observer.is_some() {
                let report = report.clone();
                run.observe(Event::TestEnded { index, report }).await;
            }
            tests.push(report);
        }
        Ok(ProgramReport {
            compiled,
            tests,
            queued,
            setup,
            total: queued + begin.elapsed(),
            held: held(permit),
        })
    }

    async fn run_test(
        &self,
        run: &ProgramRun,
        program: Option<&Program>,
        index: usize,
        test: &Test,
        attachment: Option<Attachment>,
    ) -> Result<TestReport, ProgramError> {
        let (live, forward) = run.live_output(index);
        let mut execution = run.execution(program, test, live);
        if let Some(Attachment::Terminal(_)) = &attachment {
            let policy = millibox::seccomp::default_profile(true, true);
            let world = execution.world.seccomp(&policy);
            execution.world = world.map_err(ExecutionError::Sandbox)?;
        }
        if let Some(attachment) = attachment {
            execution.streams.attach(attachment)?;
        }
        let executed = self.engine.execute(run.lane, execution);
        let (report, ()) = tokio::join!(executed, forward);
        let report = report?;
        let passed = match &test.expected {
            None => None,
            Some(_) if report.outcome != Outcome::Exited(0) || report.stdout().is_truncated() => {
                Some(false)
            }
            Some(expected) => {
                let expected = expected.clone().read().await?;
                Some(test.comparison.accepts(&expected, &report.stdout().bytes))
            }
        };
        Ok(TestReport {
            id: test.id.clone(),
            report: Some(report),
            passed,
        })
    }
}

/// Reads the sources, which were checked to be small enough together.
async fn read_sources(files: &[Source]) -> Result<Vec<SourceFile>, ExecutionError> {
    let mut sources = Vec::with_capacity(files.len());
    for file in files {
        sources.push(SourceFile {
            path: file.path.clone(),
            bytes: file.content.clone().read().await?,
        });
    }
    Ok(sources)
}

/// Frees the slot of a run. Its answer is still charged.
fn held(permit: Option<Permit>) -> Arc<Held> {
    Arc::new(permit.map_or_else(Held::nothing, Permit::into_held))
}

impl StopOn {
    fn stops(self, test: &TestReport) -> bool {
        let exited = |code: Option<i32>| {
            test.report
                .as_ref()
                .is_some_and(|report| match report.outcome {
                    Outcome::Exited(found) => code.is_none_or(|code| code == found),
                    _ => false,
                })
        };
        match self {
            StopOn::Never => false,
            StopOn::Failure => {
                test.passed != Some(true) && !(test.passed.is_none() && exited(Some(0)))
            }
            StopOn::Error => !exited(None),
        }
    }
}

impl ProgramRun {
    /// The place and the memory for which the run waits.
    fn admission(&self, max_charge: u64) -> Ticket {
        let held_bytes = self.ticket.held_bytes.min(max_charge);
        Ticket {
            lane: self.lane,
            memory_bytes: self.limits.memory_bytes,
            held_bytes: held_bytes.max(self.plan().charge(max_charge)),
            ..self.ticket
        }
    }

    async fn observe(&self, event: Event) {
        if let Some(observer) = &self.observer {
            // The run continues even if the observer was dropped.
            let _ = observer.send(event).await;
        }
    }

    /// Senders of live output, and the task that passes it on. Both are idle without an observer.
    fn live_output(
        &self,
        test: usize,
    ) -> ([Option<mpsc::Sender<Bytes>>; 2], impl Future<Output = ()>) {
        let mut senders = [None, None];
        let mut receivers = [None, None];
        if self.observer.is_some() {
            for (sender, receiver) in senders.iter_mut().zip(&mut receivers) {
                let (new_sender, new_receiver) = mpsc::channel(4);
                (*sender, *receiver) = (Some(new_sender), Some(new_receiver));
            }
        }
        let [stdout, stderr] = receivers;
        let forward = move |stream: u8, receiver: Option<mpsc::Receiver<Bytes>>| async move {
            let Some(mut receiver) = receiver else { return };
            while let Some(bytes) = receiver.recv().await {
                self.observe(Event::Output {
                    test,
                    stream,
                    bytes,
                })
                .await;
            }
        };
        let both = async move {
            tokio::join!(forward(1, stdout), forward(2, stderr));
        };
        (senders, both)
    }
}
