//! Packages of other systems. Each has the layout that the tools of its system write. The modules
//! in `src/foreign` name the sources.

use millibox_package::FaultKind;
use millibox_package::fault::icpc::SubmissionFault;
use millibox_package::foreign::{self, Conversion, ForeignError, Format, Loss};
use millibox_package::model::{Checker, Problem, ScoreMode};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A package of another system, and the place of the new one.
struct Foreign {
    directory: TempDir,
    name: &'static str,
}

impl Foreign {
    fn new(name: &'static str, files: &[(&str, &str)]) -> Foreign {
        let foreign = Foreign {
            directory: tempfile::tempdir().unwrap(),
            name,
        };
        for (path, text) in files {
            foreign.file(path, text);
        }
        foreign
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join(self.name)
    }

    fn file(&self, path: &str, text: &str) -> &Foreign {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn remove(&self, path: &str) -> &Foreign {
        fs::remove_file(self.root().join(path)).unwrap();
        self
    }

    fn new_package(&self) -> PathBuf {
        self.directory.path().join("new")
    }

    fn try_convert(&self) -> Result<Option<Conversion>, ForeignError> {
        let _ = fs::remove_dir_all(self.new_package());
        fs::create_dir(self.new_package()).unwrap();
        foreign::convert(&self.root(), &self.new_package())
    }

    /// Converts the package and reads the new one, which must have no fault and no warning.
    fn convert(&self) -> (Conversion, Problem) {
        let conversion = self.try_convert().unwrap().expect("a format");
        let problem = match millibox_package::read(&self.new_package()) {
            Ok(problem) => problem,
            Err(faults) => panic!("{faults}"),
        };
        // Exports of Hydro have no submissions.
        let is_expected = |kind: &FaultKind| {
            let expected = SubmissionFault::NoneAccepted.into();
            problem.submissions.is_empty() && *kind == expected
        };
        let warnings = problem.warnings.iter();
        let others: Vec<_> = warnings.filter(|it| !is_expected(&it.kind)).collect();
        assert!(others.is_empty(), "{others:?}");
        assert_eq!(conversion.tests, problem.tests().count());
        (conversion, problem)
    }

    fn error(&self) -> ForeignError {
        self.try_convert().expect_err("an error")
    }

    fn new_file(&self, path: &str) -> String {
        fs::read_to_string(self.new_package().join(path)).unwrap()
    }
}

/// The points and rules of the groups in `secret`.
fn groups(problem: &Problem) -> Vec<(String, Option<f64>, ScoreMode, usize)> {
    let secret = problem.group("secret").unwrap();
    let groups = secret.groups.iter().map(|group| {
        let name = group.name.trim_start_matches("secret/").to_owned();
        (
            name,
            group.rules.points,
            group.rules.score,
            group.tests.len(),
        )
    });
    groups.collect()
}

fn samples(problem: &Problem) -> usize {
    problem.group("sample").map_or(0, |group| group.tests.len())
}

fn submissions(problem: &Problem) -> Vec<&str> {
    let names = problem.submissions.iter().map(|one| one.name.as_str());
    names.collect()
}

fn file(name: &str) -> Loss {
    Loss::File(name.to_owned())
}

fn setting(file: &str, key: &str) -> Loss {
    let (file, key) = (file.to_owned(), key.to_owned());
    Loss::Setting { file, key }
}

/// The layout of the packages in `oioioi/sinolpack/files` of sio2project/oioioi.
fn sinolpack() -> Foreign {
    Foreign::new(
        "abc",
        &[
            (
                "config.yml",
                "title: Suma \"dwóch\"\ntitle_en: Sum\nsinol_task_id: abc\ntime_limit: 1000\n\
                 memory_limit: 65536\nscores:\n  1: 40\n  2: 60\n",
            ),
            ("in/abc0.in", "1 1\n"),
            ("in/abc1ocen.in", "2 2\n"),
            ("in/abc1a.in", "1 2\n"),
            ("in/abc1b.in", "3 4\n"),
            ("in/abc2.in", "5 6\n"),
            ("out/abc0.out", "2\n"),
            ("out/abc1ocen.out", "4\n"),
            ("out/abc1a.out", "3\n"),
            ("out/abc1b.out", "7\n"),
            ("out/abc2.out", "11\n"),
            ("prog/abc.cpp", "int main() {}\n"),
            ("prog/abc1.py", "print()\n"),
            ("prog/abcs1.cpp", "int main() {}\n"),
            ("prog/abcb2.cpp", "int main() {}\n"),
            ("prog/abcingen.cpp", "int main() {}\n"),
            ("prog/abcinwer.cpp", "int main() {}\n"),
            ("doc/abczad.pdf", "%PDF-1.4\n"),
            ("doc/abczad-en.pdf", "%PDF-1.4\n"),
            ("doc/abczad.tex", "\\documentclass{sinol}\n"),
        ],
    )
}

#[test]
fn sinolpack_becomes_groups_with_points() {
    let foreign = sinolpack();
    let (conversion, problem) = foreign.convert();
    assert_eq!(conversion.format, Format::Sinolpack);
    assert_eq!(problem.name, "Suma \"dwóch\"");
    assert_eq!(problem.limits.cpu_time, Some(Duration::from_secs(1)));
    let expected = [
        ("1-1".to_owned(), Some(40.0), ScoreMode::Minimum, 2),
        ("2-2".to_owned(), Some(60.0), ScoreMode::Minimum, 1),
    ];
    assert_eq!(groups(&problem), expected);
    assert_eq!(samples(&problem), 2);
    let expected = [
        "accepted/abc.cpp",
        "accepted/abc1.py",
        "rejected/abcb2.cpp",
        "rejected/abcs1.cpp",
    ];
    assert_eq!(submissions(&problem), expected);
    for statement in ["statement/problem.pl.pdf", "statement/problem.en.pdf"] {
        assert!(
            foreign.new_package().join(statement).is_file(),
            "{statement}"
        );
    }
    let expected = [
        file("prog/abcingen.cpp"),
        file("prog/abcinwer.cpp"),
        setting("config.yml", "title_en"),
        Loss::Statement("doc/abczad.tex".to_owned()),
    ];
    assert_eq!(conversion.losses, expected);
}

#[test]
fn sinolpack_without_scores_divides_the_points_as_oioioi_does() {
    let foreign = sinolpack();
    foreign.file("config.yml", "time_limits:\n  2: 3000\n1: x\n");
    foreign.file("in/abc3.in", "").file("out/abc3.out", "");
    let (conversion, problem) = foreign.convert();
    let points: Vec<_> = groups(&problem).into_iter().map(|group| group.1).collect();
    assert_eq!(points, [Some(33.0), Some(33.0), Some(34.0)]);
    let (least, most) = (3000, 10_000);
    assert!(
        conversion
            .losses
            .contains(&Loss::TimeLimits { least, most })
    );
    assert_eq!(problem.limits.cpu_time, Some(Duration::from_secs(10)));

    // A test whose answer the model solution would create.
    foreign.remove("out/abc1b.out");
    let (conversion, _) = foreign.convert();
    let lost = Loss::NoAnswer("in/abc1b.in".to_owned());
    assert!(conversion.losses.contains(&lost), "{conversion:?}");
}

#[test]
fn sinolpack_keeps_a_checker_in_c_and_rejects_others() {
    let foreign = sinolpack();
    foreign.file("prog/abcchk.cpp", "int main() {}\n");
    let (_, problem) = foreign.convert();
    assert!(matches!(problem.checker, Checker::Custom { .. }));
    assert!(
        foreign
            .new_file("output_validator/adapter.cpp")
            .contains("#define SIO 1")
    );
    foreign.remove("prog/abcchk.cpp").file("prog/abcchk.py", "");
    let expected = ForeignError::Checker("prog/abcchk.py".to_owned());
    assert_eq!(foreign.error(), expected);
    foreign.remove("prog/abcchk.py").file("prog/abcsoc.cpp", "");
    assert!(matches!(foreign.error(), ForeignError::Kind(_)));
}

/// The layout of a full package of Polygon.
fn polygon(tests: &str, groups: &str) -> Foreign {
    let xml = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"no\"?>
        <problem revision=\"3\" short-name=\"sum\" url=\"https://polygon.codeforces.com/x\">
          <names>
            <name language=\"russian\" value=\"Сумма\"/>
            <name language=\"english\" value=\"A &amp; B\"/>
          </names>
          <statements>
            <statement charset=\"UTF-8\" language=\"english\" mathjax=\"true\"
              path=\"statements/english/problem.tex\" type=\"application/x-tex\"/>
            <statement language=\"english\" path=\"statements/.pdf/english/problem.pdf\"
              type=\"application/pdf\"/>
            <statement charset=\"UTF-8\" language=\"russian\"
              path=\"statements/russian/problem.tex\" type=\"application/x-tex\"/>
          </statements>
          <judging cpu-name=\"x\" cpu-speed=\"1\" input-file=\"\" output-file=\"\">
            <testset name=\"tests\">
              <time-limit>1500</time-limit>
              <memory-limit>268435456</memory-limit>
              <test-count>4</test-count>
              <input-path-pattern>tests/%02d</input-path-pattern>
              <answer-path-pattern>tests/%02d.a</answer-path-pattern>
              <tests>{tests}</tests>
              {groups}
            </testset>
          </judging>
          <assets>
            <checker name=\"std::ncmp.cpp\" type=\"testlib\">
              <source path=\"files/check.cpp\" type=\"cpp.g++17\"/>
            </checker>
            <validators><validator><source path=\"files/val.cpp\" type=\"cpp.g++17\"/></validator>
            </validators>
            <solutions>
              <solution tag=\"wrong-answer\"><source path=\"solutions/wa.cpp\"/></solution>
              <solution tag=\"main\"><source path=\"solutions/ok.cpp\"/></solution>
              <solution tag=\"time-limit-exceeded-or-accepted\">
                <source path=\"solutions/slow.cpp\"/></solution>
            </solutions>
          </assets>
        </problem>"
    );
    let foreign = Foreign::new(
        "sum-3",
        &[
            ("files/check.cpp", "#include \"testlib.h\"\nint main() {}\n"),
            ("files/testlib.h", "// The real one is testlib.\n"),
            ("solutions/ok.cpp", "int main() {}\n"),
            ("solutions/wa.cpp", "int main() {}\n"),
            ("solutions/slow.cpp", "int main() {}\n"),
            ("statements/.pdf/english/problem.pdf", "%PDF-1.4\n"),
            ("statements/english/problem.tex", ""),
            ("statements/russian/problem.tex", ""),
        ],
    );
    foreign.file("problem.xml", &xml);
    for number in 1..=4 {
        foreign.file(&format!("tests/0{number}"), "1 2\n");
        foreign.file(&format!("tests/0{number}.a"), "3\n");
    }
    foreign
}

const PLAIN: &str = "<test method=\"manual\" sample=\"true\"/><test cmd=\"gen 1\" \
    method=\"generated\"/><test cmd=\"gen 2\" method=\"generated\"/><test method=\"manual\"/>";

#[test]
fn polygon_without_points_becomes_a_pass_fail_problem() {
    let foreign = polygon(PLAIN, "");
    let (conversion, problem) = foreign.convert();
    assert_eq!(conversion.format, Format::Polygon);
    assert_eq!(problem.name, "A & B");
    assert_eq!(problem.limits.cpu_time, Some(Duration::from_millis(1500)));
    assert_eq!(samples(&problem), 1);
    assert_eq!(problem.group("secret").unwrap().tests.len(), 3);
    assert_eq!(
        submissions(&problem),
        ["accepted/ok.cpp", "wrong_answer/wa.cpp"]
    );
    assert!(
        foreign
            .new_file("output_validator/testlib.h")
            .contains("testlib")
    );
    let adapter = foreign.new_file("output_validator/adapter.cpp");
    assert!(adapter.starts_with("#define TESTLIB 1\n#define SCORING 0\n"));
    let expected = [
        file("validators"),
        Loss::Statement("statements/russian/problem.tex".to_owned()),
        Loss::Verdict("solutions/slow.cpp".to_owned()),
    ];
    assert_eq!(conversion.losses, expected);
}

#[test]
fn polygon_groups_keep_points_and_dependencies() {
    let tests = "<test group=\"0\" points=\"0\" sample=\"true\"/>\
        <test group=\"1\" points=\"30.0\"/><test group=\"2\" points=\"35.0\"/>\
        <test group=\"2\" points=\"35.0\"/>";
    let groups_of = |policy: &str| {
        format!(
            "<groups><group name=\"0\" points=\"0\" points-policy=\"complete-group\"/>
            <group name=\"1\" points=\"30\" points-policy=\"{policy}\">
              <dependencies><dependency group=\"0\"/></dependencies></group>
            <group name=\"2\" points=\"70\" points-policy=\"each-test\">
              <dependencies><dependency group=\"1\"/></dependencies></group></groups>"
        )
    };
    let foreign = polygon(tests, &groups_of("complete-group"));
    let (conversion, problem) = foreign.convert();
    let expected = [
        ("1-1".to_owned(), Some(30.0), ScoreMode::PassFail, 1),
        ("2-2".to_owned(), Some(70.0), ScoreMode::Sum, 2),
    ];
    assert_eq!(groups(&problem), expected);
    let secret = problem.group("secret").unwrap();
    assert_eq!(secret.groups[1].rules.require_pass, ["secret/1-1"]);
    assert_eq!(samples(&problem), 1);
    let lost = |one: &Loss| matches!(one, Loss::Dependency { .. });
    assert!(!conversion.losses.iter().any(lost), "{conversion:?}");

    // The format cannot require a group that gives points for each test.
    let foreign = polygon(tests, &groups_of("each-test"));
    let (conversion, problem) = foreign.convert();
    assert!(conversion.losses.iter().any(lost), "{conversion:?}");
    let secret = problem.group("secret").unwrap();
    assert!(secret.groups[1].rules.require_pass.is_empty());
}

#[test]
fn polygon_without_groups_keeps_the_points_of_each_test() {
    let tests = "<test points=\"10\"/><test points=\"20\"/><test points=\"30\"/>\
        <test points=\"40\"/>";
    let (_, problem) = polygon(tests, "").convert();
    let found: Vec<_> = groups(&problem)
        .into_iter()
        .map(|it| (it.1, it.3))
        .collect();
    let expected = [10.0, 20.0, 30.0, 40.0].map(|points| (Some(points), 1));
    assert_eq!(found, expected);
}

#[test]
fn polygon_packages_that_cannot_be_judged_are_rejected() {
    let foreign = polygon(PLAIN, "");
    foreign.remove("files/testlib.h");
    let checker = "files/check.cpp".to_owned();
    assert_eq!(foreign.error(), ForeignError::NoTestlib { checker });
    // The standard package has to generate its tests.
    let foreign = polygon(PLAIN, "");
    foreign.remove("tests/01");
    assert_eq!(foreign.error(), ForeignError::NoTests("tests".to_owned()));
    let xml = fs::read_to_string(foreign.root().join("problem.xml")).unwrap();
    foreign.file(
        "problem.xml",
        &xml.replace("input-file=\"\"", "input-file=\"in\""),
    );
    assert!(matches!(foreign.error(), ForeignError::Kind(_)));
    foreign.file(
        "problem.xml",
        &xml.replace("<assets>", "<assets><interactor/>"),
    );
    assert!(matches!(foreign.error(), ForeignError::Kind(_)));
    foreign.file("problem.xml", "<problem><judging></problem>");
    assert!(matches!(foreign.error(), ForeignError::Malformed { .. }));
    foreign.file("problem.xml", &"<a>".repeat(1000));
    assert!(matches!(foreign.error(), ForeignError::Malformed { .. }));
}

/// The layout that `cmscontrib/loaders/italy_yaml.py` of cms-dev/cms reads.
fn cms() -> Foreign {
    let foreign = Foreign::new(
        "somma",
        &[
            (
                "task.yaml",
                "name: somma\ntitle: Somma\ntime_limit: 0.5\nmemory_limit: 128\ninfile: ''\n\
                 outfile: ''\nn_input: 5\nprimary_language: en\ntoken_mode: disabled\n",
            ),
            (
                "gen/GEN",
                "# ST: 0\n# COPY: att/sum.input0.txt\n\n# ST: 40\n1 2\n3 4 # small\n\
                 #ST:60\n5 6\n7 8\n",
            ),
            ("gen/generatore.py", ""),
            ("statement/statement.pdf", "%PDF-1.4\n"),
            ("sol/solution.cpp", "int main() {}\n"),
            ("sol/brute.py", "print()\n"),
            ("att/sum.input0.txt", "1 1\n"),
        ],
    );
    for number in 0..5 {
        foreign.file(&format!("input/input{number}.txt"), "1 2\n");
        foreign.file(&format!("output/output{number}.txt"), "3\n");
    }
    foreign
}

#[test]
fn cms_task_becomes_subtasks() {
    let foreign = cms();
    let (conversion, problem) = foreign.convert();
    assert_eq!(conversion.format, Format::ItalianYaml);
    assert_eq!(problem.name, "Somma");
    assert_eq!(problem.limits.cpu_time, Some(Duration::from_millis(500)));
    assert_eq!(samples(&problem), 1);
    let found: Vec<_> = groups(&problem)
        .into_iter()
        .map(|it| (it.1, it.2, it.3))
        .collect();
    let minimum = ScoreMode::Minimum;
    assert_eq!(found, [(Some(40.0), minimum, 2), (Some(60.0), minimum, 2)]);
    assert_eq!(submissions(&problem), ["accepted/solution.cpp"]);
    let expected = [
        file("att/sum.input0.txt"),
        setting("task.yaml", "token_mode"),
        Loss::Verdict("sol/brute.py".to_owned()),
    ];
    assert_eq!(conversion.losses, expected);
}

#[test]
fn cms_task_without_subtasks_divides_the_points() {
    let foreign = cms();
    foreign.remove("gen/GEN");
    let (_, problem) = foreign.convert();
    let found: Vec<_> = groups(&problem)
        .into_iter()
        .map(|it| (it.1, it.2, it.3))
        .collect();
    assert_eq!(found, [(Some(100.0), ScoreMode::Sum, 5)]);
}

#[test]
fn cms_tasks_that_cannot_be_judged_are_rejected() {
    let foreign = cms();
    foreign.file("check/checker", "an executable");
    assert_eq!(
        foreign.error(),
        ForeignError::Checker("check/checker".to_owned())
    );
    foreign.file("check/checker.cpp", "int main() {}\n");
    foreign.convert();
    assert!(
        foreign
            .new_file("output_validator/adapter.cpp")
            .contains("#define CMS 1")
    );
    foreign.file("gen/GEN", "# ST: 100\n1\n");
    assert!(matches!(foreign.error(), ForeignError::Malformed { .. }));
    let rest = "2\n3\n4\n5\n6\n";
    foreign.file("gen/GEN", &format!("# ST: 100\n1\n{rest}"));
    assert!(matches!(foreign.error(), ForeignError::Missing(_)));
    foreign.remove("gen/GEN").file("sol/grader.cpp", "");
    assert!(matches!(foreign.error(), ForeignError::Kind(_)));
    foreign
        .remove("sol/grader.cpp")
        .file("check/manager.cpp", "");
    assert!(matches!(foreign.error(), ForeignError::Kind(_)));
}

/// The layout of Hydro's exports.
fn hydro(config: &str) -> Foreign {
    let foreign = Foreign::new(
        "P1000",
        &[
            (
                "problem.yaml",
                "pid: P1000\nowner: 2\ntitle: A + B\ntag:\n  - simple\nnSubmit: 3\nnAccept: 1\n",
            ),
            ("problem.md", "# A + B\n"),
            ("problem_zh_TW.md", "# A + B\n"),
            ("additional_file/std.cpp", "int main() {}\n"),
        ],
    );
    if !config.is_empty() {
        foreign.file("testdata/config.yaml", config);
    }
    for name in ["sum1", "sum2", "sum3", "sum10"] {
        foreign.file(&format!("testdata/{name}.in"), "1 2\n");
        foreign.file(&format!("testdata/{name}.out"), "3\n");
    }
    foreign
}

#[test]
fn hydro_problem_without_configuration_follows_the_names_of_files() {
    let foreign = hydro("");
    let (conversion, problem) = foreign.convert();
    assert_eq!(conversion.format, Format::Hydro);
    assert_eq!(problem.name, "A + B");
    assert_eq!(problem.limits.cpu_time, Some(Duration::from_secs(1)));
    assert_eq!(
        groups(&problem),
        [("1-1".to_owned(), Some(100.0), ScoreMode::Sum, 4)]
    );
    let names: Vec<&str> = problem.tests().map(|test| test.name.as_str()).collect();
    assert!(names[3].ends_with("4-sum10"), "{names:?}");
    for statement in ["statement/problem.en.md", "statement/problem.zh.md"] {
        assert!(
            foreign.new_package().join(statement).is_file(),
            "{statement}"
        );
    }
    let checker = Loss::Comparison("the checker default of Hydro".to_owned());
    assert_eq!(
        conversion.losses,
        [file("additional_file/std.cpp"), checker]
    );
    for name in ["x1-1", "x1-2", "x2-1"] {
        foreign.file(&format!("testdata/{name}.in"), "1 2\n");
        foreign.file(&format!("testdata/{name}.ans"), "3\n");
    }
    let (_, problem) = foreign.convert();
    let found: Vec<_> = groups(&problem).into_iter().map(|it| it.3).collect();
    assert_eq!(found, [6, 1]);
}

#[test]
fn hydro_subtasks_keep_points_limits_and_conditions() {
    let foreign = hydro(
        "type: default\ntime: 500ms\nmemory: 64m\nchecker_type: testlib\nchecker: rcmp6\n\
         subtasks:\n  - id: 1\n    score: 30\n    type: min\n    cases:\n\
         \x20     - {input: sum1.in, output: sum1.out}\n\
         \x20 - id: 2\n    type: min\n    if: [1]\n    time: 2s\n    cases:\n\
         \x20     - {input: sum2.in, output: sum2.out}\n\
         \x20     - {input: sum3.in, output: sum3.out}\n\
         \x20 - id: 3\n    type: sum\n    score: 20\n    cases:\n\
         \x20     - {input: sum10.in, output: sum10.out}\nlangs: [cc]\n",
    );
    let (conversion, problem) = foreign.convert();
    let expected = [
        ("1-1".to_owned(), Some(30.0), ScoreMode::PassFail, 1),
        ("2-2".to_owned(), Some(50.0), ScoreMode::PassFail, 2),
        ("3-3".to_owned(), Some(20.0), ScoreMode::Sum, 1),
    ];
    assert_eq!(groups(&problem), expected);
    let secret = problem.group("secret").unwrap();
    assert_eq!(secret.groups[1].rules.require_pass, ["secret/1-1"]);
    assert_eq!(problem.limits.cpu_time, Some(Duration::from_secs(2)));
    let (least, most) = (500, 2000);
    for lost in [
        Loss::TimeLimits { least, most },
        setting("testdata/config.yaml", "langs"),
    ] {
        assert!(conversion.losses.contains(&lost), "{conversion:?}");
    }
    let flags = foreign.new_file("data/test_group.yaml");
    assert_eq!(flags, "output_validator_args: [float_tolerance, 1e-6]\n");
}

#[test]
fn hydro_problems_that_cannot_be_judged_are_rejected() {
    let other = "checker_type: syzoj\nchecker: c.cpp\n";
    for config in ["type: interactive\n", other, "filename: a\n"] {
        let error = hydro(config).error();
        assert!(matches!(error, ForeignError::Kind(_)), "{config}: {error}");
    }
    let error = hydro("time: soon\n").error();
    assert!(matches!(error, ForeignError::Malformed { .. }), "{error}");
    let error = hydro("cases:\n  - {input: ../../x, output: sum1.out}\n").error();
    assert!(matches!(error, ForeignError::Missing(_)), "{error}");
}

#[test]
fn files_outside_of_a_package_are_not_read() {
    let foreign = hydro("");
    fs::write(foreign.directory.path().join("secret.in"), "secret").unwrap();
    let inside = foreign.root().join("testdata/sum1.in");
    fs::remove_file(&inside).unwrap();
    std::os::unix::fs::symlink("../../secret.in", &inside).unwrap();
    let error = foreign.error();
    assert_eq!(error, ForeignError::Missing("testdata/sum1.in".to_owned()));
}

#[test]
fn own_formats_are_no_foreign_packages() {
    let icpc = Foreign::new(
        "a",
        &[("problem.yaml", "name: x\n"), ("data/secret/1.in", "")],
    );
    let files = [
        ("Simfile", "name: x\n"),
        ("in/a1.in", ""),
        ("out/a1.out", ""),
    ];
    let sim = Foreign::new("a", &files);
    for own in [icpc, sim, Foreign::new("a", &[("x", "")])] {
        assert_eq!(own.try_convert(), Ok(None));
    }
}

/// Packs a directory below the name of the package.
fn pack(foreign: &Foreign, prefix: &str) -> PathBuf {
    fn add(zip: &mut zip::ZipWriter<fs::File>, root: &Path, path: &Path, prefix: &str) {
        for entry in fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                add(zip, root, &path, prefix);
            } else {
                let name = path.strip_prefix(root).unwrap().display();
                let options = zip::write::SimpleFileOptions::default();
                zip.start_file(format!("{prefix}{name}"), options).unwrap();
                zip.write_all(&fs::read(&path).unwrap()).unwrap();
            }
        }
    }
    let archive = foreign
        .directory
        .path()
        .join(format!("{}.zip", foreign.name));
    let mut zip = zip::ZipWriter::new(fs::File::create(&archive).unwrap());
    add(&mut zip, &foreign.root(), &foreign.root(), prefix);
    zip.finish().unwrap();
    archive
}

#[test]
fn archives_are_recognized_with_and_without_a_directory() {
    let all = [sinolpack(), polygon(PLAIN, ""), cms(), hydro("")];
    for foreign in all {
        let (expected, _) = foreign.convert();
        for prefix in [String::new(), format!("{}/", foreign.name)] {
            let archive = pack(&foreign, &prefix);
            assert!(
                foreign::is_foreign(&archive).unwrap(),
                "{} {prefix}",
                foreign.name
            );
            fs::remove_dir_all(foreign.new_package()).unwrap();
            fs::create_dir(foreign.new_package()).unwrap();
            let found = foreign::convert(&archive, &foreign.new_package());
            assert_eq!(
                found,
                Ok(Some(expected.clone())),
                "{} {prefix}",
                foreign.name
            );
        }
    }
    let own = Foreign::new(
        "a",
        &[("problem.yaml", "name: x\n"), ("data/secret/1.in", "")],
    );
    let own = pack(&own, "");
    assert!(!foreign::is_foreign(&own).unwrap());
    fs::write(&own, "text").unwrap();
    assert!(!foreign::is_foreign(&own).unwrap());
    fs::remove_file(&own).unwrap();
    assert!(foreign::is_foreign(&own).is_err());
}

/// Compiles a checker with its adapter. Returns `None` without a compiler.
fn compile(foreign: &Foreign, compiler: &str) -> Option<PathBuf> {
    let directory = foreign.new_package().join("output_validator");
    let program = directory.join("program");
    let files = fs::read_dir(&directory)
        .unwrap()
        .map(|it| it.unwrap().path());
    let is_source = |path: &PathBuf| {
        let extension = path.extension().unwrap_or_default();
        extension == "c" || extension == "cpp"
    };
    let sources: Vec<PathBuf> = files.filter(is_source).collect();
    let compiled = Command::new(compiler)
        .args(sources)
        .arg("-o")
        .arg(&program)
        .output();
    let compiled = compiled.ok()?;
    assert!(compiled.status.success(), "{compiled:#?}");
    Some(program)
}

/// The exit status of a validator, and the part of the points that it gives.
fn validate(program: &Path, output: &str) -> (Option<i32>, Option<String>) {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("in"), "1\n").unwrap();
    fs::write(path("ans"), "5\n").unwrap();
    fs::create_dir(path("feedback")).unwrap();
    let mut child = Command::new(program)
        .args([path("in"), path("ans"), path("feedback")])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(output.as_bytes())
        .unwrap();
    let status = child.wait().unwrap().code();
    let part = fs::read_to_string(path("feedback/score_multiplier.txt"));
    (status, part.ok().map(|text| text.trim().to_owned()))
}

/// Each checker accepts 5, gives half of the points to 6, rejects other numbers, and fails on 99.
#[test]
fn adapter_translates_the_results_of_checkers() {
    const READ: &str = "#include <stdio.h>\nint main(int argc, char **argv) {\n\
        int output = 0, answer = 0; FILE *o = fopen(argv[OUTPUT], \"r\");\n\
        FILE *h = fopen(argv[ANSWER], \"r\");\n\
        if (argc != 4 || !o || !h || fscanf(o, \"%d\", &output) != 1) return 1;\n\
        if (fscanf(h, \"%d\", &answer) != 1 || output == 99) return 3;\n";
    let sio = sinolpack();
    let result = "puts(output == answer || output == answer + 1 ? \"OK\" : \"WRONG\");\n\
        puts(\"comment\"); puts(output == answer + 1 ? \"50\" : \"100\"); return 0; }\n";
    let head = "#define OUTPUT 2\n#define ANSWER 3\n";
    sio.file("prog/abcchk.c", &format!("{head}{READ}{result}"));
    let other = cms();
    let result = "printf(\"%f\\n\", output == answer ? 1.0 : output == answer + 1 ? 0.5 : 0.0);\n\
        return 0; }\n";
    let swapped = "#define OUTPUT 3\n#define ANSWER 2\n";
    other.file("check/checker.cpp", &format!("{swapped}{READ}{result}"));
    let testlib = hydro("checker_type: testlib\nchecker: check.cpp\n");
    let result = "if (output == answer + 1) { fputs(\"points 0.5\\n\", stderr); return 7; }\n\
        return output == answer ? 0 : 1; }\n";
    testlib.file("testdata/check.cpp", &format!("{head}{READ}{result}"));
    for (foreign, compiler) in [(sio, "cc"), (other, "c++"), (testlib, "c++")] {
        foreign.convert();
        let Some(program) = compile(&foreign, compiler) else {
            eprintln!("SKIPPED: {compiler} is not installed");
            continue;
        };
        let name = foreign.name;
        assert_eq!(validate(&program, "5\n"), (Some(42), None), "{name}");
        let half = Some("0.500000000".to_owned());
        assert_eq!(validate(&program, "6\n"), (Some(42), half), "{name}");
        assert_eq!(validate(&program, "7\n"), (Some(43), None), "{name}");
        // A judge error.
        assert_eq!(validate(&program, "99\n"), (Some(1), None), "{name}");
    }
}
