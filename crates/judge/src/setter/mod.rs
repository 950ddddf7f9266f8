//! What a problem setter does before anybody is judged: begin a package, make its tests, see that
//! it is sound, find its limits, pack it, clean up.
//!
//! docs/guide/problem.md tells it from the setter's side.
//!
//! | file | what |
//! | --- | --- |
//! | `init` | a new package that works at once |
//! | `generate` | inputs from generators, answers from the model solution |
//! | `validate` | what is wrong with a package: its files, inputs, answers |
//! | `limits` | time limits from the model solution's times |
//! | `catch` | what the judgement of its own submissions says of a package |
//! | `archive` | the package in a `.zip`, the same bytes for the same files |
//! | `clean` | what `generate` made, removed |
//! | `record` | what was made, of what |
//! | `replace` | several files put in place, all or none |
//! | `work` | programs of the package, compiled and run, several at a time |

pub mod archive;
pub mod catch;
pub mod clean;
pub mod generate;
pub mod init;
pub mod limits;
mod record;
mod replace;
pub mod validate;
mod work;

use crate::compile::Toolbox;
use millibox::Supervisor;
use millibox_package::{Faults, Problem};
use std::path::Path;

/// What a setter's tools work with.
#[derive(Clone, Copy)]
pub struct Setter<'s> {
    supervisor: &'s Supervisor,
    toolbox: &'s Toolbox<'s>,
    progress: &'s dyn Progress,
}

/// Is told what goes on, from several threads.
pub trait Progress: Sync {
    /// So many steps of some work begin.
    fn begin(&self, what: &str, steps: usize);
    /// A step is done; the line, if it is not empty, says which and what came of it.
    fn step(&self, line: &str);
}

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The package cannot be read.
    #[error("{0}")]
    Package(Faults),
    /// Programs of the package do not do what they should. Each text says which, with what, and what
    /// came of it.
    #[error("{}", .0.join("\n"))]
    Programs(Vec<String>),
    /// What was asked for makes no sense.
    #[error("{0}")]
    Asked(String),
    /// The machine, the sandbox or a file failed; nothing is said of the package.
    #[error("{0}")]
    Machine(String),
}

impl Trouble {
    fn file(what: &str, path: &Path, error: &dyn std::fmt::Display) -> Trouble {
        Trouble::Machine(format!("cannot {what} {}: {error}", path.display()))
    }
}

impl From<crate::batch::JudgeFailure> for Trouble {
    fn from(failure: crate::batch::JudgeFailure) -> Trouble {
        Trouble::Machine(failure.0)
    }
}

impl<'s> Setter<'s> {
    /// One that runs the package's programs with this supervisor, as many at a time as it has slots.
    pub fn new(supervisor: &'s Supervisor, toolbox: &'s Toolbox<'s>, progress: &'s dyn Progress) -> Setter<'s> {
        Setter { supervisor, toolbox, progress }
    }
}

/// A package whose files are to be changed: not an archive, which was unpacked to somewhere else.
fn unfinished(package: &Path) -> Result<Problem, Trouble> {
    let problem = millibox_package::read_unfinished(package).map_err(Trouble::Package)?;
    match problem.unpacked {
        None => Ok(problem),
        Some(_) => {
            Err(Trouble::Asked(format!("{} is an archive; unpack it, and name the directory", package.display())))
        }
    }
}

/// Tests that somebody names: by name, by its last part, by a directory for all below it, or by a pattern as
/// `millibox judge --tests` has them.
struct Asked<'a>(Vec<(&'a str, glob::Pattern)>);

impl<'a> Asked<'a> {
    fn of(names: &'a [String]) -> Result<Asked<'a>, Trouble> {
        let patterns = names.iter().map(|name| {
            let pattern = glob::Pattern::new(name).map_err(|error| {
                let at = error.pos + 1;
                Trouble::Asked(format!("{name:?} is no pattern for names: {} (at character {at})", error.msg))
            })?;
            Ok((name.trim_end_matches('/'), pattern))
        });
        patterns.collect::<Result<_, _>>().map(Asked)
    }

    /// Whether this one is meant; none named: all are.
    fn has(&self, test: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|asked| means(asked, test))
    }

    /// The first that means none of these.
    fn vain(&self, tests: &[&str]) -> Option<&'a str> {
        let vain = |asked: &&(&str, glob::Pattern)| !tests.iter().any(|test| means(asked, test));
        self.0.iter().find(vain).map(|(name, _)| *name)
    }
}

fn means((name, pattern): &(&str, glob::Pattern), test: &str) -> bool {
    let below = test.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    below || test.rsplit('/').next() == Some(name) || pattern.matches(test)
}

/// A path below the package, for people.
fn below(problem: &Problem, path: &Path) -> String {
    path.strip_prefix(&problem.directory).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_by_name_directory_and_pattern() {
        let meant = |names: &[&str]| -> Vec<&str> {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let asked = Asked::of(&names).unwrap();
            let tests = ["sample/1", "secret/b", "secret/g/1", "secretive"];
            assert_eq!(asked.vain(&tests).is_some(), names.iter().any(|name| name == "none"));
            tests.into_iter().filter(|test| asked.has(test)).collect()
        };
        assert_eq!(meant(&[]).len(), 4);
        assert_eq!(meant(&["secret"]), ["secret/b", "secret/g/1"]);
        assert_eq!(meant(&["secret/g/"]), ["secret/g/1"]);
        assert_eq!(meant(&["secret/*"]), ["secret/b", "secret/g/1"]);
        assert_eq!(meant(&["b", "none"]), ["secret/b"]);
        assert_eq!(meant(&["1"]), ["sample/1", "secret/g/1"]);
        assert!(matches!(Asked::of(&["[".to_owned()]), Err(Trouble::Asked(_))));
    }
}
