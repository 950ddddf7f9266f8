//! What the service knows about a language.

use super::RuntimeFault;
use millibox_languages::compile::Remedy;
use millibox_languages::suite::{EntryPoint, Product, Services, Suite};

/// A language in one variant, such as C++17.
#[derive(Debug, Clone)]
pub struct Runtime {
    /// The unique name, such as `cpp17`.
    pub name: String,
    /// The language, which its variants share, such as `cpp`.
    pub language: String,
    /// The display name, such as `C++17`.
    pub title: String,
    /// Other names, in lower case.
    pub aliases: Vec<String>,
    /// Whether the name of the language selects this variant.
    pub is_default: bool,
    /// The file name of a single source.
    pub file_name: String,
    /// Extensions of sources, without the dot.
    pub extensions: Vec<String>,
    /// Whether a program file is compiled from the sources.
    pub is_compiled: bool,
    /// The example of the suite: a program that sums numbers.
    pub example: String,
    /// The version line of the compiler or interpreter, or the reason why it cannot be used.
    pub version: Result<String, RuntimeFault>,
    /// Additional arguments of the compiler.
    pub compiler_arguments: Vec<String>,
    /// The names of the language in other services.
    pub services: Services,
    /// The commands, for display.
    pub lines: CommandLines,
    /// Extensions of files that a compiler looks for beside the main source.
    pub beside: Vec<String>,
    /// The remedy if the runtime is not usable: usually a package to install.
    pub remedy: Option<Remedy>,
}

/// The commands of a runtime, for display. `%s` stands for additional options.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLines {
    /// Compiles the source. `None` if the program is the source.
    pub compile: Option<String>,
    /// Runs the program.
    pub run: String,
}

impl CommandLines {
    fn new(suite: &Suite) -> CommandLines {
        let services = &suite.services;
        let source = services.judge0_file.as_ref();
        let source = source.unwrap_or(&suite.example.file);
        let options = if services.judge0_options { "%s" } else { "" };
        CommandLines {
            compile: suite.compile_line(source, options),
            run: suite.run_line(source),
        }
    }
}

impl Runtime {
    /// The runtime of a suite: its version or the reason why it cannot be used, and the remedy.
    pub fn new(
        suite: &Suite,
        version: Result<String, RuntimeFault>,
        remedy: Option<Remedy>,
    ) -> Runtime {
        let aliases = suite.names.iter().map(|name| name.to_lowercase());
        let compile = suite.compile.as_ref();
        Runtime {
            name: suite.name.clone(),
            language: suite.language.clone(),
            title: suite.title.clone(),
            aliases: aliases.collect(),
            is_default: suite.default,
            file_name: suite.example.file.clone(),
            extensions: suite.sources.extensions.clone(),
            is_compiled: compile.is_some_and(|step| step.product == Product::Output),
            example: suite.example.source.trim_start().to_owned(),
            version,
            compiler_arguments: Vec::new(),
            services: suite.services.clone(),
            lines: CommandLines::new(suite),
            beside: beside(suite),
            remedy,
        }
    }

    /// The same runtime with additional arguments of the compiler.
    pub fn with_compiler_arguments(&self, arguments: Vec<String>) -> Runtime {
        Runtime {
            compiler_arguments: arguments,
            ..self.clone()
        }
    }

    /// Whether programs can be run.
    pub fn is_available(&self) -> bool {
        self.version.is_ok()
    }

    /// Only the version number, such as `3.11.2`; empty without one.
    pub fn version_number(&self) -> &str {
        let line = self.version.as_deref().unwrap_or_default();
        line.split(|character: char| !(character.is_ascii_digit() || character == '.'))
            .map(|part| part.trim_matches('.'))
            .find(|part| part.contains('.') && part.starts_with(|c: char| c.is_ascii_digit()))
            .unwrap_or_default()
    }
}

/// Extensions of headers, and those of sources if the compiler looks for them itself.
fn beside(suite: &Suite) -> Vec<String> {
    let rules = &suite.sources;
    let is_found = suite.finds_sources() || suite.run.entry != EntryPoint::File;
    let sources = rules.extensions.iter().filter(|_| is_found);
    rules.headers.iter().chain(sources).cloned().collect()
}
