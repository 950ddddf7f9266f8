//! Reads the tables `prepare`, `complete`, `compile` and `run` of a suite file: commands with their
//! limits.

use super::error::{FaultKind, Suggestion};
use super::model::{
    CompileStep, Completion, EntryPoint, Preparation, Product, Run, Surroundings, System,
};
use super::section::{Reader, Section};
use super::similar::nearest;
use super::template;
use std::ops::Range;
use std::time::Duration;
use toml::Spanned;

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
const RUN_KEYS: &[&str] = &["modules", "prepared"];
const COMPILE_KEYS: &[&str] = &["product", "cpu_seconds", "output_mib"];
const COMPLETE_KEYS: &[&str] = &["when"];

/// Placeholders of the commands, in addition to the names of tools and the keys of variants.
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

/// A value above 1 TiB is probably a mistake.
const MEBIBYTE_RANGE: Range<i64> = 0..(1 << 20) + 1;

/// Default values of keys that the file omits.
struct CommandDefaults {
    /// Size of /tmp in MiB.
    scratch: i64,
    /// Whether /proc exists. Programs that open /dev/stdin need it.
    proc: bool,
}

/// Reads `[prepare]`. `filled` are the names of the tools and the keys of the variants.
pub(super) fn prepare_step(
    reader: &mut Reader<'_>,
    top: Section<'_>,
    filled: &[String],
) -> Option<CompileStep> {
    step(reader, top, "prepare", filled, PREPARE_PLACEHOLDERS)
}

/// Reads `[complete]`.
pub(super) fn complete_step(
    reader: &mut Reader<'_>,
    top: Section<'_>,
    filled: &[String],
) -> Option<Completion> {
    let step = step(reader, top, "complete", filled, PREPARE_PLACEHOLDERS)?;
    let section = reader.table(top, "complete")?;
    let when = reader.required(section, "when");
    Some(Completion { step, when })
}

/// Reads `[compile]`. `has_linking` means that the command may contain `{linking}`.
pub(super) fn compile_step(
    reader: &mut Reader<'_>,
    top: Section<'_>,
    filled: &[String],
    has_linking: bool,
) -> Option<CompileStep> {
    let mut placeholders = COMPILE_PLACEHOLDERS.to_vec();
    placeholders.extend(has_linking.then_some(template::LINKING));
    step(reader, top, "compile", filled, &placeholders)
}

fn step(
    reader: &mut Reader<'_>,
    top: Section<'_>,
    key: &str,
    filled: &[String],
    own: &[&str],
) -> Option<CompileStep> {
    let section = reader.table(top, key)?;
    let more = if key == "complete" {
        COMPLETE_KEYS
    } else {
        &[]
    };
    reader.reject_unknown_keys(section, &[COMMAND_KEYS, COMPILE_KEYS, more].concat());
    let defaults = CommandDefaults {
        scratch: 640,
        proc: false,
    };
    let (command, surroundings) = command(reader, section, filled, own, defaults);
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

/// Reads `entry` and `[run]`.
pub(super) fn run_step(reader: &mut Reader<'_>, top: Section<'_>, filled: &[String]) -> Run {
    let entries = [
        ("file", EntryPoint::File),
        ("java-class", EntryPoint::JavaClass),
        ("java-tests", EntryPoint::JavaTests),
    ];
    let entry = reader.word(top, "entry", &entries);
    let Some(section) = reader.table(top, "run") else {
        reader.missing(top, "run");
        return Run {
            command: Vec::new(),
            surroundings: Surroundings::default(),
            memory: 0,
            processes: 0,
            entry,
            preparation: None,
        };
    };
    reader.reject_unknown_keys(section, &[COMMAND_KEYS, RUN_KEYS].concat());
    let defaults = CommandDefaults {
        scratch: 0,
        proc: true,
    };
    let (command, surroundings) = command(reader, section, filled, RUN_PLACEHOLDERS, defaults);
    Run {
        command,
        surroundings,
        memory: mebibytes(reader.number(section, "memory_mib", 0, MEBIBYTE_RANGE)),
        processes: reader.number(section, "processes", 0, 0..100_001) as u32,
        entry,
        preparation: preparation(reader, section),
    }
}

/// Reads `prepared` and `modules` of `[run]`.
fn preparation(reader: &mut Reader<'_>, section: Section<'_>) -> Option<Preparation> {
    let modules = reader.strings(section, "modules").unwrap_or_default();
    let is_python = reader.word(section, "prepared", &[("no", false), ("python", true)]);
    is_python.then(|| Preparation::Python {
        modules: modules.into_iter().map(Spanned::into_inner).collect(),
    })
}

/// Reads the keys that all commands have.
fn command(
    reader: &mut Reader<'_>,
    section: Section<'_>,
    filled: &[String],
    own: &[&str],
    defaults: CommandDefaults,
) -> (Vec<String>, Surroundings) {
    let command = match reader.strings(section, "command") {
        Some(command) if !command.is_empty() => command,
        _ => {
            reader.missing(section, "command");
            Vec::new()
        }
    };
    let env = reader.map(section, "env");
    let placeholders: Vec<&str> = own
        .iter()
        .copied()
        .chain(filled.iter().map(String::as_str))
        .collect();
    for text in command.iter().chain(env.values()) {
        check_placeholders(reader, text, &placeholders);
    }
    let seccomp = seccomp(reader, section);
    check_mounts(reader, section);
    let surroundings = Surroundings {
        system: reader.word(
            section,
            "system",
            &[("all", System::All), ("libraries", System::Libraries)],
        ),
        mounts: reader.plain_strings(section, "mounts"),
        proc: reader.boolean(section, "proc", defaults.proc),
        scratch: mebibytes(reader.number(section, "scratch_mib", defaults.scratch, MEBIBYTE_RANGE)),
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

fn check_placeholders(reader: &mut Reader<'_>, text: &Spanned<String>, known: &[&str]) {
    for name in template::names(text.get_ref()) {
        let in_braces = format!("{{{name}}}");
        if !known.contains(&name) {
            let suggestion = match nearest(name, known.iter().copied()) {
                Some(name) => Suggestion::Nearest(format!("{{{name}}}")),
                None => {
                    Suggestion::Known(known.iter().map(|known| format!("{{{known}}}")).collect())
                }
            };
            let kind = FaultKind::UnknownPlaceholder {
                name: in_braces,
                suggestion,
            };
            reader.fault(&text.span(), kind);
        } else if [template::SOURCES, template::LINKING].contains(&name)
            && *text.get_ref() != in_braces
        {
            reader.fault(&text.span(), FaultKind::ListPlaceholder(name.to_owned()));
        }
    }
}

fn seccomp(reader: &mut Reader<'_>, section: Section<'_>) -> String {
    let name = reader
        .string(section, "seccomp")
        .unwrap_or_else(|| "default".to_owned());
    if !millibox_seccomp::profile_names().any(|known| known == name) {
        let span = section
            .get("seccomp")
            .map(Spanned::span)
            .unwrap_or_default();
        let kind = FaultKind::SeccompProfile {
            name: name.clone(),
            known: millibox_seccomp::profile_names()
                .map(str::to_owned)
                .collect(),
        };
        reader.fault(&span, kind);
    }
    name
}

fn check_mounts(reader: &mut Reader<'_>, section: Section<'_>) {
    for mount in reader.strings(section, "mounts").unwrap_or_default() {
        let path = mount.get_ref();
        if let Err(error) = glob::Pattern::new(path) {
            let kind = FaultKind::MountPattern {
                pattern: path.clone(),
                reason: error.msg,
                position: error.pos,
            };
            reader.fault(&mount.span(), kind);
        } else if !path.starts_with('/') || path.split('/').any(|part| part == "..") {
            reader.fault(&mount.span(), FaultKind::MountPath(path.clone()));
        }
    }
}

fn mebibytes(number: i64) -> u64 {
    (number as u64) << 20
}
