//! Copies of test data that StagedDirectory makes for checkers.

use crate::setting::{Data, limits, script, subject, supervisor};
use millibox_judge::batch::Worker;
use millibox_judge::checker::CheckerInstance;
use millibox_judge::checker::custom::OutputValidator;
use millibox_judge::verdict::Verdict;
use millibox_languages::staging::StagedDirectory;
use millibox_package::model::{self, Convention};
use millibox_tests::{is_root, set_mode, skip};
use std::sync::Arc;

#[test]
fn data_readable_only_by_root_is_staged_for_checker() {
    if !is_root() {
        return skip("only root can read files that the sandbox's user cannot");
    }
    let supervisor = supervisor();
    let text = r#"test "$(cat "$1")$(cat "$2")" = "6 742" && exit 42"#;
    let data = Data::new("6 7\n", "42\n");
    set_mode(data.path(), 0o700);
    set_mode(&data.answer, 0o600);
    let custom = OutputValidator::new(
        &supervisor,
        script(text),
        Convention::Icpc,
        data.path(),
        &model::Limits::default(),
    )
    .unwrap();
    assert_ne!(custom.data.path(), data.path().canonicalize().unwrap());
    let staged = custom.data.path().to_owned();
    let checker = CheckerInstance::Custom(Arc::new(custom));
    let mut worker = Worker::new(&supervisor);
    let result = data.judge(&mut worker, &subject(), &["echo"], &limits(), &checker, &[]);
    assert_eq!((result.verdict, &result.reason), (Verdict::Accepted, &None));
    // The judge does not change the mode of the original file.
    let mode = std::os::unix::fs::MetadataExt::mode(&data.answer.metadata().unwrap());
    assert_eq!(mode & 0o777, 0o600);
    drop((checker, worker));
    assert!(!staged.exists());
}

#[test]
fn files_outside_test_data_are_staged_for_one_test() {
    let supervisor = supervisor();
    let text = r#"test "$(cat "$1") $(cat "$2") $(cat)" = "input answer input" && exit 42"#;
    let (package, elsewhere) = (Data::new("", ""), Data::new("input", "answer"));
    let custom = OutputValidator::new(
        &supervisor,
        script(text),
        Convention::Icpc,
        package.path(),
        &model::Limits::default(),
    )
    .unwrap();
    let checker = CheckerInstance::Custom(Arc::new(custom));
    let mut worker = Worker::new(&supervisor);
    if is_root() {
        set_mode(elsewhere.path(), 0o700);
    }
    for _ in 0..2 {
        let result = elsewhere.judge(&mut worker, &subject(), &["echo"], &limits(), &checker, &[]);
        assert_eq!((result.verdict, &result.reason), (Verdict::Accepted, &None));
    }
}

#[test]
fn links_out_of_test_data_are_rejected() {
    let ids = supervisor().info().ids();
    let data = Data::new("6 7\n", "42\n");
    let link = data.path().join("2.ans");
    std::os::unix::fs::symlink("1.ans", &link).unwrap();
    let staged = StagedDirectory::new(data.path(), ids).unwrap();
    assert_eq!(std::fs::read(staged.path().join("2.ans")).unwrap(), b"42\n");
    assert_eq!(staged.relative(&data.input), Some("1.in".into()));
    assert_eq!(staged.relative(&data.path().join("../../etc/passwd")), None);
    assert_eq!(staged.relative("/etc/passwd".as_ref()), None);
    for target in ["/etc/passwd", ".", "absent"] {
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(target, &link).unwrap();
        let error = StagedDirectory::new(data.path(), ids)
            .expect_err(target)
            .to_string();
        assert!(error.contains("2.ans"), "{error}");
    }
}

#[test]
fn links_within_package_are_staged_as_files() {
    let ids = supervisor().info().ids();
    let package = millibox_tests::directory();
    let at = |name: &str| package.path().join(name);
    let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, at(name)).unwrap();
    for directory in ["data/one", "data/two", "more/deep", "outside"] {
        std::fs::create_dir_all(at("package").join(directory)).unwrap();
    }
    std::fs::rename(at("package/outside"), at("outside")).unwrap();
    std::fs::write(at("package/more/deep/file"), "more").unwrap();
    let staged = || StagedDirectory::within(&at("package"), &at("package/data"), ids);
    link("../../more", "package/data/one/more");
    link("more/deep/file", "package/data/one/file");
    let fine = staged().unwrap();
    for name in ["one/more/deep/file", "one/file"] {
        let path = fine.path().join(name);
        assert_eq!(
            (std::fs::read(&path).unwrap(), path.is_symlink()),
            (b"more".to_vec(), false)
        );
    }
    // Links out of the package are rejected, even through another link, and so are cycles.
    link("../outside", "package/elsewhere");
    link("../one", "package/data/two/one");
    for (target, why) in [
        ("../../../outside", "one/link leads to "),
        ("../../elsewhere", "one/link leads to "),
        ("../../elsewhere/..", "one/link leads to "),
        ("../..", "one/link leads to "),
        ("../two", "directories nested deeper than 32"),
    ] {
        link(target, "package/data/one/link");
        let error = staged().expect_err(target).to_string();
        assert!(error.contains(why), "{error}");
        std::fs::remove_file(at("package/data/one/link")).unwrap();
    }
}
