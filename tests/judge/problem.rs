//! `millibox problem`: a setter's way from nothing to an archive, and all that can go wrong on it.

use crate::setting::supervisor;
use millibox::Backend;
use millibox_tests::{directory, eventually, executable, is_root, share, skip};
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;
use tempfile::TempDir;

/// A place with packages and with compiled programs of its own.
struct Shop {
    place: TempDir,
}

impl Shop {
    fn new() -> Shop {
        let place = directory();
        // Who else could write there could put programs into the cache. Started by root, the
        // sandbox's user cannot even enter it, as it cannot enter root's home.
        share(place.path(), 0o700);
        std::fs::create_dir(place.path().join("cache")).unwrap();
        Shop { place }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// The command, with the arguments that a machine without cgroups wants.
    fn command(&self, arguments: &[&str]) -> Command {
        static RLIMIT: OnceLock<bool> = OnceLock::new();
        let rlimit = *RLIMIT.get_or_init(|| supervisor().info().backend() == Backend::Rlimit);
        let mut command = Command::new(executable("millibox"));
        command
            .args(arguments)
            .current_dir(self.place.path())
            .env("XDG_CACHE_HOME", self.path("cache"));
        command
            .env("MILLIBOX_SUPERVISOR", executable("millibox-supervisor"))
            .stdin(Stdio::null());
        if rlimit && arguments.get(1) != Some(&"clean") {
            command.args(["--backend", "rlimit"]);
        }
        command
    }

    fn run(&self, arguments: &[&str]) -> Said {
        Said(self.command(arguments).output().expect("millibox"))
    }

    /// `millibox problem` with these arguments, which must succeed; its standard output.
    fn good(&self, arguments: &[&str]) -> String {
        let said = self.problem(arguments);
        assert_eq!(said.status(), 0, "{arguments:?}: {said:?}");
        said.stdout()
    }

    /// The same, and what it says as JSON.
    fn json(&self, arguments: &[&str]) -> Value {
        let text = self.good(&[arguments, &["--json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    fn problem(&self, arguments: &[&str]) -> Said {
        self.run(&[&["problem"], arguments].concat())
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn replace(&self, path: &str, old: &str, new: &str) {
        let text = self.read(path);
        assert!(text.contains(old), "{path} has no {old:?}: {text}");
        self.write(path, text.replace(old, new));
    }

    /// A new package.
    fn init(&self, name: &str, more: &[&str]) {
        self.good(&[&["init", name], more].concat());
    }

    /// All files of a package with their content; our own directory, too.
    fn files(&self, name: &str) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut waiting = vec![self.path(name)];
        while let Some(next) = waiting.pop() {
            for entry in std::fs::read_dir(next).unwrap() {
                let path = entry.unwrap().path();
                let below = path
                    .strip_prefix(self.path(name))
                    .unwrap()
                    .display()
                    .to_string();
                if path.is_dir() {
                    waiting.push(path);
                    files.insert(below + "/", Vec::new());
                } else {
                    files.insert(below, std::fs::read(path).unwrap());
                }
            }
        }
        files
    }

    /// The command fails with this status, says this, and every file of the package stays.
    fn fails(&self, package: &str, arguments: &[&str], status: i32, part: &str) {
        let before = self.files(package);
        let said = self.problem(arguments);
        assert_eq!(said.status(), status, "{arguments:?}: {said:?}");
        let all = said.stdout() + &said.stderr();
        assert!(
            all.contains(part),
            "{arguments:?} does not say {part:?}: {said:?}"
        );
        let after = self.files(package);
        let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&before), names(&after));
        assert!(before == after, "{arguments:?} changed a file");
    }
}

struct Said(Output);

impl Said {
    fn status(&self) -> i32 {
        self.0.status.code().unwrap_or(-1)
    }

    fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }
}

impl std::fmt::Debug for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n{}{}", self.0.status, self.stdout(), self.stderr())
    }
}

fn paths(list: &Value) -> Vec<&str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|made| made["path"].as_str().unwrap())
        .collect()
}

// --- a new package ---------------------------------------------------------------------

fn a_new_package_works(format: &str, interactive: bool) {
    let shop = Shop::new();
    let mut options = vec!["--format", format, "--name", "It's a \"test\": #1"];
    options.extend(interactive.then_some("--interactive"));
    shop.init("first", &options);

    // Nothing is wrong with it, and its wrong solution is caught.
    let report = shop.json(&["validate", "first"]);
    assert_eq!(report["faults"], serde_json::json!([]), "{report}");
    assert!(report["tests"].as_u64().unwrap() > 4, "{report}");
    let report = shop.json(&["test", "first"]);
    assert_eq!(report["remarks"], serde_json::json!([]), "{report}");
    let verdicts: Vec<&str> = report["submissions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|submission| submission["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["accepted", "wrong_answer"], "{report}");
    assert_eq!(report["submissions"][0]["as_expected"], true);
    let judged = shop.run(&["judge", "first"]);
    assert_eq!(judged.status(), 0, "{judged:?}");
    let name = "It's a \"test\": #1";
    assert_eq!(
        millibox_package::read(&shop.path("first")).unwrap().name,
        name
    );

    // All is there already; made anew and twice it comes out the same.
    let before = shop.files("first");
    let report = shop.json(&["gen", "first"]);
    assert_eq!(report["made"], serde_json::json!([]), "{report}");
    let current = report["current"].as_u64().unwrap();
    let report = shop.json(&["gen", "first", "--all", "--check"]);
    assert_eq!(
        (
            report["made"].as_array().unwrap().len() as u64,
            &report["current"]
        ),
        (current, &Value::from(0))
    );
    assert!(
        report["made"]
            .as_array()
            .unwrap()
            .iter()
            .all(|made| made["changed"] == false),
        "{report}"
    );
    assert!(before == shop.files("first"), "gen changed a file");

    // The archive is the same every time, can be read, and has nothing of ours.
    shop.good(&["zip", "first"]);
    let archive = std::fs::read(shop.path("first.zip")).unwrap();
    let touched = std::fs::File::options()
        .append(true)
        .open(shop.path("first/data/sample/1.in"));
    drop(touched.map(|file| file.set_modified(std::time::SystemTime::UNIX_EPOCH)));
    shop.write("first/notes~", "mine");
    shop.good(&["zip", "first", "-o", "again.zip"]);
    assert!(
        archive == std::fs::read(shop.path("again.zip")).unwrap(),
        "two archives of the same files differ"
    );
    let packed = millibox_package::read(&shop.path("again.zip")).unwrap();
    assert!(
        !packed.directory.join(".millibox").exists() && !packed.directory.join("notes~").exists()
    );
    assert_eq!(
        shop.json(&["validate", "again.zip"])["faults"],
        serde_json::json!([])
    );

    // What was made can be removed, and made again.
    std::fs::remove_file(shop.path("first/notes~")).unwrap();
    let listed = shop.json(&["clean", "first", "--dry-run"]);
    assert!(before == shop.files("first"), "a dry run changed a file");
    let removed = shop.json(&["clean", "first"]);
    assert_eq!(listed, removed);
    assert_eq!(removed["removed"].as_array().unwrap().len() as u64, current);
    assert!(!shop.path("first/.millibox").exists());
    shop.good(&["gen", "first"]);
    assert!(
        before == shop.files("first"),
        "a package that was cleaned and made again is another one"
    );
}

#[test]
fn a_new_icpc_package_works() {
    a_new_package_works("icpc", false);
}

#[test]
fn a_new_interactive_icpc_package_works() {
    a_new_package_works("icpc", true);
}

#[test]
fn a_new_legacy_package_works() {
    a_new_package_works("icpc-legacy", false);
}

#[test]
fn a_new_interactive_legacy_package_works() {
    a_new_package_works("icpc-legacy", true);
}

#[test]
fn a_new_sim_package_works() {
    a_new_package_works("sim", false);
}

#[test]
fn a_new_interactive_sim_package_works() {
    a_new_package_works("sim", true);
}

#[test]
fn a_package_with_a_grader_of_its_own() {
    let shop = Shop::new();
    for (file, text) in [
        ("problem.yaml", "name: P\ntype: scoring\n"),
        ("domjudge-problem.ini", "timelimit=9\n"),
        (
            "data/testdata.yaml",
            "on_reject: continue\ngrading: custom\n",
        ),
        ("data/secret/1.in", "1\n"),
        ("data/secret/1.ans", "2\n"),
        (
            "graders/g.sh",
            "while read verdict score; do echo AC $((score + 1)); done\n",
        ),
        ("input_validators/v.sh", "exit 42\n"),
        ("submissions/accepted/a.sh", "echo 2\n"),
        ("submissions/accepted/wrong_but_graded.sh", "echo 3\n"),
        (
            "submissions/time_limit_exceeded/t.sh",
            "while :; do :; done\n",
        ),
    ] {
        shop.write(&format!("p/{file}"), text);
    }
    let report = shop.json(&["limits", "p", "--write"]);
    assert_eq!(
        (&report["limit"], shop.read("p/domjudge-problem.ini")),
        (&1.0.into(), "timelimit='1'\n".to_owned())
    );
    shop.good(&["validate", "p"]);
    shop.good(&["zip", "p", "--output", "p.zip"]);
    // Where it stands twice, it is changed twice.
    shop.write(
        "p/problem.yaml",
        "name: P\ntype: scoring\nlimits: {time_limit: 9}\n",
    );
    shop.write("p/domjudge-problem.ini", "timelimit=9\n");
    let report = shop.json(&["limits", "p", "--write"]);
    assert_eq!(
        report["written"],
        serde_json::json!(["problem.yaml", "domjudge-problem.ini"])
    );
    // Its grader accepts whatever it is told of.
    let said = shop.problem(&["test", "p"]);
    assert_eq!(said.status(), 1, "{said:?}");
    assert!(
        said.stdout().contains("t.sh: no test catches it; add one"),
        "{said:?}"
    );
    shop.write(
        "p/graders/g.sh",
        "while read verdict score; do echo $verdict $((score + 1)); done\n",
    );
    shop.write("p/submissions/accepted/wrong_but_graded.sh", "echo 2\n");
    shop.good(&["test", "p"]);
    shop.write("p/graders/g.py", "");
    shop.fails(
        "p",
        &["validate", "p"],
        1,
        "there may be one grader, but there is also graders/g.sh",
    );
    std::fs::remove_file(shop.path("p/graders/g.py")).unwrap();
    std::fs::rename(shop.path("p/graders/g.sh"), shop.path("p/graders/g.c")).unwrap();
    shop.fails("p", &["validate", "p"], 1, "p/graders/g.c: error: ");
}

#[test]
fn a_package_begins_in_an_empty_place_only() {
    let shop = Shop::new();
    std::fs::create_dir(shop.path("empty")).unwrap();
    shop.init("empty", &["--no-gen", "--format", "sim"]);
    assert!(shop.path("empty/Simfile").is_file() && !shop.path("empty/in/1a.in").exists());
    shop.fails(
        "empty",
        &["init", "empty"],
        125,
        "the directory is not empty",
    );
    shop.write("file", "");
    let said = shop.problem(&["init", "file"]);
    assert_eq!(said.status(), 2, "{said:?}");
    assert_eq!(
        shop.problem(&["init", "new", "--name", "two\nlines"])
            .status(),
        125
    );
    // If its tests cannot be made, nothing is left.
    shop.write("suites/cpp.toml", "name = \"cpp\"\n");
    let said = shop.problem(&["init", "new", "--suites", "suites"]);
    assert_ne!(said.status(), 0);
    let names: Vec<_> = std::fs::read_dir(shop.place.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 4, "{names:?}");
}

// --- gen -------------------------------------------------------------------------------

/// A Sim package whose programs are scripts: nothing to compile.
fn scripts(shop: &Shop, gen_lines: &str) {
    shop.write(
        "p/Simfile",
        "name: Scripts\nlabel: scr\nmemory_limit: 64\nsolutions: [prog/model.sh]\n",
    );
    shop.write(
        "p/Sipfile",
        format!("default_time_limit: 5\nbase_seed: 7\nstatic: [0a]\ngen: [\n{gen_lines}\n]\n"),
    );
    shop.write("p/prog/model.sh", "read -r line\necho \"$line!\"\n");
    shop.write(
        "p/utils/gen.sh",
        "echo \"$1 $SIP_TEST_NAME $SIP_TEST_SEED\"\n",
    );
    shop.write("p/in/0a.in", "hand\n");
}

#[test]
fn only_what_changed_is_made() {
    let shop = Shop::new();
    scripts(&shop, "1a-b gen.sh x\n2a gen.sh y");
    let report = shop.json(&["gen", "p"]);
    assert_eq!(
        paths(&report["made"]),
        [
            "in/1a.in",
            "in/1b.in",
            "in/2a.in",
            "out/0a.out",
            "out/1a.out",
            "out/1b.out",
            "out/2a.out"
        ]
    );
    // The name's hash, with the seed of the Sipfile.
    let seed = (u64::from(b'a') * 257 + u64::from(b'1')) ^ 7;
    assert_eq!(shop.read("p/in/1a.in"), format!("x 1a {seed}\n"));
    assert_eq!(shop.read("p/out/1a.out"), format!("x 1a {seed}!\n"));
    assert_eq!(
        (&report["made"][0]["seed"], &report["made"][0]["by"]),
        (&seed.into(), &"utils/gen.sh x".into())
    );

    shop.replace("p/Sipfile", "2a gen.sh y", "2a gen.sh z");
    assert_eq!(
        paths(&shop.json(&["gen", "p"])["made"]),
        ["in/2a.in", "out/2a.out"]
    );
    // An input that comes out the same needs no new answer.
    shop.replace("p/utils/gen.sh", "echo", "echo  ");
    assert_eq!(
        paths(&shop.json(&["gen", "p"])["made"]),
        ["in/1a.in", "in/1b.in", "in/2a.in"]
    );
    shop.replace("p/prog/model.sh", "!", "?");
    assert_eq!(
        shop.json(&["gen", "p", "1b"])["made"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        paths(&shop.json(&["gen", "p"])["made"]),
        ["out/0a.out", "out/1a.out", "out/2a.out"]
    );
    // What was made and then removed is made again; an answer that a person wrote stays.
    std::fs::remove_file(shop.path("p/in/1a.in")).unwrap();
    shop.write("p/out/0a.out", "by hand\n");
    assert_eq!(
        paths(&shop.json(&["gen", "p", "--all", "1a", "0a"])["made"]),
        ["in/1a.in", "out/1a.out"]
    );
    assert_eq!(shop.read("p/out/0a.out"), "by hand\n");
    // And is nothing to be cleaned.
    let removed = shop.json(&["clean", "p"]);
    assert_eq!(removed["kept"], serde_json::json!(["out/0a.out"]));
    assert!(shop.path("p/in/0a.in").is_file() && !shop.path("p/in/1a.in").exists());
}

#[test]
fn what_a_person_wrote_stays() {
    let shop = Shop::new();
    icpc_scripts(
        &shop,
        "data: {secret: {data: {a: gen 1, b: gen 2, c: gen 3}}}\n",
    );
    shop.write("p/data/secret/b.ans", "mine\n");
    shop.write("p/data/secret/c.in", "mine\n");
    let stays = |file: &str, by: &str| {
        format!(
            "p/data/secret/{file}: warning: stays, because a person wrote or changed it; remove \
             it, and it is made again ({by})\n"
        )
    };
    let model = "model solution accepted/model.sh";
    let gen_3 = "generators/gen.sh 3";
    let said = shop.problem(&["gen", "p"]);
    let warnings = stays("c.in", gen_3) + &stays("b.ans", model);
    assert_eq!(
        (said.status(), said.stderr()),
        (0, warnings.clone()),
        "{said:?}"
    );
    assert_eq!(
        (
            shop.read("p/data/secret/b.ans"),
            shop.read("p/data/secret/c.in")
        ),
        ("mine\n".into(), "mine\n".into())
    );
    // Its answer is that of the input which stayed.
    assert_eq!(shop.read("p/data/secret/c.ans"), "mine!\n");
    // What was made here is made anew, and may not be changed in between.
    shop.write("p/generators/gen.sh", "echo \"<$@>\"\n");
    shop.write("p/data/secret/a.ans", "also mine\n");
    let said = shop.problem(&["gen", "p", "--all"]);
    let mut lines: Vec<String> = said
        .stderr()
        .lines()
        .map(|line| format!("{line}\n"))
        .collect();
    lines.sort();
    assert_eq!(
        lines,
        [
            stays("a.ans", model),
            stays("b.ans", model),
            stays("c.in", gen_3)
        ],
        "{said:?}"
    );
    assert_eq!(
        (
            shop.read("p/data/secret/a.in"),
            shop.read("p/data/secret/b.in")
        ),
        ("<1>\n".into(), "<2>\n".into())
    );
    assert_eq!(shop.read("p/data/secret/a.ans"), "also mine\n");
    // Without a record, only what comes out as before is known for made here.
    std::fs::remove_dir_all(shop.path("p/.millibox")).unwrap();
    shop.write("p/data/secret/a.ans", "<1>!\n");
    assert_eq!(shop.problem(&["gen", "p"]).stderr(), warnings);
    shop.write(
        "p/submissions/accepted/model.sh",
        "read -r line\necho \"$line?\"\n",
    );
    assert_eq!(shop.problem(&["gen", "p"]).stderr(), warnings);
    assert_eq!(shop.read("p/data/secret/a.ans"), "<1>?\n");
    // Removed, they are made.
    std::fs::remove_file(shop.path("p/data/secret/b.ans")).unwrap();
    std::fs::remove_file(shop.path("p/data/secret/c.in")).unwrap();
    assert_eq!(shop.problem(&["gen", "p"]).stderr(), "");
    assert_eq!(
        (
            shop.read("p/data/secret/b.ans"),
            shop.read("p/data/secret/c.ans")
        ),
        ("<2>?\n".into(), "<3>?\n".into())
    );
}

#[test]
fn a_test_that_is_no_longer_in_generators_yaml_stays() {
    let shop = Shop::new();
    icpc_scripts(
        &shop,
        "data: {secret: {data: {a: {in: one, ans: ONE}, b: {copy: b}, c: gen 1, d: {in: four, ans: \
         FOUR}}}}\n",
    );
    shop.write("p/generators/b.in", "two\n");
    shop.write("p/generators/b.ans", "TWO\n");
    shop.good(&["gen", "p"]);
    shop.write(
        "p/generators/generators.yaml",
        "data: {secret: {data: {d: {in: four}}}}\n",
    );
    shop.replace("p/submissions/accepted/model.sh", "!", "?");
    shop.good(&["gen", "p", "--all"]);
    let answer = |test: &str| shop.read(&format!("p/data/secret/{test}.ans"));
    assert_eq!((answer("a"), answer("b")), ("ONE\n".into(), "TWO\n".into()));
    // An empty answer of an interactive problem is none that anybody wrote.
    let text = shop.read("p/problem.yaml");
    shop.write(
        "p/problem.yaml",
        format!("{text}validation: custom interactive\n"),
    );
    shop.write("p/output_validators/v.sh", "exit 42\n");
    shop.write("p/data/secret/e.in", "five\n");
    shop.good(&["gen", "p", "e"]);
    assert_eq!(shop.read("p/data/secret/e.ans"), "");
    shop.write("p/problem.yaml", text);
    shop.good(&["gen", "p", "e"]);
    assert_eq!(shop.read("p/data/secret/e.ans"), "five?\n");
    // The model solution's own answers are its own again, and so are those of a test that is still
    // there.
    assert_eq!(
        (answer("c"), answer("d")),
        ("1?\n".into(), "four?\n".into())
    );
}

#[test]
fn a_failing_generator_leaves_everything() {
    let shop = Shop::new();
    scripts(&shop, "1a-c gen.sh x");
    shop.good(&["gen", "p"]);
    shop.write(
        "p/utils/gen.sh",
        "echo new; if [ $SIP_TEST_NAME = 1b ]; then echo no luck >&2; exit 3; fi\n",
    );
    let seed = (u64::from(b'b') * 257 + u64::from(b'1')) ^ 7;
    let message =
        format!("test 1b: its input, by utils/gen.sh x, seed {seed}: exited with 3: no luck");
    shop.fails("p", &["gen", "p"], 1, &message);
    // The same before anything was made at all: no directory is left.
    assert_eq!(shop.problem(&["clean", "p"]).status(), 0);
    shop.fails("p", &["gen", "p"], 1, &message);
    shop.write(
        "p/utils/gen.sh",
        "if [ $SIP_TEST_NAME = 1b ]; then exit 0; fi; echo new\n",
    );
    shop.fails(
        "p",
        &["gen", "p"],
        1,
        "test 1b: its input, by utils/gen.sh x, seed",
    );
    shop.fails(
        "p",
        &["gen", "p"],
        1,
        "wrote nothing to its standard output",
    );
    shop.write("p/utils/gen.sh", "if\n");
    shop.fails("p", &["gen", "p"], 1, "utils/gen.sh: ");
    shop.write("p/utils/gen.sh", "echo new\n");
    shop.write("p/prog/model.sh", "exit 9\n");
    shop.fails(
        "p",
        &["gen", "p"],
        1,
        "test 1c: its answer, by model solution prog/model.sh: exited with 9",
    );
}

#[test]
fn what_differs_the_second_time_is_told() {
    let shop = Shop::new();
    scripts(&shop, "1a gen.sh x\n1b gen.sh y");
    shop.write(
        "p/utils/gen.sh",
        "echo same; [ $1 = x ] || head -c 8 /dev/urandom\n",
    );
    shop.fails(
        "p",
        &["gen", "p", "--check"],
        1,
        "test 1b: its input, by utils/gen.sh y, seed",
    );
    shop.fails(
        "p",
        &["gen", "p", "--check"],
        1,
        "differs in a second run, from byte ",
    );
    // What is up to date is looked at, too.
    shop.good(&["gen", "p"]);
    shop.fails(
        "p",
        &["gen", "p", "--check"],
        1,
        "differs in a second run, from byte ",
    );
    shop.write("p/utils/gen.sh", "echo same\n");
    shop.good(&["gen", "p", "--all"]);
    shop.write("p/prog/model.sh", "echo $RANDOM$RANDOM$RANDOM\n");
    shop.fails(
        "p",
        &["gen", "p", "--check"],
        1,
        "its answer, by model solution prog/model.sh: differs in a second run",
    );
}

#[test]
fn lines_for_the_shell_see_the_package() {
    let shop = Shop::new();
    scripts(
        &shop,
        "1a sh:cat utils/words | tr a-z A-Z; echo $SIP_TEST_NAME",
    );
    shop.write("p/utils/words", "abc\n");
    shop.good(&["gen", "p"]);
    assert_eq!(shop.read("p/in/1a.in"), "ABC\n1a\n");
    // What they read, nobody knows: they are run every time.
    shop.write("p/utils/words", "def\n");
    assert_eq!(
        paths(&shop.json(&["gen", "p"])["made"]),
        ["in/1a.in", "out/1a.out"]
    );
    assert_eq!(shop.read("p/in/1a.in"), "DEF\n1a\n");
    // Nothing else of the machine is theirs.
    shop.replace(
        "p/Sipfile",
        "cat utils/words",
        "cat /etc/hostname; touch utils/new",
    );
    shop.good(&["gen", "p"]);
    assert_eq!(shop.read("p/in/1a.in"), "1a\n");
    assert!(!shop.path("p/utils/new").exists());
}

/// An ICPC package whose programs are scripts.
fn icpc_scripts(shop: &Shop, generators: &str) {
    shop.write(
        "p/problem.yaml",
        "name: Scripts\nlimits:\n  time_limit: 0.5 # seconds\n  memory: 64\n",
    );
    shop.write("p/generators/generators.yaml", generators);
    shop.write("p/generators/gen.sh", "echo \"$@\"\n");
    shop.write(
        "p/submissions/accepted/model.sh",
        "read -r line\necho \"$line!\"\n",
    );
    shop.write(
        "p/input_validators/any.sh",
        "read -r line\n[ \"$line\" != bad ] && exit 42\necho never >&2\nexit 43\n",
    );
    shop.write("p/data/sample/1.in", "hand\n");
}

#[test]
fn tests_of_generators_yaml() {
    let shop = Shop::new();
    icpc_scripts(
        &shop,
        "random_salt: s\ndata:\n  sample:\n    data:\n      2: {in: two, ans: TWO}\n  secret:\n    data:\n      a: gen \
         1 {seed}\n      g:\n        data:\n        - x: gen.sh p\n        - '': {generate: gen q}\n      m: {copy: hand/m}\n",
    );
    shop.write("p/generators/hand/m.in", "m in\n");
    shop.write("p/generators/hand/m.ans", "m ans\n");
    let report = shop.json(&["gen", "p"]);
    let made = paths(&report["made"]);
    for path in [
        "data/sample/1.ans",
        "data/secret/a.in",
        "data/secret/g/1-x.in",
        "data/secret/g/2.ans",
    ] {
        assert!(made.contains(&path), "{path}: {made:?}");
    }
    let seed = report["made"]
        .as_array()
        .unwrap()
        .iter()
        .find(|made| made["test"] == "secret/a")
        .unwrap()["seed"]
        .clone();
    assert_eq!(shop.read("p/data/secret/a.in"), format!("1 {seed}\n"));
    assert_eq!(shop.read("p/data/secret/g/1-x.ans"), "p!\n");
    assert_eq!(
        (
            shop.read("p/data/sample/2.in"),
            shop.read("p/data/sample/2.ans")
        ),
        ("two\n".into(), "TWO\n".into())
    );
    assert_eq!(shop.read("p/data/secret/m.ans"), "m ans\n");
    // Directories that were made for tests go with them.
    shop.good(&["clean", "p", "secret/g/1-x"]);
    assert!(
        shop.path("p/data/secret/g/2.in").is_file()
            && !shop.path("p/data/secret/g/1-x.in").exists()
    );
    shop.good(&["clean", "p"]);
    assert!(!shop.path("p/data/secret").exists());

    shop.write(
        "p/generators/generators.yaml",
        "data: {secret: {data: {a: gne 1}}}\n",
    );
    shop.fails(
        "p",
        &["gen", "p"],
        2,
        "generators.yaml:1:27: error: there is no generator \"gne\"",
    );
    shop.write("p/generators/generators.yaml", "data: [\n");
    shop.fails("p", &["gen", "p"], 2, "generators.yaml:");
}

#[test]
fn a_test_of_no_such_name() {
    let shop = Shop::new();
    scripts(&shop, "1a gen.sh x");
    shop.fails(
        "p",
        &["gen", "p", "1b"],
        125,
        "there is no test \"1b\"; did you mean",
    );
    let said = shop.problem(&["gen", "nowhere"]);
    assert_eq!(said.status(), 2, "{said:?}");
    shop.fails("p", &["gen", "p", "2*"], 125, "there is no test \"2*\"");
    shop.fails(
        "p",
        &["gen", "p", "[1"],
        125,
        "\"[1\" is not a valid pattern for test names: ",
    );
}

#[test]
fn tests_are_named_by_directory_pattern_and_last_part() {
    let shop = Shop::new();
    icpc_scripts(
        &shop,
        "data: {sample: {data: {2: gen 2}}, secret: {data: {a: gen 1, g: {data: {b: gen 3}}}}}\n",
    );
    let inputs = |tests: &[&str]| -> Vec<String> {
        let report = shop.json(&[&["gen", "p", "--all"], tests].concat());
        paths(&report["made"])
            .into_iter()
            .filter_map(|path| path.strip_suffix(".in"))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(inputs(&["secret"]), ["data/secret/a", "data/secret/g/b"]);
    assert_eq!(inputs(&["secret/*"]), ["data/secret/a", "data/secret/g/b"]);
    assert_eq!(
        inputs(&["b", "sample/2"]),
        ["data/sample/2", "data/secret/g/b"]
    );
    shop.good(&["clean", "p", "secret/g"]);
    assert!(shop.path("p/data/secret/a.in").is_file() && !shop.path("p/data/secret/g").exists());
    // What is said of packages is what is true of this subcommand.
    let help = shop.run(&["problem", "gen", "--help"]).stdout();
    assert!(!help.contains(".zip"), "{help}");
}

#[test]
fn a_full_disk_leaves_everything() {
    let shop = Shop::new();
    scripts(&shop, "1a gen.sh x\n1b gen.sh y");
    if !is_root() {
        shop.good(&["gen", "p"]);
        shop.replace("p/Sipfile", "gen.sh x", "gen.sh z");
        // The new file is there; putting it in place fails.
        share(&shop.path("p/in"), 0o555);
        shop.fails("p", &["gen", "p"], 2, "in/1a.in: Permission denied");
        return share(&shop.path("p/in"), 0o755);
    }
    let Some(small) = Small::mount(shop.path("small")) else {
        return skip("no tmpfs can be mounted here");
    };
    let copied = Command::new("cp")
        .args(["-R", "p/.", "small"])
        .current_dir(shop.place.path())
        .status()
        .unwrap();
    assert!(copied.success());
    shop.good(&["gen", "small"]);
    shop.write(
        "small/utils/gen.sh",
        "if [ $1 = x ]; then echo x; else head -c 4000000 /dev/zero; fi\n",
    );
    shop.fails("small", &["gen", "small"], 2, "No space left on device");
    drop(small);
}

/// A file system of 1 MiB.
struct Small(PathBuf);

impl Small {
    fn mount(at: PathBuf) -> Option<Small> {
        std::fs::create_dir(&at).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m,mode=755", "none"])
            .arg(&at)
            .output();
        mounted
            .is_ok_and(|output| output.status.success())
            .then_some(Small(at))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_signal_leaves_everything() {
    let shop = Shop::new();
    scripts(&shop, "1a gen.sh x\n1b gen.sh y");
    shop.good(&["gen", "p"]);
    shop.write("p/utils/gen.sh", "echo new; [ $1 = x ] || sleep 1000\n");
    let before = shop.files("p");
    let mut command = shop.command(&["problem", "gen", "p"]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let has_begun =
        || std::fs::read(shop.path("p/.millibox/new/1")).is_ok_and(|bytes| !bytes.is_empty());
    assert!(eventually(Duration::from_secs(60), has_begun));
    millibox_tests::kill(child.id() as i32, rustix::process::Signal::INT);
    let said = Said(child.wait_with_output().unwrap());
    assert_eq!(said.status(), 128 + 2, "{said:?}");
    assert!(!said.stdout().contains("failed"), "{said:?}");
    let told = String::from_utf8_lossy(&said.0.stderr).into_owned();
    assert!(
        told.lines().count() == 1 && told.contains("received SIGINT;"),
        "{told}"
    );
    assert!(before == shop.files("p"), "a file changed");
    // Two at once are one too many.
    let _lock = {
        let lock = std::fs::File::open(shop.path("p/.millibox")).unwrap();
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
        lock
    };
    shop.fails("p", &["gen", "p"], 125, "is working on p");
}

// --- validate, zip ---------------------------------------------------------------------

#[test]
fn what_is_wrong_with_inputs_and_answers() {
    let shop = Shop::new();
    icpc_scripts(&shop, "data: {}\n");
    for (name, text) in [
        ("1", "one\n"),
        ("2", "one\n"),
        ("3", "bad\n"),
        ("4", "a\r\nb"),
        ("5", "\u{fffd}x\n"),
    ] {
        shop.write(&format!("p/data/secret/{name}.in"), text);
        shop.write(&format!("p/data/secret/{name}.ans"), "1\n");
    }
    shop.write("p/data/secret/5.in", b"\xffx\n");
    shop.write("p/data/sample/1.ans", "1\n");
    shop.write("p/data/invalid_input/1.in", "bad\n");
    shop.write("p/data/invalid_input/2.in", "fine\n");
    let said = shop.problem(&["validate", "p"]);
    assert_eq!(said.status(), 1, "{said:?}");
    let text = said.stdout();
    for line in [
        "p/data/secret/2.in: warning: the same as the input of test secret/1; remove one",
        "p/data/secret/3.in: error: input_validators/any.sh rejects it: exited with 43: never",
        "p/data/secret/4.in:1: warning: has a carriage return; lines end with a line feed alone",
        "p/data/secret/4.in:2: warning: its last line has no line feed; add one",
        "p/data/secret/5.in:1: warning: is not UTF-8",
        "p/data/invalid_input/2.in: error: every input validator accepts it, but it must be \
         rejected",
        "6 tests, 8 runs of input validators, 6 answers checked: 2 errors, 4 warnings",
    ] {
        assert!(text.lines().any(|said| said == line), "{line}\n{text}");
    }
    assert!(!text.contains("invalid_input/1.in"), "{text}");
    let report: Value =
        serde_json::from_str(&shop.problem(&["validate", "p", "--json"]).stdout()).unwrap();
    assert_eq!(
        (
            report["tests"].as_u64(),
            report["faults"].as_array().unwrap().len()
        ),
        (Some(6), 6)
    );

    // Not packed so, unless it must be.
    shop.fails("p", &["zip", "p", "-o", "p.zip"], 1, "not packed");
    assert!(!shop.path("p.zip").exists());
    shop.write("p/other/file", "");
    let packed = shop.good(&["zip", "p", "-o", "p.zip", "--force"]);
    assert!(packed.contains("left out: other"), "{packed}");
    assert!(shop.path("p.zip").is_file());

    shop.write("p/problem.yaml", "name: [\n");
    shop.fails("p", &["validate", "p"], 1, "p/problem.yaml:");
    shop.fails("p", &["gen", "p"], 2, "p/problem.yaml:");
}

#[test]
fn what_is_wrong_with_generators() {
    let shop = Shop::new();
    icpc_scripts(&shop, "data: {secret: {data: {a: gen 1}}}\n");
    shop.good(&["gen", "p"]);
    shop.write(
        "p/generators/generators.yaml",
        "data: {secret: {data: {a: gne 1}}}\n",
    );
    shop.fails(
        "p",
        &["validate", "p"],
        1,
        "generators.yaml:1:27: error: there is no generator \"gne\"",
    );
    // It is nothing to a judge; but one who misses an answer is told how to come by it.
    assert_eq!(shop.run(&["judge", "p"]).status(), 0);
    std::fs::remove_file(shop.path("p/data/secret/a.ans")).unwrap();
    let judged = shop.run(&["judge", "p"]);
    assert!(
        judged
            .stderr()
            .contains("there is no a.ans; `millibox problem gen` makes it"),
        "{judged:?}"
    );
}

#[test]
fn input_validators_are_called_as_the_format_says() {
    let shop = Shop::new();
    icpc_scripts(&shop, "data: {}\n");
    std::fs::remove_dir_all(shop.path("p/data")).unwrap();
    shop.write(
        "p/problem.yaml",
        "problem_format_version: 2025-09\nname: p\nuuid: 1\nlimits: {time_limit: 1}\n",
    );
    let validator = "test \"$*\" = 'mode seven' || exit 1\ntest \"$(cat data.txt) $(cat)\" = 'a \
        file 1' && exit 42\n";
    shop.write("p/input_validators/any.sh", validator);
    shop.write(
        "p/data/secret/1.yaml",
        "args: [seven]\ninput_validator_args: [mode]\n",
    );
    shop.write("p/data/secret/1.files/data.txt", "a file\n");
    shop.write("p/data/secret/1.in", "1\n");
    shop.write("p/data/secret/1.ans", "1!\n");
    assert_eq!(
        shop.json(&["validate", "p"])["faults"],
        serde_json::json!([])
    );
}

#[test]
fn programs_are_tried_on_what_the_package_has_for_them() {
    let shop = Shop::new();
    icpc_scripts(&shop, "data: {secret: {data: {a: gen 1}}}\n");
    shop.write(
        "p/problem.yaml",
        "problem_format_version: 2025-09\nname: p\nuuid: 1\nlimits: {time_limit: 1}\n",
    );
    shop.good(&["gen", "p"]);
    // Refused with its flags only.
    shop.write(
        "p/input_validators/any.sh",
        "[ \"${1-1}\" -lt 10 ] && exit 42\necho too many >&2\nexit 43\n",
    );
    shop.write("p/data/invalid_input/1.in", "1\n");
    shop.write(
        "p/data/invalid_input/1.yaml",
        "input_validator_args: ['10']\n",
    );
    for (name, output) in [
        ("valid_output/right", "A 1!\n"),
        ("invalid_output/wrong", "b\n"),
    ] {
        shop.write(&format!("p/data/{name}.in"), "1\n");
        shop.write(&format!("p/data/{name}.ans"), "a 1!\n");
        shop.write(&format!("p/data/{name}.out"), output);
    }
    let report = shop.json(&["validate", "p"]);
    assert_eq!(report["faults"], serde_json::json!([]));
    assert_eq!(
        (&report["validations"], &report["answers"]),
        (&5.into(), &4.into())
    );

    // A validator that crashes has perhaps not found what it was to find.
    shop.write(
        "p/input_validators/any.sh",
        "[ \"${1-1}\" -lt 10 ] && exit 42\nkill -ABRT $$\n",
    );
    let said = shop.problem(&["validate", "p"]);
    assert!(
        said.stdout()
            .contains("invalid_input/1.in: warning: input_validators/any.sh does not exit"),
        "{said:?}"
    );
    shop.write(
        "p/input_validators/any.sh",
        "[ \"${1-1}\" -lt 10 ] && exit 42\necho too many >&2\nexit 43\n",
    );

    // One is still right for the default checker, another is not with the test's flags.
    shop.write("p/data/invalid_output/wrong.out", "A 1!\n");
    shop.write(
        "p/data/valid_output/right.yaml",
        "output_validator_args: [case_sensitive]\n",
    );
    shop.write("p/data/valid_output/bad.in", "1\n");
    shop.write("p/data/valid_output/bad.ans", "1\n");
    shop.write(
        "p/data/valid_output/bad.yaml",
        "input_validator_args: ['11']\n",
    );
    let said = shop.problem(&["validate", "p"]);
    let text = said.stdout();
    for line in [
        "p/data/valid_output/right.out: error: the checker rejects it, but it must be accepted: \
         Line 1",
        "p/data/valid_output/bad.in: error: input_validators/any.sh rejects it: exited with 43: \
         too many",
        "p/data/valid_output/bad.in: error: it tests the checker, which needs a file .out beside \
         it; add one",
        "p/data/invalid_output/wrong.out: error: the checker accepts it, but it must be rejected",
    ] {
        assert!(
            text.lines().any(|said| said.starts_with(line)),
            "{line}\n{text}"
        );
    }
    assert_eq!(
        (said.status(), text.matches(": error: ").count()),
        (1, 4),
        "{text}"
    );

    // A checker of the package's own is asked alike.
    shop.write(
        "p/output_validator/check.sh",
        "read -r line; [ \"$line\" = ok ] && exit 42; exit 43\n",
    );
    let said = shop.problem(&["validate", "p"]).stdout();
    assert!(
        said.contains("right.out: error: the checker rejects it") && !said.contains("wrong.out"),
        "{said}"
    );
}

#[test]
fn what_is_no_package_is_not_looked_at() {
    let shop = Shop::new();
    std::fs::create_dir(shop.path("empty")).unwrap();
    shop.write("file", "no archive");
    for (place, why) in [
        (
            "nowhere",
            "nowhere: error: cannot be read: No such file or directory",
        ),
        ("empty", "empty: error: no problem package: "),
        (
            "file",
            "file: error: neither a directory nor a zip archive: ",
        ),
    ] {
        for words in [
            &["validate", place][..],
            &["validate", "--json", place],
            &["zip", place],
            &["gen", place],
        ] {
            let said = shop.problem(words);
            assert_eq!(
                (said.status(), said.stdout()),
                (2, String::new()),
                "{words:?}: {said:?}"
            );
            let text = said.stderr();
            assert!(
                text.starts_with(why) && text.lines().count() == 1,
                "{words:?}: {text}"
            );
        }
    }
    // Who stands in a package means a test of it.
    shop.write("problem.yaml", "");
    let said = shop.problem(&["gen", "secret/1"]);
    let hint =
        "\nmillibox: PACKAGE comes first, and tests after it: millibox problem gen . secret/1\n";
    assert!(
        said.status() == 2 && said.stderr().contains(hint),
        "{said:?}"
    );
}

#[test]
fn answers_that_the_checker_does_not_take() {
    let shop = Shop::new();
    scripts(&shop, "1a gen.sh x");
    shop.fails(
        "p",
        &["validate", "p"],
        1,
        "p/in/1a.in: error: the input of test 1a does not exist; `millibox problem gen`",
    );
    shop.good(&["gen", "p"]);
    shop.good(&["validate", "p"]);
    shop.write(
        "p/check/check.sh",
        "read -r line <\"$3\"; if [ \"$line\" = 'hand!' ]; then echo WRONG; else exit 5; fi\n",
    );
    let said = shop.problem(&["validate", "p"]);
    let text = said.stdout();
    assert_eq!(said.status(), 1, "{said:?}");
    assert!(
        text.contains("out/0a.out: error: the checker does not accept this answer as an output"),
        "{text}"
    );
    assert!(
        text.contains("out/1a.out: error: the checker fails on this answer: exited with 5"),
        "{text}"
    );
    shop.write("p/check/check.sh", "if\n");
    shop.fails("p", &["validate", "p"], 1, "p/check/check.sh: error: ");
}

#[test]
fn no_link_leads_out_of_an_archive() {
    let shop = Shop::new();
    icpc_scripts(&shop, "data: {secret: {data: {a: gen 1}}}\n");
    shop.good(&["gen", "p"]);
    std::os::unix::fs::symlink("model.sh", shop.path("p/submissions/accepted/same.sh")).unwrap();
    shop.good(&["zip", "p", "-o", "p.zip", "--force"]);
    let packed = millibox_package::read(&shop.path("p.zip")).unwrap();
    assert!(
        packed
            .directory
            .join("submissions/accepted/same.sh")
            .symlink_metadata()
            .unwrap()
            .is_file()
    );
    std::os::unix::fs::symlink("/etc/passwd", shop.path("p/attachments")).unwrap();
    shop.fails(
        "p",
        &["zip", "p", "-o", "out.zip", "--force"],
        2,
        "outside the package",
    );
    assert!(!shop.path("out.zip").exists());
}

#[test]
fn programs_may_be_links_within_the_package() {
    let shop = Shop::new();
    icpc_scripts(&shop, "data: {secret: {data: {a: gen 1}}}\n");
    let link = |target: &str, path: &str| {
        std::fs::rename(shop.path(&format!("p/{path}")), shop.path(target)).unwrap();
        let up = "../".repeat(path.matches('/').count());
        let target = target
            .strip_prefix("p/")
            .map_or(format!("{up}../{target}"), |target| format!("{up}{target}"));
        std::os::unix::fs::symlink(target, shop.path(&format!("p/{path}"))).unwrap();
    };
    std::fs::create_dir(shop.path("p/attachments")).unwrap();
    link("p/attachments/gen.sh", "generators/gen.sh");
    link("p/attachments/val.sh", "input_validators/any.sh");
    link("p/generators/sol.sh", "submissions/accepted/model.sh");
    shop.good(&["gen", "p"]);
    shop.good(&["validate", "p"]);
    let judged = shop.run(&["judge", "p"]);
    assert_eq!(judged.status(), 0, "{judged:?}");
    // One that leads out is not even looked at.
    link("outside.sh", "attachments/val.sh");
    shop.fails(
        "p",
        &["validate", "p"],
        1,
        "input_validators/any.sh: error: symbolic link to ",
    );
}

#[test]
fn an_archive_replaces_files_and_nothing_else() {
    let shop = Shop::new();
    icpc_scripts(&shop, "data: {}\n");
    let zip = |place: &str| shop.problem(&["zip", "p", "--force", "-o", place]);
    let refused = |place: &str, why: &str| {
        let kind = || {
            shop.path(place)
                .symlink_metadata()
                .map(|found| found.file_type())
                .ok()
        };
        let before = kind();
        let said = zip(place);
        assert_eq!(
            (said.status(), said.stderr()),
            (2, format!("millibox: cannot write {place}: {why}\n")),
            "{place}"
        );
        assert_eq!(before, kind(), "{place}");
    };
    let other = "it is not a regular file; name another path";
    std::fs::create_dir(shop.path("directory")).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(shop.path("fifo"))
            .status()
            .unwrap()
            .success()
    );
    std::os::unix::fs::symlink("fifo", shop.path("to_fifo")).unwrap();
    std::os::unix::fs::symlink("nothing", shop.path("to_nothing")).unwrap();
    for place in ["directory", "fifo", "to_fifo"] {
        refused(place, other);
    }
    refused(
        "to_nothing",
        "it is a symbolic link to a file that does not exist; name another path",
    );
    refused("none/p.zip", "No such file or directory (os error 2)");
    refused("/proc/self/fd/2", other);
    // One of this test's own: the machine needs its /dev/full.
    if Command::new("mknod")
        .arg(shop.path("full"))
        .args(["c", "1", "7"])
        .output()
        .unwrap()
        .status
        .success()
    {
        refused("full", other);
    }

    // A link stays, and the file that it leads to is replaced.
    shop.write("file", "old");
    std::os::unix::fs::symlink("file", shop.path("to_file")).unwrap();
    assert_eq!(zip("to_file").status(), 0);
    assert!(shop.path("to_file").is_symlink());
    millibox_package::read(&shop.path("file")).unwrap_err();
    assert!(std::fs::read(shop.path("file")).unwrap().starts_with(b"PK"));
    let left = |name: &str| name.starts_with(".millibox-zip");
    let mut names = std::fs::read_dir(shop.place.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    assert!(!names.any(|name| left(&name.to_string_lossy())));
}

#[test]
fn an_archive_that_does_not_fit() {
    let shop = Shop::new();
    icpc_scripts(&shop, "data: {}\n");
    // What cannot be packed any smaller.
    let mut number = 1_u32;
    let noise = std::iter::repeat_with(|| {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (number >> 24) as u8
    });
    shop.write(
        "p/attachments/noise",
        noise.take(100_000).collect::<Vec<u8>>(),
    );
    shop.write("out/p.zip", "old");
    // A limit on the size of files is met as a full disk is, and asks for no rights.
    let line = "trap '' XFSZ; ulimit -f 8; exec \"$@\"";
    let said = Command::new("sh")
        .args(["-c", line, "sh"])
        .arg(executable("millibox"))
        .args(["problem", "zip", "p", "--force", "-o", "out/p.zip"])
        .current_dir(shop.place.path())
        .output();
    let said = Said(said.unwrap());
    assert_eq!(
        said.stderr(),
        "millibox: cannot write out/p.zip: File too large (os error 27)\n",
        "{said:?}"
    );
    assert_eq!(
        (said.status(), said.stdout(), shop.read("out/p.zip")),
        (2, String::new(), "old".to_owned())
    );
    assert_eq!(std::fs::read_dir(shop.path("out")).unwrap().count(), 1);
}

#[test]
fn an_archive_is_packed_anew_in_its_place() {
    let shop = Shop::new();
    icpc_scripts(&shop, "data: {secret: {data: {a: gen 1}}}\n");
    shop.good(&["gen", "p"]);
    shop.good(&["zip", "p", "-o", "packed.zip"]);
    let packed = std::fs::read(shop.path("packed.zip")).unwrap();
    // As another tool packs it: with a comment, which an archive ends with, after its length.
    let length = packed.len() - 2;
    shop.write("mine.zip", [&packed[..length], b"\x05\x00other"].concat());
    let other = std::fs::read(shop.path("mine.zip")).unwrap();
    assert!(
        shop.good(&["zip", "mine.zip", "-o", "named.zip"])
            .starts_with("named.zip: ")
    );
    assert!(other == std::fs::read(shop.path("mine.zip")).unwrap());
    assert!(packed == std::fs::read(shop.path("named.zip")).unwrap());
    assert!(shop.good(&["zip", "mine.zip"]).starts_with("mine.zip: "));
    assert!(packed == std::fs::read(shop.path("mine.zip")).unwrap());
}

#[test]
fn what_is_wrong_in_an_archive_is_told_of_it() {
    let shop = Shop::new();
    icpc_scripts(&shop, "data: {secret: {data: {a: gen 1}}}\n");
    shop.good(&["gen", "p"]);
    shop.write("p/data/secret/a.in", "bad\n");
    shop.write("p/input_validators/any.py", "if\n");
    shop.good(&["zip", "p", "-o", "bad.zip", "--force"]);
    let said = shop.problem(&["validate", "bad.zip"]);
    let text = said.stdout();
    for line in [
        "bad.zip/data/secret/a.in: error: input_validators/any.sh rejects it: exited with 43: \
         never",
        "bad.zip/input_validators/any.py: error: ",
    ] {
        assert!(
            text.lines().any(|said| said.starts_with(line)),
            "{line}\n{said:?}"
        );
    }
    assert!(
        said.status() == 1 && !text.contains("millibox-package."),
        "{said:?}"
    );
}

#[test]
fn names_that_are_no_utf_8_are_told_all_the_same() {
    let shop = Shop::new();
    icpc_scripts(&shop, "data: {}\n");
    let name = |bytes: &[u8]| std::ffi::OsStr::from_bytes(bytes).to_owned();
    std::fs::rename(shop.path("p"), shop.place.path().join(name(b"p\xff"))).unwrap();
    let said = |arguments: &[&str], names: &[&[u8]]| {
        let said = Said(
            shop.command(arguments)
                .args(names.iter().map(|bytes| name(bytes)))
                .output()
                .unwrap(),
        );
        let report: Value = serde_json::from_str(&said.stdout())
            .unwrap_or_else(|error| panic!("{error}: {said:?}"));
        (said.status(), report)
    };
    let (status, report) = said(&["problem", "validate", "--json"], &[b"p\xff"]);
    assert_eq!(
        (status, &report["faults"][0]["path"]),
        (1, &"p\u{fffd}/data/sample/1.in".into()),
        "{report}"
    );
    let (status, report) = said(
        &["problem", "zip", "--force", "--json"],
        &[b"p\xff", b"-o", b"o\xff.zip"],
    );
    assert_eq!(
        (status, &report["path"]),
        (0, &"o\u{fffd}.zip".into()),
        "{report}"
    );
    assert!(shop.place.path().join(name(b"o\xff.zip")).is_file());
}

#[test]
fn a_signal_leaves_the_archive_of_before() {
    let shop = Shop::new();
    icpc_scripts(&shop, "data: {}\n");
    shop.write("out/p.zip", "old");
    // What takes long to be packed, and no room.
    shop.write("p/attachments/large", "");
    std::fs::File::options()
        .write(true)
        .open(shop.path("p/attachments/large"))
        .unwrap()
        .set_len(1 << 30)
        .unwrap();
    let mut command = shop.command(&["problem", "zip", "p", "--force", "-o", "out/p.zip"]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let names = || {
        std::fs::read_dir(shop.path("out"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect::<Vec<_>>()
    };
    let is_written = |path: &PathBuf| {
        !path.ends_with("p.zip") && path.metadata().is_ok_and(|file| file.len() > 1000)
    };
    assert!(eventually(Duration::from_secs(60), || names()
        .iter()
        .any(is_written)));
    millibox_tests::kill(child.id() as i32, rustix::process::Signal::INT);
    let said = Said(child.wait_with_output().unwrap());
    assert_eq!(
        (said.status(), said.stdout(), shop.read("out/p.zip")),
        (128 + 2, String::new(), "old".to_owned())
    );
    assert_eq!(
        said.stderr(),
        "millibox: received SIGINT; the running programs were killed\n"
    );
    assert_eq!(names().len(), 1);
}

// --- packages of strangers -------------------------------------------------------------

/// Digest of nothing.
const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// A package that was made, and files that are none of its business.
fn beside_a_package() -> Shop {
    let shop = Shop::new();
    icpc_scripts(&shop, "data: {secret: {data: {a: gen 1}}}\n");
    shop.write("outside/file", "");
    shop.write("outside/new/file", "");
    shop.write("outside/made.json", "{}");
    std::fs::create_dir(shop.path("outside/empty")).unwrap();
    shop
}

#[test]
fn a_record_that_lies_elsewhere() {
    let shop = beside_a_package();
    shop.good(&["gen", "p"]);
    std::fs::rename(shop.path("p/.millibox"), shop.path("kept")).unwrap();
    std::os::unix::fs::symlink("../outside", shop.path("p/.millibox")).unwrap();
    let before = shop.files("outside");
    let refused = |arguments: &[&str]| {
        shop.fails(
            "p",
            arguments,
            2,
            "millibox: cannot use p/.millibox: it is not a directory; remove it\n",
        );
        assert!(before == shop.files("outside"), "{arguments:?}");
    };
    refused(&["clean", "p"]);
    refused(&["clean", "p", "--dry-run"]);
    refused(&["gen", "p", "--all"]);
    refused(&["limits", "p", "--write"]);
    std::fs::remove_file(shop.path("p/.millibox")).unwrap();
    shop.write("p/.millibox", "");
    refused(&["clean", "p"]);
}

#[test]
fn a_record_that_names_other_files() {
    let shop = beside_a_package();
    let outside = shop.files("outside");
    let absolute = shop.path("outside/file").display().to_string();
    let record = |files: &[&str], directories: &[&str]| {
        let files: BTreeMap<_, _> = files
            .iter()
            .map(|file| (*file, serde_json::json!({"of": "x", "content": EMPTY})))
            .collect();
        let record = serde_json::json!({"version": 1, "files": files, "directories": directories});
        shop.write("p/.millibox/made.json", record.to_string());
    };
    let refused = |command: &str, why: &str| {
        shop.fails("p", &[command, "p"], 2, why);
        assert!(outside == shop.files("outside"), "{why}");
    };
    for path in [
        "../outside/file",
        "data/../../outside/file",
        &absolute,
        "",
        "data//x",
        ".",
        "a\0b",
    ] {
        record(&[path], &[]);
        let why = format!(
            "made.json: it names {path:?}, which is not a path in the package; remove this record\n"
        );
        refused("clean", &why);
        refused("gen", &why);
    }
    std::fs::File::create(shop.path("p/.millibox/made.json"))
        .unwrap()
        .set_len((64 << 20) + 1)
        .unwrap();
    refused(
        "clean",
        "cannot read p/.millibox/made.json: longer than 64 MiB; remove it\n",
    );
    record(&[], &["../outside/empty"]);
    refused(
        "clean",
        "made.json: it names \"../outside/empty\", which is not a path in the package; remove this \
         record\n",
    );

    // A link within the package leads out of it all the same.
    std::os::unix::fs::symlink("../outside", shop.path("p/way")).unwrap();
    record(&["way/file"], &["way/empty"]);
    refused(
        "clean",
        "cannot remove p/way/file: a directory above it is a symbolic link or not a directory; \
         nothing was removed\n",
    );
    record(&[], &["way/empty"]);
    shop.good(&["clean", "p"]);
    assert!(outside == shop.files("outside"));
    // What is a link itself is not what was made.
    std::os::unix::fs::symlink("../outside/file", shop.path("p/link")).unwrap();
    record(&["link"], &[]);
    assert_eq!(
        shop.json(&["clean", "p"])["kept"],
        serde_json::json!(["link"])
    );

    // Nobody waits for what never comes.
    for (name, says) in [
        (
            "made.json",
            "made.json: it is not a regular file; remove it\n",
        ),
        ("fifo", "kept fifo"),
    ] {
        std::fs::remove_file(shop.path("p/.millibox/made.json")).unwrap();
        record(&["fifo"], &[]);
        let place = if name == "fifo" {
            shop.path("p/fifo")
        } else {
            shop.path("p/.millibox/made.json")
        };
        let _ = std::fs::remove_file(&place);
        assert!(
            Command::new("mkfifo")
                .arg(&place)
                .status()
                .unwrap()
                .success()
        );
        let mut child = shop.command(&["problem", "clean", "p"]);
        let mut child = child
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let ended = eventually(Duration::from_secs(60), || {
            child.try_wait().unwrap().is_some()
        });
        let _ = child.kill();
        let said = Said(child.wait_with_output().unwrap());
        assert!(ended, "{name}");
        assert!((said.stdout() + &said.stderr()).contains(says), "{said:?}");
    }
}

#[test]
fn what_generators_yaml_says_in_vain() {
    let shop = Shop::new();
    icpc_scripts(&shop, "solutoin: x\ndata: {secret: {data: {a: gen 1}}}\n");
    let said = shop.problem(&["gen", "p"]);
    let warning = "p/generators/generators.yaml:1:1: warning: unknown key \"solutoin\", not read; \
        did you mean \"solution\"?\n";
    assert_eq!(
        (said.status(), said.stderr()),
        (0, warning.to_owned()),
        "{said:?}"
    );
    let said = shop.problem(&["gen", "p", "--json"]);
    let report: Value = serde_json::from_str(&said.stdout()).unwrap();
    let fault = &report["warnings"][0];
    assert_eq!(
        (&fault["line"], &fault["severity"]),
        (&1.into(), &"warning".into()),
        "{report}"
    );
    assert_eq!(
        (report["current"].as_u64(), said.stderr()),
        (Some(3), String::new()),
        "{report}"
    );
}

// --- limits, test ----------------------------------------------------------------------

#[test]
fn limits_are_written_and_nothing_else() {
    let shop = Shop::new();
    scripts(&shop, "1a gen.sh x");
    shop.write(
        "p/Simfile",
        shop.read("p/Simfile") + "limits: [ # all of them\n  0a 7   32 # not this\n]\n# end\n",
    );
    shop.good(&["gen", "p"]);
    let before = shop.files("p");
    let report = shop.json(&["limits", "p"]);
    assert!(
        before == shop.files("p"),
        "limits without --write changed a file"
    );
    assert_eq!(
        (
            report["tests"][0]["stated"].as_f64(),
            report["tests"][1]["stated"].as_f64()
        ),
        (Some(7.0), Some(5.0))
    );
    assert!(
        report["formula"]
            .as_str()
            .unwrap()
            .starts_with("3 t + 0.2 / (t^2 + 2)"),
        "{report}"
    );
    let report = shop.json(&["limits", "p", "--write"]);
    assert_eq!(report["written"], serde_json::json!(["Simfile"]));
    let limit = |test: usize| report["tests"][test]["limit"].as_f64().unwrap();
    let text = shop.read("p/Simfile");
    assert!(
        text.contains(&format!(
            "limits: [ # all of them\n  0a {}   32 # not this\n    1a {}\n]\n# end\n",
            limit(0),
            limit(1)
        )),
        "{text}"
    );

    icpc_scripts(&shop, "data: {secret: {data: {a: gen 1}}}\n");
    std::fs::remove_file(shop.path("p/Simfile")).unwrap();
    shop.good(&["gen", "p"]);
    let report = shop.json(&["limits", "p", "--write"]);
    assert_eq!(
        (report["limit"].as_f64(), &report["written"]),
        (Some(1.0), &serde_json::json!(["problem.yaml"]))
    );
    assert_eq!(
        shop.read("p/problem.yaml"),
        "name: Scripts\nlimits:\n  time_limit: 1 # seconds\n  memory: 64\n"
    );

    // A model solution that is wrong gives no limits.
    shop.write("p/data/secret/a.ans", "other\n");
    let wrong = "accepted/model.sh must be accepted but is not on test secret/a: wrong answer\n";
    shop.fails("p", &["limits", "p", "--write"], 1, wrong);
}

#[test]
fn what_is_not_used_for_the_time_limit_makes_none() {
    let shop = Shop::new();
    icpc_scripts(&shop, "data: {secret: {data: {a: gen 1}}}\n");
    shop.write(
        "p/problem.yaml",
        "problem_format_version: 2023-07\nname: p\nuuid: 1\nlimits: {time_limit: 5}\n",
    );
    let slow = "import time\nwhile time.process_time() < 0.6: pass\nprint(input() + '!')\n";
    shop.write("p/submissions/accepted/slow.py", slow);
    shop.write(
        "p/submissions/submissions.yaml",
        "accepted: {use_for_time_limit: false}\naccepted/model.sh: {use_for_time_limit: lower}\n",
    );
    shop.good(&["gen", "p"]);
    let report = shop.json(&["limits", "p"]);
    assert_eq!(report["limit"].as_f64(), Some(1.0), "{report}");
    let tests = report["tests"].as_array().unwrap();
    assert!(
        tests
            .iter()
            .all(|test| test["submission"] == "accepted/model.sh"),
        "{report}"
    );
    shop.write(
        "p/submissions/submissions.yaml",
        "accepted: {use_for_time_limit: false}\n",
    );
    shop.fails(
        "p",
        &["limits", "p"],
        1,
        "submissions.yaml excludes all submissions that must be accepted",
    );
}

#[test]
fn limits_come_of_the_submissions_whose_language_is_here() {
    let shop = Shop::new();
    icpc_scripts(&shop, "data: {secret: {data: {a: gen 1}}}\n");
    shop.good(&["gen", "p"]);
    // No suite has this language, whatever is installed.
    shop.write(
        "p/submissions/accepted/a.kt",
        "fun main() = println(readln() + \"!\")\n",
    );
    let report = shop.json(&["limits", "p", "--write"]);
    let why = "p/submissions/accepted/a.kt: neither extension nor first line tells the language";
    let skipped = &report["skipped"][0];
    assert_eq!(
        (&skipped["submission"], report["limit"].as_f64()),
        (&"accepted/a.kt".into(), Some(1.0)),
        "{report}"
    );
    assert!(
        skipped["reason"].as_str().unwrap().starts_with(why),
        "{report}"
    );
    assert_eq!(report["tests"][0]["submission"], "accepted/model.sh");
    assert!(shop.read("p/problem.yaml").contains("time_limit: 1 #"));
    let told = shop.good(&["limits", "p"]);
    assert!(
        told.contains(&format!("\naccepted/a.kt was not measured: {why}")),
        "{told}"
    );
    std::fs::remove_file(shop.path("p/submissions/accepted/model.sh")).unwrap();
    let none =
        format!("no submission that must be accepted can be measured here: accepted/a.kt: {why}");
    shop.fails("p", &["limits", "p"], 2, &none);
}

#[test]
fn submissions_that_no_test_catches_and_slow_ones() {
    let shop = Shop::new();
    icpc_scripts(&shop, "data: {secret: {data: {a: gen 1}}}\n");
    shop.write(
        "p/submissions/wrong_answer/lucky.sh",
        shop.read("p/submissions/accepted/model.sh"),
    );
    shop.write("p/submissions/wrong_answer/wrong.sh", "echo no\n");
    shop.write(
        "p/submissions/time_limit_exceeded/ever.sh",
        "while :; do :; done\n",
    );
    shop.good(&["gen", "p"]);
    let said = shop.problem(&["test", "p", "--json"]);
    assert_eq!(said.status(), 1, "{said:?}");
    let report: Value = serde_json::from_str(&said.stdout()).unwrap();
    let of = |name: &str| {
        let all = report["submissions"].as_array().unwrap();
        all.iter()
            .find(|submission| submission["name"] == name)
            .unwrap_or_else(|| panic!("{name}: {report}"))
    };
    let (lucky, wrong) = (of("wrong_answer/lucky.sh"), of("wrong_answer/wrong.sh"));
    assert_eq!(
        (&lucky["verdict"], &lucky["as_expected"]),
        (&"accepted".into(), &false.into())
    );
    assert_eq!(
        (&wrong["as_expected"], &wrong["decided_by"]),
        (&true.into(), &"sample/1".into())
    );
    let slow = &report["slow"][0];
    assert_eq!(
        (&slow["name"], &slow["at_least"]),
        (&"time_limit_exceeded/ever.sh".into(), &true.into())
    );
    assert!(slow["times"].as_f64().unwrap() >= 4.0, "{slow}");
    let remarks = report["remarks"].as_array().unwrap();
    assert_eq!(
        remarks[0],
        "wrong_answer/lucky.sh: no test catches it; add one"
    );
    assert!(
        remarks[1]
            .as_str()
            .unwrap()
            .starts_with("time_limit_exceeded/ever.sh: needs more than "),
        "{report}"
    );
    assert_eq!(remarks.len(), 2, "{report}");
}

#[test]
fn a_stated_limit_that_is_too_near() {
    let taken_out =
        "accepted: {use_for_time_limit: false}\naccepted/model.sh: {use_for_time_limit: lower}\n";
    for (version, yaml, near) in [
        ("2023-07", "{}\n", true),
        ("2023-07", taken_out, false),
        ("legacy", "", false),
    ] {
        let shop = Shop::new();
        icpc_scripts(&shop, "data: {secret: {data: {a: gen 1}}}\n");
        let header = format!(
            "problem_format_version: {version}\nname: p\nuuid: 1\nlimits: {{time_limit: 1}}\n"
        );
        shop.write("p/problem.yaml", header);
        shop.good(&["gen", "p"]);
        let slow = "import time\nwhile time.process_time() < 0.6: pass\nprint(input() + '!')\n";
        shop.write("p/submissions/accepted/slow.py", slow);
        shop.write("p/submissions/submissions.yaml", yaml);
        let report = shop.json(&["test", "p"]);
        let remarks = report["remarks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|remark| remark.as_str().unwrap());
        let told = remarks
            .filter(|remark| remark.contains("must be at least 2 times that"))
            .collect::<Vec<_>>();
        assert_eq!(told.len(), usize::from(near), "{version}: {report}");
        assert!(
            told.iter()
                .all(|remark| remark.starts_with("accepted/slow.py: needs ")),
            "{told:?}"
        );
    }
}
