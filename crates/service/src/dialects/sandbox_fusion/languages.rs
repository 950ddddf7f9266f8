//! The names of languages and how each is run.

use super::errors::Failure;
use super::fields::Invalid;
use super::{INTERFACE, run};
use crate::core::catalog::{Catalog, Program, Runtime};
use crate::core::execution::Excess;
use crate::core::program::{Keep, ProgramRun, ProgramSource, Test};
use crate::service::Service;
use crate::tokens::Client;
use millibox::Outcome;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OnceCell;

/// The language whose sources pytest runs.
const PYTEST: &str = "pytest";
/// The language that runs a directory instead of a source.
const SCRIPTS: &str = "scripts";
/// The time limit for importing pytest, which needs only a fraction of it.
const PYTEST_TIMEOUT: Duration = Duration::from_secs(60);
const PYTEST_MEMORY_BYTES: u64 = 256 << 20;

/// A language of a request.
#[derive(Debug, Clone)]
pub(super) struct Language {
    pub(super) runtime: Arc<Runtime>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ordinary,
    /// pytest runs the source.
    Pytest,
    /// Assertions are enabled.
    Java,
}

/// Whether pytest is installed, which is determined for the first request that needs it.
#[derive(Debug, Default)]
pub(super) struct Pytest {
    is_installed: OnceCell<bool>,
}

impl Language {
    /// The language of a request.
    pub(super) async fn find(
        service: &Service,
        client: &Client,
        pytest: &Pytest,
        name: &str,
    ) -> Result<Language, Failure> {
        let catalog = &service.programs.catalog;
        let Some(runtime) = runtime(catalog, name) else {
            return Err(unknown(catalog, name));
        };
        let kind = match (name, &runtime.language[..]) {
            (PYTEST, _) => Kind::Pytest,
            (_, "java") => Kind::Java,
            _ => Kind::Ordinary,
        };
        if kind == Kind::Pytest && !pytest.is_installed(service, client, &runtime).await? {
            return Err(unknown(catalog, name));
        }
        Ok(Language { runtime, kind })
    }

    /// The name of the main source. It differs from all names of files in the request, because
    /// SandboxFusion chooses a random name.
    pub(super) fn main_file(&self, is_taken: impl Fn(&str) -> bool) -> String {
        let name = &self.runtime.file_name;
        // The name of a public Java class is that of its file.
        if self.kind == Kind::Java || !is_taken(name) {
            return name.clone();
        }
        (1..)
            .map(|number| format!("main{number}_{name}"))
            .find(|name| !is_taken(name))
            .unwrap_or_default()
    }

    /// Whether compilers look for this file beside the main source.
    pub(super) fn is_beside(&self, path: &Path) -> bool {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| self.runtime.beside.iter().any(|it| it == extension))
    }

    /// The program with the changes that this interface makes to its command line.
    pub(super) fn adapt(&self, program: Arc<Program>) -> Arc<Program> {
        let (index, arguments): (_, &[&str]) = match self.kind {
            Kind::Ordinary => return program,
            // The source is the last argument.
            Kind::Pytest => (
                program.executable.argv.len().saturating_sub(1),
                &["-m", "pytest"],
            ),
            Kind::Java => (1.min(program.executable.argv.len()), &["-ea"]),
        };
        let mut executable = program.executable.clone();
        let arguments = arguments.iter().map(Into::into);
        executable.argv.splice(index..index, arguments);
        Arc::new(Program {
            executable,
            runtime: program.runtime.clone(),
        })
    }
}

/// The installed runtime with this name in SandboxFusion. Languages that only this service has are
/// found by their own names.
fn runtime(catalog: &Catalog, name: &str) -> Option<Arc<Runtime>> {
    let is_named = |runtime: &&Arc<Runtime>| {
        let names = &runtime.services.sandbox_fusion;
        names.iter().any(|known| known == name)
    };
    match catalog.runtimes().iter().find(is_named) {
        Some(runtime) => Some(runtime.clone()).filter(|runtime| runtime.is_available()),
        None => catalog.runtime(name).ok(),
    }
}

/// The names of the installed languages, with those that only this service has.
fn installed(catalog: &Catalog) -> Vec<String> {
    let available = || catalog.runtimes().iter().filter(|it| it.is_available());
    let mut named = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for runtime in available() {
        let known = runtime.services.sandbox_fusion.iter();
        let known: Vec<String> = known.filter(|name| *name != PYTEST).cloned().collect();
        if !known.is_empty() {
            named.push(&runtime.language);
            names.extend(known);
        }
    }
    for runtime in available() {
        let language = &runtime.language;
        if !named.contains(&language) && language != SCRIPTS && !names.contains(language) {
            names.push(language.clone());
        }
    }
    names
}

fn unknown(catalog: &Catalog, name: &str) -> Failure {
    let names = installed(catalog);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Failure::Invalid(vec![Invalid::literal("language", name.into(), &names)])
}

impl Pytest {
    async fn is_installed(
        &self,
        service: &Service,
        client: &Client,
        python: &Arc<Runtime>,
    ) -> Result<bool, Failure> {
        let probe = || async {
            let name = Path::new("probe.py");
            let program = service.programs.catalog.script(python, name).await?;
            let Some(program) = program else {
                return Ok(false);
            };
            let none = Keep {
                max_bytes: 0,
                excess: Excess::Discard,
                into_stdout: false,
            };
            let limits = run::limits(&service.config, PYTEST_TIMEOUT, PYTEST_MEMORY_BYTES, 0);
            let report = service
                .run(
                    INTERFACE,
                    ProgramRun {
                        stdout: none,
                        stderr: none,
                        source: ProgramSource::Program(program),
                        files: vec![crate::core::program::plain_file(name, "import pytest\n")],
                        tests: vec![Test::default()],
                        ..run::program_run(service, client, 0, limits)
                    },
                )
                .await?;
            let report = run::single(report)?;
            Ok(report.outcome == Outcome::Exited(0))
        };
        self.is_installed.get_or_try_init(probe).await.copied()
    }
}
