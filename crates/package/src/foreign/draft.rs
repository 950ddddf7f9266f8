//! A package that is being converted, and how it is written.

use super::loss::{ForeignError, Loss};
use super::source::{Source, extension, system};
use crate::fault::text::Number;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const ADAPTER: &str = include_str!("adapter.c");
/// The maximum number of tests.
const MAX_TESTS: usize = 10_000;

/// A test.
#[derive(Debug)]
pub struct Test {
    /// The name in the other package.
    pub name: String,
    pub input: PathBuf,
    pub answer: PathBuf,
    /// The index of the group; `None` for samples.
    pub group: Option<usize>,
}

/// How the results of tests become that of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The lowest result counts for all points of the group.
    Min,
    /// Each test has an equal part of the points.
    Sum,
    /// All tests must be accepted. Other groups can require the group.
    All,
}

/// A group of tests.
#[derive(Debug)]
pub struct Group {
    /// The name in the other package.
    pub name: String,
    pub points: f64,
    pub mode: Mode,
    /// The indices of earlier groups in the mode [`Mode::All`], which must be accepted.
    pub requires: Vec<usize>,
}

/// How a checker is called and reports its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Convention {
    /// testlib: `INPUT OUTPUT ANSWER`, and an exit status.
    Testlib,
    /// oioioi: `INPUT OUTPUT ANSWER`; lines with `OK`, a comment and a percentage.
    Sio,
    /// CMS: `INPUT ANSWER OUTPUT`; a number between 0 and 1, and a comment.
    Cms,
}

/// How outputs are compared with answers.
#[derive(Debug)]
pub enum Checker {
    /// The default output validator, with flags.
    Default(&'static [&'static str]),
    /// A program of the package: a source and headers.
    Program {
        convention: Convention,
        source: PathBuf,
        headers: Vec<PathBuf>,
    },
}

/// A package that is being converted.
#[derive(Debug)]
pub struct Draft {
    pub title: String,
    /// In milliseconds.
    pub time_limit: u64,
    /// In MiB.
    pub memory_limit: u64,
    /// Whether tests give points.
    pub is_scoring: bool,
    pub groups: Vec<Group>,
    pub tests: Vec<Test>,
    pub checker: Checker,
    /// Statements by language and file.
    pub statements: Vec<(String, PathBuf)>,
    /// Submissions by the directory that states their verdicts.
    pub submissions: Vec<(&'static str, PathBuf)>,
    pub losses: Vec<Loss>,
}

impl Draft {
    /// A draft without content.
    pub fn new(title: String) -> Draft {
        Draft {
            title,
            time_limit: 0,
            memory_limit: 0,
            is_scoring: false,
            groups: Vec::new(),
            tests: Vec::new(),
            checker: Checker::Default(&["case_sensitive"]),
            statements: Vec::new(),
            submissions: Vec::new(),
            losses: Vec::new(),
        }
    }

    /// Sets the limits to the largest of the tests: the format has one limit for all tests.
    pub fn set_limits(&mut self, times: &[u64], memory: &[u64]) {
        let bounds = |all: &[u64]| (all.iter().min().copied(), all.iter().max().copied());
        if let (Some(least), Some(most)) = bounds(times) {
            self.time_limit = most;
            if least < most {
                self.losses.push(Loss::TimeLimits { least, most });
            }
        }
        if let (Some(least), Some(most)) = bounds(memory) {
            self.memory_limit = most;
            if least < most {
                self.losses.push(Loss::MemoryLimits { least, most });
            }
        }
    }

    /// Makes a group require earlier ones, as far as the format can express it.
    pub fn require(&mut self, group: usize, on: &str, found: Option<usize>) {
        match found {
            Some(found) if found < group && self.groups[found].mode == Mode::All => {
                self.groups[group].requires.push(found);
            }
            _ => self.losses.push(Loss::Dependency {
                group: self.groups[group].name.clone(),
                on: on.to_owned(),
            }),
        }
    }

    /// Uses a checker of the package, which is a source in C or C++. Headers beside it are added.
    pub fn set_checker(
        &mut self,
        source: &Source,
        name: &str,
        convention: Convention,
    ) -> Result<(), ForeignError> {
        if !matches!(extension(name).as_str(), "c" | "cc" | "cpp" | "cxx") {
            return Err(ForeignError::Checker(name.to_owned()));
        }
        let path = source.needed(name)?;
        let directory = Path::new(name).parent().unwrap_or(Path::new(""));
        let directory = directory.to_string_lossy().into_owned();
        let mut headers = Vec::new();
        for header in source.names(&directory)? {
            if matches!(extension(&header).as_str(), "h" | "hh" | "hpp") {
                headers.extend(source.file(&format!("{directory}/{header}")));
            }
        }
        let text = source.text(name)?.unwrap_or_default();
        let has_testlib = |path: &PathBuf| path.file_name() == Some("testlib.h".as_ref());
        if text.contains("testlib.h") && !headers.iter().any(has_testlib) {
            let checker = name.to_owned();
            return Err(ForeignError::NoTestlib { checker });
        }
        self.checker = Checker::Program {
            convention,
            source: path,
            headers,
        };
        Ok(())
    }

    /// Writes the package. Returns what is left out.
    pub fn write(&self, to: &Path) -> Result<Vec<Loss>, ForeignError> {
        if self.tests.len() > MAX_TESTS {
            return Err(ForeignError::TooManyTests(MAX_TESTS));
        }
        put(&to.join("problem.yaml"), &self.header())?;
        self.write_tests(&to.join("data"))?;
        self.write_checker(to)?;
        for (language, file) in &self.statements {
            let extension = extension(&file.to_string_lossy());
            copy(
                file,
                &to.join(format!("statement/problem.{language}.{extension}")),
            )?;
        }
        let mut names = BTreeSet::new();
        for (directory, file) in &self.submissions {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let mut name = format!("{directory}/{}", plain(&name));
            while !names.insert(name.clone()) {
                name = format!("{directory}/x{}", &name[directory.len() + 1..]);
            }
            copy(file, &to.join("submissions").join(&name))?;
        }
        let mut losses = self.losses.clone();
        losses.sort();
        losses.dedup();
        Ok(losses)
    }

    fn header(&self) -> String {
        let kind = if self.is_scoring {
            "scoring"
        } else {
            "pass-fail"
        };
        // The same package has the same identifier.
        let mut hash = Sha256::new();
        hash.update(&self.title);
        for test in &self.tests {
            hash.update(&test.name);
        }
        let digest: Vec<u8> = hash.finalize().to_vec();
        let hex = |from: usize, to: usize| {
            digest[from..to]
                .iter()
                .fold(String::new(), |mut text, byte| {
                    // Writing to memory does not fail.
                    let _ = write!(text, "{byte:02x}");
                    text
                })
        };
        let seconds = Number(self.time_limit as f64 / 1000.0);
        // A limit must be a multiple of the resolution, which is a second by default.
        let resolution = match self.time_limit % 1000 {
            0 => String::new(),
            _ => format!("  time_resolution: {seconds}\n"),
        };
        format!(
            "problem_format_version: 2025-09\nname: {}\nuuid: {}-{}-{}-{}-{}\ntype: {kind}\n\
             limits:\n  time_limit: {seconds}\n{resolution}  memory: {}\n",
            quoted(&self.title),
            hex(0, 4),
            hex(4, 6),
            hex(6, 8),
            hex(8, 10),
            hex(10, 16),
            self.memory_limit,
        )
    }

    fn write_tests(&self, data: &Path) -> Result<(), ForeignError> {
        if let Checker::Default(flags) = self.checker
            && !flags.is_empty()
        {
            let text = format!("output_validator_args: [{}]\n", flags.join(", "));
            put(&data.join("test_group.yaml"), &text)?;
        }
        let digits = |count: usize| count.to_string().len();
        let group_name = |index: usize| {
            let name = plain(&self.groups[index].name);
            format!(
                "{:0width$}-{name}",
                index + 1,
                width = digits(self.groups.len())
            )
        };
        if self.is_scoring {
            let sum: f64 = self.groups.iter().map(|group| group.points).sum();
            let text = format!("max_score: {}\n", Number(sum));
            put(&data.join("secret/test_group.yaml"), &text)?;
            for (index, group) in self.groups.iter().enumerate() {
                // All tests of the group are samples.
                if !self.tests.iter().any(|test| test.group == Some(index)) {
                    continue;
                }
                let mode = match group.mode {
                    Mode::Min => "min",
                    Mode::Sum => "sum",
                    Mode::All => "pass-fail",
                };
                let points = Number(group.points);
                let mut text = format!("max_score: {points}\nscore_aggregation: {mode}\n");
                if !group.requires.is_empty() {
                    let required = group.requires.iter();
                    let names = required.map(|index| format!("secret/{}", group_name(*index)));
                    let names: Vec<String> = names.collect();
                    let _ = writeln!(text, "require_pass: [{}]", names.join(", "));
                }
                let directory = data.join("secret").join(group_name(index));
                put(&directory.join("test_group.yaml"), &text)?;
            }
        }
        for (index, test) in self.tests.iter().enumerate() {
            let directory = match test.group {
                None => data.join("sample"),
                Some(group) if self.is_scoring => data.join("secret").join(group_name(group)),
                Some(_) => data.join("secret"),
            };
            let name = plain(&test.name);
            let name = format!(
                "{:0width$}-{name}",
                index + 1,
                width = digits(self.tests.len())
            );
            copy(&test.input, &directory.join(format!("{name}.in")))?;
            copy(&test.answer, &directory.join(format!("{name}.ans")))?;
        }
        Ok(())
    }

    fn write_checker(&self, to: &Path) -> Result<(), ForeignError> {
        let Checker::Program {
            convention,
            source,
            headers,
        } = &self.checker
        else {
            return Ok(());
        };
        let directory = to.join("output_validator");
        let extension = extension(&source.to_string_lossy());
        copy(source, &directory.join(format!("checker.{extension}")))?;
        for header in headers {
            copy(
                header,
                &directory.join(header.file_name().unwrap_or_default()),
            )?;
        }
        let convention = match convention {
            Convention::Testlib => "TESTLIB",
            Convention::Sio => "SIO",
            Convention::Cms => "CMS",
        };
        let scoring = u8::from(self.is_scoring);
        let text = format!("#define {convention} 1\n#define SCORING {scoring}\n{ADAPTER}");
        put(&directory.join(format!("adapter.{extension}")), &text)
    }
}

/// A name that the ICPC format accepts.
fn plain(name: &str) -> String {
    let is_kept = |c: char| c.is_ascii_alphanumeric() || "_.-+".contains(c);
    let kept = name.chars().map(|c| if is_kept(c) { c } else { '_' });
    let name: String = kept.take(100).collect();
    match name.trim_start_matches(['-', '.']) {
        "" => "x".to_owned(),
        name => name.to_owned(),
    }
}

/// A string of YAML in quotation marks.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push(' '),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

fn parent(path: &Path) -> Result<(), ForeignError> {
    let directory = path.parent().unwrap_or(path);
    fs::create_dir_all(directory).map_err(|error| system(directory, error))
}

fn put(path: &Path, text: &str) -> Result<(), ForeignError> {
    parent(path)?;
    fs::write(path, text).map_err(|error| system(path, error))
}

fn copy(from: &Path, to: &Path) -> Result<(), ForeignError> {
    parent(to)?;
    let mut reader = fs::File::open(from).map_err(|error| system(from, error))?;
    let mut writer = fs::File::create(to).map_err(|error| system(to, error))?;
    std::io::copy(&mut reader, &mut writer).map_err(|error| system(to, error))?;
    Ok(())
}
