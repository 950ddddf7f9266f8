//! Reads the text of a suite file into suites, and reports all its faults.

use super::command;
use super::error::{FaultKind, Faults};
use super::linking::{Link, Linking};
use super::model::{Example, Root, SourceRules, Suite, Tool};
use super::section::{Reader, Section};
use super::services::{Services, services};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
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
    "marks",
    "entry",
    "linking",
    "services",
    "tool",
    "prepare",
    "complete",
    "compile",
    "run",
    "variant",
    "example",
];
const TOOL_KEYS: &[&str] = &[
    "directories",
    "package",
    "version",
    "root",
    "hint",
    "executable",
];
const LINKING_KEYS: &[&str] = &["always", "default", "dynamic", "package", "static"];
const LINK_WORDS: &[(&str, Link)] = &[("static", Link::Static), ("dynamic", Link::Dynamic)];
const VARIANT_KEYS: &[&str] = &["title", "names", "default", "services"];
const EXAMPLE_KEYS: &[&str] = &["file", "source"];

/// The suites of one file.
pub(super) struct Language {
    pub(super) file: String,
    pub(super) name: String,
    pub(super) name_line: usize,
    pub(super) suites: Vec<Suite>,
    services_line: usize,
    /// Names of the suites, with their lines.
    names: Vec<(String, usize)>,
}

/// Reads a file. [`check_names`] compares its names with those of other files.
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

/// Checks that no two suites have the same name, in millibox or in another service.
pub(super) fn check_names(languages: &[Language], faults: &mut Faults) {
    check_service_names(languages, faults);
    let mut taken: BTreeMap<&str, &Language> = BTreeMap::new();
    for language in languages {
        for (name, line) in &language.names {
            match taken.get(name.as_str()) {
                None => {
                    taken.insert(name, language);
                }
                Some(other) => {
                    let kind = FaultKind::NameTaken {
                        name: name.clone(),
                        file: other.file.clone(),
                    };
                    faults.add(&language.file, *line, kind);
                }
            }
        }
    }
}

fn check_service_names(languages: &[Language], faults: &mut Faults) {
    let mut taken: BTreeMap<(&str, String), (&Language, &str)> = BTreeMap::new();
    for language in languages {
        let entries = language.suites.iter().flat_map(|suite| {
            let entries = suite.services.entries().into_iter();
            entries.map(|entry| (&suite.name[..], entry))
        });
        for (suite, (service, name)) in entries {
            match taken.entry((service, name)) {
                Entry::Vacant(entry) => {
                    entry.insert((language, suite));
                }
                // This duplicate was already reported when the table was read.
                Entry::Occupied(entry) if entry.get().1 == suite => {}
                Entry::Occupied(entry) => {
                    let kind = FaultKind::ServiceNameTaken {
                        service,
                        name: entry.key().1.clone(),
                        file: entry.get().0.file.clone(),
                    };
                    faults.add(&language.file, language.services_line, kind);
                }
            }
        }
    }
}

/// Other names of the suite. A lookup ignores spaces around a name, so names must have none.
fn other_names(reader: &mut Reader<'_>, section: Section<'_>) -> Vec<String> {
    let all = reader.strings(section, "names").unwrap_or_default();
    for name in &all {
        if name.get_ref().trim() != name.get_ref() || name.get_ref().is_empty() {
            let kind = FaultKind::NameSpaces(name.get_ref().clone());
            reader.fault(&name.span(), kind);
        }
    }
    all.into_iter().map(Spanned::into_inner).collect()
}

struct LanguageReader<'r, 't, 'd> {
    reader: &'r mut Reader<'t>,
    top: Section<'d>,
}

struct Variant<'d> {
    name: String,
    title: String,
    names: Vec<String>,
    default: bool,
    values: BTreeMap<String, String>,
    /// `None` means the services of the language, if the variant is the default.
    services: Option<Services>,
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
            reader.fault(&name_span, FaultKind::NameCharacters(name.clone()));
        }
        let title = reader.required(top, "title");
        let names = other_names(reader, top);
        let sources = SourceRules {
            extensions: reader.plain_strings(top, "extensions"),
            headers: reader.plain_strings(top, "headers"),
            files: reader.plain_strings(top, "files"),
            shebangs: reader.plain_strings(top, "shebangs"),
            foreign_shebangs: reader.plain_strings(top, "foreign_shebangs"),
            marks: reader.plain_strings(top, "marks"),
            priority: reader.number(top, "priority", 0, -1000..1001),
            main: reader.plain_strings(top, "main"),
        };
        for key in ["extensions", "headers"] {
            for extension in reader.strings(top, key).unwrap_or_default() {
                if let Some(bare) = extension.get_ref().strip_prefix('.') {
                    let kind = FaultKind::ExtensionDot {
                        key,
                        extension: bare.to_owned(),
                    };
                    reader.fault(&extension.span(), kind);
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
        let prepare = command::prepare_step(self.reader, top, &filled);
        let complete = command::complete_step(self.reader, top, &filled);
        let linking = self.linking();
        let has_choice = linking.as_ref().is_some_and(|linking| !linking.is_fixed());
        let compile = command::compile_step(self.reader, top, &filled, has_choice);
        if has_choice
            && compile.as_ref().is_none_or(|compile| {
                compile
                    .command
                    .iter()
                    .all(|argument| argument != "{linking}")
            })
        {
            let span = top.get("linking").map(Spanned::span).unwrap_or_default();
            self.reader.fault(&span, FaultKind::LinkingNotUsed);
        }
        let run = command::run_step(self.reader, top, &filled);
        let services = services(self.reader, top);
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
                complete: complete.clone(),
                compile: compile.clone(),
                linking: linking.clone(),
                run: run.clone(),
                services: variant
                    .services
                    .or_else(|| services.clone().filter(|_| variant.default))
                    .unwrap_or_default(),
                example: example.clone(),
                text: text.to_owned(),
                values: variant.values,
            });
        }
        let name_line = self.reader.line(&name_span);
        let services_span = top.get("services").map(Spanned::span).unwrap_or_default();
        let services_line = self.reader.line(&services_span);
        Language {
            file: file.to_owned(),
            name,
            name_line,
            suites,
            services_line,
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
                reader.fault(&always.span(), FaultKind::AlwaysWithOtherKeys);
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
                        reader.fault(&value.span(), FaultKind::ToolRoot);
                        Root::Alone
                    }
                },
            };
            tools.push(Tool {
                program: program.to_owned(),
                executable: reader.boolean(section, "executable", true),
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
        let top = self.top;
        let mut variants = Vec::new();
        for (variant, section) in self.reader.tables(top, "variant") {
            let services = self.services_of_variant(section);
            let reader = &mut *self.reader;
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
                services,
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
                services: None,
                section: top,
            });
        }
        variants
    }

    /// Reads the service names of a variant that is not the default.
    fn services_of_variant(&mut self, variant: Section<'d>) -> Option<Services> {
        let value = variant.get("services")?;
        if self.reader.boolean(variant, "default", false) {
            self.reader.fault(&value.span(), FaultKind::DefaultServices);
            return None;
        }
        services(self.reader, variant)
    }

    fn check_variants(&mut self, variants: &[Variant<'_>]) {
        let defaults = variants.iter().filter(|variant| variant.default).count();
        if defaults != 1 {
            let span = variants
                .last()
                .map(|variant| variant.section.span())
                .unwrap_or_default();
            self.reader
                .fault(&span, FaultKind::DefaultVariants(defaults));
        }
        let all: Vec<&String> = variants
            .iter()
            .flat_map(|variant| variant.values.keys())
            .collect();
        for variant in variants {
            if let Some(key) = all.iter().find(|key| !variant.values.contains_key(**key)) {
                let kind = FaultKind::VariantKey {
                    variant: variant.name.clone(),
                    key: key.to_string(),
                };
                self.reader.fault(&variant.section.span(), kind);
            }
        }
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

#[cfg(test)]
mod tests;
