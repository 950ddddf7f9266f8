//! Compiles submissions with the files and limits of the problem.

use super::base::Judge;
use millibox_languages::compile::{
    Compilation, InternalError, NoSuite, Options as CompileOptions, Refusal, SourceAction,
};
use millibox_languages::suite::Suite;
use millibox_package::model::{Problem, Submission};
use std::io;
use std::path::PathBuf;

impl Judge<'_> {
    /// Compiles a submission with the files and limits of the problem, on `cpus`.
    pub(super) fn compile_submission(
        &self,
        problem: &Problem,
        submission: &Submission,
        cpus: Vec<usize>,
    ) -> Compilation {
        let program = &submission.program;
        let suite = match self.suite_of(submission) {
            Ok(suite) => suite,
            Err(mut error) => {
                error.map_paths(|path| problem.shown(path));
                let can_be_named = program.language.is_none() && !program.sources.is_empty();
                return Compilation::failed(NoSuite::new(error, can_be_named));
            }
        };
        if let Some(limit) = problem.limits.code {
            let lengths = program
                .sources
                .iter()
                .filter_map(|source| source.metadata().ok())
                .map(|file| file.len());
            let bytes: u64 = lengths.sum();
            if bytes > limit {
                return Compilation::failed(Refusal::CodeTooLong { bytes, limit });
            }
        }
        let include = match self.include(problem, suite) {
            Ok(include) => include,
            Err(error) => return Compilation::failed(error),
        };
        let options = CompileOptions {
            cpu_time: problem.limits.compilation_time,
            memory: problem.limits.compilation_memory,
            include,
            constants: problem.constants.clone(),
            constants_in_include_only: !problem
                .submissions
                .iter()
                .any(|known| known.program.path == program.path),
            root: Some(problem.directory.clone()),
            cpus,
            ..CompileOptions::default()
        };
        let mut compilation = self.compile(suite, &program.sources, &options);
        match &mut compilation.result {
            Ok(executable) => {
                executable.is_prepared = self.options.prepared;
                let arguments = program.arguments.iter().map(Into::into);
                executable.argv.extend(arguments);
            }
            Err(error) => error.map_paths(|path| problem.shown(path)),
        }
        compilation
    }

    /// Returns the directories whose files the problem adds to submissions in this language. The
    /// files in the language's own directory override those for all languages.
    ///
    /// # Errors
    /// The directory of these files cannot be read.
    fn include(&self, problem: &Problem, suite: &Suite) -> Result<Vec<PathBuf>, InternalError> {
        let Some(directory) = &problem.include else {
            return Ok(Vec::new());
        };
        let entries = std::fs::read_dir(directory)
            .and_then(|entries| {
                let paths = entries.map(|entry| Ok(entry?.path()));
                paths.collect::<io::Result<Vec<PathBuf>>>()
            })
            .map_err(|error| InternalError::Source {
                path: problem.shown(directory),
                action: SourceAction::List,
                cause: error.into(),
            })?;
        let is_of_language = |path: &PathBuf| {
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            self.suites
                .named(name)
                .is_ok_and(|named| named.language == suite.language)
        };
        let own = entries
            .into_iter()
            .filter(|path| path.is_dir())
            .filter(is_of_language)
            .min();
        let for_all = Some(directory.join("default")).filter(|path| path.is_dir());
        Ok(for_all.into_iter().chain(own).collect())
    }
}
