//! Generates inputs with generators, and answers with the model solution.
//!
//! New files are kept beside the package's files until all of them exist and are valid. Then either
//! all of them are put in place, or none. A file is not generated again if it was generated from
//! the same sources before. An existing file that differs from the record was written by a person,
//! and is never replaced.
//!
//! | module | content |
//! | --- | --- |
//! | `workspace` | the options, the report and the state |
//! | `tasks` | the files to generate, and their sources |
//! | `make` | generates the files |

mod make;
mod tasks;
mod workspace;

pub use make::KeptFile;
pub use workspace::{MadeFile, Options, Report};

use super::record::{Record, RecordedFile};
use super::replace::Replacement;
use super::selection::TestSelection;
use super::{RequestError, Setter, SetterError, below, read_directory};
use millibox_languages::suite::nearest;
use millibox_package::Problem;
use millibox_package::model::Test;
use std::collections::BTreeMap;
use std::path::Path;
use workspace::{PendingFile, Workspace};

impl Setter<'_> {
    /// Generates inputs and answers.
    ///
    /// Inputs are generated for tests that a Sipfile's `gen` or generators/generators.yaml names.
    /// Answers are generated for these tests. They are also generated for other tests that have no
    /// answer, or that have an unchanged answer from an earlier run of the model solution. Files
    /// that a person wrote or changed are kept. If generation would produce different bytes, it
    /// reports a warning.
    ///
    /// # Errors
    /// The package cannot be read, a program fails or produces different bytes in a second run (if
    /// that is checked), or a file cannot be written. In these cases the package's files are
    /// unchanged.
    pub fn generate(&self, package: &Path, options: &Options) -> Result<Report, SetterError> {
        let problem = read_directory(package)?;
        let tests = chosen(&problem, &options.tests)?;
        let record = Record::open(&problem.directory)?;
        let replacement = Replacement::begin(record.directory.join("new"))?;
        let report = Report {
            warnings: problem.warnings.clone(),
            ..Report::default()
        };
        let mut workspace = Workspace {
            problem: &problem,
            tests,
            options,
            record,
            replacement,
            report,
        };

        let inputs = self.inputs(&mut workspace)?;
        let inputs = self.make("inputs", &mut workspace, inputs)?;
        // If an existing input is kept, its answer is generated from that input.
        let new_inputs: BTreeMap<&str, (&Path, &str)> = inputs
            .iter()
            .map(|ready| (&*ready.task.test.name, (&*ready.task.new, &*ready.digest)))
            .collect();
        let answers = self.answers(&mut workspace, &new_inputs)?;
        let answers = self.make("answers", &mut workspace, answers)?;

        let Workspace {
            mut record,
            mut replacement,
            mut report,
            ..
        } = workspace;
        let mut content = record.content().clone();
        for PendingFile {
            task,
            digest,
            bytes,
            changed,
        } in inputs.iter().chain(&answers)
        {
            let (path, bytes, changed) = (below(&problem, &task.place), *bytes, *changed);
            if changed {
                replacement.add(task.new.clone(), task.place.clone());
            }
            let made = RecordedFile {
                sources: task.sources.clone(),
                content: digest.clone(),
                written: task.written,
            };
            content.files.insert(path.clone(), made);
            report.made.push(MadeFile {
                path,
                test: task.test.name.clone(),
                by: task.by.clone(),
                seed: task.seed,
                bytes,
                changed,
            });
        }
        if report.made.is_empty() {
            return Ok(report);
        }
        content.directories.extend(
            replacement
                .missing()
                .iter()
                .map(|directory| below(&problem, directory)),
        );
        let new = replacement.path();
        let place = record.write(content, &new)?;
        replacement.add(new, place);
        replacement.commit()?;
        Ok(report)
    }
}

/// Returns the selected tests in the package's order.
fn chosen<'p>(problem: &'p Problem, names: &[String]) -> Result<Vec<&'p Test>, SetterError> {
    let selection = TestSelection::new(names)?;
    let known: Vec<&str> = problem.tests().map(|test| &*test.name).collect();
    if let Some(name) = selection.first_unmatched(&known) {
        let nearest = nearest(name, known.into_iter()).map(str::to_owned);
        return Err(RequestError::NoSuchTest {
            name: name.to_owned(),
            nearest,
        }
        .into());
    }
    Ok(problem
        .tests()
        .filter(|test| selection.contains(&test.name))
        .collect())
}
