//! Packages and submissions as other tools write and run them.

use crate::package::Package;
use std::fs;

/// Both ways of running an interpreter.
const MODES: [&[&str]; 2] = [&[], &["--prepared"]];

fn bytes(package: &Package, name: &str, text: &[u8]) {
    let path = package.path().join("submissions").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn scripts_find_their_files_beside_their_own_name() {
    let package = Package::new("");
    package
        .submission("accepted/sh/main.sh", ". \"${0%/*}/part.sh\"\n")
        .submission("accepted/sh/part.sh", "read n; echo $((2 * n))\n")
        .submission(
            "accepted/py/main.py",
            "import os, sys\nassert os.path.dirname(sys.argv[0])\nassert \
             os.path.dirname(__file__)\nexec(open(os.path.dirname(sys.argv[0]) + \
             '/part.inc').read())\n",
        )
        .submission("accepted/py/part.inc", "print(2 * int(input()))\n")
        .submission(
            "accepted/pl/main.pl",
            "use File::Basename; do(dirname($0) . '/part.inc'); ($0 =~ m|/|) or die;\n",
        )
        .submission("accepted/pl/part.inc", "print 2 * <STDIN>, \"\\n\";\n");
    for mode in MODES {
        package.judge(mode).exits_with(0);
    }
}

#[test]
fn python_source_with_undeclared_bytes_is_compile_error_in_both_modes() {
    let package = Package::new("");
    let twice = b"print(2 * int(input()))\n";
    let with = |before: &[u8], after: &[u8]| [before, twice, after].concat();
    for (name, text) in [
        ("comment", with(b"# caf\xe9\n", b"")),
        ("after", with(b"", b"# \x92\n")),
        ("second", with(b"# \xe9\n# coding: latin-1\n", b"")),
        ("late", with(b"#\n#\n# coding: latin-1\n# \xe9\n", b"")),
        ("surrogate", with(b"# \xed\xa0\x80\n", b"")),
        ("cut", with(b"", b"# \xc3")),
        ("nul", with(b"# \0\n", b"")),
        ("mark", with(b"\xef\xbb\xbf# coding: latin-1\n", b"")),
        ("unknown", with(b"# coding: xyzzy\n", b"")),
    ] {
        bytes(&package, &format!("compile_error/{name}.py"), &text);
    }
    for (name, text) in [
        ("declared", with(b"# coding: latin-1\n# \xe9\n", b"")),
        (
            "second_line",
            with(
                b"#!/usr/bin/python3\n# vim: set fileencoding=latin-1 :\n# \xe9\n",
                b"",
            ),
        ),
        ("mark", with(b"\xef\xbb\xbf", b"")),
        ("utf8", with("# café\n".as_bytes(), b"")),
        ("cr", with(b"x = 1\ry = 2\r", b"")),
        ("feed", with(b"\x0c\n", b"")),
        ("module", with(b"import other\n", b"")),
    ] {
        bytes(&package, &format!("accepted/{name}/main.py"), &text);
    }
    // The interpreter reads modules as py_compile does.
    bytes(&package, "accepted/module/other.py", b"x = 1 # \xe9\n");
    for mode in MODES {
        package.judge(mode).exits_with(0);
    }
}

#[test]
fn extensions_in_upper_case_and_prolog_are_recognised() {
    let package = Package::new("");
    package
        .submission("accepted/A.SH", "read n; echo $((2 * n))\n")
        .submission("accepted/b.Py", "print(2 * int(input()))\n")
        .submission("accepted/c.PL", "print 2 * <STDIN>, \"\\n\";\n");
    package.judge(&[]).exits_with(0);
}

#[test]
fn settings_of_other_tools_are_applied() {
    // The old name of worst_error, and grading in problem.yaml.
    let package = Package::new("type: scoring\ngrading: {accept_score: 5}\n");
    package
        .file("data/secret/testdata.yaml", "grader_flags: no_errors\n")
        .submission("accepted/a.sh", "read n; echo $((2 * n))\n");
    let judged = package.judge(&[]);
    judged.exits_with(0).prints("no_errors is the old name");
    assert_eq!(judged.submission("a.sh")["score"], 10.0, "{judged:?}");

    // The file in `data` applies to samples and secret tests.
    let package = Package::newer("");
    package
        .file(
            "data/test_group.yaml",
            "output_validator_args: [float_tolerance, '1e-6']\n",
        )
        .submission("accepted/a.sh", "read n; echo $((2 * n)).0000000\n");
    let judged = package.judge(&[]);
    judged.exits_with(0);
    assert_eq!(judged.verdict("a.sh"), "accepted", "{judged:?}");
}
