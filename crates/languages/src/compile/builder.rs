//! Builds products from sources. It prepares a suite, runs its compiler and, if the compiler fails,
//! checks whether the suite works at all.

use super::availability::Availability;
use super::build::{self, BuildResult, Job, Spent};
use super::error::{BuildError, CompileError, InternalError, Refusal};
use super::input::{Input, argument};
use super::memo::Memo;
use super::options::Options;
use super::placeholders::{environment, values};
use super::reach::find_closed;
use super::supervisor_ref::SupervisorRef;
use super::tools::{self, Tools};
use super::world::{EXECUTABLE, OUTPUT, PREPARED, SOURCE, world};
use crate::cache::{Cache, Entry, KeyBuilder};
use crate::files::{self, SourceFile, Store, StoreError, StoredFiles};
use crate::suite::template::Values;
use crate::suite::{CompileStep, Completion, Library, Link, Product, Suite};
use millibox::Backend;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// A program of this size in bytes is always allowed, regardless of the free space on the disk.
const MIN_OUTPUT_BYTES: u64 = 64 << 20;
/// A program may use this fraction of the free space on the disk, so that a few programs cannot
/// fill the disk.
const ROOM_DIVISOR: u64 = 8;

/// After a step that prepares a suite has failed, for example because memory or disk space was
/// short, it is not executed again for this time.
const PREPARE_PAUSE: Duration = Duration::from_secs(60);

/// Builds products with one supervisor, and remembers what it learns about the suites.
#[derive(Debug)]
pub(super) struct Builder<'s> {
    pub(super) supervisor: SupervisorRef<'s>,
    pub(super) cache: Cache,
    /// The tools of each language. The variants of a language use the same tools.
    tools: Memo<Result<Arc<Tools>, Availability>>,
    /// The product of each suite's steps `prepare` and `complete`.
    prepared: Memo<Result<Arc<TempDir>, InternalError>>,
    /// Whether each suite has compiled anything. If a suite has not, the entry is the result of its
    /// example.
    proven: Memo<Result<(), BuildError>>,
}

impl<'s> Builder<'s> {
    pub(super) fn new(supervisor: SupervisorRef<'s>, cache: Cache) -> Builder<'s> {
        Builder {
            supervisor,
            cache,
            tools: Memo::default(),
            prepared: Memo::default(),
            proven: Memo::default(),
        }
    }

    /// Returns the tools of the suite. They are tested once for each language.
    pub(super) fn tools(&self, suite: &Suite) -> Result<Arc<Tools>, Availability> {
        self.tools.get(&suite.language, || {
            tools::find(&self.supervisor, suite).map(Arc::new)
        })
    }

    /// Checks that the suite can compile its example. With `again`, an earlier success does not
    /// count.
    pub(super) fn prove(
        &self,
        suite: &Suite,
        tools: &Tools,
        again: bool,
    ) -> Result<(), BuildError> {
        let prove = || {
            let input = Input::example(suite).map_err(|refusal| BuildError::new(refusal, ""))?;
            let link = suite.linking.as_ref().map(|_| Link::Dynamic);
            let (options, spent) = (Options::default(), Spent::default());
            let built = self.build_unproven(suite, tools, &input, &options, link, spent);
            built
                .files
                .map(|_| ())
                .map_err(|error| BuildError::new(error, &built.messages))
        };
        if again {
            prove()
        } else {
            self.proven.get(&suite.name, prove)
        }
    }

    /// Builds a product. A success also shows that the suite works. The times in `spent` count
    /// against the limits.
    pub(super) fn build(
        &self,
        suite: &Suite,
        tools: &Tools,
        input: &Input,
        options: &Options,
        link: Option<Link>,
        spent: Spent,
    ) -> BuildResult {
        let mut built = self.build_unproven(suite, tools, input, options, link, spent);
        let is_refused = matches!(built.files, Err(CompileError::Refused(_)));
        let needs_more = |complete: &Completion| built.messages.contains(&complete.when);
        if is_refused
            && suite.complete.as_ref().is_some_and(needs_more)
            && !self.is_prepared(suite, Library::Complete)
        {
            built = match self.prepare(suite, tools, Library::Complete, options.without_preparing) {
                Ok(_) => self.build_unproven(suite, tools, input, options, link, spent),
                Err(error) => BuildResult::failed(error),
            };
        }
        if built.files.is_ok() {
            self.proven.set(&suite.name, Ok(()));
        }
        built
    }

    /// Builds a product. Its success does not show that the suite works.
    pub(super) fn build_unproven(
        &self,
        suite: &Suite,
        tools: &Tools,
        input: &Input,
        options: &Options,
        link: Option<Link>,
        spent: Spent,
    ) -> BuildResult {
        let Some(compile) = &suite.compile else {
            return BuildResult::without_run(self.stored(&input.files));
        };
        // The complete library also serves the programs that do not need it. If it could not be
        // prepared, these programs must not depend on it.
        let library = match self.is_prepared(suite, Library::Complete) {
            true => Library::Complete,
            false => Library::Common,
        };
        let prepared = match self.prepare(suite, tools, library, options.without_preparing) {
            Ok(prepared) => prepared,
            Err(error) => return BuildResult::failed(error),
        };
        let source = match self.stored(&input.files) {
            Ok(source) => source,
            Err(error) => return BuildResult::failed(error),
        };
        let mut values = values(suite, tools);
        values.set("executable", format!("{OUTPUT}/{EXECUTABLE}"));
        values.set("main", argument(&input.main));
        if let (Some(linking), Some(link)) = (&suite.linking, link) {
            values.set_linking(linking.arguments(link));
        }
        values.set_sources(input.compiled.iter().map(|name| argument(name)).collect());
        values.set_arguments(&options.arguments);
        let mut shown = vec![(source.directory.path(), SOURCE)];
        shown.extend(prepared.iter().map(|prepared| (prepared.path(), PREPARED)));
        let mut built = match self.job(compile, tools, values, &shown, options) {
            Ok(job) => self.run(&Job { spent, ..job }),
            Err(error) => return BuildResult::failed(error),
        };
        if compile.product == Product::Sources && built.files.is_ok() {
            built.files = Ok(source);
        }
        built
    }

    /// Whether the step was executed with success.
    fn is_prepared(&self, suite: &Suite, library: Library) -> bool {
        matches!(self.known(suite, library), Some(Ok(_)))
    }

    /// The result of the step, if it was executed. A failure is forgotten after a pause.
    fn known(
        &self,
        suite: &Suite,
        library: Library,
    ) -> Option<Result<Arc<TempDir>, InternalError>> {
        let name = library_name(suite, library);
        self.prepared.known(&name, PREPARE_PAUSE)
    }

    /// Returns the product of a step that prepares the suite, if the suite has the step.
    pub(super) fn prepare(
        &self,
        suite: &Suite,
        tools: &Tools,
        library: Library,
        without_preparing: bool,
    ) -> Result<Option<Arc<TempDir>>, InternalError> {
        let step = match library {
            Library::Common => suite.prepare.as_ref(),
            Library::Complete => suite.complete.as_ref().map(|complete| &complete.step),
        };
        let Some(step) = step else { return Ok(None) };
        if without_preparing && self.known(suite, library).is_none() {
            return Err(InternalError::NotPrepared {
                title: suite.title.clone(),
                library,
            });
        }
        self.prepared(suite, step, tools, library).map(Some)
    }

    /// Returns the product of a step, which succeeds once for each version of the tools.
    fn prepared(
        &self,
        suite: &Suite,
        prepare: &CompileStep,
        tools: &Tools,
        library: Library,
    ) -> Result<Arc<TempDir>, InternalError> {
        let name = library_name(suite, library);
        self.prepared.get_again(&name, PREPARE_PAUSE, || {
            let key = KeyBuilder::new()
                .with(match library {
                    Library::Common => "prepared",
                    Library::Complete => "complete",
                })
                .with(&suite.text)
                .with(&suite.name)
                .with(&tools.identity)
                .key();
            let files = match self.cache.get(&key, || self.store().ok()) {
                Some(entry) => entry.files,
                None => {
                    let values = values(suite, tools);
                    let job = self.job(prepare, tools, values, &[], &Options::default())?;
                    let BuildResult {
                        messages,
                        figures,
                        files,
                        ..
                    } = self.run(&job);
                    let files = files.map_err(|error| InternalError::Prepare {
                        title: suite.title.clone(),
                        error: Box::new(BuildError::new(error, &messages)),
                    })?;
                    let entry = Entry {
                        messages,
                        figures,
                        files,
                    };
                    self.cache.put(&key, &entry);
                    entry.files
                }
            };
            Ok(Arc::new(files.directory))
        })
    }

    fn run(&self, job: &Job) -> BuildResult {
        match self.store() {
            Ok(store) => build::build(&self.supervisor, job, store),
            Err(error) => BuildResult::failed(error),
        }
    }

    /// Describes a run of a command. `shown` lists directories of the host and their paths in the
    /// world. The first path is the working directory.
    fn job(
        &self,
        compile: &CompileStep,
        tools: &Tools,
        mut values: Values,
        shown: &[(&Path, &'static str)],
        options: &Options,
    ) -> Result<Job, InternalError> {
        let memory = options.memory.unwrap_or(compile.memory);
        values.set("memory_mib", (memory >> 20).to_string());
        let wanted = options.output.unwrap_or(compile.output);
        let output = allowed_output(wanted, files::free_bytes());
        let mut world = world(&compile.surroundings, &tools.roots)?;
        for (directory, at) in shown {
            world = world.read_only(directory, at);
        }
        Ok(Job {
            world,
            command: values.fill_all(&compile.command),
            env: environment(&[("LC_ALL", "C.UTF-8")], &compile.surroundings, &values),
            current_dir: shown.first().map_or(OUTPUT, |(_, at)| at),
            cpus: options.cpus.clone(),
            limits: build::Limits {
                cpu_time: options.cpu_time.unwrap_or(compile.cpu_time),
                memory: self
                    .can_limit_memory(compile.surroundings.address_space)
                    .then_some(memory),
                output,
                little_room: output < wanted,
                processes: compile.processes,
            },
            spent: Spent::default(),
        })
    }

    /// Whether the supervisor can limit the memory of a command. Without cgroups it limits the
    /// address space, of which some languages reserve far more than they use.
    pub(super) fn can_limit_memory(&self, address_space: bool) -> bool {
        address_space || self.supervisor.info().backend() != Backend::Rlimit
    }

    /// Creates a directory on the host for files that the sandbox reads.
    pub(super) fn store(&self) -> Result<Store, InternalError> {
        let ids = self.supervisor.info().ids();
        let store = Store::new(ids).map_err(files::HostError::from_store)?;
        match find_closed(store.path(), ids) {
            None => Ok(store),
            Some(closed) => Err(InternalError::TemporaryDirectory(closed)),
        }
    }

    /// Creates such a directory that contains these files of the submission.
    pub(super) fn stored(&self, files: &[SourceFile]) -> Result<StoredFiles, CompileError> {
        let mut store = self.store()?;
        match store.add_all(files) {
            Ok(()) => Ok(store.finish()),
            Err(StoreError::Name { name, fault }) => {
                Err(Refusal::SourceName { name, fault }.into())
            }
            Err(error) => Err(InternalError::from(files::HostError::from_store(error)).into()),
        }
    }
}

fn library_name(suite: &Suite, library: Library) -> String {
    format!("{} {library:?}", suite.name)
}

/// Returns the maximum size of a program in bytes, if its suite allows `wanted` bytes and the disk
/// has `room` bytes.
fn allowed_output(wanted: u64, room: u64) -> u64 {
    wanted.min((room / ROOM_DIVISOR).max(MIN_OUTPUT_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allowed_output_is_fraction_of_little_room() {
        let mib = |number: u64| number << 20;
        assert_eq!(allowed_output(mib(576), mib(100_000)), mib(576));
        assert_eq!(allowed_output(mib(576), mib(4000)), mib(500));
        assert_eq!(allowed_output(mib(576), mib(100)), MIN_OUTPUT_BYTES);
        assert_eq!(allowed_output(mib(576), 0), MIN_OUTPUT_BYTES);
        assert_eq!(allowed_output(mib(4), 0), mib(4));
    }
}
