//! `millibox run` with a program that is missing or cannot be executed.

use super::{line, run, status};
use millibox_tests::{
    copy_executable, directory, executable, is_root, set_mode, skip, write_script,
};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn run_of_missing_or_inexecutable_program_returns_127_or_126() {
    let dir = directory();
    let script = dir.path().join("script");
    write_script(&script, "#!/no/such/interpreter\n");
    let plain = dir.path().join("plain");
    std::fs::write(&plain, "no program").unwrap();
    set_mode(&plain, 0o644);
    let ro = format!("{}:/dir", dir.path().display());
    for (program, expected) in [
        ("/no/such/program", 127),
        ("no-such-program", 127),
        ("/usr/bin/with spaces", 127),
        ("/usr/bin", 126),
        ("/dir/plain", 126),
        ("/dir/script", 126),
    ] {
        let output = run(&["--ro", &ro, "--", program]);
        assert_eq!(status(&output), expected, "{program}: {output:?}");
        assert!(line(&output).contains(program), "{program}: {output:?}");
        assert!(
            !line(&output).contains("Program::Search"),
            "{program}: {output:?}"
        );
    }
    let output = run(&["--env", "PATH=/a:/b", "no-such-program"]);
    for part in ["no-such-program", "/a:/b", "(os error 2)", "--env PATH="] {
        assert!(line(&output).contains(part), "{part}: {output:?}");
    }
}

#[test]
fn run_of_missing_program_names_path_and_remedy() {
    let dir = directory();
    let expected = dir
        .path()
        .canonicalize()
        .unwrap()
        .join("none")
        .display()
        .to_string();
    let ro = format!("{}:/dir", dir.path().display());
    for (options, program) in [
        (&[][..], "./none"),
        (&[], &*expected),
        (&["--ro", &ro], "./none"),
    ] {
        let mut command = Command::new(executable("millibox"));
        command
            .arg("run")
            .args(options)
            .args(["--", program])
            .current_dir(dir.path())
            .stdin(Stdio::null());
        let output = command.output().unwrap();
        let message = line(&output);
        assert_eq!(status(&output), 127, "{message}");
        assert!(
            message.contains(&format!(" {program}: ")) && message.contains("(os error 2)"),
            "{message}"
        );
        // The remedy also contains the path on the host.
        assert_eq!(
            message.matches(&expected).count(),
            1 + usize::from(program == expected),
            "{message}"
        );
    }
    // In these cases, the program is looked up only in the world.
    for (options, program) in [
        (&[][..], "/usr/bin/none"),
        (&["--ro", &ro, "--cwd", "/dir"], "./none"),
    ] {
        let output = run(&[options, &["--", program]].concat());
        let message = line(&output);
        assert_eq!(status(&output), 127, "{message}");
        assert!(
            message.contains(&format!(" {program}: ")) && message.contains("(os error 2)"),
            "{message}"
        );
        assert_eq!(
            message.matches("/none").count(),
            1,
            "the message contains a path of the host: {message}"
        );
    }
}

#[test]
fn run_of_program_inaccessible_to_sandbox_user_names_mode() {
    if !is_root() {
        return skip("only a sandbox that root starts has a different user");
    }
    let dir = directory();
    set_mode(dir.path(), 0o755);
    let (program, open) = (dir.path().join("program"), dir.path().join("open"));
    for (path, mode) in [(&program, 0o700), (&open, 0o755)] {
        copy_executable("/bin/true", path);
        set_mode(path, mode);
    }
    std::fs::create_dir(dir.path().join("sub")).unwrap();
    copy_executable("/bin/true", dir.path().join("sub/program"));
    set_mode(&dir.path().join("sub"), 0o700);
    let (program, ro) = (
        program.display().to_string(),
        format!("{}:/dir", dir.path().display()),
    );
    for (arguments, closed) in [
        (&[&*program][..], "program (mode 700)"),
        (&["--ro", &ro, "/dir/program"], "program (mode 700)"),
        (&["--ro", &ro, "/dir/sub/program"], "sub (mode 700)"),
    ] {
        let output = run(arguments);
        assert_eq!(status(&output), 126, "{arguments:?}: {output:?}");
        let message = line(&output);
        assert!(
            message.contains(&format!("/{closed}")) && message.contains("chmod o+x"),
            "{message}"
        );
        // The message contains no remedy for other causes.
        assert!(!message.contains("noexec"), "{message}");
    }
    assert_eq!(status(&run(&[open.to_str().unwrap()])), 0);
    for (source, directory) in [("sub", "/dir"), ("", "/dir/sub")] {
        let ro = format!("{}:/dir", dir.path().join(source).display());
        let output = run(&["--ro", &ro, "--cwd", directory, "--", "true"]);
        let message = line(&output);
        assert_eq!(status(&output), 125, "{message}");
        assert!(
            message.contains(&format!(" {directory}: ")) && message.contains("(os error 13)"),
            "{message}"
        );
        assert!(
            message.contains("/sub (mode 700)") && message.contains("chmod o+x"),
            "{message}"
        );
    }
}

#[test]
fn run_of_unsearchable_path_differs_from_missing_path() {
    let dir = directory();
    set_mode(dir.path(), 0o755);
    let closed = dir.path().join("closed");
    std::fs::create_dir_all(closed.join("sub")).unwrap();
    let plain = dir.path().join("plain");
    std::fs::write(&plain, "").unwrap();
    let run_as = |uid: u32, program: &Path| {
        let mut command = Command::new(executable("millibox"));
        command
            .args(["run", "--"])
            .arg(program)
            .stdin(Stdio::null());
        if uid != 0 {
            command.uid(uid).gid(uid);
        }
        command.output()
    };
    let below_file = run_as(0, &plain.join("program")).unwrap();
    assert_eq!(
        (
            status(&below_file),
            line(&below_file).contains("(os error 20)")
        ),
        (127, true),
        "{below_file:?}"
    );
    set_mode(&closed, 0);
    // Root can search every directory.
    let as_user = run_as(
        if is_root() { 54321 } else { 0 },
        &closed.join("sub/program"),
    );
    set_mode(&closed, 0o755);
    match as_user {
        Err(_) => skip("another user cannot execute the command here"),
        Ok(output) => {
            assert_eq!(
                (status(&output), line(&output).contains("(os error 13)")),
                (126, true),
                "{output:?}"
            );
            let named = format!("{}: chmod +x", closed.display());
            assert!(line(&output).contains(&named), "{output:?}");
        }
    }
}
