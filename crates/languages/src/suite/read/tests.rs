//! Tests of reading suite files.

use super::*;
use crate::suite::{Fault, Place, Suggestion, Suites};

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

/// Returns the faults of the valid file after one of its lines (counted from 1) is replaced.
fn faults(line: usize, replacement: &str) -> Vec<Fault> {
    let lines: Vec<&str> = GOOD
        .lines()
        .enumerate()
        .map(|(index, text)| if index + 1 == line { replacement } else { text })
        .collect();
    match read("x.toml", &lines.join("\n")) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.0,
    }
}

#[test]
fn builtin_files_have_no_faults() {
    assert!(Suites::builtin().iter().count() > 10);
    assert!(faults(1, "name = 'x'").is_empty());
}

#[test]
fn read_with_several_faults_reports_each_with_its_line() {
    let text = GOOD
        .replace("title = \"X\"", "titel = \"X\"")
        .replace("{executable}", "{executabel}")
        .replace("package =", "packages =");
    let Err(faults) = read("dir/x.toml", &text) else {
        panic!("the file was accepted")
    };
    let message = faults.to_string();
    let mut lines: Vec<&str> = message.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "dir/x.toml:1: there must be a key \"title\" at the top of the file",
            "dir/x.toml:2: there is no key \"titel\" at the top of the file; did you mean \
             \"title\"?",
            "dir/x.toml:4: there must be a key \"package\" in [tool]",
            "dir/x.toml:5: there is no key \"packages\" in [tool]; did you mean \"package\"?",
            "dir/x.toml:7: there is no placeholder {executabel} here; did you mean {executable}?",
            "dir/x.toml:9: there is no placeholder {executabel} here; did you mean {executable}?",
        ]
    );
}

/// Checks that replacing a line causes the fault that `is_expected` describes, on that line.
#[track_caller]
fn assert_fault(
    line: usize,
    replacement: &str,
    fault_line: usize,
    is_expected: impl Fn(&FaultKind) -> bool,
) {
    // A missing table causes additional faults.
    let all = faults(line, replacement);
    assert!(
        all.iter()
            .any(|fault| fault.line == fault_line && is_expected(&fault.kind)),
        "{replacement}: {all:?}"
    );
}

#[test]
fn read_with_faulty_names_reports_fault() {
    assert_fault(
        1,
        "name = 'X y'",
        1,
        |kind| matches!(kind, FaultKind::NameCharacters(name) if name == "X y"),
    );
    assert_fault(
        1,
        "name = ''",
        1,
        |kind| matches!(kind, FaultKind::Empty { key, place: Place::Top } if key == "name"),
    );
    assert_fault(
        3,
        "extensions = ['.x']",
        3,
        |kind| matches!(kind, FaultKind::ExtensionDot { extension, .. } if extension == "x"),
    );
    assert_fault(
        2,
        "title = 'X'\nnames = [' a']",
        3,
        |kind| matches!(kind, FaultKind::NameSpaces(name) if name == " a"),
    );
    assert_fault(2, "title = 'X'\nfrobnicate = 1", 3, |kind| {
        matches!(kind, FaultKind::UnknownKey { suggestion: Suggestion::Known(known), .. }
                if known[0] == "name")
    });
}

#[test]
fn read_with_wrong_types_reports_fault() {
    for (line, replacement, fault_line, wrong, expected) in [
        (2, "title = 3", 2, "title", "a string"),
        (
            2,
            "title = 'X'\nnames = 'x'",
            3,
            "names",
            "an array of strings",
        ),
        (
            3,
            "extensions = [1]",
            3,
            "extensions",
            "an array of strings",
        ),
        (3, "prepare = 1", 3, "prepare", "a table"),
        (
            7,
            "command = ['{xc}']\nproc = 'yes'",
            8,
            "proc",
            "true or false",
        ),
        (
            7,
            "command = ['{xc}']\nenv = { A = 1 }",
            8,
            "env",
            "a table of strings",
        ),
    ] {
        assert_fault(line, replacement, fault_line, |kind| {
            matches!(kind, FaultKind::WrongType { key, expected: type_name, .. }
                if key == wrong && *type_name == expected)
        });
    }
}

#[test]
fn read_with_wrong_values_reports_fault() {
    assert_fault(3, "entry = 'method'", 3, |kind| {
        matches!(kind, FaultKind::UnknownWord { known, .. }
                if *known == ["file", "java-class", "java-tests"])
    });
    assert_fault(3, "priority = 5000", 3, |kind| {
        matches!(
            kind,
            FaultKind::OutOfRange {
                min: -1000,
                max: 1000,
                ..
            }
        )
    });
    assert_fault(7, "command = ['{xc}']\nmemory_mib = -1", 8, |kind| {
        matches!(kind, FaultKind::OutOfRange { min: 0, place: Place::Table(table), .. }
                if table == "compile")
    });
    assert_fault(5, "package = 'p'\nroot = 'lib'", 6, |kind| {
        matches!(kind, FaultKind::ToolRoot)
    });
    assert_fault(
        7,
        "command = ['{xc}']\nseccomp = 'none'",
        8,
        |kind| matches!(kind, FaultKind::SeccompProfile { name, .. } if name == "none"),
    );
    for path in ["etc", "/etc/../root"] {
        let mounts = format!("command = ['{{xc}}']\nmounts = ['{path}']");
        assert_fault(
            7,
            &mounts,
            8,
            |kind| matches!(kind, FaultKind::MountPath(found) if found == path),
        );
    }
    assert_fault(7, "command = ['{xc}']\nmounts = ['/a[']", 8, |kind| {
        matches!(kind, FaultKind::MountPattern { .. })
    });
    assert_fault(9, "command = ['x'", 10, |kind| {
        matches!(kind, FaultKind::Syntax(_))
    });
}

#[test]
fn read_with_faulty_commands_reports_fault() {
    assert_fault(
        7,
        "command = ['{xc}', 'a{sources}']",
        7,
        |kind| matches!(kind, FaultKind::ListPlaceholder(name) if name == "sources"),
    );
    assert_fault(
        7,
        "command = []",
        6,
        |kind| matches!(kind, FaultKind::MissingKey { key, .. } if key == "command"),
    );
    for (line, command, placeholder) in [
        (7, "command = ['{xc}', '{linking}']", "{linking}"),
        (9, "command = ['{main} {output}']", "{output}"),
    ] {
        assert_fault(line, command, line, |kind| {
            matches!(kind, FaultKind::UnknownPlaceholder { name, .. }
                    if name == placeholder)
        });
    }
}

#[test]
fn read_with_faulty_linking_or_variants_reports_fault() {
    let run = |more: &str| format!("command = ['x']\n{more}");
    assert_fault(
        9,
        &run("[linking]\nalways = 'no'"),
        11,
        |kind| matches!(kind, FaultKind::UnknownWord { key, .. } if key == "always"),
    );
    let both = run("[linking]\nalways = 'static'\nstatic = []");
    assert_fault(9, &both, 11, |kind| {
        matches!(kind, FaultKind::AlwaysWithOtherKeys)
    });
    assert_fault(
        9,
        &run("[linking]\nstatic = ['-s']"),
        10,
        |kind| matches!(kind, FaultKind::MissingKey { key, .. } if key == "package"),
    );
    let unused = run("[linking]\nstatic = ['-s']\npackage = 'p'");
    assert_fault(9, &unused, 10, |kind| {
        matches!(kind, FaultKind::LinkingNotUsed)
    });
    assert_fault(9, &run("[variant.y]\ntitle = 'Y'"), 10, |kind| {
        matches!(kind, FaultKind::DefaultVariants(0))
    });
}

#[test]
fn variants_have_own_values_and_names() {
    let text = format!(
        "{}\n[variant.y1]\ntitle = 'Y 1'\nlevel = '1'\nnames = ['Y-1']\n[variant.y2]\ntitle = \
         'Y 2'\nlevel = '2'\ndefault = true\n",
        GOOD.replace("{sources}", "-{level}")
            .replace("extensions", "names = ['ex']\nextensions")
    );
    let Ok(language) = read("x.toml", &text) else {
        panic!("the file was rejected")
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
        panic!("the file was accepted")
    };
    assert!(matches!(
        &faults.0[0].kind,
        FaultKind::VariantKey { variant, key } if variant == "y1" && key == "level"
    ));
}

#[test]
fn directory_adds_and_replaces_languages() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let named = |name: &str| GOOD.replace("name = \"x\"", &format!("name = \"{name}\""));
    std::fs::write(path.join("x.toml"), GOOD).unwrap();
    std::fs::write(path.join("notes.txt"), "not a suite").unwrap();
    let suites = Suites::with_directory(path).unwrap();
    assert_eq!(suites.named("x").unwrap().title, "X");
    assert!(suites.named("cpp17").is_ok());

    std::fs::write(path.join("x.toml"), named("cpp")).unwrap();
    let suites = Suites::with_directory(path).unwrap();
    assert_eq!(suites.named("cpp").unwrap().title, "X");
    assert!(suites.named("cpp17").is_err());
}

#[test]
fn directory_with_conflicts_reports_fault() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let file = |name: &str| path.join(name).display().to_string();
    let named = |name: &str| GOOD.replace("name = \"x\"", &format!("name = \"{name}\""));
    std::fs::write(path.join("x.toml"), named("cpp")).unwrap();
    std::fs::write(path.join("y.toml"), named("cpp")).unwrap();
    let fault = &Suites::with_directory(path).unwrap_err().0[0];
    assert_eq!((&fault.file, fault.line), (&file("y.toml"), 1));
    assert!(
        matches!(&fault.kind, FaultKind::LanguageTaken { name, file: other }
            if name == "cpp" && *other == file("x.toml")),
        "{fault:?}"
    );

    let text = GOOD.replace("title", "names = ['python']\ntitle");
    std::fs::write(path.join("y.toml"), text).unwrap();
    let fault = &Suites::with_directory(path).unwrap_err().0[0];
    assert_eq!((&fault.file, fault.line), (&file("y.toml"), 2));
    assert!(
        matches!(&fault.kind, FaultKind::NameTaken { name, file }
            if name == "python" && file == "python3.toml"),
        "{fault:?}"
    );

    let fault = &Suites::with_directory(&path.join("none")).unwrap_err().0[0];
    assert!(matches!(fault.kind, FaultKind::Read(_)), "{fault:?}");
}

#[test]
fn services_belong_to_default_variant() {
    let text = format!(
        "{GOOD}[services]\njudge0 = [50, 49]\npiston = {{ name = \"x\", aliases = [\"ex\"] }}\n\
         sandbox_fusion = [\"X\"]\n[variant.x1]\ntitle = \"X1\"\n[variant.x2]\ntitle = \
         \"X2\"\ndefault = true\n"
    );
    let language = read("x.toml", &text).unwrap_or_else(|faults| panic!("{faults}"));
    let [other, default] = &language.suites[..] else {
        panic!("two variants make {} suites", language.suites.len())
    };
    assert_eq!(other.services, Services::default());
    assert_eq!(default.services.judge0, [50, 49]);
    let piston = default.services.piston.as_ref().unwrap();
    assert_eq!(
        (piston.name.as_str(), &piston.aliases[..]),
        ("x", &["ex".to_owned()][..])
    );
    assert_eq!(default.services.sandbox_fusion, ["X"]);
}

#[test]
fn variant_has_own_services() {
    let suites = |services: &str| {
        let text = format!(
            "{GOOD}[services]\njudge0 = [8001]\n[variant.x1]\ntitle = \"X1\"\n[variant.x2]\n\
             title = \"X2\"\ndefault = true\n{services}"
        );
        Suites::from_files(&[("x.toml".to_owned(), text)])
    };
    let good = "[variant.x1.services]\njudge0 = [8002]\njudge0_options = true\n\
                piston = { name = \"y\", aliases = [\"y\"], runtime = \"z\" }\n";
    let suites_of = suites(good).unwrap_or_else(|faults| panic!("{faults}"));
    let services = |name: &str| &suites_of.named(name).unwrap().services;
    assert_eq!(services("x2").judge0, [8001]);
    assert_eq!(services("x1").judge0, [8002]);
    assert!(services("x1").judge0_options && !services("x2").judge0_options);
    let piston = services("x1").piston.as_ref().unwrap();
    assert_eq!(piston.runtime.as_deref(), Some("z"));

    let kind = |services: &str| suites(services).unwrap_err().0.remove(0).kind;
    let of_default = kind("[variant.x2.services]\njudge0 = [8002]\n");
    assert!(
        matches!(of_default, FaultKind::DefaultServices),
        "{of_default:?}"
    );
    let twice = kind("[variant.x1.services]\njudge0 = [8001]\n");
    assert!(
        matches!(twice, FaultKind::ServiceNameTaken { .. }),
        "{twice:?}"
    );
}

#[test]
fn services_with_wrong_values_are_rejected() {
    let faults = |services: &str| match read("x.toml", &format!("{GOOD}[services]\n{services}")) {
        Ok(_) => String::new(),
        Err(faults) => faults.to_string(),
    };
    assert_eq!(faults("judge0 = [1]"), "");
    for (services, message) in [
        (
            "judge0 = 1",
            "must be an array of whole numbers, but is of type integer",
        ),
        (
            "judge0 = [\"1\"]",
            "must be an array of whole numbers, but is of type string",
        ),
        ("judge0 = [0]", "must be between 1 and 9999"),
        ("judge0 = [7, 7]", "[services] has \"7\" for Judge0 twice"),
        (
            "piston = { aliases = [] }",
            "there must be a key \"name\" in [piston]",
        ),
        ("piston = \"x\"", "must be a table"),
        ("sandbox_fusion = \"x\"", "must be an array of strings"),
        ("pistons = 1", "did you mean \"piston\"?"),
    ] {
        assert!(
            faults(services).contains(message),
            "{services}: {}",
            faults(services)
        );
    }
}

#[test]
fn service_name_of_two_languages_is_rejected() {
    let text = format!("{GOOD}[services]\njudge0 = [71]\n");
    let Err(faults) = Suites::from_files(&[("x.toml".to_owned(), text)]) else {
        panic!("71 belongs to Python 3")
    };
    assert!(
        matches!(
            &faults.0[..],
            [Fault {
                line: 13,
                kind: FaultKind::ServiceNameTaken { service: "Judge0", name, .. },
                ..
            }]
                if name == "71"
        ),
        "{faults}"
    );
}
