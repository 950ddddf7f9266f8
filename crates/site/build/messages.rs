//! Reads `languages/CODE/*.ftl`, and generates a type for each English message: `sign-in` becomes
//! `SignIn`, and each variable becomes a field. So the compiler checks the names and the arguments
//! of all messages that pages use, and reports messages that no page uses.
//!
//! The other languages are compared with English. For each difference, the build prints a warning
//! and a test of the site fails.

use fluent_syntax::ast::{Entry, Expression, InlineExpression, Pattern, PatternElement};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The language that defines all messages.
const SOURCE: &str = "en";

/// A message: its variables, and its text for the documentation.
struct Message {
    variables: BTreeSet<String>,
    text: String,
}

type Messages = BTreeMap<String, Message>;

/// Writes `messages.rs`, `languages.rs` and `faults.rs`.
pub fn generate(root: &Path, out: &Path) {
    println!("cargo::rerun-if-changed={}", root.display());
    let languages: BTreeMap<String, Vec<PathBuf>> = entries(root)
        .into_iter()
        .map(|directory| (name(&directory), entries(&directory)))
        .collect();
    let read = |code: &str| read(&languages[code]);
    let english = read(SOURCE);
    let mut faults = Vec::new();
    for code in languages.keys().filter(|code| *code != SOURCE) {
        faults.extend(compare(code, &english, &read(code)));
    }
    for fault in &faults {
        println!("cargo::warning={fault}");
    }
    let write = |file: &str, text: String| {
        std::fs::write(out.join(file), text).expect("a written file");
    };
    write("messages.rs", types(&english));
    write("languages.rs", sources(&languages));
    write("faults.rs", format!("&{faults:#?}\n"));
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("a directory of messages");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> String {
    let name = path.file_name().expect("a name");
    name.to_str().expect("a name in UTF-8").to_owned()
}

fn read(files: &[PathBuf]) -> Messages {
    let mut all = Messages::new();
    for file in files {
        let text = std::fs::read_to_string(file).expect("a file of messages");
        let resource = match fluent_syntax::parser::parse(text.as_str()) {
            Ok(resource) => resource,
            Err((_, errors)) => panic!("{}: {errors:?}", file.display()),
        };
        for entry in resource.body {
            let Entry::Message(message) = entry else {
                continue;
            };
            let id = message.id.name;
            assert!(message.attributes.is_empty(), "{id} has attributes");
            let value = message.value.expect("a text");
            let mut variables = BTreeSet::new();
            find_variables(&value, &mut variables);
            let text = plain_text(&value);
            let before = all.insert(id.to_owned(), Message { variables, text });
            assert!(before.is_none(), "{} repeats {id}", file.display());
        }
    }
    all
}

fn find_variables(pattern: &Pattern<&str>, found: &mut BTreeSet<String>) {
    for element in &pattern.elements {
        if let PatternElement::Placeable { expression } = element {
            variables_of(expression, found);
        }
    }
}

fn variables_of(expression: &Expression<&str>, found: &mut BTreeSet<String>) {
    match expression {
        Expression::Select { selector, variants } => {
            variables_inline(selector, found);
            for variant in variants {
                find_variables(&variant.value, found);
            }
        }
        Expression::Inline(inline) => variables_inline(inline, found),
    }
}

fn variables_inline(inline: &InlineExpression<&str>, found: &mut BTreeSet<String>) {
    match inline {
        InlineExpression::VariableReference { id } => {
            found.insert(id.name.to_owned());
        }
        InlineExpression::Placeable { expression } => variables_of(expression, found),
        InlineExpression::StringLiteral { .. }
        | InlineExpression::NumberLiteral { .. }
        | InlineExpression::TermReference {
            arguments: None, ..
        } => {}
        InlineExpression::FunctionReference { .. }
        | InlineExpression::MessageReference { .. }
        | InlineExpression::TermReference { .. } => {
            panic!("messages have no functions and refer to no other messages: {inline:?}")
        }
    }
}

/// The text with the variables, for the documentation of a type.
fn plain_text(pattern: &Pattern<&str>) -> String {
    let parts = pattern.elements.iter().map(|element| match element {
        PatternElement::TextElement { value } => (*value).to_owned(),
        PatternElement::Placeable {
            expression: Expression::Inline(InlineExpression::VariableReference { id }),
        } => format!("{{{}}}", id.name),
        PatternElement::Placeable { .. } => "{…}".to_owned(),
    });
    parts.collect()
}

fn compare(code: &str, english: &Messages, other: &Messages) -> Vec<String> {
    let mut faults = Vec::new();
    for (id, message) in english {
        match other.get(id) {
            None => faults.push(format!("languages/{code} lacks {id}")),
            Some(found) if found.variables != message.variables => {
                faults.push(format!("languages/{code}: {id} has other variables"));
            }
            Some(_) => {}
        }
    }
    let unknown = other.keys().filter(|id| !english.contains_key(*id));
    faults.extend(unknown.map(|id| format!("languages/{code} has {id}, which English lacks")));
    faults
}

/// Converts `sign-in` to `SignIn`.
fn type_name(id: &str) -> String {
    let words = id.split(['-', '_']);
    let capital = |word: &str| {
        let mut chars = word.chars();
        let first = chars.next().map(|c| c.to_ascii_uppercase());
        first.into_iter().chain(chars).collect::<String>()
    };
    words.map(capital).collect()
}

fn types(english: &Messages) -> String {
    let mut text = String::new();
    for (id, message) in english {
        let variables: String = message
            .variables
            .iter()
            .map(|variable| format!(", {variable}: {}", type_name(variable)))
            .collect();
        let name = type_name(id);
        writeln!(
            text,
            "message!({:?} {name}, {id:?}{variables});",
            message.text
        )
        .expect("memory");
    }
    text
}

fn sources(languages: &BTreeMap<String, Vec<PathBuf>>) -> String {
    let mut text = String::from("&[\n");
    for (code, files) in languages {
        let files: String = files
            .iter()
            .map(|file| format!("include_str!({file:?}), \"\\n\", "))
            .collect();
        writeln!(text, "    ({code:?}, concat!({files})),").expect("memory");
    }
    text.push_str("]\n");
    text
}
