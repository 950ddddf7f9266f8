//! A suite file's text to suites, with all its faults.

pub use super::section::{Fault, Faults};
use super::section::{Reader, Section};
use super::{
    CompileStep, EntryPoint, Example, Link, Linking, Product, Root, Run, Sources, Suite,
    Surroundings, System, Tool, choose, template,
};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const TOP_KEYS: &[&str] = &[
    "name",
    "title",
    "names",
    "extensions",
    "headers",
    "files",
    "foreign_shebangs",
    "shebangs",
    "priority",
    "main",
    "entry",
    "linking",
    "tool",
    "prepare",
    "compile",
    "run",
    "variant",
    "example",
];
const TOOL_KEYS: &[&str] = &["directories", "package", "version", "root", "hint"];
const COMMAND_KEYS: &[&str] = &[
    "system",
    "mounts",
    "proc",
    "scratch_mib",
    "env",
    "seccomp",
    "address_space",
    "memory_mib",
    "processes",
    "command",
];
const COMPILE_KEYS: &[&str] = &["product", "cpu_seconds", "output_mib"];
const LINKING_KEYS: &[&str] = &["always", "default", "dynamic", "package", "static"];
const LINK_WORDS: &[(&str, Link)] = &[("static", Link::Static), ("dynamic", Link::Dynamic)];
const VARIANT_KEYS: &[&str] = &["title", "names", "default"];
const EXAMPLE_KEYS: &[&str] = &["file", "source"];

/// Placeholders that each command may have, beside tools and the variant's.
const COMPILE_PLACEHOLDERS: &[&str] = &[
    "executable",
    "main",
    "memory_mib",
    "output",
    "prepared",
    "source",
    template::SOURCES,
];
const PREPARE_PLACEHOLDERS: &[&str] = &["memory_mib", "output", "prepared"];
const RUN_PLACEHOLDERS: &[&str] = &["class", "directory", "executable", "main", "memory_mib"];

/// 1 TiB: more is a slip of the pen.
const MEBIBYTE_RANGE: Range<i64> = 0..(1 << 20) + 1;

/// The suites of one file.
pub(super) struct Language {
    pub(super) file: String,
    pub(super) name: String,
    pub(super) name_line: usize,
    pub(super) suites: Vec<Suite>,
    /// Names of suites with the lines in which they stand.
    names: Vec<(String, usize)>,
}

/// Reads a file. Names are compared with those of other files by [`check_names`].
pub(super) fn read(file: &str, text: &str) -> Result<Language, Faults> {
    let mut reader = Reader::new(file, text);
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        reader.syntax(error);
    }
    if !errors.is_empty() {
        return Err(reader.faults);
    }
    let top = Section::top(document.get_ref());
    reader.reject_unknown_keys(top, TOP_KEYS);
    let language = LanguageReader {
        reader: &mut reader,
        top,
    }
    .language(file, text);
    if reader.faults.is_empty() {
        Ok(language)
    } else {
        Err(reader.faults)
    }
}

/// A name means one suite.
pub(super) fn check_names(languages: &[Language], faults: &mut Faults) {
    let mut taken: BTreeMap<&str, &Language> = BTreeMap::new();
    for language in languages {
        for (name, line) in &language.names {
            match taken.get(name.as_str()) {
                None => {
                    taken.insert(name, language);
                }
                Some(other) => faults.add(
                    &language.file,
                    *line,
                    format!(
                        "the name {name:?} is {}'s already; a name can mean only one suite",
                        other.file
                    ),
                ),
            }
        }
    }
}

/// Names besides the suite's own. Who asks for one is understood without space around it.
fn other_names(reader: &mut Reader<'_>, section: Section<'_>) -> Vec<String> {
    let all = reader.strings(section, "names").unwrap_or_default();
    for name in &all {
        if name.get_ref().trim() != name.get_ref() || name.get_ref().is_empty() {
            reader.fault(
                &name.span(),
                format!(
                    "the name {:?} must neither be empty nor begin or end with a space",
                    name.get_ref()
                ),
            );
        }
    }
    all.into_iter().map(Spanned::into_inner).collect()
}

struct LanguageReader<'r, 't, 'd> {
    reader: &'r mut Reader<'t>,
    top: Section<'d>,
}

/// What a command has of which the file says nothing.
struct CommandDefaults {
    /// MiB of /tmp.
    scratch: i64,
    /// A procfs: programs open /dev/stdin, which leads there.
    proc: bool,
}

struct Variant<'d> {
    name: String,
    title: String,
    names: Vec<String>,
    default: bool,
    values: BTreeMap<String, String>,
    section: Section<'d>,
}

impl<'d> LanguageReader<'_, '_, 'd> {
    fn language(&mut self, file: &str, text: &str) -> Language {
        let (top, reader) = (self.top, &mut *self.reader);
        let name = reader.required(top, "name");
        let name_span = top.get("name").map(Spanned::span).unwrap_or_default();
        if name
            .chars()
            .any(|c| !(c.is_ascii_lowercase() || c.is_ascii_digit() || "+-_.".contains(c)))
        {
            reader.fault(
                &name_span,
                format!("the name {name:?} may have small letters, digits and + - _ . only"),
            );
        }
        let title = reader.required(top, "title");
        let names = other_names(reader, top);
        let sources = Sources {
            extensions: reader.plain_strings(top, "extensions"),
            headers: reader.plain_strings(top, "headers"),
            files: reader.plain_strings(top, "files"),
            shebangs: reader.plain_strings(top, "shebangs"),
            foreign_shebangs: reader.plain_strings(top, "foreign_shebangs"),
            priority: reader.number(top, "priority", 0, -1000..1001),
            main: reader.plain_strings(top, "main"),
        };
        for key in ["extensions", "headers"] {
            for extension in reader.strings(top, key).unwrap_or_default() {
                if extension.get_ref().starts_with('.') {
                    reader.fault(
                        &extension.span(),
                        format!("{key:?} are without a dot: {:?}", &extension.get_ref()[1..]),
                    );
                }
            }
        }
        let tools = self.tools();
        let variants = self.variants(&name, &title);
        let mut filled: Vec<String> = tools.iter().map(|tool| tool.program.clone()).collect();
        filled.extend(
            variants
                .iter()
                .flat_map(|variant| variant.values.keys().cloned()),
        );
        let prepare = self.compile("prepare", &filled, PREPARE_PLACEHOLDERS);
        let linking = self.linking();
        let linked = linking
            .as_ref()
            .is_some_and(|linking| !linking.is_fixed())
            .then_some(template::LINKING);
        let compile = self.compile(
            "compile",
            &filled,
            &COMPILE_PLACEHOLDERS
                .iter()
                .copied()
                .chain(linked)
                .collect::<Vec<_>>(),
        );
        if linked.is_some()
            && compile.as_ref().is_none_or(|compile| {
                compile
                    .command
                    .iter()
                    .all(|argument| argument != "{linking}")
            })
        {
            let span = top.get("linking").map(Spanned::span).unwrap_or_default();
            self.reader.fault(
                &span,
                "[linking] has arguments, so the command in [compile] must have {linking} in it",
            );
        }
        let run = self.run(&filled);
        let example = self.example();
        self.check_variants(&variants);
        let names_line = self
            .reader
            .line(&top.get("names").map_or(name_span.clone(), Spanned::span));
        let mut all_names = Vec::new();
        let mut suites = Vec::new();
        for variant in variants {
            let mut others: Vec<String> = variant
                .names
                .iter()
                .map(|name| name.to_lowercase())
                .collect();
            let line = self.reader.line(&variant.section.span());
            all_names.push((variant.name.clone(), line));
            all_names.extend(others.iter().map(|name| (name.clone(), line)));
            if variant.default {
                let of_language = names.iter().chain([&name]).map(|name| name.to_lowercase());
                let of_language: Vec<String> =
                    of_language.filter(|name| *name != variant.name).collect();
                all_names.extend(of_language.iter().map(|name| (name.clone(), names_line)));
                others.extend(of_language);
            }
            suites.push(Suite {
                name: variant.name,
                title: variant.title,
                language: name.clone(),
                names: others,
                default: variant.default,
                sources: sources.clone(),
                tools: tools.clone(),
                prepare: prepare.clone(),
                compile: compile.clone(),
                linking: linking.clone(),
                run: run.clone(),
                example: example.clone(),
                text: text.to_owned(),
                values: variant.values,
            });
        }
        let name_line = self.reader.line(&name_span);
        Language {
            file: file.to_owned(),
            name,
            name_line,
            suites,
            names: all_names,
        }
    }

    fn linking(&mut self) -> Option<Linking> {
        let reader = &mut *self.reader;
        let section = reader.table(self.top, "linking")?;
        reader.reject_unknown_keys(section, LINKING_KEYS);
        if let Some(always) = section.get("always") {
            let link = reader.word(section, "always", LINK_WORDS);
            if section.keys().count() > 1 {
                reader.fault(
                    &always.span(),
                    "\"always\" in [linking] leaves no choice; remove the other keys",
                );
            }
            return Some(Linking::fixed(link));
        }
        if section.get("static").is_none() {
            reader.missing(section, "static");
        }
        let (wanted, package) = (
            reader.word(section, "default", LINK_WORDS),
            reader.required(section, "package"),
        );
        let (of_static, of_dynamic) = (
            reader.plain_strings(section, "static"),
            reader.plain_strings(section, "dynamic"),
        );
        Some(Linking::either(wanted, of_static, of_dynamic, package))
    }

    fn tools(&mut self) -> Vec<Tool> {
        let (top, reader) = (self.top, &mut *self.reader);
        let mut tools = Vec::new();
        for (program, section) in reader.tables(top, "tool") {
            reader.reject_unknown_keys(section, TOOL_KEYS);
            let root = match section.get("root") {
                None => Root::Alone,
                Some(value) => match value.get_ref() {
                    DeValue::String(path)
                        if !path.is_empty() && path.split('/').all(|part| part == "..") =>
                    {
                        Root::Above(path.split('/').count())
                    }
                    DeValue::Array(_) => Root::Printed(reader.plain_strings(section, "root")),
                    _ => {
                        let help = "\"root\" in [tool] must be \"..\", \"../..\" and so on (seen \
                                    from the executable), or arguments with which the tool prints \
                                    it";
                        reader.fault(&value.span(), help);
                        Root::Alone
                    }
                },
            };
            tools.push(Tool {
                program: program.to_owned(),
                directories: reader.plain_strings(section, "directories"),
                package: reader.required(section, "package"),
                version: match section.get("version") {
                    None => vec!["--version".to_owned()],
                    Some(_) => reader.plain_strings(section, "version"),
                },
                root,
                hint: reader.string(section, "hint"),
            });
        }
        if tools.is_empty() {
            reader.missing(top, "tool");
        }
        tools
    }

    fn variants(&mut self, name: &str, title: &str) -> Vec<Variant<'d>> {
        let (top, reader) = (self.top, &mut *self.reader);
        let mut variants = Vec::new();
        for (variant, section) in reader.tables(top, "variant") {
            let mut values = BTreeMap::new();
            for key in section.keys().filter(|key| !VARIANT_KEYS.contains(key)) {
                if let Some(value) = reader.string(section, key) {
                    values.insert(key.to_owned(), value);
                }
            }
            variants.push(Variant {
                name: variant.to_owned(),
                title: reader.required(section, "title"),
                names: other_names(reader, section),
                default: reader.boolean(section, "default", false),
                values,
                section,
            });
        }
        if variants.is_empty() {
            let (name, title) = (name.to_owned(), title.to_owned());
            let (names, values) = (Vec::new(), BTreeMap::new());
            variants.push(Variant {
                name,
                title,
                names,
                default: true,
                values,
                section: top,
            });
        }
        variants
    }

    fn check_variants(&mut self, variants: &[Variant<'_>]) {
        let defaults = variants.iter().filter(|variant| variant.default).count();
        if defaults != 1 {
            let span = variants
                .last()
                .map(|variant| variant.section.span())
                .unwrap_or_default();
            let message = format!("{defaults} variants have default = true; exactly one must");
            self.reader.fault(&span, message);
        }
        let all: Vec<&String> = variants
            .iter()
            .flat_map(|variant| variant.values.keys())
            .collect();
        for variant in variants {
            if let Some(key) = all.iter().find(|key| !variant.values.contains_key(**key)) {
                let message = format!(
                    "the variant {:?} has no key {key:?}, which others have",
                    variant.name
                );
                self.reader.fault(&variant.section.span(), message);
            }
        }
    }

    fn compile(&mut self, key: &'d str, filled: &[String], own: &[&str]) -> Option<CompileStep> {
        let section = self.reader.table(self.top, key)?;
        self.reader
            .reject_unknown_keys(section, &[COMMAND_KEYS, COMPILE_KEYS].concat());
        let (command, surroundings) = self.command(
            section,
            filled,
            own,
            CommandDefaults {
                scratch: 640,
                proc: false,
            },
        );
        let reader = &mut *self.reader;
        Some(CompileStep {
            command,
            surroundings,
            product: reader.word(
                section,
                "product",
                &[("output", Product::Output), ("sources", Product::Sources)],
            ),
            cpu_time: Duration::from_secs(reader.number(section, "cpu_seconds", 30, 1..3601) as u64),
            memory: mebibytes(reader.number(section, "memory_mib", 2048, MEBIBYTE_RANGE)),
            processes: reader.number(section, "processes", 32, 1..100_001) as u32,
            output: mebibytes(reader.number(section, "output_mib", 576, MEBIBYTE_RANGE)),
        })
    }

    fn run(&mut self, filled: &[String]) -> Run {
        let entries = [
            ("file", EntryPoint::File),
            ("java-class", EntryPoint::JavaClass),
        ];
        let entry = self.reader.word(self.top, "entry", &entries);
        let Some(section) = self.reader.table(self.top, "run") else {
            self.reader.missing(self.top, "run");
            return Run {
                command: Vec::new(),
                surroundings: Surroundings::default(),
                memory: 0,
                processes: 0,
                entry,
            };
        };
        self.reader.reject_unknown_keys(section, COMMAND_KEYS);
        let (command, surroundings) = self.command(
            section,
            filled,
            RUN_PLACEHOLDERS,
            CommandDefaults {
                scratch: 0,
                proc: true,
            },
        );
        Run {
            command,
            surroundings,
            memory: mebibytes(self.reader.number(section, "memory_mib", 0, MEBIBYTE_RANGE)),
            processes: self.reader.number(section, "processes", 0, 0..100_001) as u32,
            entry,
        }
    }

    /// What all commands have.
    fn command(
        &mut self,
        section: Section<'_>,
        filled: &[String],
        own: &[&str],
        defaults: CommandDefaults,
    ) -> (Vec<String>, Surroundings) {
        let reader = &mut *self.reader;
        let command = match reader.strings(section, "command") {
            Some(command) if !command.is_empty() => command,
            _ => {
                reader.missing(section, "command");
                Vec::new()
            }
        };
        let env = reader.map(section, "env");
        for text in command.iter().chain(env.values()) {
            for name in template::names(text.get_ref()) {
                let known = own.iter().copied().chain(filled.iter().map(String::as_str));
                if !known.clone().any(|known| known == name) {
                    let advice = match choose::nearest(name, known.clone()) {
                        Some(meant) => format!("did you mean {{{meant}}}?"),
                        None => {
                            let known: Vec<String> =
                                known.map(|known| format!("{{{known}}}")).collect();
                            format!("those there are: {}", known.join(", "))
                        }
                    };
                    reader.fault(
                        &text.span(),
                        format!("there is no placeholder {{{name}}} here; {advice}"),
                    );
                } else if [template::SOURCES, template::LINKING].contains(&name)
                    && *text.get_ref() != format!("{{{name}}}")
                {
                    let message =
                        format!("{{{name}}} stands for many arguments and must be one by itself");
                    reader.fault(&text.span(), message);
                }
            }
        }
        let seccomp = reader
            .string(section, "seccomp")
            .unwrap_or_else(|| "default".to_owned());
        if !millibox_seccomp::profile_names().any(|known| known == seccomp) {
            let span = section
                .get("seccomp")
                .map(Spanned::span)
                .unwrap_or_default();
            let names: Vec<&str> = millibox_seccomp::profile_names().collect();
            let names = names.join(", ");
            reader.fault(
                &span,
                format!("there is no seccomp profile {seccomp:?}; those there are: {names}"),
            );
        }
        for mount in reader.strings(section, "mounts").unwrap_or_default() {
            let absolute = mount.get_ref().starts_with('/');
            if let Err(error) = glob::Pattern::new(mount.get_ref()) {
                reader.fault(&mount.span(), format!("{:?}: {error}", mount.get_ref()));
            } else if !absolute || mount.get_ref().split('/').any(|part| part == "..") {
                let message = format!(
                    "{:?} must be an absolute path without \"..\"",
                    mount.get_ref()
                );
                reader.fault(&mount.span(), message);
            }
        }
        let surroundings = Surroundings {
            system: reader.word(
                section,
                "system",
                &[("all", System::All), ("libraries", System::Libraries)],
            ),
            mounts: reader.plain_strings(section, "mounts"),
            proc: reader.boolean(section, "proc", defaults.proc),
            scratch: mebibytes(reader.number(
                section,
                "scratch_mib",
                defaults.scratch,
                MEBIBYTE_RANGE,
            )),
            env: env
                .into_iter()
                .map(|(name, value)| (name, value.into_inner()))
                .collect(),
            seccomp,
            address_space: reader.boolean(section, "address_space", true),
        };
        (
            command.into_iter().map(Spanned::into_inner).collect(),
            surroundings,
        )
    }

    fn example(&mut self) -> Example {
        match self.reader.table(self.top, "example") {
            None => {
                self.reader.missing(self.top, "example");
                Example {
                    file: String::new(),
                    source: String::new(),
                }
            }
            Some(section) => {
                self.reader.reject_unknown_keys(section, EXAMPLE_KEYS);
                let file = self.reader.required(section, "file");
                Example {
                    file,
                    source: self.reader.required(section, "source"),
                }
            }
        }
    }
}

fn mebibytes(number: i64) -> u64 {
    (number as u64) << 20
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Suites;

    const GOOD: &str = r#"name = "x"
title = "X"
extensions = ["x"]
[tool.xc]
package = "x-compiler"
[compile]
command = ["{xc}", "-o", "{executable}", "{sources}"]
[run]
command = ["{executable}"]
[example]
file = "a.x"
source = "x"
"#;

    /// What is said of the file with one of its lines (from 1) replaced by these.
    fn faults(line: usize, by: &str) -> Vec<String> {
        let lines: Vec<&str> = GOOD
            .lines()
            .enumerate()
            .map(|(index, text)| if index + 1 == line { by } else { text })
            .collect();
        let all = match read("x.toml", &lines.join("\n")) {
            Ok(_) => Vec::new(),
            Err(faults) => faults.0.iter().map(ToString::to_string).collect(),
        };
        assert!(
            all.iter().all(|fault: &String| !fault.contains('\n')),
            "{all:?}"
        );
        all
    }

    #[test]
    fn the_builtin_files_are_good() {
        assert!(Suites::builtin().iter().count() > 10);
        assert_eq!(faults(1, "name = 'x'"), [""; 0]);
    }

    #[test]
    fn every_fault_is_said_with_its_line() {
        let text = GOOD
            .replace("title = \"X\"", "titel = \"X\"")
            .replace("{executable}", "{executabel}");
        let text = text.replace("package =", "packages =");
        let Err(faults) = read("dir/x.toml", &text) else {
            panic!("it was taken")
        };
        let said = faults.to_string();
        for fault in [
            "dir/x.toml:2: there is no key \"titel\" at the top of the file; did you mean \
             \"title\"?",
            "dir/x.toml:1: there must be a key \"title\" at the top of the file",
            "dir/x.toml:5: there is no key \"packages\" in [tool]; did you mean \"package\"?",
            "dir/x.toml:4: there must be a key \"package\" in [tool]",
            "dir/x.toml:7: there is no placeholder {executabel} here; did you mean {executable}?",
            "dir/x.toml:9: there is no placeholder {executabel} here; did you mean {executable}?",
        ] {
            assert!(
                said.lines().any(|line| line == fault),
                "{fault}\nis not in\n{said}"
            );
        }
        assert_eq!(faults.0.len(), 6, "{said}");
    }

    #[test]
    fn each_kind_of_fault() {
        for (line, by, said) in [
            (
                1,
                "name = 'X y'",
                "x.toml:1: the name \"X y\" may have small letters",
            ),
            (
                1,
                "name = ''",
                "x.toml:1: \"name\" at the top of the file is empty",
            ),
            (
                2,
                "title = 3",
                "x.toml:2: \"title\" at the top of the file must be a string, and is of type \
                 integer",
            ),
            (
                2,
                "title = 'X'\nnames = 'x'",
                "x.toml:3: \"names\" at the top of the file must be an array of strings",
            ),
            (
                2,
                "title = 'X'\nfrobnicate = 1",
                "x.toml:3: there is no key \"frobnicate\" at the top of the file; those there are: \
                 name,",
            ),
            (
                3,
                "extensions = ['.x']",
                "x.toml:3: \"extensions\" are without a dot: \"x\"",
            ),
            (
                3,
                "extensions = [1]",
                "x.toml:3: \"extensions\" at the top of the file must be an array",
            ),
            (
                3,
                "entry = 'method'",
                "x.toml:3: \"entry\" at the top of the file must be one of file, java-class",
            ),
            (
                3,
                "priority = 5000",
                "x.toml:3: \"priority\" at the top of the file must be from -1000 to 1000",
            ),
            (
                3,
                "prepare = 1",
                "x.toml:3: \"prepare\" at the top of the file must be a table",
            ),
            (
                5,
                "package = 'p'\nroot = 'lib'",
                "x.toml:6: \"root\" in [tool] must be",
            ),
            (
                7,
                "command = ['{xc}', 'a{sources}']",
                "x.toml:7: {sources} stands for many arguments",
            ),
            (
                7,
                "command = []",
                "x.toml:6: there must be a key \"command\" in [compile]",
            ),
            (
                7,
                "command = ['{xc}']\nproc = 'yes'",
                "x.toml:8: \"proc\" in [compile] must be true or false",
            ),
            (
                7,
                "command = ['{xc}']\nseccomp = 'none'",
                "x.toml:8: there is no seccomp profile \"none\"",
            ),
            (
                7,
                "command = ['{xc}']\nmounts = ['etc']",
                "x.toml:8: \"etc\" must be an absolute path",
            ),
            (
                7,
                "command = ['{xc}']\nmounts = ['/etc/../root']",
                "x.toml:8: \"/etc/../root\" must be",
            ),
            (
                7,
                "command = ['{xc}']\nenv = { A = 1 }",
                "x.toml:8: \"env\" in [compile] must be a table of strings",
            ),
            (
                7,
                "command = ['{xc}']\nmemory_mib = -1",
                "x.toml:8: \"memory_mib\" in [compile] must be from 0",
            ),
            (
                7,
                "command = ['{xc}', '{linking}']",
                "x.toml:7: there is no placeholder {linking} here",
            ),
            (
                9,
                "command = ['x']\n[linking]\nalways = 'no'",
                "x.toml:11: \"always\" in [linking] must be one of static",
            ),
            (
                9,
                "command = ['x']\n[linking]\nalways = 'static'\nstatic = []",
                "x.toml:11: \"always\" in [linking] leaves",
            ),
            (
                9,
                "command = ['x']\n[linking]\nstatic = ['-s']",
                "x.toml:10: there must be a key \"package\" in [linking]",
            ),
            (
                9,
                "command = ['x']\n[linking]\nstatic = ['-s']\npackage = 'p'",
                "x.toml:10: [linking] has arguments, so the command in [compile] must have \
                 {linking}",
            ),
            (
                9,
                "command = ['{main} {output}']",
                "x.toml:9: there is no placeholder {output} here",
            ),
            (
                9,
                "command = ['x']\n[variant.y]\ntitle = 'Y'",
                "x.toml:10: 0 variants have default = true; exactly one",
            ),
            (9, "command = ['x'", "x.toml:"),
        ] {
            // A missing table has faults of its own; what is looked for must be among them.
            let all = faults(line, by);
            assert!(
                all.iter().any(|fault| fault.starts_with(said)),
                "{by}: {all:?}"
            );
        }
    }

    #[test]
    fn variants_differ_by_their_values() {
        let text = format!(
            "{}\n[variant.y1]\ntitle = 'Y 1'\nlevel = '1'\nnames = ['Y-1']\n[variant.y2]\ntitle = \
             'Y 2'\nlevel = '2'\ndefault = true\n",
            GOOD.replace("{sources}", "-{level}")
                .replace("extensions", "names = ['ex']\nextensions")
        );
        let Ok(language) = read("x.toml", &text) else {
            panic!("not taken")
        };
        let [y1, y2] = &language.suites[..] else {
            panic!("{:?}", language.suites)
        };
        assert_eq!(
            (y1.name.as_str(), y1.values["level"].as_str(), y1.default),
            ("y1", "1", false)
        );
        assert_eq!(
            (y2.name.as_str(), y2.values["level"].as_str(), y2.default),
            ("y2", "2", true)
        );
        assert_eq!(
            (&y1.names[..], &y2.names[..]),
            (
                &["y-1".to_owned()][..],
                &["ex".to_owned(), "x".to_owned()][..]
            )
        );
        let Err(faults) = read("x.toml", &text.replace("level = '1'\n", "")) else {
            panic!("it was taken")
        };
        assert!(
            faults.to_string().contains("\"y1\" has no key \"level\""),
            "{faults}"
        );
    }

    #[test]
    fn a_directory_adds_and_replaces() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        std::fs::write(path.join("x.toml"), GOOD).unwrap();
        std::fs::write(path.join("notes.txt"), "no suite").unwrap();
        let suites = Suites::with_directory(path).unwrap();
        assert_eq!(suites.named("x").unwrap().title, "X");
        assert!(suites.named("cpp17").is_ok());

        std::fs::write(
            path.join("x.toml"),
            GOOD.replace("name = \"x\"", "name = \"cpp\""),
        )
        .unwrap();
        let suites = Suites::with_directory(path).unwrap();
        assert_eq!(suites.named("cpp").unwrap().title, "X");
        assert!(suites.named("cpp17").is_err());

        std::fs::write(
            path.join("y.toml"),
            GOOD.replace("name = \"x\"", "name = \"cpp\""),
        )
        .unwrap();
        let faults = Suites::with_directory(path).unwrap_err().to_string();
        assert!(
            faults.contains("y.toml:1: the language \"cpp\" is described in"),
            "{faults}"
        );

        std::fs::write(
            path.join("y.toml"),
            GOOD.replace("title", "names = ['python']\ntitle"),
        )
        .unwrap();
        let faults = Suites::with_directory(path).unwrap_err().to_string();
        assert!(
            faults.contains("y.toml:2: the name \"python\" is python3.toml's already"),
            "{faults}"
        );

        assert!(
            Suites::with_directory(&path.join("none"))
                .unwrap_err()
                .to_string()
                .contains("cannot read it")
        );
    }
}
