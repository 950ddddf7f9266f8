//! The results of one test run, in memory and as a file.
//!
//! A run on another machine writes its record to a file, so that [`crate::document`] can combine
//! it with the results of this machine.

use crate::case::Held;
use crate::header::Profile;
use crate::innocent::Tally;
use crate::machine::BackendKey;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The result of each case. `Err` contains the reason why the case was skipped.
pub type Results = BTreeMap<Key, Result<Held, String>>;
/// The program's full name, the backend and the profile of a case.
pub type Key = (String, BackendKey, Profile);

/// The longest real time of a neighbour's run beside each program, in microseconds.
pub type Neighbours = BTreeMap<(String, BackendKey), u64>;

/// The results of one test run on one machine.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    /// A description of the kernel and the user.
    pub machine: String,
    /// [`Results`], as a list because the keys of a JSON object must be strings.
    pub cases: Vec<(Key, Result<Held, String>)>,
    /// [`Neighbours`], as a list for the same reason.
    #[serde(default)]
    pub neighbours: Vec<((String, BackendKey), u64)>,
    /// The number of innocent runs on each backend.
    #[serde(default)]
    pub innocents: Vec<(BackendKey, Tally)>,
}

impl Record {
    /// Creates the record of a run on this machine.
    pub fn of_this_machine(
        results: Results,
        neighbours: Neighbours,
        innocents: BTreeMap<BackendKey, Tally>,
    ) -> Record {
        let kernel = rustix::system::uname();
        let user = if millibox_tests::is_root() {
            "root"
        } else {
            "an unprivileged user"
        };
        Record {
            machine: format!(
                "Linux {}, started by {user}",
                kernel.release().to_string_lossy()
            ),
            cases: results.into_iter().collect(),
            neighbours: neighbours.into_iter().collect(),
            innocents: innocents.into_iter().collect(),
        }
    }

    pub fn read(path: &Path) -> Result<Record, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
        serde_json::from_str(&text).map_err(|error| failed(&error))
    }

    pub fn write(&self, path: &Path) -> Result<(), String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = serde_json::to_string(self).map_err(|error| failed(&error))?;
        std::fs::write(path, text + "\n").map_err(|error| failed(&error))
    }

    /// The backends on which cases were run.
    pub fn backends(&self) -> BTreeSet<BackendKey> {
        self.cases
            .iter()
            .map(|((_, backend, _), _)| *backend)
            .collect()
    }
}
