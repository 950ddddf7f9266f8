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

/// SandboxFusion's names, and the runtimes that they stand for.
const NAMES: [(&str, &str); 8] = [
    ("python", "python3"),
    ("pytest", "python3"),
    ("cpp", "cpp17"),
    ("nodejs", "javascript"),
    ("go", "go"),
    ("java", "java"),
    ("rust", "rust"),
    ("bash", "bash"),
];
/// Runs a directory and not a source.
const SCRIPTS: &str = "scripts";
/// Files that compilers find beside the main source, by the language of the runtime.
const FILES_BESIDE: [(&str, &[&str]); 5] = [
    ("c", &["h", "inc"]),
    (
        "cpp",
        &["h", "hh", "hpp", "hxx", "h++", "H", "inc", "ipp", "tcc"],
    ),
    ("java", &["java"]),
    ("rust", &["rs"]),
    ("pascal", &["pas", "pp", "inc"]),
];
/// Importing pytest takes a fraction of this.
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
    /// The source is given to pytest.
    Pytest,
    /// Assertions are enabled.
    Java,
}

/// Whether pytest is installed, which is determined at the first request that needs it.
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
        let catalog = &service.runner.catalog;
        let known = NAMES.iter().find(|(known, _)| *known == name);
        let runtime = known.map_or(name, |(_, runtime)| *runtime);
        let Some(runtime) = catalog.runtime(runtime).ok() else {
            return Err(unknown(catalog, name));
        };
        let kind = match (name, &runtime.language[..]) {
            ("pytest", _) => Kind::Pytest,
            (_, "java") => Kind::Java,
            _ => Kind::Ordinary,
        };
        if kind == Kind::Pytest && !pytest.is_installed(service, client, &runtime).await? {
            return Err(unknown(catalog, name));
        }
        Ok(Language { runtime, kind })
    }

    /// The name of the main source. It differs from all names of files in the request, because
    /// SandboxFusion's is random.
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
        let extensions = FILES_BESIDE
            .iter()
            .find(|(language, _)| *language == self.runtime.language)
            .map_or(&[][..], |(_, extensions)| extensions);
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| extensions.contains(&extension))
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

/// The names of the installed languages, with those that only this service has.
fn installed(catalog: &Catalog) -> Vec<String> {
    let mut names: Vec<String> = NAMES
        .iter()
        .filter(|(name, runtime)| *name != "pytest" && catalog.runtime(runtime).is_ok())
        .map(|(name, _)| (*name).to_owned())
        .collect();
    for runtime in catalog.runtimes() {
        let language = &runtime.language;
        let is_named = NAMES.iter().any(|(_, known)| {
            catalog
                .runtime(known)
                .is_ok_and(|known| known.language == *language)
        });
        if runtime.is_available() && !is_named && language != SCRIPTS && !names.contains(language) {
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
            let program = service.runner.catalog.script(python, name).await?;
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
