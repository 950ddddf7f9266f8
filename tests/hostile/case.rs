//! A case is one program on one backend under one profile.

use crate::compile::{self, Built, Failure, Form};
use crate::header::{Condition, Control, Ending, Except, Pair, Profile, Program, With};
use crate::machine::{BackendKey, Kind, Machine};
use crate::scene::Scene;
use millibox_tests::{is_root, may_raise_limits};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A program and the way in which it runs.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    pub program: &'a Program,
    pub backend: BackendKey,
    pub profile: Profile,
    /// The wall that is removed, to show that the program then succeeds.
    pub without: Option<Control>,
    /// Whether the program runs as a copy of a template.
    pub copy: bool,
    /// Whether to measure only the effect on a neighbour; see [`Case::neighbour`].
    pub beside: bool,
}

/// The result of a case.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Held {
    pub ending: Ending,
    /// Whether the program was not held, for a documented reason.
    pub exception: bool,
    /// The missing feature, if the program was not held but should be.
    pub known_failure: Option<String>,
}

/// The reason why a case has no result or a wrong result.
#[derive(Debug)]
pub enum CaseError {
    /// The case cannot run on this machine.
    Skipped(String),
    Failed(String),
}

impl From<String> for CaseError {
    fn from(why: String) -> CaseError {
        CaseError::Failed(why)
    }
}

impl From<Failure> for CaseError {
    fn from(failure: Failure) -> CaseError {
        match failure {
            Failure::Missing(why) => CaseError::Skipped(why),
            Failure::Wrong(why) => CaseError::Failed(why),
        }
    }
}

impl Case<'_> {
    pub fn name(&self) -> String {
        let profile = match (self.without, self.profile) {
            _ if self.beside => "beside",
            _ if self.copy => "copy",
            (Some(_), _) => "control",
            (None, Profile::Separate) => "separate",
            (None, profile) => profile.name(),
        };
        format!(
            "{}::{}::{profile}",
            self.program.full_name(),
            self.backend.name()
        )
    }

    fn holds(&self, condition: Condition) -> bool {
        match condition {
            Condition::Rlimit => self.backend == BackendKey::Rlimit,
            Condition::Hybrid => self.backend == BackendKey::Hybrid,
            Condition::Cgroup2 => self.backend == BackendKey::Cgroup2,
            Condition::None => self.profile == Profile::None,
            Condition::User => !is_root(),
            Condition::Copy => self.copy,
            Condition::Bounded => !may_raise_limits(),
        }
    }

    /// The last entry of [`Header::except`](crate::header::Header::except) that matches.
    pub fn except(&self) -> Option<&Except> {
        let matches = |except: &&Except| except.when.iter().all(|when| self.holds(*when));
        self.program.header.except.iter().rfind(matches)
    }

    /// Checks whether a documented exception matches.
    pub fn has_exception(&self) -> bool {
        self.except()
            .is_some_and(|except| except.exception.is_some())
    }

    pub fn wants(&self, what: With) -> bool {
        self.program.header.with.contains(&what)
    }

    fn kind(&self, slots: usize) -> Kind {
        Kind {
            backend: self.backend,
            separate_pid1: self.profile == Profile::Separate,
            slots,
            has_one_runner: !self.beside,
        }
    }

    /// Runs the program in one slot, and `/bin/true` repeatedly in the other slot of the same
    /// supervisor. Returns the longest real time of one `/bin/true`, as measured by its caller.
    ///
    /// Returns an error if a run of `/bin/true` fails. The result of the program itself does not
    /// matter.
    pub fn neighbour(&self, machine: &Machine) -> Result<Duration, CaseError> {
        let built = self.build(machine)?;
        let mut scene = Scene::new(self, machine, built)?;
        let kind = self.kind(2);
        let supervisor = machine.supervisor(kind)?;
        let longest = scene.run_beside_neighbour(&supervisor)?;
        scene.check_aftermath(&supervisor)?;
        machine.give_back(kind, supervisor);
        Ok(longest)
    }

    fn build(&self, machine: &Machine) -> Result<Built, CaseError> {
        // These additions need an executable file, which the copy executes.
        let is_executed = [With::Program, With::Setuid, With::FileCapabilities];
        let form = match self.copy && !is_executed.into_iter().any(|with| self.wants(with)) {
            true => Form::Library,
            false => Form::Executable,
        };
        Ok(compile::build(self.program, form, &machine.executables)?)
    }

    /// Runs the case and checks its result.
    pub fn run(&self, machine: &Machine) -> Result<Held, CaseError> {
        if let Some(why) = self.program.header.no_copy.as_ref().filter(|_| self.copy) {
            return Err(CaseError::Skipped(why.clone()));
        }
        let built = self.build(machine)?;
        let mut scene = Scene::new(self, machine, built)?;
        if self.without == Some(Control::Bare) {
            return scene.run_bare();
        }
        let kind = self.kind(match self.program.header.pair {
            Some(Pair::Beside) => 2,
            Some(Pair::After) | None => 1,
        });
        let supervisor = machine.supervisor(kind)?;
        let held = scene
            .run(&supervisor)
            .and_then(|held| scene.check_aftermath(&supervisor).map(|()| held))?;
        scene.check_innocent_runs(&supervisor, kind)?;
        machine.give_back(kind, supervisor);
        Ok(held)
    }
}
