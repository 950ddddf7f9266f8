//! The commands of a suite, as they are shown to people.

use super::model::{EntryPoint, Product, Suite};
use super::template::Values;
use std::path::Path;

/// The name of compiled programs.
const PROGRAM: &str = "a.out";
const SHELL: &str = "/bin/sh";

impl Suite {
    /// Returns the command that compiles a source with this name. `options` stands for additional
    /// options. Returns `None` if the program is the source.
    pub fn compile_line(&self, source: &str, options: &str) -> Option<String> {
        let step = self.compile.as_ref()?;
        if step.product == Product::Sources {
            return None;
        }
        if step.command.first().is_some_and(|program| program == SHELL) {
            // A script is too long to show.
            let tool = self.tools.first().map_or("", |tool| &tool.program);
            let words = [tool, options, source].into_iter();
            let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
            return Some(words.join(" "));
        }
        let mut values = self.shown_values(source);
        values.set("executable", PROGRAM);
        if !options.is_empty() {
            values.set_arguments(&[options.to_owned()]);
        }
        Some(line(&values, &step.command))
    }

    /// Returns the command that runs the program of a source with this name.
    pub fn run_line(&self, source: &str) -> String {
        let mut values = self.shown_values(source);
        values.set("executable", format!("./{PROGRAM}"));
        if self.run.entry == EntryPoint::JavaClass {
            let stem = Path::new(source).file_stem().unwrap_or_default();
            values.set("class", stem);
        }
        line(&values, &self.run.command)
    }

    /// Whether the compiler receives only the main source and looks for others beside it.
    pub fn finds_sources(&self) -> bool {
        let has = |name: &str| {
            let step = self.compile.as_ref();
            step.is_some_and(|step| step.command.iter().any(|argument| argument == name))
        };
        has("{main}") && !has("{sources}")
    }

    fn shown_values(&self, source: &str) -> Values {
        let mut values = Values::default();
        for tool in &self.tools {
            let name = Path::new(&tool.program).file_name();
            values.set(&tool.program, name.unwrap_or_default());
        }
        for (name, value) in &self.values {
            values.set(name, value);
        }
        values.set("main", source);
        values.set("directory", ".");
        values.set("output", ".");
        values.set_sources(vec![source.into()]);
        values
    }
}

fn line(values: &Values, command: &[String]) -> String {
    let words = values.fill_all(command);
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use crate::suite::Suites;

    fn lines(name: &str, source: &str) -> (Option<String>, String) {
        let suites = Suites::builtin();
        let suite = suites.named(name).unwrap();
        (suite.compile_line(source, "%s"), suite.run_line(source))
    }

    #[test]
    fn lines_name_tools_and_sources() {
        let (compile, run) = lines("cpp14", "main.cpp");
        assert_eq!(
            compile.as_deref(),
            Some("g++ -x c++ -std=gnu++14 -O2 -DONLINE_JUDGE -o a.out %s main.cpp")
        );
        assert_eq!(run, "./a.out");
        let (compile, run) = lines("python3", "script.py");
        assert_eq!(compile, None);
        assert!(run.starts_with("python3 ") && run.ends_with(" script.py"));
        assert_eq!(lines("go", "main.go").0.as_deref(), Some("go %s main.go"));
        assert!(lines("java", "Main.java").1.ends_with(" -cp . Main"));
    }

    #[test]
    fn module_compilers_find_sources() {
        let suites = Suites::builtin();
        let finds = |name| suites.named(name).unwrap().finds_sources();
        assert!(finds("rust") && finds("pascal"));
        assert!(!finds("cpp") && !finds("go") && !finds("python3"));
    }
}
