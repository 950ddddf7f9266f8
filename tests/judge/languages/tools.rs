//! Missing or broken tools, and the command `millibox languages`.

use super::{compile, compiled, refused, supervisor};
use millibox_languages::cache::Cache;
use millibox_languages::compile::{
    Availability, CompileError, InternalError, Limit, Obstacle, Refusal, Remedy, Toolbox,
};
use millibox_languages::suite::Suites;
use millibox_tests::{skip, write_script};
use std::path::Path;

/// Returns the built-in suites and one suite of the test's own.
fn own_suites(tool: &str, command: &str) -> Suites {
    let text = format!(
        "name = 'own'\ntitle = 'Own'\nextensions = ['own']\n[tool.'{tool}']\npackage = \
         'own-compiler'\n[compile]\ncommand = {command}\n[run]\ncommand = \
         ['{{executable}}']\n[example]\nfile = 'a.own'\nsource = 'good'\n"
    );
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("own.toml"), text).unwrap();
    Suites::with_directory(directory.path()).unwrap_or_else(|faults| panic!("{faults}"))
}

#[test]
fn compiler_that_fails_on_its_example_is_judge_error() {
    let supervisor = supervisor();
    let judge_error = |command: &str| {
        let toolbox = Toolbox::new(&supervisor, own_suites("cat", command), Cache::none());
        match compile(&toolbox, "own", &[("x.own", "bad")]).result {
            Err(CompileError::Internal(InternalError::Suite { error, .. })) => *error,
            other => panic!("{other:?}"),
        }
    };
    let exited = |status| CompileError::Refused(Refusal::Exited(status));
    let fault = judge_error("['/bin/sh', '-c', 'echo no such option; exit 1']");
    assert_eq!(fault.error, exited(1));
    assert_eq!(fault.message.as_deref(), Some("no such option"));
    let fault = judge_error("['/usr/bin/there-is-none', '{main}']");
    assert_eq!(fault.error, exited(127));
    let fault = judge_error("['/bin/sh', '-c', 'truncate -s 1G {executable}']");
    assert!(
        matches!(
            fault.error,
            CompileError::Limit(Limit::Output(_) | Limit::Room(_))
        ),
        "{fault:?}"
    );
    // A compiler that accepts its example can refuse a source.
    let command = "['/bin/sh', '-c', 'grep -q good {main}']";
    let toolbox = Toolbox::new(&supervisor, own_suites("cat", command), Cache::none());
    assert_eq!(
        *refused(&compile(&toolbox, "own", &[("x.own", "bad")])),
        Refusal::Exited(1)
    );
}

#[test]
fn missing_tool_is_reported_with_package() {
    let supervisor = supervisor();
    let toolbox = Toolbox::new(
        &supervisor,
        own_suites("there-is-none", "['{executable}']"),
        Cache::none(),
    );
    let suite = toolbox.suites().named("own").unwrap();
    let missing = Availability::Missing {
        program: "there-is-none".to_owned(),
        remedy: Remedy::Install {
            package: "own-compiler".to_owned(),
            hint: None,
        },
    };
    assert_eq!(toolbox.availability(suite), missing);
    let Err(CompileError::Unavailable(why)) = compile(&toolbox, "own", &[("x.own", "")]).result
    else {
        panic!("compiled")
    };
    assert_eq!(
        why.to_string(),
        "Own cannot be used here: there-is-none is not installed; try: apt install own-compiler"
    );
}

/// Writes a script that serves as a tool, and returns its path.
fn script(directory: &Path, script: &str) -> String {
    let path = directory.join("tool");
    write_script(&path, &format!("#!/bin/sh\n{script}\n"));
    path.to_str().unwrap().to_owned()
}

#[test]
fn tool_outside_system_directories_is_available() {
    let supervisor = supervisor();
    let directory = millibox_tests::directory();
    let tool = script(directory.path(), "echo own 1.2; echo more");
    let toolbox = Toolbox::new(
        &supervisor,
        own_suites(&tool, "['{executable}']"),
        Cache::none(),
    );
    let availability = toolbox.availability(toolbox.suites().named("own").unwrap());
    assert_eq!(
        availability,
        Availability::Available {
            version: "own 1.2".to_owned()
        }
    );
}

#[test]
fn failing_tool_is_broken() {
    let supervisor = supervisor();
    let directory = millibox_tests::directory();
    let tool = script(directory.path(), "echo 'no licence' >&2; exit 1");
    let toolbox = Toolbox::new(
        &supervisor,
        own_suites(&tool, "['{executable}']"),
        Cache::none(),
    );
    match toolbox.availability(toolbox.suites().named("own").unwrap()) {
        Availability::Broken { reason, remedy, .. } => {
            assert_eq!(reason.to_string(), "exited with 1: no licence");
            assert_eq!(remedy.to_string(), "apt install --reinstall own-compiler");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn tool_that_sandbox_user_cannot_reach_is_unreachable() {
    let supervisor = supervisor();
    if supervisor.info().ids().0 == rustix::process::geteuid().as_raw() {
        return skip("the test's user is the sandbox's user, so both reach the same files");
    }
    let directory = millibox_tests::directory();
    let tool = script(directory.path(), "echo own 1.2");
    millibox_tests::set_mode(directory.path(), 0o700);
    let toolbox = Toolbox::new(
        &supervisor,
        own_suites(&tool, "['{executable}']"),
        Cache::none(),
    );
    match toolbox.availability(toolbox.suites().named("own").unwrap()) {
        Availability::Unreachable { reason, remedy, .. } => {
            let Obstacle::Closed(closed) = reason else {
                panic!("{reason}")
            };
            assert_eq!(
                (closed.path.as_path(), closed.mode),
                (directory.path(), 0o700)
            );
            assert_eq!(remedy.package(), Some("own-compiler"));
        }
        other => panic!("{other:?}"),
    }
}

fn languages(arguments: &[&str]) -> std::process::Output {
    let command = millibox_tests::executable("millibox");
    std::process::Command::new(command)
        .arg("languages")
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn languages_command_lists_all_languages() {
    let output = languages(&["--json"]);
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let all = all.as_array().unwrap();
    assert_eq!(all.len(), Suites::builtin().iter().count());
    for line in all {
        assert_eq!(
            line["remedy"].is_null(),
            line["state"] == "available",
            "{line}"
        );
        assert!(!line["detail"].as_str().unwrap().is_empty(), "{line}");
    }
    let usable = all.iter().all(|line| line["state"] == "available");
    assert_eq!(output.status.code(), Some(if usable { 0 } else { 1 }));
}

#[test]
fn languages_command_tries_examples_and_reports_faults() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("c.toml");
    let good = include_str!("../../../suites/scripts.toml");
    std::fs::write(&file, good.replace("echo \"$sum\"", "echo no sum")).unwrap();
    let output = languages(&[
        "--try",
        "scripts",
        "--suites",
        directory.path().to_str().unwrap(),
    ]);
    let text = String::from_utf8_lossy(&output.stdout);
    let [line] = text.lines().collect::<Vec<_>>()[..] else {
        panic!("{text}")
    };
    assert!(
        line.starts_with('✗') && line.contains("wrote \"no sum\" instead of \"40\""),
        "{line}"
    );

    std::fs::write(
        &file,
        good.replace("title", "titel")
            .replace("shell", "sehll")
            .replace("[run]", "[rum]"),
    )
    .unwrap();
    let output = languages(&["--suites", directory.path().to_str().unwrap()]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125));
    for part in [
        "c.toml:4: there is no key \"titel\"",
        "\"rum\"",
        "did you mean \"run\"?",
        "faults, see above",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn failure_of_the_complete_library_concerns_only_programs_that_need_it() {
    let supervisor = supervisor();
    let script =
        r#"grep -q more $1 && { echo could not import more; exit 1; }; echo >$2 && chmod +x $2"#;
    let text = format!(
        "name = 'own'\ntitle = 'Own'\nextensions = ['own']\n[tool.cat]\npackage = \
         'coreutils'\n[prepare]\ncommand = ['/bin/sh', '-c', 'echo \
         >{{output}}/common']\n[complete]\nwhen = 'could not import'\ncommand = ['/bin/false']\n\
         [compile]\ncommand = ['/bin/sh', '-c', '{script}', 'own', '{{main}}', \
         '{{executable}}']\n[run]\ncommand = ['{{executable}}']\n[example]\nfile = 'a.own'\n\
         source = 'good'\n"
    );
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("own.toml"), text).unwrap();
    let suites =
        Suites::with_directory(directory.path()).unwrap_or_else(|faults| panic!("{faults}"));
    let toolbox = Toolbox::new(&supervisor, suites, Cache::none());
    for _ in 0..2 {
        let failed = compile(&toolbox, "own", &[("x.own", "more")]);
        assert!(
            matches!(
                failed.result,
                Err(CompileError::Internal(InternalError::Prepare { .. }))
            ),
            "{failed:?}"
        );
        compiled(compile(&toolbox, "own", &[("x.own", "good")]));
    }
}
