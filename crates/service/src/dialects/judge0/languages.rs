//! The languages by the numbers of Judge0.
//!
//! Judge0 has a number for each version of a compiler. All numbers of a language that this machine
//! can honour lead to the one installed version, and the name tells which.

use crate::core::catalog::Runtime;
use serde_json::{Value, json};
use std::sync::Arc;

/// Numbers of languages that Judge0 has archived.
const ARCHIVED: std::ops::RangeInclusive<i64> = 1..=42;

/// A language.
#[derive(Debug, Clone)]
pub struct Language {
    /// The number.
    pub id: u32,
    /// The name with the version.
    pub name: String,
    /// How programs are run.
    pub kind: Kind,
    /// The name of the source.
    pub source_file: Option<String>,
    /// The command that compiles, for people.
    pub compile_command: Option<String>,
    /// The command that runs, for people.
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
    /// By a suite.
    Suite(Arc<Runtime>),
}

/// A suite under its numbers.
struct Row {
    /// The suite, by name or alias.
    suite: &'static str,
    ids: &'static [u32],
    /// The name of the language.
    title: &'static str,
    /// The compiler in front of the version.
    tool: &'static str,
    source_file: &'static str,
    compile_command: Option<&'static str>,
    run_command: &'static str,
    /// The command of the suite takes further options.
    takes_options: bool,
}

// The standards are the defaults of the compilers that the numbers stand for: GCC 7 to 9 compile
// gnu++14, GCC 14 gnu++17; GCC 7 compiles gnu11, later ones gnu17.
const ROWS: &[Row] = &[
    Row {
        suite: "bash",
        ids: &[46],
        title: "Bash",
        tool: "",
        source_file: "script.sh",
        compile_command: None,
        run_command: "bash script.sh",
        takes_options: false,
    },
    Row {
        suite: "c11",
        ids: &[48],
        title: "C",
        tool: "GCC ",
        source_file: "main.c",
        compile_command: Some("gcc -std=gnu11 -O2 %s main.c"),
        run_command: "./a.out",
        takes_options: true,
    },
    Row {
        suite: "c17",
        ids: &[49, 50, 103],
        title: "C",
        tool: "GCC ",
        source_file: "main.c",
        compile_command: Some("gcc -std=gnu17 -O2 %s main.c"),
        run_command: "./a.out",
        takes_options: true,
    },
    Row {
        suite: "clang",
        ids: &[75, 104, 110],
        title: "C",
        tool: "Clang ",
        source_file: "main.c",
        compile_command: Some("clang -O2 %s main.c"),
        run_command: "./a.out",
        takes_options: true,
    },
    Row {
        suite: "cpp14",
        ids: &[52, 53, 54],
        title: "C++",
        tool: "GCC ",
        source_file: "main.cpp",
        compile_command: Some("g++ -std=gnu++14 -O2 %s main.cpp"),
        run_command: "./a.out",
        takes_options: true,
    },
    Row {
        suite: "cpp17",
        ids: &[105],
        title: "C++",
        tool: "GCC ",
        source_file: "main.cpp",
        compile_command: Some("g++ -std=gnu++17 -O2 %s main.cpp"),
        run_command: "./a.out",
        takes_options: true,
    },
    Row {
        suite: "clang++",
        ids: &[76],
        title: "C++",
        tool: "Clang ",
        source_file: "main.cpp",
        compile_command: Some("clang++ -O2 %s main.cpp"),
        run_command: "./a.out",
        takes_options: true,
    },
    Row {
        suite: "go",
        ids: &[60, 95, 106, 107],
        title: "Go",
        tool: "",
        source_file: "main.go",
        compile_command: Some("go build %s main.go"),
        run_command: "./main",
        takes_options: false,
    },
    Row {
        suite: "java",
        ids: &[62, 91],
        title: "Java",
        tool: "OpenJDK ",
        source_file: "Main.java",
        compile_command: Some("javac %s Main.java"),
        run_command: "java Main",
        takes_options: true,
    },
    Row {
        suite: "javascript",
        ids: &[63, 93, 97, 102],
        title: "JavaScript",
        tool: "Node.js ",
        source_file: "script.js",
        compile_command: None,
        run_command: "node script.js",
        takes_options: false,
    },
    Row {
        suite: "pascal",
        ids: &[67],
        title: "Pascal",
        tool: "FPC ",
        source_file: "main.pas",
        compile_command: Some("fpc %s main.pas"),
        run_command: "./main",
        takes_options: true,
    },
    Row {
        suite: "python3",
        ids: &[71, 92, 100, 109, 113],
        title: "Python",
        tool: "",
        source_file: "script.py",
        compile_command: None,
        run_command: "python3 script.py",
        takes_options: false,
    },
    Row {
        suite: "rust",
        ids: &[73, 108],
        title: "Rust",
        tool: "",
        source_file: "main.rs",
        compile_command: Some("rustc -O %s main.rs"),
        run_command: "./main",
        takes_options: true,
    },
];

/// All languages that this machine can run.
#[derive(Debug, Clone)]
pub struct Languages(Vec<Arc<Language>>);

impl Languages {
    /// The languages of the installed runtimes.
    pub fn new(runtimes: &[Arc<Runtime>]) -> Languages {
        let mut languages = special_languages();
        for row in ROWS {
            let named = |runtime: &&Arc<Runtime>| {
                runtime.name == row.suite || runtime.aliases.iter().any(|alias| alias == row.suite)
            };
            let mut runtimes = runtimes.iter().filter(|runtime| runtime.is_available());
            if let Some(runtime) = runtimes.find(named) {
                languages.extend(row.ids.iter().map(|id| row.language(*id, runtime)));
            }
        }
        for runtime in runtimes.iter().filter(|runtime| runtime.is_available()) {
            for id in &runtime.judge0 {
                if languages.iter().all(|language| language.id != *id) {
                    languages.push(other_language(*id, runtime));
                }
            }
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

    /// Names of languages whose compiler takes options.
    pub fn with_compiler_options(&self) -> Vec<&'static str> {
        let mut titles: Vec<&'static str> = ROWS
            .iter()
            .filter(|row| row.takes_options && row.ids.iter().any(|id| self.get(*id).is_some()))
            .map(|row| row.title)
            .collect();
        titles.dedup();
        titles
    }
}

impl Row {
    fn language(&self, id: u32, runtime: &Arc<Runtime>) -> Language {
        Language {
            id,
            name: name(self.title, self.tool, runtime),
            kind: Kind::Suite(runtime.clone()),
            source_file: Some(self.source_file.to_owned()),
            compile_command: self.compile_command.map(str::to_owned),
            run_command: Some(self.run_command.to_owned()),
            takes_options: self.takes_options,
        }
    }
}

/// A title with the version in parentheses.
fn name(title: &str, tool: &str, runtime: &Runtime) -> String {
    match (tool, runtime.version_number()) {
        ("", "") => title.to_owned(),
        (tool, version) => format!("{title} ({})", format!("{tool}{version}").trim_end()),
    }
}

/// A language whose suite names the number.
fn other_language(id: u32, runtime: &Arc<Runtime>) -> Language {
    let (tool, file) = (&runtime.language, &runtime.file_name);
    let (compile_command, run_command) = if runtime.is_compiled {
        (Some(format!("{tool} %s {file}")), "./a.out".to_owned())
    } else {
        (None, format!("{tool} {file}"))
    };
    Language {
        id,
        name: name(&runtime.title, "", runtime),
        kind: Kind::Suite(runtime.clone()),
        source_file: Some(file.clone()),
        compile_command,
        run_command: Some(run_command),
        takes_options: false,
    }
}

fn special_languages() -> Vec<Language> {
    let language = |id, name: &str, kind, source_file: Option<&str>, run: Option<&str>| Language {
        id,
        name: name.to_owned(),
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

    fn runtime(name: &str, version: Result<&str, RuntimeFault>) -> Arc<Runtime> {
        Arc::new(Runtime {
            name: name.to_owned(),
            language: name.to_owned(),
            title: name.to_owned(),
            aliases: Vec::new(),
            is_default: true,
            file_name: "main".to_owned(),
            extensions: Vec::new(),
            is_compiled: true,
            example: String::new(),
            version: version.map(str::to_owned),
            compiler_arguments: Vec::new(),
            judge0: Vec::new(),
            remedy: None,
        })
    }

    #[test]
    fn numbers_of_suites_are_added_to_those_that_are_known() {
        let mut ruby = (*runtime("ruby", Ok("ruby 3.1.2"))).clone();
        ruby.judge0 = vec![72, 71];
        let languages = Languages::new(&[runtime("python3", Ok("Python 3.11.2")), ruby.into()]);
        assert_eq!(languages.get(72).unwrap().name, "ruby (3.1.2)");
        assert_eq!(languages.get(71).unwrap().name, "Python (3.11.2)");
    }

    #[test]
    fn all_numbers_of_an_installed_language_are_listed_with_its_version() {
        let languages = Languages::new(&[
            runtime("python3", Ok("Python 3.11.2")),
            runtime("cpp14", Ok("g++ (Debian 12.2.0-14) 12.2.0")),
            runtime("go", Err(RuntimeFault::NoSupervisor)),
        ]);
        let ids: Vec<u32> = languages.iter().map(|language| language.id).collect();
        assert_eq!(ids, [43, 44, 52, 53, 54, 71, 89, 92, 100, 109, 113]);
        assert_eq!(languages.get(92).unwrap().name, "Python (3.11.2)");
        assert_eq!(languages.get(54).unwrap().name, "C++ (GCC 12.2.0)");
        assert_eq!(languages.with_compiler_options(), ["C++"]);
    }

    #[test]
    fn numbers_are_unique() {
        let mut ids: Vec<u32> = ROWS.iter().flat_map(|row| row.ids).copied().collect();
        ids.extend([43, 44, 89]);
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }
}
