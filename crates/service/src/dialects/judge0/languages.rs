//! The languages, by the ids that they have in Judge0.
//!
//! Judge0 has a number for each version of a compiler. A suite lists the numbers that it serves.
//! All of them select the one installed version, which the name states.

use crate::core::catalog::Runtime;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Numbers of languages that Judge0 has archived.
const ARCHIVED: std::ops::RangeInclusive<i64> = 1..=42;

#[derive(Debug, Clone)]
pub struct Language {
    /// The number.
    pub id: u32,
    /// The name with the version.
    pub name: String,
    /// The name without the version.
    pub title: String,
    /// How programs are run.
    pub kind: Kind,
    /// The name of the source.
    pub source_file: Option<String>,
    /// The compile command, for display.
    pub compile_command: Option<String>,
    /// The run command, for display.
    pub run_command: Option<String>,
    /// Whether clients may set options of the compiler.
    pub takes_options: bool,
}

/// How programs of a language are run.
#[derive(Debug, Clone)]
pub enum Kind {
    /// The source is printed.
    PlainText,
    /// The source is the program.
    Executable,
    /// The archive has scripts that compile and run.
    Project,
    /// A suite defines the commands.
    Suite(Arc<Runtime>),
}

/// All languages that this machine can run.
#[derive(Debug, Clone)]
pub struct Languages(Vec<Arc<Language>>);

impl Languages {
    /// The languages of the installed runtimes.
    pub fn new(runtimes: &[Arc<Runtime>]) -> Languages {
        let mut languages = special_languages();
        for runtime in runtimes.iter().filter(|runtime| runtime.is_available()) {
            let ids = runtime.services.judge0.iter();
            languages.extend(ids.map(|id| language(*id, runtime)));
        }
        languages.sort_by_key(|language| language.id);
        Languages(languages.into_iter().map(Arc::new).collect())
    }

    /// The language with this number.
    pub fn get(&self, id: u32) -> Option<&Arc<Language>> {
        self.0.iter().find(|language| language.id == id)
    }

    /// All languages in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &Language> {
        self.0.iter().map(|language| &**language)
    }

    /// Whether Judge0 has archived the language with this number.
    pub fn is_archived(id: i64) -> bool {
        ARCHIVED.contains(&id)
    }

    /// Names of languages whose compilers accept options.
    pub fn with_compiler_options(&self) -> Vec<String> {
        let languages = self.iter().filter(|language| language.takes_options);
        let titles: BTreeSet<String> = languages.map(|language| language.title.clone()).collect();
        titles.into_iter().collect()
    }
}

/// A language under one of the numbers in its suite.
fn language(id: u32, runtime: &Arc<Runtime>) -> Language {
    let services = &runtime.services;
    let title = services.judge0_title.as_ref().unwrap_or(&runtime.title);
    let file = services.judge0_file.as_ref().unwrap_or(&runtime.file_name);
    Language {
        id,
        name: name(title, &services.judge0_compiler, runtime),
        title: title.clone(),
        kind: Kind::Suite(runtime.clone()),
        source_file: Some(file.clone()),
        compile_command: runtime.lines.compile.clone(),
        run_command: Some(runtime.lines.run.clone()),
        takes_options: services.judge0_options,
    }
}

/// A title with the compiler and the version in parentheses.
fn name(title: &str, compiler: &str, runtime: &Runtime) -> String {
    let words = [compiler, runtime.version_number()].into_iter();
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    match &words[..] {
        [] => title.to_owned(),
        words => format!("{title} ({})", words.join(" ")),
    }
}

fn special_languages() -> Vec<Language> {
    let language = |id, name: &str, kind, source_file: Option<&str>, run: Option<&str>| Language {
        id,
        name: name.to_owned(),
        title: name.to_owned(),
        kind,
        source_file: source_file.map(str::to_owned),
        compile_command: None,
        run_command: run.map(str::to_owned),
        takes_options: false,
    };
    vec![
        language(
            43,
            "Plain Text",
            Kind::PlainText,
            Some("text.txt"),
            Some("/bin/cat text.txt"),
        ),
        language(
            44,
            "Executable",
            Kind::Executable,
            Some("a.out"),
            Some("/bin/chmod +x a.out && ./a.out"),
        ),
        language(89, "Multi-file program", Kind::Project, None, None),
    ]
}

impl Language {
    /// The number and the name.
    pub fn summary(&self) -> Value {
        json!({ "id": self.id, "name": self.name })
    }

    /// The whole document.
    pub fn details(&self) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "is_archived": false,
            "source_file": self.source_file,
            "compile_cmd": self.compile_command,
            "run_cmd": self.run_command,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::catalog::RuntimeFault;
    use millibox_languages::suite::Suites;

    /// The runtime of a built-in suite.
    fn runtime(name: &str, version: Result<&str, RuntimeFault>) -> Arc<Runtime> {
        let suites = Suites::builtin();
        let version = version.map(str::to_owned);
        Arc::new(Runtime::new(suites.named(name).unwrap(), version, None))
    }

    #[test]
    fn all_numbers_of_an_installed_language_are_listed_with_its_version() {
        let languages = Languages::new(&[
            runtime("python3", Ok("Python 3.11.2")),
            runtime("cpp14", Ok("g++ (Debian 12.2.0-14) 12.2.0")),
            runtime("ruby", Ok("ruby 3.1.2")),
            runtime("go", Err(RuntimeFault::NoSupervisor)),
        ]);
        let ids: Vec<u32> = languages.iter().map(|language| language.id).collect();
        assert_eq!(ids, [43, 44, 52, 53, 54, 71, 72, 89, 92, 100, 109, 113]);
        assert_eq!(languages.get(92).unwrap().name, "Python (3.11.2)");
        assert_eq!(languages.get(54).unwrap().name, "C++ (GCC 12.2.0)");
        assert_eq!(languages.get(72).unwrap().name, "Ruby (3.1.2)");
        let cpp = languages.get(52).unwrap().details();
        assert_eq!(cpp["source_file"], "main.cpp");
        assert!(
            cpp["compile_cmd"]
                .as_str()
                .unwrap()
                .contains("-std=gnu++14")
        );
        assert_eq!(
            languages.get(71).unwrap().source_file.as_deref(),
            Some("script.py")
        );
        assert_eq!(languages.with_compiler_options(), ["C++"]);
    }

    #[test]
    fn numbers_of_suites_are_not_those_of_special_languages() {
        let suites = Suites::builtin();
        let of_suites = suites.iter().flat_map(|suite| &suite.services.judge0);
        let special: Vec<u32> = special_languages().iter().map(|it| it.id).collect();
        assert!(of_suites.into_iter().all(|id| !special.contains(id)));
    }
}
