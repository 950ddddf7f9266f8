//! Limits of compilers, and what compilers can reach.

use super::{
    LIMITS, build, build_with, compile, compile_with, compiled, files, refused, run_with,
    stdout_of, supervisor, toolbox, usable,
};
use millibox::{Backend, Outcome};
use millibox_languages::compile::{
    Compilation, CompileError, Limit, MAX_MESSAGE_BYTES, Options, ProductFault, Refusal,
};
use millibox_languages::program::Limits;
use std::time::Duration;

#[test]
fn endless_source_is_rejected_within_limits() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    if !usable(&toolbox, "cpp") {
        return;
    }
    let short = Options {
        cpu_time: Some(Duration::from_secs(1)),
        ..Options::default()
    };
    for device in ["zero", "random", "urandom"] {
        let source = format!("#include \"/dev/{device}\"\nint main() {{}}\n");
        let compilation = compile_with(&toolbox, "cpp", &[("a.cc", &source)], &short);
        let refused = matches!(
            compilation.result,
            Err(CompileError::Refused(_) | CompileError::Limit(_))
        );
        assert!(refused, "{device}: {:?}", compilation.result);
    }
    // The compilation time is exponential in the depth.
    let source = "template<int N, int M> struct A { typedef typename A<N - 1, 2 * M>::t a; typedef \
                  typename A<N - 1, 2 * M + 1>::t t; };\ntemplate<int M> struct A<0, M> { typedef \
                  int t; };\nint main() { A<30, 0>::t x = 0; return x; }\n";
    let compilation = compile_with(&toolbox, "cpp", &[("a.cc", source)], &short);
    assert_eq!(
        compilation.result.unwrap_err(),
        CompileError::Limit(Limit::CpuTime(Duration::from_secs(1)))
    );
}

#[test]
fn compiler_over_output_limit_is_reported() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    let small = Options {
        output: Some(4 << 20),
        ..Options::default()
    };
    let too_much = |compilation: Compilation, limit| {
        assert_eq!(
            compilation.result.unwrap_err(),
            CompileError::Limit(Limit::Output(limit)),
            "{}",
            compilation.messages
        );
    };
    if usable(&toolbox, "c") {
        let array =
            |bytes: &str| format!("char a[{bytes}] = {{1}};\nint main(void) {{ return a[0]; }}\n");
        too_much(
            compile_with(&toolbox, "c", &[("a.c", &array("16 << 20"))], &small),
            4 << 20,
        );
        // The temporary files exceed their limit.
        too_much(
            compile(&toolbox, "c", &[("a.c", &array("1u << 30"))]),
            576 << 20,
        );
        let compilation = compile_with(&toolbox, "c", &[("a.c", &array("1 << 20"))], &small);
        assert!(compilation.result.is_ok(), "{compilation:?}");
    }
    too_much(
        build_with(&toolbox, "head -c 100000000 /dev/zero >big", &small),
        4 << 20,
    );
    // A sparse file occupies almost no blocks here, but would be large in the archive.
    too_much(
        build_with(&toolbox, "truncate -s 1T sparse", &small),
        4 << 20,
    );
    too_much(build_with(&toolbox, "mkdir $(seq 100000)", &small), 4 << 20);
}

#[test]
fn large_static_array_is_compiled_and_run() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    if !usable(&toolbox, "c") {
        return;
    }
    let source = |mebibytes: u64| {
        format!(
            "char a[{mebibytes} << 20] = {{7}};\nint main(void) {{ return a[0] + a[sizeof a - 1]; \
             }}\n"
        )
    };
    let limits = Limits {
        memory: 1 << 30,
        ..LIMITS
    };
    // Contest judges allow 512 MiB.
    for mebibytes in [150, 512] {
        let executable = compiled(compile(&toolbox, "c", &[("a.c", &source(mebibytes))]));
        assert_eq!(
            run_with(&supervisor, &executable, &limits, "")
                .result
                .outcome,
            Outcome::Exited(7)
        );
    }
    let compilation = compile(&toolbox, "c", &[("a.c", &source(580))]);
    let error = compilation.result.unwrap_err();
    assert_eq!(
        error,
        CompileError::Limit(Limit::Output(576 << 20)),
        "{}",
        compilation.messages
    );
    assert!(
        error
            .to_string()
            .starts_with("the compiler exceeded its output limit (576 MiB)"),
        "{error}"
    );
}

#[test]
fn compiler_over_memory_limit_is_reported() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    let small = Options {
        memory: Some(64 << 20),
        ..Options::default()
    };
    let compilation = build_with(
        &toolbox,
        "x=$(head -c 200000000 /dev/zero | tr '\\0' x)",
        &small,
    );
    match supervisor.info().backend() {
        // The allocation fails, and the shell reports it.
        Backend::Rlimit => _ = refused(&compilation),
        _ => assert_eq!(
            compilation.result.unwrap_err(),
            CompileError::Limit(Limit::Memory(64 << 20))
        ),
    }
}

#[test]
fn processes_of_compiler_are_counted_and_killed() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    // A process that is left behind neither delays the end of the compilation nor outlives it.
    let token = millibox_tests::token();
    let compilation = build(&toolbox, &format!("sh -c 'sleep 1000; :' {token} &"));
    assert_eq!(stdout_of(&supervisor, &compiled(compilation), ""), "ran");
    assert_eq!(millibox_tests::processes_with_argument(&token), []);
    let short = Options {
        cpu_time: Some(Duration::from_secs(1)),
        ..Options::default()
    };
    let compilation = build_with(
        &toolbox,
        "bomb() { bomb | bomb & }; bomb; sleep 1; exit 3",
        &short,
    );
    assert!(
        matches!(
            compilation.result,
            Err(CompileError::Refused(_) | CompileError::Limit(_))
        ),
        "{compilation:?}"
    );
    let suicide = build(&toolbox, "kill -9 -1");
    assert!(
        matches!(refused(&suicide), Refusal::EndedItself(_)),
        "{suicide:?}"
    );
}

#[test]
fn compiler_messages_are_truncated_and_printable() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    let compilation = build(
        &toolbox,
        "printf 'a\\033[31m\\n'; head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 1",
    );
    refused(&compilation);
    assert!(
        compilation.messages.starts_with("a\\u{1b}[31m\nxxx"),
        "{:?}",
        &compilation.messages[..40]
    );
    let note = compilation.messages.trim_end().lines().last().unwrap();
    assert_eq!(
        note,
        format!(
            "[{} more bytes are not shown]",
            1_000_007 - MAX_MESSAGE_BYTES
        )
    );
    assert!(compilation.messages.len() < MAX_MESSAGE_BYTES + 100);
}

#[test]
fn compiler_sees_no_files_of_host() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    let (directory, paths) = files(&[("secret", "the_secret\n")]);
    for path in [directory.path(), &paths[0]] {
        millibox_tests::set_mode(path, 0o755);
    }
    let secret = paths[0].to_str().unwrap();
    if usable(&toolbox, "c") {
        for path in ["/etc/login.defs", secret] {
            let source = format!("#include \"{path}\"\nint main(void) {{}}\n");
            let compilation = compile(&toolbox, "c", &[("a.c", &source)]);
            refused(&compilation);
            let shown = compilation.messages.contains("MAIL_DIR")
                || compilation.messages.contains("the_secret");
            assert!(
                !shown && compilation.messages.contains("No such file"),
                "{}",
                compilation.messages
            );
        }
    }
    let compilation = build(
        &toolbox,
        &format!("cat {secret} /etc/passwd /etc/shadow; ls -A / /tmp; exit 1"),
    );
    refused(&compilation);
    assert!(
        !compilation.messages.contains("the_secret") && !compilation.messages.contains("MAIL_DIR")
    );
    assert!(
        !compilation
            .messages
            .lines()
            .any(|line| line == "home" || line == "root"),
        "{}",
        compilation.messages
    );
}

#[test]
fn compiler_cannot_change_sources() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    let compilation = build(
        &toolbox,
        "echo x >/source/run; rm -f /source/run; touch /source/new /usr/new; exit 1",
    );
    refused(&compilation);
    assert_eq!(
        compilation
            .messages
            .matches("Read-only file system")
            .count(),
        4,
        "{}",
        compilation.messages
    );
}

#[test]
fn compiler_has_no_network() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    if !usable(&toolbox, "bash") {
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let compilation = build(
        &toolbox,
        &format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected'; exit 1"),
    );
    refused(&compilation);
    assert!(
        !compilation.messages.contains("connected"),
        "{}",
        compilation.messages
    );
    assert!(
        compilation
            .messages
            .contains("Address family not supported"),
        "{}",
        compilation.messages
    );
}

#[test]
fn links_and_fifos_left_by_compiler_are_rejected() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    let link = build(&toolbox, "ln -s /etc/passwd link");
    let not_regular = |name: &str| Refusal::Product(ProductFault::NotRegular(name.into()));
    assert_eq!(*refused(&link), not_regular("link"));
    let fifo = build(&toolbox, "mkfifo fifo");
    assert_eq!(*refused(&fifo), not_regular("fifo"));
    // A hard link becomes a second file.
    let executable = compiled(build(&toolbox, "ln run again"));
    assert!(executable.files.path().join("again").is_file());
}

#[test]
fn other_users_cannot_read_or_change_program() {
    use std::os::unix::fs::MetadataExt;
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    let executable = compiled(build(&toolbox, "mkdir d && echo x >d/x"));
    let own_user = rustix::process::geteuid().as_raw();
    for name in [".", "run", "d", "d/x"] {
        let metadata = executable.files.path().join(name).metadata().unwrap();
        assert_eq!(
            (metadata.uid(), metadata.mode() & 0o027),
            (own_user, 0),
            "{name}: {:o}",
            metadata.mode()
        );
    }
    let path = executable.files.path().to_owned();
    drop(executable);
    assert!(!path.exists());
}
