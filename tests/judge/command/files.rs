//! Files, arguments and constants of a package, and the programs that see them.

use super::{DOUBLE, VALIDATOR};
use crate::package::Package;
use millibox_tests::{is_root, skip};
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn submission_receives_files_and_arguments_and_code_limit() {
    let package = Package::newer("").test("secret/2", "5\n", "10\n");
    package
        .file("data/secret/2.files/factor.txt", "2\n")
        .file("data/secret/2.yaml", "args: [from, 'a file']\n")
        .file("include/default/readme.txt", "for all\n")
        .file("include/default/lib.sh", "double() { echo default; }\n")
        .file(
            "include/bash/lib.sh",
            "double() { echo $(($1 * ${2:-2})); }\n",
        )
        .submission(
            "accepted/main.sh",
            ". ./lib.sh\nread n\nread for < readme.txt && [ \"$for\" = 'for all' ] || exit 1\n\
             [ $# = 2 ] || { double $n; exit; }\n\
             [ \"$2\" = 'a file' ] && read f < factor.txt && double $n $f\n",
        )
        .submission(
            "run_time_error/missing.sh",
            "read f < factor.txt || exit 1\n",
        );
    package.judge(&[]).exits_with(0);
    // A file of the test replaces an included file with the same name.
    package
        .file("data/secret/2.files/lib.sh", "double() { echo 10; }\n")
        .file("data/secret/2.ans", "10\n");
    package.file("data/secret/2.in", "1000\n");
    package.judge(&["main.sh"]).exits_with(0);
    fs::remove_dir_all(package.path().join("data/secret/2.files")).unwrap();

    package.file(
        "problem.yaml",
        "problem_format_version: 2023-07\nname: Double\nuuid: 1\nlimits: {time_limit: 1, code: \
         1}\n",
    );
    package.submission(
        "compile_error/long.sh",
        &format!("{DOUBLE}# {}\n", "x".repeat(2000)),
    );
    let judged = package.judge(&["long.sh"]);
    judged.exits_with(0).prints("but the problem allows 1024");
}

#[test]
fn include_links_are_followed_only_within_package() {
    let package = Package::newer("");
    package
        .file(
            "attachments/lib/double.sh",
            "double() { echo $(($1 * ${2:-2})); }\n",
        )
        .file("attachments/lib/deep/.keep", "")
        .submission(
            "accepted/main.sh",
            ". ./lib/double.sh\n. ./more/double.sh\nread n\ndouble $n\n",
        );
    let link = |target: &str, path: &str| {
        std::os::unix::fs::symlink(target, package.path().join(path)).unwrap()
    };
    package.file("include/default/readme.txt", "");
    link("../../attachments/lib", "include/default/lib");
    // The directory of a language is a link, and contains another link.
    package.file("attachments/bash/readme.txt", "");
    link("../attachments/bash", "include/bash");
    link("../../include/default/lib", "attachments/bash/more");
    package.judge(&[]).exits_with(0);

    link("/etc", "include/default/etc");
    package
        .judge(&[])
        .exits_with(2)
        .prints("include/default/etc: error: symbolic link to /etc, outside the package");
    fs::remove_file(package.path().join("include/default/etc")).unwrap();
    link("../..", "attachments/lib/deep/up");
    package
        .judge(&[])
        .exits_with(2)
        .prints("a directory that contains the link itself; not followed");
}

#[test]
fn constants_are_replaced_only_in_programs_of_package() {
    let package = Package::newer("constants: {factor: 2, word: {value: right, other: quite}}\n");
    package
        .file(
            "output_validator/check.sh",
            "read n < $1\nread a\n[ $((n * {{factor}})) = $a ] && [ {{word}} = right ] && exit \
             42\nexit 43\n",
        )
        .file(
            "include/bash/lib.sh",
            "double() { echo $(($1 * {{factor.value}})); }\n",
        )
        .submission("accepted/uses.sh", ". ./lib.sh\nread n\ndouble $n\n")
        .submission("accepted/has.sh", "read n\necho $((n * {{factor}}))\n")
        .submission(
            "wrong_answer/other.sh",
            "read n\n[ {{word.other}} = quite ] && echo {{none}}\n",
        );
    package
        .judge(&[])
        .exits_with(0)
        .prints("3 submissions: 3 as expected");
    // In a submission from outside the package, constants are replaced only in the included files.
    let outside = package.directory.path().join("outside.sh");
    fs::write(
        &outside,
        ". ./lib.sh\nread n\n[ {{factor}} = '{{''factor''}}' ] && double $n\n",
    )
    .unwrap();
    package.judge(&[outside.to_str().unwrap()]).exits_with(0);
}

#[test]
fn custom_validator_decides_verdict_and_comment() {
    let package = Package::new("validation: custom\nvalidator_flags: quite so\n");
    package
        .file(
            "output_validators/check.sh",
            &VALIDATOR
                .replace("$0.x 2>/dev/null", "$FEEDBACK/judgemessage.txt")
                .replace("read a; shift 3", "read a; FEEDBACK=$3; shift 3"),
        )
        .submission("accepted/double.sh", DOUBLE)
        .submission("wrong_answer/two.sh", "echo 2\n");
    let judged = package.judge(&[]);
    judged.exits_with(0);
    assert_eq!(
        judged.submission("double.sh")["tests"][1]["comment"],
        "quite so for 42"
    );
    assert!(
        judged.submission("double.sh")["tests"][1]["checker"]["real_time_ns"]
            .as_u64()
            .unwrap()
            > 0
    );

    // A crash of the validator does not count against the submission.
    package.submission("wrong_answer/crasher.sh", "echo crash\n");
    let judged = package.judge(&[]);
    judged
        .exits_with(2)
        .prints("judge error: test sample/1: checker: exited with 1, not with 42");
    assert_eq!(
        (judged.verdict("crasher.sh"), judged.verdict("double.sh")),
        ("judge_error", "accepted")
    );

    package.file("output_validators/check.sh", "if\n");
    let judged = package.judge(&[]);
    judged
        .exits_with(2)
        .prints("output_validators/check.sh: error: the checker cannot be compiled")
        .prints("syntax error");
    assert_eq!(judged.stdout, "");
}

#[test]
fn interactor_decides_verdict() {
    let package = Package::new("validation: custom interactive\n");
    package
        .file(
            "output_validators/talk.sh",
            "read n < $1\necho $n\nread a || exit 43\n[ \"$a\" = $((n * 2)) ] && exit 42\nexit \
             43\n",
        )
        .submission("accepted/double.sh", DOUBLE)
        .submission("wrong_answer/two.sh", "read n\necho 2\n")
        .submission("run_time_error/exits.sh", "read n\nexit 1\n")
        .submission("time_limit_exceeded/waits.sh", "read n\nread more\n");
    for more in [&[][..], &["--relay"]] {
        package.judge(more).exits_with(0);
    }
}

#[test]
fn interactor_that_fills_feedback_directory_is_killed() {
    let package = Package::newer("type: interactive\n");
    package.file(
        "problem.yaml",
        "problem_format_version: 2023-07\nname: Double\nuuid: 1\ntype: interactive\n\
         limits: {time_limit: 10, validation_output: 1}\n",
    );
    let fills = "cd \"$3\"; i=0; while :; do head -c 100000 /dev/zero >$i; i=$((i+1)); done\n";
    package
        .file("output_validator/talk.sh", fills)
        .submission("accepted/waits.sh", "read n\n");
    for more in [&[][..], &["--relay"]] {
        let judged = package.judge(more);
        judged
            .exits_with(2)
            .prints("interactor: left more than 1048576 bytes in its feedback directory");
    }
}

#[test]
fn interactive_submission_receives_files_of_test() {
    let package = Package::newer("type: interactive\n");
    package
        .file(
            "output_validator/talk.sh",
            "read n < $1\necho $n\nread a\n[ \"$a\" = said ] && exit 42\nexit 43\n",
        )
        .file("data/sample/1.files/word.txt", "said\n")
        .file("data/secret/1.files/word.txt", "said\n")
        .submission("accepted/prints.sh", "read n\ncat word.txt\n");
    for more in [&[][..], &["--relay"]] {
        package.judge(more).exits_with(0);
    }
}

#[test]
fn package_readable_only_by_root_is_judged() {
    if !is_root() {
        return skip("only root can read files that the sandbox's user cannot");
    }
    let package = Package::new("validation: custom\n");
    package
        .file("output_validators/check.sh", VALIDATOR)
        .submission("accepted/double.sh", DOUBLE)
        .submission("wrong_answer/two.sh", "echo 2\n");
    for (path, mode) in [
        ("", 0o700),
        ("data", 0o700),
        ("data/secret/1.in", 0o600),
        ("data/secret/1.ans", 0o600),
    ] {
        fs::set_permissions(package.path().join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    package.judge(&[]).exits_with(0);
}

#[test]
fn checker_sees_targets_of_links_within_package() {
    let package = Package::newer("");
    let validator = "read n <$1; read a; [ \"$a\" = $((n * 2)) ] || exit 43\n[ -e \
                     /judge/data/secret/b/1.in ] && [ ! -e /judge/data/problem.yaml ] && exit 42\n";
    package
        .file("output_validator/check.sh", validator)
        .file("attachments/big.in", "500\n")
        .file("attachments/more/factor.txt", "2\n")
        .file("data/secret/2.ans", "1000\n")
        .file("data/secret/2.files/one.txt", "1\n")
        .submission(
            "accepted/double.sh",
            "read n; [ ! -e one.txt ] || read f <more/factor.txt; echo $((n * ${f-2}))\n",
        )
        .submission("wrong_answer/two.sh", "echo 2\n");
    let link = |target: &str, path: &str| {
        std::os::unix::fs::symlink(target, package.path().join(path)).unwrap()
    };
    link("../../attachments/big.in", "data/secret/2.in");
    link("../sample", "data/secret/b");
    link("../../../attachments/more", "data/secret/2.files/more");
    let judged = package.judge(&[]);
    judged.exits_with(0);
    assert_eq!(judged.tests("double.sh"), ["accepted"; 4]);
    let name = |test: usize| {
        judged.submission("double.sh")["tests"][test]["name"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!([name(2), name(3)], ["secret/2", "secret/b/1"]);

    // A file that belongs to no test may not be a link out of the package either.
    link("../../../tmp", "data/secret/.elsewhere");
    package
        .judge(&[])
        .exits_with(2)
        .prints("data/secret/.elsewhere leads to ");
}
