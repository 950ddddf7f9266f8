//! Each language, and submissions of several files.

use super::{
    LIMITS, build, compile, compile_with, compiled, files, refused, run_with, stdout_of,
    supervisor, toolbox, usable,
};
use crate::setting::Data;
use millibox::Outcome;
use millibox_judge::batch::Worker;
use millibox_judge::checker::CheckerInstance;
use millibox_judge::verdict::Verdict;
use millibox_languages::compile::{Options, Refusal};

/// The languages whose compilers name the file that contains an error. The tests in tests/languages
/// try all languages.
const LANGUAGES: [&str; 10] = [
    "bash",
    "c",
    "cpp",
    "go",
    "java",
    "javascript",
    "pascal",
    "python3",
    "rust",
    "scripts",
];

#[test]
fn each_language_runs_its_example_and_rejects_faulty_source() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    for suite in toolbox.suites().iter() {
        if !LANGUAGES.contains(&&suite.language[..]) || !usable(&toolbox, &suite.name) {
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
            stdout_of(&supervisor, &executable, "1 2\n-3\n40\n"),
            "40",
            "{}",
            suite.name
        );
        assert_eq!(
            stdout_of(&supervisor, &executable, ""),
            "0",
            "{}",
            suite.name
        );

        // The text of a script is checked only when the script runs.
        if suite.name == "scripts" {
            continue;
        }
        let compilation = compile(&toolbox, &suite.name, &[(file, &format!(")(\n{source}"))]);
        assert!(
            matches!(refused(&compilation), Refusal::Exited(_)),
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
            "the messages contain a path of the host: {:?}",
            compilation.messages
        );
    }
}

#[test]
fn standard_streams_can_be_opened_by_name() {
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
        // The other end of a stream cannot be opened.
        (
            "python3",
            "main.py",
            r#"
import os
for name, flag in ('/dev/stdin', os.O_WRONLY), ('/dev/stdout', os.O_RDONLY | os.O_NONBLOCK):
    try:
        os.open(name, flag)
    except PermissionError:
        continue
    exit(1)
print(input())
"#,
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
fn examples_of_suites_produce_expected_output() {
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
fn variants_of_cpp_select_their_standard() {
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
        assert_eq!(stdout_of(&supervisor, &executable, ""), standard);
    }
}

#[test]
fn sources_and_headers_in_directories_are_compiled_together() {
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
        stdout_of(&supervisor, &compiled(compile(&toolbox, "cpp", &all)), ""),
        "42"
    );

    // In ICPC packages, a validator may be a single file that has a header beside it.
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
    assert_eq!(*refused(&alone), Refusal::Exited(1));
    assert!(alone.messages.contains("validate.h"));
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
fn file_names_like_options_are_compiled() {
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
fn python_starts_main_file_and_finds_modules() {
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
        stdout_of(
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
        stdout_of(
            &supervisor,
            &compiled(compile_with(&toolbox, "python", &all, &options)),
            ""
        ),
        "other"
    );
    assert_eq!(
        stdout_of(
            &supervisor,
            &compiled(compile(&toolbox, "python", &all)),
            ""
        ),
        "main"
    );
}

#[test]
fn java_starts_class_with_main_method() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    if !usable(&toolbox, "java") {
        return;
    }
    let main = |class: &str, package: &str| {
        format!(
            "{package}\nclass A {{}}\nclass {class} {{ \
             // class X {{ public static void main(String[] a) {{}} }}\n\
             public static void main(String[] arguments) {{\n\
             System.out.println(\"{class}\");\n}}\n}}\n"
        )
    };
    let one = [("notes.java", &main("Zebra", "package p;")[..])];
    assert_eq!(
        stdout_of(&supervisor, &compiled(compile(&toolbox, "java", &one)), ""),
        "Zebra"
    );
    let (first, second) = (
        main("Second", ""),
        main("First", "").replace("class A {}", ""),
    );
    let two = [("b.java", &first[..]), ("a.java", &second[..])];
    let compilation = compile(&toolbox, "java", &two);
    assert_eq!(
        *refused(&compilation),
        Refusal::SeveralMainClasses(vec!["First".to_owned(), "Second".to_owned()])
    );
    let options = Options {
        main: Some("First".to_owned()),
        ..Options::default()
    };
    assert_eq!(
        stdout_of(
            &supervisor,
            &compiled(compile_with(&toolbox, "java", &two, &options)),
            ""
        ),
        "First"
    );
    let none = compile(&toolbox, "java", &[("A.java", "class A {}\n")]);
    assert_eq!(*refused(&none), Refusal::NoMainClass);
}

#[test]
fn java_sources_may_have_any_names() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    if !usable(&toolbox, "java") {
        return;
    }
    let prints = |text: &str| {
        format!("public static void main(String[] a) {{ System.out.println({text}); }}")
    };
    let output = |files: &[(&str, &str)]| {
        let compilation = compile(&toolbox, "java", files);
        stdout_of(&supervisor, &compiled(compilation), "")
    };
    let public = format!(
        "/* public class Main {{ */ public class Inna {{ {} }}",
        prints("1")
    );
    assert_eq!(output(&[("Main.java", &public)]), "1");
    assert_eq!(output(&[("solution 1.java", &public)]), "1");
    assert_eq!(
        output(&[("x.java", &format!("package a.b;\n{public}"))]),
        "1"
    );
    let main = format!("public class Start {{ {} }}", prints("Helper.value()"));
    let helper = "public class Helper { static int value() { return 3; } }";
    assert_eq!(
        output(&[("one.java", &main[..]), ("two.java", helper)]),
        "3"
    );
    // As with `java FILE`, the first of several classes is started.
    let several = format!(
        "class B {{ {} }}\nclass A {{ {} }}",
        prints("2"),
        prints("0")
    );
    assert_eq!(output(&[("test.java", &several)]), "2");
}

#[test]
fn go_programs_import_the_whole_standard_library() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    if !usable(&toolbox, "go") {
        return;
    }
    let source = r#"
package main

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	_ "net/http"
	_ "testing"
)

func main() {
	text, _ := json.Marshal(map[string]int{"a": 1})
	sum := md5.Sum(text)
	parsed, _ := url.Parse("http://host/a/../b?c=1")
	page := template.Must(template.New("page").Parse("t{{.}}"))
	var out strings.Builder
	page.Execute(&out, "&")
	_, err := exec.LookPath("/nowhere")
	fmt.Println(string(text), hex.EncodeToString(sum[:2]), parsed.Query(), filepath.Base("a/b"), out.String(), err != nil)
}
"#;
    let program = compiled(compile(&toolbox, "go", &[("main.go", source)]));
    assert_eq!(
        stdout_of(&supervisor, &program, ""),
        r#"{"a":1} bb6c map[c:[1]] b t&amp; true"#
    );
    // A package that does not exist is a mistake of the program.
    let missing = "package main\n\nimport _ \"no/such/package\"\n\nfunc main() {}\n";
    let compilation = compile(&toolbox, "go", &[("main.go", missing)]);
    assert!(matches!(refused(&compilation), Refusal::Exited(_)));
    assert!(compilation.messages.contains("no/such/package"));
}

#[test]
fn directory_with_build_and_run_is_program() {
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
        stdout_of(
            &supervisor,
            &compiled(toolbox.compile(suite, &paths, &Options::default())),
            ""
        ),
        "built"
    );
    let without = build(&toolbox, "rm run");
    assert_eq!(*refused(&without), Refusal::Exited(1));
    assert!(without.messages.contains("the file run does not exist"));
    let failing = build(&toolbox, "exit 3");
    assert_eq!(*refused(&failing), Refusal::Exited(3));
}

#[test]
fn all_sources_of_scripts_are_checked() {
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
