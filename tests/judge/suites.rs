//! Languages: compiling, running, and what hostile sources come to.
//!
//! A language that cannot be used here is skipped, and counted as skipped.

use crate::setting::Data;
use millibox::{Backend, BackendChoice, Outcome, Supervisor};
use millibox_judge::batch::Worker;
use millibox_judge::cache::Cache;
use millibox_judge::checker::CheckerInstance;
use millibox_judge::compile::{
    Availability, Compilation, CompileError, Limit, MESSAGES_LIMIT, Options, Toolbox,
};
use millibox_judge::program::{Executable, Limits};
use millibox_judge::suite::{Link, Suites};
use millibox_judge::verdict::Verdict;
use millibox_tests::{Output, pipe, run, skip};
use std::path::{Path, PathBuf};
use std::time::Duration;

const LIMITS: Limits = Limits {
    cpu_time: Duration::from_secs(10),
    real_time: Duration::from_secs(60),
    memory: 256 << 20,
    output: 1 << 20,
    processes: 1,
};

/// The best supervisor there is; without cgroups one that takes weaker limits.
fn supervisor() -> Supervisor {
    let supervisor = millibox_tests::supervisor();
    match supervisor.info().backend() {
        Backend::Rlimit => {
            millibox_tests::start(millibox_tests::builder().backend(BackendChoice::Rlimit))
        }
        _ => supervisor,
    }
}

fn toolbox(supervisor: &Supervisor) -> Toolbox<'_> {
    Toolbox::new(supervisor, Suites::builtin(), Cache::none())
}

/// Files in a directory of their own; only we can read them, as is usual.
fn files(all: &[(&str, &str)]) -> (tempfile::TempDir, Vec<PathBuf>) {
    let directory = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for (name, content) in all {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        paths.push(path);
    }
    (directory, paths)
}

/// Whether a language can be used here; if not, that is counted.
fn usable(toolbox: &Toolbox<'_>, language: &str) -> bool {
    let suite = toolbox.suites().named(language).unwrap();
    let availability = toolbox.availability(suite);
    if !availability.is_available() {
        // Which of them the test's name does not say.
        skip(&format!("{}: {availability}", suite.language));
    }
    availability.is_available()
}

fn compile_with(
    toolbox: &Toolbox<'_>,
    language: &str,
    all: &[(&str, &str)],
    options: &Options,
) -> Compilation {
    let suite = toolbox.suites().named(language).unwrap();
    let (_directory, paths) = files(all);
    toolbox.compile(suite, &paths, options)
}

fn compile(toolbox: &Toolbox<'_>, language: &str, all: &[(&str, &str)]) -> Compilation {
    compile_with(toolbox, language, all, &Options::default())
}

fn compiled(compilation: Compilation) -> Executable {
    compilation
        .result
        .unwrap_or_else(|error| panic!("{error}: {}", compilation.messages))
}

fn refused(compilation: &Compilation) -> &str {
    match &compilation.result {
        Err(CompileError::Refused(why)) => why,
        other => panic!("{other:?}: {}", compilation.messages),
    }
}

fn run_with(
    supervisor: &Supervisor,
    executable: &Executable,
    limits: &Limits,
    stdin: &str,
) -> Output {
    let (read, write) = pipe();
    rustix::io::write(&write, stdin.as_bytes()).unwrap();
    drop(write);
    run(supervisor, &executable.request(limits, &[]).stdin(read))
}

/// What the program writes; it must exit with 0.
fn said(supervisor: &Supervisor, executable: &Executable, stdin: &str) -> String {
    let output = run_with(supervisor, executable, &LIMITS, stdin);
    assert_eq!(
        output.result.outcome,
        Outcome::Exited(0),
        "{}: {}",
        output.result,
        output.text()
    );
    output.text().trim().to_owned()
}

/// A `build` script is a compiler that does what we like.
fn build(toolbox: &Toolbox<'_>, script: &str) -> Compilation {
    build_with(toolbox, script, &Options::default())
}

fn build_with(toolbox: &Toolbox<'_>, script: &str, options: &Options) -> Compilation {
    let script = format!("#!/bin/sh\n{script}\n");
    compile_with(
        toolbox,
        "scripts",
        &[("build", &script), ("run", "#!/bin/sh\necho ran\n")],
        options,
    )
}

// Each language.

#[test]
fn each_language_adds_numbers_and_refuses_what_is_faulty() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    for suite in toolbox.suites().iter() {
        if !usable(&toolbox, &suite.name) {
            continue;
        }
        let (file, source) = (&suite.example.file[..], &suite.example.source[..]);
        let compilation = compile(&toolbox, &suite.name, &[(file, source)]);
        assert!(
            !compilation.from_cache && compilation.figures.is_some(),
            "{}",
            suite.name
        );
        let executable = compiled(compilation);
        assert_eq!(executable.suite, suite.name);
        assert_eq!(
            said(&supervisor, &executable, "1 2\n-3\n40\n"),
            "40",
            "{}",
            suite.name
        );
        assert_eq!(said(&supervisor, &executable, ""), "0", "{}", suite.name);

        // A script may say whatever it likes until it is run.
        if suite.name == "scripts" {
            continue;
        }
        let compilation = compile(&toolbox, &suite.name, &[(file, &format!(")(\n{source}"))]);
        assert!(
            refused(&compilation).contains("exited with"),
            "{compilation:?}"
        );
        assert!(
            compilation.messages.contains(file),
            "{}: {:?}",
            suite.name,
            compilation.messages
        );
        assert!(
            !compilation.messages.contains("millibox"),
            "a path of the host: {:?}",
            compilation.messages
        );
    }
}

#[test]
fn standard_input_can_be_opened_by_its_name() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    let sources = [
        (
            "python3",
            "main.py",
            "open('/dev/stdout', 'w').write(open('/dev/stdin').read())",
        ),
        ("bash", "main.sh", "cat /dev/stdin > /dev/stdout"),
        (
            "javascript",
            "main.js",
            "process.stdout.write(require('fs').readFileSync('/dev/stdin'))",
        ),
        (
            "cpp",
            "main.cpp",
            "#include <fstream>\n#include <iostream>\nint main() { std::cout << \
             std::ifstream(\"/dev/stdin\").rdbuf(); }",
        ),
        // The other end of neither.
        (
            "python3",
            "main.py",
            "import os\nfor name, flag in ('/dev/stdin', os.O_WRONLY), ('/dev/stdout', os.O_RDONLY | os.O_NONBLOCK):\n \
             try:\n  os.open(name, flag)\n except PermissionError:\n  continue\n exit(1)\nprint(input())",
        ),
    ];
    let data = Data::new("4711\n", "4711\n");
    let mut worker = Worker::new(&supervisor);
    for (language, name, source) in sources {
        if !usable(&toolbox, language) {
            continue;
        }
        let executable = compiled(compile(&toolbox, language, &[(name, source)]));
        let result = data.judge(
            &mut worker,
            &executable,
            &[],
            &LIMITS,
            &CheckerInstance::Exact,
            &[],
        );
        assert_eq!(result.verdict, Verdict::Accepted, "{source}: {result:?}");
    }
}

#[test]
fn examples_work_by_themselves() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    for name in ["c", "python", "scripts"] {
        if usable(&toolbox, name) {
            assert_eq!(
                toolbox.try_out(toolbox.suites().named(name).unwrap()),
                Ok(())
            );
        }
    }
}

#[test]
fn variants_are_different_standards() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    if !usable(&toolbox, "cpp") {
        return;
    }
    let source = "#include <iostream>\nint main() { std::cout << __cplusplus; }\n";
    for (name, standard) in [
        ("cpp11", "201103"),
        ("cpp14", "201402"),
        ("cpp17", "201703"),
        ("cpp20", "202002"),
    ] {
        let executable = compiled(compile(&toolbox, name, &[("a.cc", source)]));
        assert_eq!(said(&supervisor, &executable, ""), standard);
    }
}

// Several files.

#[test]
fn sources_headers_and_directories_belong_together() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    if !usable(&toolbox, "cpp") {
        return;
    }
    let all = [
        (
            "main.cc",
            "#include \"sub/twice.h\"\n#include <cstdio>\nint main() { std::printf(\"%d\\n\", \
             twice(21)); }\n",
        ),
        ("sub/twice.h", "int twice(int);\n"),
        (
            "sub/twice.cc",
            "#include \"twice.h\"\nint twice(int x) { return 2 * x; }\n",
        ),
    ];
    assert_eq!(
        said(&supervisor, &compiled(compile(&toolbox, "cpp", &all)), ""),
        "42"
    );

    // A validator that is a single file, with its header beside it, as ICPC packages have them.
    let (directory, _) = files(&[
        ("validate.h", "#define RIGHT 42\n"),
        (
            "validate.cc",
            "#include \"validate.h\"\nint main() { return RIGHT; }\n",
        ),
    ]);
    let suite = toolbox.suites().named("cpp").unwrap();
    let source = [directory.path().join("validate.cc")];
    let alone = toolbox.compile(suite, &source, &Options::default());
    assert!(refused(&alone).contains("exited with 1") && alone.messages.contains("validate.h"));
    let options = Options {
        headers_beside: true,
        ..Options::default()
    };
    let executable = compiled(toolbox.compile(suite, &source, &options));
    assert_eq!(
        run_with(&supervisor, &executable, &LIMITS, "")
            .result
            .outcome,
        Outcome::Exited(42)
    );
}

#[test]
fn names_of_files_are_no_options() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    if !usable(&toolbox, "c") {
        return;
    }
    let all = [
        ("-o.c", "int f(void);\nint main(void) { return f(); }\n"),
        ("@x.c", "int g(void);\nint f(void) { return g(); }\n"),
        ("a b.c", "int g(void) { return 7; }\n"),
    ];
    let executable = compiled(compile(&toolbox, "c", &all));
    assert_eq!(
        run_with(&supervisor, &executable, &LIMITS, "")
            .result
            .outcome,
        Outcome::Exited(7)
    );
}

#[test]
fn python_modules_and_main_files() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    if !usable(&toolbox, "python") {
        return;
    }
    let all = [
        ("helper.py", "def f():\n    return 'helped'\n"),
        ("__main__.py", "import helper\nprint(helper.f())\n"),
    ];
    assert_eq!(
        said(
            &supervisor,
            &compiled(compile(&toolbox, "python", &all)),
            ""
        ),
        "helped"
    );
    let options = Options {
        main: Some("other".to_owned()),
        ..Options::default()
    };
    let all = [
        ("main.py", "print('main')\n"),
        ("other.py", "print('other')\n"),
    ];
    assert_eq!(
        said(
            &supervisor,
            &compiled(compile_with(&toolbox, "python", &all, &options)),
            ""
        ),
        "other"
    );
    assert_eq!(
        said(
            &supervisor,
            &compiled(compile(&toolbox, "python", &all)),
            ""
        ),
        "main"
    );
}

#[test]
fn the_java_class_with_a_main_method_is_started() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    if !usable(&toolbox, "java") {
        return;
    }
    let main = |class: &str, package: &str| {
        format!(
            "{package}\nclass A {{}}\nclass {class} {{ // class X {{ public static void main(String[] a) {{}} }}\n  \
             public static void main(String[] arguments) {{ System.out.println(\"{class}\"); }}\n}}\n"
        )
    };
    let one = [("notes.java", &main("Zebra", "package p;")[..])];
    assert_eq!(
        said(&supervisor, &compiled(compile(&toolbox, "java", &one)), ""),
        "Zebra"
    );
    let (first, second) = (
        main("Second", ""),
        main("First", "").replace("class A {}", ""),
    );
    let two = [("b.java", &first[..]), ("a.java", &second[..])];
    let compilation = compile(&toolbox, "java", &two);
    assert!(refused(&compilation).contains("several classes have a main method (First, Second)"));
    let options = Options {
        main: Some("First".to_owned()),
        ..Options::default()
    };
    assert_eq!(
        said(
            &supervisor,
            &compiled(compile_with(&toolbox, "java", &two, &options)),
            ""
        ),
        "First"
    );
    let none = compile(&toolbox, "java", &[("A.java", "class A {}\n")]);
    assert_eq!(refused(&none), "no class has a main method");
}

#[test]
fn a_directory_says_how_it_is_built_and_run() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    let (_directory, paths) = files(&[
        (
            "build",
            "#!/bin/sh\nmkdir sub && cp text sub/text && printf '#!/bin/sh\\ncat sub/text\\n' \
             >run\n",
        ),
        ("text", "built\n"),
    ]);
    let suite = toolbox.suites().for_sources(&paths, None).unwrap();
    assert_eq!(suite.name, "scripts");
    assert_eq!(
        said(
            &supervisor,
            &compiled(toolbox.compile(suite, &paths, &Options::default())),
            ""
        ),
        "built"
    );
    let without = build(&toolbox, "rm run");
    assert!(
        refused(&without).contains("exited with 1") && without.messages.contains("no file run")
    );
    let failing = build(&toolbox, "exit 3");
    assert_eq!(refused(&failing), "the compiler exited with 3");
}

// Limits of compilers.

#[test]
fn a_source_without_end_comes_to_an_end() {
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
    // Exponential in its depth.
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
fn too_much_output_is_told() {
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
        // More than the temporary files may have.
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
    // It has no bytes to speak of, and would have many outside.
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
fn too_much_memory_is_told() {
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
        // The shell hears of it and says so.
        Backend::Rlimit => assert!(!refused(&compilation).is_empty()),
        _ => assert_eq!(
            compilation.result.unwrap_err(),
            CompileError::Limit(Limit::Memory(64 << 20))
        ),
    }
}

#[test]
fn processes_of_a_compiler_are_counted_and_ended() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    // What is left behind neither keeps the compilation from its end nor outlives it.
    let token = millibox_tests::token();
    let compilation = build(&toolbox, &format!("sh -c 'sleep 1000; :' {token} &"));
    assert_eq!(said(&supervisor, &compiled(compilation), ""), "ran");
    assert_eq!(millibox_tests::processes_that_say(&token), []);
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
        refused(&suicide).contains("ended the compilation"),
        "{suicide:?}"
    );
}

#[test]
fn messages_are_cut_and_printable() {
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
        format!("[{} more bytes are not shown]", 1_000_007 - MESSAGES_LIMIT)
    );
    assert!(compilation.messages.len() < MESSAGES_LIMIT + 100);
}

// What compilers cannot reach.

#[test]
fn a_compiler_sees_nothing_of_the_host() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    let (directory, paths) = files(&[("secret", "the_secret\n")]);
    for path in [directory.path(), &paths[0]] {
        millibox_tests::share(path, 0o755);
    }
    let secret = paths[0].to_str().unwrap();
    if usable(&toolbox, "c") {
        for path in ["/etc/passwd", secret] {
            let source = format!("#include \"{path}\"\nint main(void) {{}}\n");
            let compilation = compile(&toolbox, "c", &[("a.c", &source)]);
            refused(&compilation);
            let shown = compilation.messages.contains("root:")
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
        !compilation.messages.contains("the_secret") && !compilation.messages.contains("root:")
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
fn sources_cannot_be_changed() {
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
fn a_compiler_sees_no_network() {
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
fn what_is_left_is_distrusted() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    let link = build(&toolbox, "ln -s /etc/passwd link");
    assert!(
        refused(&link).contains("\"link\", which is not a regular file"),
        "{link:?}"
    );
    let fifo = build(&toolbox, "mkfifo fifo");
    assert!(refused(&fifo).contains("not a regular file"), "{fifo:?}");
    // Two names of one file are two files.
    let executable = compiled(build(&toolbox, "ln run again"));
    assert!(executable.files.path().join("again").is_file());
}

#[test]
fn others_on_the_host_cannot_read_or_change_a_program() {
    use std::os::unix::fs::MetadataExt;
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    let executable = compiled(build(&toolbox, "mkdir d && echo x >d/x"));
    let us = rustix::process::geteuid().as_raw();
    for name in [".", "run", "d", "d/x"] {
        let metadata = executable.files.path().join(name).metadata().unwrap();
        assert_eq!(
            (metadata.uid(), metadata.mode() & 0o027),
            (us, 0),
            "{name}: {:o}",
            metadata.mode()
        );
    }
    let path = executable.files.path().to_owned();
    drop(executable);
    assert!(!path.exists());
}

#[test]
fn a_compiled_program_sees_libraries_only() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    if !usable(&toolbox, "c") {
        return;
    }
    let source = "#include <stdio.h>\n#include <unistd.h>\nint main(void) {\nconst char *all[] = \
                  {\"/bin/sh\", \"/usr/bin\", \"/usr/include\", \"/tmp\", \"/proc/sys\", \
                  \"/source\"};\nfor (int i = 0; i < 6; i++) if (access(all[i], F_OK) == 0) \
                  puts(all[i]);\nFILE *f = fopen(\"/program/x\", \"w\"); if (f) \
                  puts(\"written\");\n}\n";
    assert_eq!(
        said(
            &supervisor,
            &compiled(compile(&toolbox, "c", &[("a.c", source)])),
            ""
        ),
        ""
    );
}

// Running.

#[test]
fn the_stack_is_as_large_as_the_memory() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    if !usable(&toolbox, "c") {
        return;
    }
    let source = "#include <stdio.h>\nint f(int n) { volatile char a[1000]; a[n % 1000] = 1; \
                  return n ? f(n - 1) + a[n % 1000] : 0; }\nint main(void) { printf(\"%d\\n\", \
                  f(100000)); }\n";
    assert_eq!(
        said(
            &supervisor,
            &compiled(compile(&toolbox, "c", &[("a.c", source)])),
            ""
        ),
        "100000"
    );
}

#[test]
fn threads_have_stacks_that_fit() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    if !usable(&toolbox, "c") {
        return;
    }
    let source = "#include <pthread.h>\n#include <stdio.h>\nvoid *f(void *p) { return p; }\nint \
                  main(void) { int made = 0; pthread_t all[10];\nfor (; made < 10 && \
                  pthread_create(all + made, 0, f, 0) == 0; made++);\nfor (int i = 0; i < made; \
                  i++) pthread_join(all[i], 0);\npthread_attr_t a; size_t size; \
                  pthread_attr_init(&a); pthread_attr_getstacksize(&a, &size);\nprintf(\"%d \
                  threads, %zu MiB\\n\", made, size >> 20); }\n";
    let executable = compiled(compile(&toolbox, "c", &[("a.c", source)]));
    let limits = Limits {
        memory: 64 << 20,
        processes: 16,
        ..LIMITS
    };
    assert_eq!(
        run_with(&supervisor, &executable, &limits, "").text(),
        "10 threads, 2 MiB\n"
    );
}

#[test]
fn all_sources_of_scripts_are_looked_at() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    for (language, main, other, fine, bad) in [
        ("js", "main.js", "other.js", "let a = 1;\n", "let = 1 1;\n"),
        ("python3", "main.py", "other.py", "a = 1\n", "a = 1 1\n"),
    ] {
        if usable(&toolbox, language) {
            compiled(compile(&toolbox, language, &[(main, fine), (other, fine)]));
            let compilation = compile(&toolbox, language, &[(main, fine), (other, bad)]);
            refused(&compilation);
            assert!(
                compilation.messages.contains(other),
                "{}",
                compilation.messages
            );
        }
    }
}

#[test]
fn runtimes_know_their_memory_limit() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    let java = "class M { public static void main(String[] a) { \
        System.out.println(Runtime.getRuntime().maxMemory() >> 20); } }";
    let go = "package main\nimport (\"fmt\"; \"runtime/debug\")\nfunc main() { \
        fmt.Println(debug.SetMemoryLimit(-1) >> 20) }\n";
    let js = "console.log(require('v8').getHeapStatistics().heap_size_limit >> 20);\n";
    for (language, file, source) in [
        ("java", "M.java", java),
        ("go", "m.go", go),
        ("js", "m.js", js),
    ] {
        if !usable(&toolbox, language) {
            continue;
        }
        let executable = compiled(compile(&toolbox, language, &[(file, source)]));
        let mut seen = Vec::new();
        for mebibytes in [64u64, 128] {
            let limits = Limits {
                memory: mebibytes << 20,
                ..LIMITS
            };
            let output = run_with(&supervisor, &executable, &limits, "");
            let told: u64 = output
                .text()
                .trim()
                .parse()
                .unwrap_or_else(|_| panic!("{language}: {}", output.result));
            // A heap has parts that are not counted, or are counted twice.
            assert!(
                told >= mebibytes - 8 && told <= mebibytes + 80,
                "{language}: {told} of {mebibytes}"
            );
            seen.push(told);
        }
        assert!(seen[0] < seen[1], "{language}: {seen:?}");
    }
}

// Static and dynamic programs.

/// Whether the executable names a dynamic linker (ELF, PT_INTERP).
fn is_dynamic(executable: &Executable) -> bool {
    let bytes = std::fs::read(executable.files.path().join("program")).unwrap();
    let number = |at: usize, length: usize| {
        bytes[at..at + length]
            .iter()
            .rev()
            .fold(0usize, |number, byte| number << 8 | usize::from(*byte))
    };
    let (headers, size, count) = (number(32, 8), number(54, 2), number(56, 2));
    (0..count).any(|header| number(headers + header * size, 4) == 3)
}

fn linked(supervisor: &Supervisor, link: Link) -> Toolbox<'_> {
    Toolbox::new(
        supervisor,
        Suites::builtin().with_linking(link),
        Cache::none(),
    )
}

#[test]
fn linking_each_way_makes_programs_that_run() {
    let supervisor = supervisor();
    for link in [Link::Static, Link::Dynamic] {
        let toolbox = linked(&supervisor, link);
        for language in ["c", "cpp", "rust", "go", "pascal"] {
            if !usable(&toolbox, language) {
                continue;
            }
            let suite = toolbox.suites().named(language).unwrap();
            let fixed = suite.linking.as_ref().unwrap().is_fixed();
            let found = toolbox.linking(suite).unwrap().unwrap();
            if let Some(fallback) = found.fallback {
                skip(&format!("{language}: {fallback}"));
                continue;
            }
            assert_eq!(
                found.link,
                if fixed { Link::Static } else { link },
                "{language}"
            );
            let executable = compiled(compile(
                &toolbox,
                language,
                &[(&suite.example.file, &suite.example.source)],
            ));
            assert_eq!(
                is_dynamic(&executable),
                found.link == Link::Dynamic,
                "{language} {link}"
            );
            assert_eq!(
                said(&supervisor, &executable, "1 2\n-3\n40\n"),
                "40",
                "{language} {link}"
            );
        }
    }
}

#[test]
fn cpp_threads_exceptions_and_locales_work_in_both_linkings() {
    const SOURCE: &str = r#"
#include <condition_variable>
#include <future>
#include <iomanip>
#include <iostream>
#include <locale>
#include <mutex>
#include <netdb.h>
#include <pwd.h>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

thread_local int mine = 7;
std::once_flag once;

int main() {
    std::mutex mutex;
    std::condition_variable condition;
    int sum = 0, ready = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&, i] {
            std::call_once(once, [&] { ready = 1; });
            std::lock_guard<std::mutex> lock(mutex);
            sum += i + mine;
            condition.notify_all();
        });
    {
        std::unique_lock<std::mutex> lock(mutex);
        condition.wait(lock, [&] { return sum == 34; });
    }
    for (auto &thread : threads)
        thread.join();
    try {
        std::async(std::launch::async, [] { throw std::runtime_error("thrown"); }).get();
    } catch (const std::exception &error) {
        std::cout << error.what() << ' ';
    }
    std::ostringstream text;
    text.imbue(std::locale("C"));
    text << std::fixed << std::setprecision(2) << 3.14159;
    bool none = false;
    try {
        std::locale("xx_YY");
    } catch (const std::runtime_error &) {
        none = true;
    }
    // These make the linker warn.
    bool nobody = getpwnam("nobody-has-this-name") == nullptr;
    addrinfo *found = nullptr;
    bool unknown = getaddrinfo("no-such-host.invalid", nullptr, nullptr, &found) != 0;
    std::cout << text.str() << ' ' << sum << ready << none << nobody << unknown << '\n';
}
"#;
    let supervisor = supervisor();
    let limits = Limits {
        processes: 8,
        ..LIMITS
    };
    for link in [Link::Static, Link::Dynamic] {
        let toolbox = linked(&supervisor, link);
        if !usable(&toolbox, "cpp") {
            return;
        }
        let suite = toolbox.suites().named("cpp").unwrap();
        if let Some(fallback) = toolbox.linking(suite).unwrap().unwrap().fallback {
            skip(&format!("cpp: {fallback}"));
            continue;
        }
        let executable = compiled(compile(&toolbox, "cpp", &[("main.cpp", SOURCE)]));
        assert_eq!(is_dynamic(&executable), link == Link::Dynamic);
        let output = run_with(&supervisor, &executable, &limits, "");
        assert_eq!(
            output.result.outcome,
            Outcome::Exited(0),
            "{link}: {}",
            output.result
        );
        assert_eq!(output.text().trim(), "thrown 3.14 341111", "{link}");
    }
}

/// A language whose compiler is a shell script, told `static` or `dynamic`.
fn shell_suites(script: &str) -> Suites {
    let text = format!(
        "name = 'own'\ntitle = 'Own'\nextensions = ['own']\n[tool.cat]\npackage = \
         'coreutils'\n[linking]\nstatic = ['static']\ndynamic = ['dynamic']\npackage = \
         'own-static-libraries'\n[compile]\ncommand = ['/bin/sh', '-c', '{script}', 'own', \
         '{{main}}', '{{executable}}', '{{linking}}']\n[run]\ncommand = \
         ['{{executable}}']\n[example]\nfile = 'a.own'\nsource = 'good'\n"
    );
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("own.toml"), text).unwrap();
    Suites::with_directory(directory.path()).unwrap_or_else(|faults| panic!("{faults}"))
}

#[test]
fn missing_static_libraries_make_programs_dynamic_with_a_remedy() {
    let supervisor = supervisor();
    let script = r#"[ $3 = dynamic ] || { echo no libown.a; exit 1; }; echo $3 >$2 && chmod +x $2"#;
    let toolbox = Toolbox::new(&supervisor, shell_suites(script), Cache::none());
    let suite = toolbox.suites().named("own").unwrap();
    let found = toolbox.linking(suite).unwrap().unwrap();
    assert_eq!(found.link, Link::Dynamic);
    let fallback = found.fallback.unwrap();
    assert!(fallback.why.contains("no libown.a"), "{fallback:?}");
    assert_eq!(fallback.remedy, "apt install own-static-libraries");
    let compilation = compile(&toolbox, "own", &[("x.own", "good")]);
    assert!(
        compilation
            .messages
            .contains("apt install own-static-libraries"),
        "{:?}",
        compilation.messages
    );
    let executable = compiled(compilation);
    assert_eq!(
        std::fs::read(executable.files.path().join("program")).unwrap(),
        b"dynamic\n"
    );
    // Not wanted, not tried.
    let dynamic = Toolbox::new(
        &supervisor,
        shell_suites(script).with_linking(Link::Dynamic),
        Cache::none(),
    );
    let found = dynamic
        .linking(dynamic.suites().named("own").unwrap())
        .unwrap()
        .unwrap();
    assert_eq!((found.link, found.fallback), (Link::Dynamic, None));
}

#[test]
fn source_that_cannot_be_linked_statically_is_linked_dynamically_and_says_so() {
    let supervisor = supervisor();
    let script = r#"case $(cat $1) in bad) exit 1;; shared) [ $3 = dynamic ] || exit 1;; esac; echo $3 >$2 && chmod +x $2"#;
    let toolbox = Toolbox::new(&supervisor, shell_suites(script), Cache::none());
    let product = |compilation: Compilation| {
        let messages = compilation.messages.clone();
        let executable = compiled(compilation);
        (
            std::fs::read_to_string(executable.files.path().join("program")).unwrap(),
            messages,
        )
    };
    assert_eq!(
        product(compile(&toolbox, "own", &[("x.own", "good")])),
        ("static\n".to_owned(), String::new())
    );
    let (made, messages) = product(compile(&toolbox, "own", &[("x.own", "shared")]));
    assert_eq!(made, "dynamic\n");
    assert!(
        messages.starts_with("[millibox: it cannot be linked statically"),
        "{messages}"
    );
    assert_eq!(
        refused(&compile(&toolbox, "own", &[("x.own", "bad")])),
        "the compiler exited with 1"
    );
}

#[test]
fn cache_keeps_static_and_dynamic_programs_apart() {
    let supervisor = supervisor();
    let directory = tempfile::tempdir().unwrap();
    let script = r#"echo $3 >$2 && chmod +x $2"#;
    let from = |link: Link| {
        let cache = Cache::in_directory(&directory.path().join("cache"), 1 << 30).unwrap();
        let toolbox = Toolbox::new(&supervisor, shell_suites(script).with_linking(link), cache);
        let compilation = compile(&toolbox, "own", &[("x.own", "good")]);
        let from_cache = compilation.from_cache;
        (
            from_cache,
            std::fs::read_to_string(compiled(compilation).files.path().join("program")).unwrap(),
        )
    };
    for (link, made) in [(Link::Static, "static\n"), (Link::Dynamic, "dynamic\n")] {
        assert_eq!(from(link), (false, made.to_owned()));
        assert_eq!(from(link), (true, made.to_owned()));
    }
}

// The cache.

#[test]
fn what_was_compiled_is_not_compiled_again() {
    let supervisor = supervisor();
    let directory = tempfile::tempdir().unwrap();
    let cache = || Cache::in_directory(&directory.path().join("cache"), 1 << 30).unwrap();
    let toolbox = Toolbox::new(&supervisor, Suites::builtin(), cache());
    if !usable(&toolbox, "c") {
        return;
    }
    let source = "#include \"x.h\"\n#warning told\nint main(void) { return X; }\n";
    let from = |toolbox: &Toolbox<'_>, language: &str, header: &str, options: &Options| {
        let compilation = compile_with(
            toolbox,
            language,
            &[("a.c", source), ("x.h", header)],
            options,
        );
        assert!(compilation.messages.contains("told"), "{compilation:?}");
        let from_cache = compilation.from_cache;
        let executable = compiled(compilation);
        (
            from_cache,
            run_with(&supervisor, &executable, &LIMITS, "")
                .result
                .exit_code,
        )
    };
    let usual = Options::default();
    assert_eq!(
        from(&toolbox, "c17", "#define X 1\n", &usual),
        (false, Some(1))
    );
    assert_eq!(
        from(&toolbox, "c17", "#define X 1\n", &usual),
        (true, Some(1))
    );
    let later = Toolbox::new(&supervisor, Suites::builtin(), cache());
    assert_eq!(
        from(&later, "c17", "#define X 1\n", &usual),
        (true, Some(1))
    );
    // Whatever differs counts.
    assert_eq!(
        from(&toolbox, "c17", "#define X 2\n", &usual),
        (false, Some(2))
    );
    assert_eq!(
        from(&toolbox, "c11", "#define X 1\n", &usual),
        (false, Some(1))
    );
    let large = Options {
        output: Some(1 << 20),
        ..Options::default()
    };
    assert_eq!(
        from(&toolbox, "c17", "#define X 1\n", &large),
        (false, Some(1))
    );
    let own = directory.path().join("suites");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(
        own.join("c.toml"),
        include_str!("../../suites/c.toml").replace("-O2", "-O1"),
    )
    .unwrap();
    let other = Toolbox::new(&supervisor, Suites::with_directory(&own).unwrap(), cache());
    assert_eq!(
        from(&other, "c17", "#define X 1\n", &usual),
        (false, Some(1))
    );
    let uncached = Toolbox::new(&supervisor, Suites::builtin(), Cache::none());
    assert_eq!(
        from(&uncached, "c17", "#define X 1\n", &usual),
        (false, Some(1))
    );
    // A damaged entry is compiled again.
    for entry in std::fs::read_dir(directory.path().join("cache")).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        std::fs::write(&path, bytes).unwrap();
    }
    assert_eq!(
        from(&toolbox, "c17", "#define X 1\n", &usual),
        (false, Some(1))
    );
    assert_eq!(
        from(&toolbox, "c17", "#define X 1\n", &usual),
        (true, Some(1))
    );
}

#[test]
fn a_refused_source_is_not_kept() {
    let supervisor = supervisor();
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::in_directory(directory.path(), 1 << 30).unwrap();
    let toolbox = Toolbox::new(&supervisor, Suites::builtin(), cache);
    for _ in 0..2 {
        let compilation = build(&toolbox, "exit 1");
        assert!(!compilation.from_cache);
        refused(&compilation);
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn many_are_compiled_at_once() {
    let supervisor = supervisor();
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::in_directory(directory.path(), 1 << 30).unwrap();
    let toolbox = Toolbox::new(&supervisor, Suites::builtin(), cache);
    if !usable(&toolbox, "c") {
        return;
    }
    std::thread::scope(|scope| {
        for number in 0..6 {
            let (toolbox, supervisor) = (&toolbox, &supervisor);
            scope.spawn(move || {
                let source = format!("int main(void) {{ return {}; }}\n", number / 2);
                let executable = compiled(compile(toolbox, "c", &[("a.c", &source)]));
                let result = run_with(supervisor, &executable, &LIMITS, "").result;
                assert_eq!(result.outcome, Outcome::Exited(number / 2));
            });
        }
    });
}

// Whose fault it is.

/// Suites with one of our own.
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
fn a_compiler_that_works_for_nobody_has_refused_nobody() {
    let supervisor = supervisor();
    let judge_error = |command: &str| {
        let toolbox = Toolbox::new(&supervisor, own_suites("cat", command), Cache::none());
        match compile(&toolbox, "own", &[("x.own", "bad")]).result {
            Err(CompileError::Judge(why)) => why,
            other => panic!("{other:?}"),
        }
    };
    let why = judge_error("['/bin/sh', '-c', 'echo no such option; exit 1']");
    assert_eq!(
        why,
        "Own does not work here: the compiler exited with 1: no such option"
    );
    assert!(judge_error("['/usr/bin/there-is-none', '{main}']").contains("exited with 127"));
    assert!(
        judge_error("['/bin/sh', '-c', 'truncate -s 1G {executable}']").contains("output limit")
    );
    // One that takes the example has.
    let command = "['/bin/sh', '-c', 'grep -q good {main}']";
    let toolbox = Toolbox::new(&supervisor, own_suites("cat", command), Cache::none());
    assert_eq!(
        refused(&compile(&toolbox, "own", &[("x.own", "bad")])),
        "the compiler exited with 1"
    );
}

#[test]
fn a_tool_that_is_not_there_is_named_with_its_package() {
    let supervisor = supervisor();
    let toolbox = Toolbox::new(
        &supervisor,
        own_suites("there-is-none", "['{executable}']"),
        Cache::none(),
    );
    let suite = toolbox.suites().named("own").unwrap();
    let missing = Availability::Missing {
        program: "there-is-none".to_owned(),
        remedy: "apt install own-compiler".to_owned(),
    };
    assert_eq!(toolbox.availability(suite), missing);
    let Err(CompileError::Unavailable(why)) = compile(&toolbox, "own", &[("x.own", "")]).result
    else {
        panic!("compiled")
    };
    assert_eq!(
        why,
        "Own cannot be used here: there-is-none is not installed; try: apt install own-compiler"
    );
}

/// A script as tool, below the directory.
fn script(directory: &Path, script: &str) -> String {
    let path = directory.join("tool");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    millibox_tests::share(&path, 0o755);
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_tool_outside_of_the_system_is_shown() {
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
fn a_tool_that_fails_is_broken() {
    let supervisor = supervisor();
    let directory = millibox_tests::directory();
    let tool = script(directory.path(), "echo 'no licence' >&2; exit 1");
    let toolbox = Toolbox::new(
        &supervisor,
        own_suites(&tool, "['{executable}']"),
        Cache::none(),
    );
    match toolbox.availability(toolbox.suites().named("own").unwrap()) {
        Availability::Broken { said, remedy, .. } => {
            assert_eq!(said, "exited with 1: no licence");
            assert_eq!(remedy, "apt install --reinstall own-compiler");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_tool_that_only_we_can_reach_is_unreachable() {
    let supervisor = supervisor();
    if supervisor.info().ids().0 == rustix::process::geteuid().as_raw() {
        return skip("the sandbox's user is ours, so it reaches what we reach");
    }
    let directory = millibox_tests::directory();
    let tool = script(directory.path(), "echo own 1.2");
    millibox_tests::share(directory.path(), 0o700);
    let toolbox = Toolbox::new(
        &supervisor,
        own_suites(&tool, "['{executable}']"),
        Cache::none(),
    );
    match toolbox.availability(toolbox.suites().named("own").unwrap()) {
        Availability::Unreachable { why, remedy, .. } => {
            assert!(
                why.contains(directory.path().to_str().unwrap()) && why.contains("mode 700"),
                "{why}"
            );
            assert_eq!(remedy, "apt install own-compiler");
        }
        other => panic!("{other:?}"),
    }
}

// The command.

fn languages(arguments: &[&str]) -> std::process::Output {
    let command = millibox_tests::executable("millibox");
    std::process::Command::new(command)
        .arg("languages")
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn the_command_lists_languages() {
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
fn the_command_tries_examples_and_says_faults() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("c.toml");
    let good = include_str!("../../suites/scripts.toml");
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
