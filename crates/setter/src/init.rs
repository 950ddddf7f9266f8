//! Creates a package that works immediately: a statement, a sample, a generator, a validator, a
//! model solution and a wrong solution.

use super::error::{FileAction, MachineError, file as file_error};
use super::replace::Replacement;
use super::{RequestError, Setter, SetterError, generate};
use std::fs;
use std::path::{Path, PathBuf};

macro_rules! template {
    ($name:literal) => {
        include_str!(concat!("templates/", $name))
    };
}

/// The format of a new package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// The ICPC problem package format, version 2025-09.
    Icpc,
    /// Version `legacy` of the ICPC format, which older versions of DOMjudge and problemtools read.
    Legacy,
    /// Sim's format.
    Sim,
}

/// Options of a new package.
#[derive(Debug, Clone)]
pub struct Options {
    /// The format.
    pub format: Format,
    /// The title. `None` means that it is derived from the directory's name.
    pub name: Option<String>,
    /// Whether submissions communicate with an interactor.
    pub interactive: bool,
}

/// Writes a new package to a directory that is new or empty. If `setter` is given, generates the
/// tests.
///
/// # Errors
/// The directory is not empty or cannot be written, or the tests cannot be generated, for example
/// because no compiler is installed. In these cases the package is removed.
pub fn init(
    setter: Option<&Setter<'_>>,
    directory: &Path,
    options: &Options,
) -> Result<(), SetterError> {
    let failed = |error: std::io::Error| file_error(FileAction::CreatePackage, directory, error);
    let place = std::path::absolute(directory).map_err(failed)?;
    let there = match fs::read_dir(&place) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                return Err(RequestError::NotEmpty(directory.to_owned()).into());
            }
            true
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => return Err(failed(error)),
    };
    let base = place
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    // `..` and `/` are not useful names, so use the name of the real directory.
    let real = if there {
        place.canonicalize().ok()
    } else {
        None
    };
    let base = real
        .and_then(|path| {
            path.file_name()
                .map(|name| name.to_string_lossy().into_owned())
        })
        .or(base)
        .unwrap_or_else(|| "problem".to_owned());
    let name = options.name.clone().unwrap_or_else(|| title(&base));
    if name.trim().is_empty() || name.contains(char::is_control) {
        return Err(RequestError::Title(name).into());
    }
    // If the directory exists, create the package inside it, and otherwise beside it.
    let parent = if there {
        place.clone()
    } else {
        place.parent().unwrap_or(Path::new("/")).to_owned()
    };
    let workshop = tempfile::Builder::new()
        .prefix(".millibox-init-")
        .tempdir_in(&parent)
        .map_err(failed)?;
    let package = workshop.path().join(&base);
    for (path, text) in files(&name, &base, options)? {
        let path = package.join(path);
        if let Some(above) = path.parent() {
            fs::create_dir_all(above).map_err(failed)?;
        }
        fs::write(path, text).map_err(failed)?;
    }
    if let Some(setter) = setter {
        setter.generate(&package, &generate::Options::default())?;
    }
    if !there {
        return fs::rename(&package, &place).map_err(failed);
    }
    let mut replacement = Replacement::begin(workshop.path().join("new"))?;
    for entry in fs::read_dir(&package).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        replacement.add(entry.path(), place.join(entry.file_name()));
    }
    replacement.commit()
}

/// Derives a title from the directory's name.
fn title(base: &str) -> String {
    let words = base.replace(['-', '_'], " ");
    let mut letters = words.trim().chars();
    letters.next().map_or_else(
        || "Problem".to_owned(),
        |first| first.to_uppercase().chain(letters).collect(),
    )
}

/// Derives a short name that Sim accepts: letters and digits.
fn label(base: &str) -> String {
    let label: String = base
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(16)
        .collect();
    if label.is_empty() {
        "pro".to_owned()
    } else {
        label.to_ascii_lowercase()
    }
}

fn files(name: &str, base: &str, options: &Options) -> Result<Vec<(PathBuf, String)>, SetterError> {
    let guess = options.interactive;
    let either = |sum: &'static str, guessing: &'static str| if guess { guessing } else { sum };
    let model = either(template!("model.cpp"), template!("guess_model.cpp"));
    let wrong = either(template!("wrong.cpp"), template!("guess_wrong.cpp"));
    let generator = either(template!("gen.cpp"), template!("guess_gen.cpp"));
    let statement = either(template!("statement.md"), template!("guess_statement.md"));
    let (input, answer) = if guess {
        ("100 64\n", "")
    } else {
        ("3\n10 -2 5\n", "13\n")
    };
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    let mut file = |path: &str, text: String| files.push((path.into(), text));
    if options.format == Format::Sim {
        let values = [
            ("name", simfile_text(name)),
            ("label", label(base)),
            (
                "interactive",
                if guess {
                    "interactive: true\n".to_owned()
                } else {
                    String::new()
                },
            ),
        ];
        file("Simfile", fill(template!("Simfile"), &values));
        let seed = u32::from_le_bytes(random()?);
        let tests = either(
            "    1a-c gen.cpp 10 100\n    2a-c gen.cpp 1000 1000000000\n    3a gen.cpp 1000 \
             +1000000000\n    3b-d \
             gen.cpp 100000 1000000000",
            "    1a gen.cpp 1\n    1b gen.cpp 20\n    1c gen.cpp 1000\n    2a-c gen.cpp \
             1000000000\n    2d \
             gen.cpp 1000000000 last",
        );
        file(
            "Sipfile",
            fill(
                template!("Sipfile"),
                &[("seed", seed.to_string()), ("tests", tests.to_owned())],
            ),
        );
        file("doc/statement.md", format!("# {name}\n\n{statement}"));
        file("prog/model.cpp", model.to_owned());
        file("prog/wrong.cpp", wrong.to_owned());
        file("utils/gen.cpp", generator.to_owned());
        file("in/0a.in", input.to_owned());
        if guess {
            file(
                "check/interactor.cpp",
                interactor(template!("answers_sim.cpp")),
            );
        } else {
            file("out/0a.out", answer.to_owned());
        }
        return Ok(files);
    }
    let legacy = options.format == Format::Legacy;
    let values = [
        ("name", yaml_text(name)),
        ("uuid", uuid()?),
        ("type", either("pass-fail", "interactive").to_owned()),
        (
            "validation",
            either("default", "custom interactive").to_owned(),
        ),
    ];
    let header = if legacy {
        template!("problem_legacy.yaml")
    } else {
        template!("problem.yaml")
    };
    file("problem.yaml", fill(header, &values));
    if legacy {
        let text = either(template!("statement.tex"), template!("guess_statement.tex"));
        file(
            "problem_statement/problem.en.tex",
            fill(text, &[("name", tex_text(name))]),
        );
    } else {
        file("statement/problem.en.md", statement.to_owned());
    }
    let tests = either(
        "      1-small: gen 10 100 {seed}\n      2-zeros: gen 10 0 {seed}\n      3-greatest: gen \
         100000 +1000000000 \
         {seed}\n      4-random: gen 100000 1000000000 {seed}",
        "      1-one: gen 1 {seed}\n      2-small: gen 20 {seed}\n      3-random: gen 1000000000 \
         {seed}\n      4-last: \
         gen 1000000000 last",
    );
    let values = [("tests", tests.to_owned())];
    file(
        "generators/generators.yaml",
        fill(template!("generators.yaml"), &values),
    );
    file("generators/gen.cpp", generator.to_owned());
    let input_code = either(
        "    const long long n = number(1, 100000);\n    character('\\n');\n    for (long long i \
         = 1; i <= n; i++) \
         {\n        number(-1000000000, 1000000000);\n        \
         character(i < n ? ' ' : '\\n');\n    }\n",
        "    const long long n = number(1, 1000000000);\n    character(' ');\n    number(1, n);\
         \n    \
         character('\\n');\n",
    );
    file(
        "input_validators/validate.cpp",
        fill(
            template!("validate.cpp"),
            &[("input", input_code.to_owned())],
        ),
    );
    if guess {
        let directory = if legacy {
            "output_validators"
        } else {
            "output_validator"
        };
        file(
            &format!("{directory}/interactor.cpp"),
            interactor(template!("answers_icpc.cpp")),
        );
    }
    file("submissions/accepted/model.cpp", model.to_owned());
    file("submissions/wrong_answer/wrong.cpp", wrong.to_owned());
    file("data/sample/1.in", input.to_owned());
    file("data/sample/1.ans", answer.to_owned());
    Ok(files)
}

fn interactor(answers: &str) -> String {
    fill(
        template!("interactor.cpp"),
        &[("answers", answers.to_owned())],
    )
}

fn fill(template: &str, values: &[(&str, String)]) -> String {
    values
        .iter()
        .fold(template.to_owned(), |text, (name, value)| {
            text.replace(&format!("{{{{{name}}}}}"), value)
        })
}

/// Returns a string in double quotes, as in YAML and JSON.
fn yaml_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns a string as a Simfile contains it: in single quotes if it needs them.
fn simfile_text(text: &str) -> String {
    let plain = text
        .chars()
        .all(|c| c.is_alphanumeric() || " _.-".contains(c))
        && text.trim() == text;
    if plain {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

fn tex_text(text: &str) -> String {
    let mut tex = String::new();
    for c in text.chars() {
        match c {
            '\\' => tex.push_str("\\textbackslash{}"),
            '~' => tex.push_str("\\textasciitilde{}"),
            '^' => tex.push_str("\\textasciicircum{}"),
            '{' | '}' | '$' | '&' | '%' | '#' | '_' => tex.extend(['\\', c]),
            c => tex.push(c),
        }
    }
    tex
}

/// Returns a random UUID (RFC 9562, version 4).
fn uuid() -> Result<String, SetterError> {
    let mut bytes: [u8; 16] = random()?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [
        &digits[..8],
        &digits[8..12],
        &digits[12..16],
        &digits[16..20],
        &digits[20..],
    ];
    Ok(parts.join("-"))
}

fn random<const N: usize>() -> Result<[u8; N], SetterError> {
    let mut bytes = [0; N];
    // getrandom(2) returns up to 256 bytes at once.
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|errno| SetterError::from(MachineError::Random(errno)))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_for_each_format() {
        assert_eq!(yaml_text("a \"b\" \\c: #d"), "\"a \\\"b\\\" \\\\c: #d\"");
        assert_eq!(simfile_text("A plus B"), "A plus B");
        assert_eq!(simfile_text("It's #1"), "'It''s #1'");
        assert_eq!(tex_text("50% of A_1"), "50\\% of A\\_1");
        assert_eq!(title("two-sums_again"), "Two sums again");
        assert_eq!(label("A+B"), "ab");
    }

    #[test]
    fn uuid_has_version_4_and_standard_variant() {
        let uuid = uuid().unwrap();
        assert_eq!((uuid.len(), &uuid[14..15]), (36, "4"));
        assert!(matches!(&uuid[19..20], "8" | "9" | "a" | "b"), "{uuid}");
    }
}
