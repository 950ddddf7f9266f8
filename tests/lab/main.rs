//! Runs every experiment of the lab at its smallest scale and checks the files that it writes. No
//! test asserts a time.

mod programs;

use millibox_tests::{Footprint, eventually, executable, kill, set_mode, write_script};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(executable("millibox-lab"));
    command
        .args(arguments)
        .env("MILLIBOX_SUPERVISOR", executable("millibox-supervisor"));
    command
}

fn lab(arguments: &[&str]) -> Output {
    command(arguments).output().expect("millibox-lab")
}

fn all_output(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn experiment_names() -> Vec<String> {
    let output = lab(&["list"]);
    assert!(output.status.success(), "{}", all_output(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with(' '))
        .map(str::to_owned)
        .collect()
}

/// Runs one experiment, checks all its files, and returns its report.
fn run_experiment(name: &str, more: &[&str]) -> Value {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("results");
    let mut arguments = vec![
        name,
        "--scale",
        "smoke",
        "--out",
        out.to_str().expect("a path"),
    ];
    arguments.extend(more);
    let output = lab(&arguments);
    assert!(output.status.success(), "{name}: {}", all_output(&output));

    let read = |file: &str| {
        std::fs::read_to_string(out.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    };
    let report: Value = serde_json::from_str(&read(&format!("{name}.json"))).expect("JSON");
    for key in [
        "machine", "backend", "command", "seed", "started", "seconds", "millibox",
    ] {
        assert!(!report[key].is_null(), "{name}: no {key}");
    }
    assert!(report["machine"]["kernel"].is_string());
    let tables = report["tables"].as_array().expect("tables");
    assert!(!tables.is_empty(), "{name}: no table");
    for table in tables {
        assert_table_is_valid(name, table);
    }
    let page = read("index.html");
    let parsed = scraper::Html::parse_document(&page);
    let count = |selector: &str| {
        parsed
            .select(&scraper::Selector::parse(selector).expect("a selector"))
            .count()
    };
    assert_eq!(
        (
            count("html > body > h1"),
            count(&format!("section#{name} > h2"))
        ),
        (1, 1),
        "{name}"
    );
    assert_eq!(
        count("section > h3 + figure, section > h3 + table, section > h3 + ul, section > h3 + dl"),
        count("h3"),
        "{name}"
    );
    let summary = read("summary.md");
    for table in tables {
        let title = table["title"].as_str().expect("a title");
        assert!(
            summary.contains(title),
            "{name}: {title} is not in the summary"
        );
    }
    let plots: Vec<_> = std::fs::read_dir(&out)
        .expect("results")
        .flatten()
        .filter(|entry| {
            entry
                .path()
                .extension()
                .is_some_and(|extension| extension == "svg")
        })
        .collect();
    assert!(!plots.is_empty(), "{name}: no plot");
    assert_eq!(
        count("figure > svg"),
        plots.len(),
        "{name}: the page lacks plots"
    );
    for plot in plots {
        assert_is_svg(&plot.path());
    }
    report
}

fn assert_table_is_valid(name: &str, table: &Value) {
    let metrics = table["metrics"].as_array().expect("metrics").len();
    let variants = table["variants"].as_array().expect("variants");
    assert!(!variants.is_empty() && metrics > 0, "{name}: {table}");
    for variant in variants {
        let figures = variant["figures"].as_array().expect("figures");
        assert_eq!(figures.len(), metrics, "{name}: {variant}");
        for figures in figures {
            let number = |key: &str| {
                figures[key]
                    .as_f64()
                    .unwrap_or_else(|| panic!("{name}: {key} in {figures}"))
            };
            assert!(number("n") >= 1.0, "{name}: {variant}");
            let order = ["min", "q1", "median", "q3", "p99", "p999", "max"].map(number);
            assert!(order.is_sorted(), "{name}: {order:?}");
            assert!(number("deviation") >= 0.0);
            if let Some(ratio) = figures["ratio"].as_object() {
                let bound = |key: &str| ratio[key].as_f64().expect("a number");
                assert!(bound("low") <= bound("high"), "{name}: {ratio:?}");
            }
        }
    }
    for missing in table["missing"].as_array().expect("missing") {
        assert!(
            missing["name"].is_string()
                && missing["why"].as_str().is_some_and(|why| !why.is_empty())
        );
    }
}

fn assert_is_svg(path: &Path) {
    let text = std::fs::read_to_string(path).expect("a plot");
    let mut reader = quick_xml::Reader::from_str(&text);
    let mut elements = 0;
    loop {
        match reader.read_event() {
            Ok(quick_xml::events::Event::Eof) => break,
            Ok(quick_xml::events::Event::Start(_) | quick_xml::events::Event::Empty(_)) => {
                elements += 1
            }
            Ok(_) => {}
            Err(error) => panic!("{}: {error}", path.display()),
        }
    }
    assert!(
        elements > 10 && text.starts_with("<svg"),
        "{}: {elements} elements",
        path.display()
    );
    assert!(
        !text.contains("NaN") && !text.contains("inf"),
        "{}",
        path.display()
    );
}

#[test]
fn each_experiment_writes_json_plots_summary_and_page() {
    let experiment_names = experiment_names();
    assert!(experiment_names.len() >= 6, "{experiment_names:?}");
    for name in experiment_names {
        let report = run_experiment(&name, &[]);
        assert_eq!(report["experiment"], name.as_str());
        if name == "bindings" {
            assert_built_bindings_are_measured(&report);
        }
        if name == "reactive" || name == "interception" {
            // These experiments compare only the lab's own programs, so no variant may be missing.
            let missing = |table: &Value| {
                table["missing"]
                    .as_array()
                    .is_some_and(|missing| !missing.is_empty())
            };
            let tables = report["tables"].as_array().expect("tables");
            assert!(!tables.iter().any(missing), "{name}: {tables:?}");
        }
    }
}

/// Cargo builds the bindings only with `--lib`. A binding that was not built is listed as missing.
fn assert_built_bindings_are_measured(report: &Value) {
    let tables = report["tables"].as_array().expect("tables");
    let names = |id: &str, list: &str| -> Vec<String> {
        let table = tables.iter().find(|table| table["id"] == id);
        let named = table.and_then(|table| table[list].as_array());
        let named = named.unwrap_or_else(|| panic!("{list} of {id} in {tables:?}"));
        let names = named.iter().map(|one| one["name"].as_str());
        names.map(|name| name.expect("a name").to_owned()).collect()
    };
    let claims = report["claims"].as_array().expect("claims");
    for (file, program, table, variant, claim) in [
        ("libmillibox_c.a", "gcc", "one", "C", "C, added to a run"),
        (
            "lib_native.so",
            "python3",
            "one",
            "Python, run",
            "Python, added to a run",
        ),
        (
            "lib_native.so",
            "python3",
            "in-flight",
            "Python, arun",
            "asyncio, 64 in flight, time for each run",
        ),
    ] {
        let is_built = executable("millibox-lab").with_file_name(file).exists();
        let exists = Path::new("/usr/bin").join(program).exists();
        let (list, other) = match is_built && exists {
            true => ("variants", "missing"),
            false => ("missing", "variants"),
        };
        let variant = variant.to_owned();
        assert!(names(table, list).contains(&variant), "{variant}: {report}");
        assert!(!names(table, other).contains(&variant), "{variant}");
        let is_claimed = claims.iter().any(|found| found["what"] == claim);
        assert_eq!(is_claimed, is_built && exists, "{claim}: {claims:?}");
    }
}

#[test]
fn missing_or_failing_peer_is_named_with_its_reason() {
    let directory = tempfile::tempdir().expect("a directory");
    let script = |name: &str, text: &str| {
        let path = directory.path().join(name);
        // The script answers --version and counts its other calls in a file beside it.
        let text = format!(
            "#!/bin/sh\n[ \"$1\" != --version ] || exit 0\necho >> \"$0.count\"\ncount=$(wc -l < \
             \"$0.count\")\n{text}\n"
        );
        write_script(&path, &text);
        path
    };
    // This peer works only for its first calls.
    let exhausted = script(
        "exhausted",
        "[ $count -le 3 ] || { echo 'no more' >&2; exit 1; }",
    );
    let exhausted = format!("bubblewrap={}", exhausted.display());
    let stuck = script("stuck", "exec sleep 1000");
    let stuck = format!("firejail={}", stuck.display());
    let peers = [
        "--peer",
        "nsjail=/nonexistent/nsjail",
        "--peer",
        "go-judge=/bin/false",
        "--peer",
        &exhausted,
        "--peer",
        &stuck,
    ];
    let report = run_experiment("peers", &peers);
    let missing = report["tables"][0]["missing"].as_array().expect("missing");
    let why = |name: &str| {
        let found = missing
            .iter()
            .find(|one| one["name"] == name)
            .unwrap_or_else(|| panic!("{name} in {missing:?}"));
        found["why"].as_str().expect("a reason").to_owned()
    };
    assert!(why("nsjail").contains("/nonexistent/nsjail"));
    // These peers exist but fail, at once or later. The table names them, and the other peers are
    // measured.
    assert!(
        why("go-judge").contains("did not start"),
        "{}",
        why("go-judge")
    );
    assert!(
        why("bubblewrap").ends_with("no more"),
        "{}",
        why("bubblewrap")
    );
    assert!(
        why("firejail").contains("did not end within 10 s"),
        "{}",
        why("firejail")
    );
    assert_eq!(report["tables"][0]["variants"][1]["name"], "millibox");
}

#[test]
fn signal_ends_the_lab_and_leaves_nothing() {
    for (name, signal) in [("peers", Signal::TERM), ("true", Signal::INT)] {
        let directory = tempfile::tempdir().expect("a directory");
        // The sandbox's user must be able to reach the files in the directory.
        set_mode(directory.path(), 0o755);
        let mut command = command(&[name, "--scale", "full"]);
        let child = command
            .env("TMPDIR", directory.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let child = child.expect("millibox-lab");
        let entries = || {
            std::fs::read_dir(directory.path())
                .expect("the directory")
                .count()
        };
        assert!(
            eventually(Duration::from_secs(20), || entries() > 0),
            "{name} has not created a directory"
        );
        std::thread::sleep(Duration::from_secs(2));
        let footprint = Footprint::new(child.id(), Vec::new());
        kill(child.id() as i32, signal);
        // This returns once every process that has the pipes open has ended.
        let output = child.wait_with_output().expect("the end of the lab");
        assert_eq!(
            output.status.code(),
            Some(128 + signal.as_raw()),
            "{name}: {}",
            all_output(&output)
        );
        assert_eq!(entries(), 0, "{name} has not removed its directory");
        footprint.assert_gone();
    }
}

#[test]
fn true_json_has_the_keys_that_scripts_read() {
    let output = lab(&["true", "--runs", "20", "--seconds", "0.05", "--json", "-"]);
    assert!(output.status.success(), "{}", all_output(&output));
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON and nothing else");
    for key in [
        "ratio_1_slot",
        "ratio_all_cpus",
        "ratio_all_cpus_one_supervisor",
        "ratio_all_cpus_unpinned",
        "posix_spawn_median_ns",
        "posix_spawn_mean_ns",
        "sandbox_median_ns",
        "sandbox_mean_ns",
        "sandbox_p99_ns",
        "runs_per_second",
        "posix_spawn_per_second",
        "cpu_ns_per_request",
        "posix_spawn_cpu_ns",
        "runs",
        "cpus",
    ] {
        assert!(json[key].is_number(), "{key} in {json}");
    }
    assert!(json["backend"].is_string() && json["kernel"].is_string());
}

#[test]
fn invalid_options_are_rejected_in_one_line() {
    for (arguments, named) in [
        (&["nothing"][..], "nothing"),
        (&["true", "--peer", "nsjail"], "NAME=PATH"),
        (&["compute", "--json", "-"], "--json"),
        (&["true", "--runs", "3"], "--runs"),
        (&["true", "--runs", "20", "--seconds", "nan"], "--seconds"),
        (&["true", "--runs", "20", "--seconds", "inf"], "--seconds"),
        (&["true", "--runs", "20", "--seconds=-1"], "--seconds"),
        (&["true", "--runs", "20", "--seconds", "1e300"], "--seconds"),
        (
            &[
                "true",
                "--runs",
                "20",
                "--seconds",
                "0.01",
                "--peer",
                "nsjali=/bin/true",
            ],
            "nsjail, bubblewrap",
        ),
        (
            &[
                "true",
                "--runs",
                "20",
                "--seconds",
                "0.01",
                "--peer",
                "nsjail=/a",
                "--peer",
                "nsjail=/b",
            ],
            "--peer nsjail: given more than once",
        ),
    ] {
        let output = lab(arguments);
        let text = all_output(&output);
        assert_eq!(output.status.code(), Some(125), "{arguments:?}: {text}");
        assert!(
            text.contains(named) && text.trim().lines().count() == 1,
            "{arguments:?}: {text}"
        );
    }
}

#[test]
fn output_to_closed_or_full_stream_returns_error() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    for arguments in [&["list"][..], &["--completions", "bash"]] {
        let output = command(arguments)
            .stdout(writer.try_clone().expect("a pipe"))
            .output()
            .expect("millibox-lab");
        assert_eq!(
            (output.status.code(), all_output(&output)),
            (Some(141), String::new()),
            "{arguments:?}"
        );
    }
    // Rust opens /dev/null instead of a closed standard output, so JSON would be lost.
    for arguments in [
        &["true", "--runs", "20", "--seconds", "0.01", "--json", "-"][..],
        &["--completions", "bash"],
    ] {
        for (script, status) in [
            ("exec \"$0\" \"$@\" >&-", 125),
            ("exec \"$0\" \"$@\" >/dev/null", 0),
        ] {
            let mut shell = Command::new("/bin/sh");
            shell
                .args(["-c", script])
                .arg(executable("millibox-lab"))
                .args(arguments);
            let output = shell
                .env("MILLIBOX_SUPERVISOR", executable("millibox-supervisor"))
                .output()
                .expect("a shell");
            assert_eq!(
                output.status.code(),
                Some(status),
                "{script}: {arguments:?}: {}",
                all_output(&output)
            );
            let is_named =
                all_output(&output).contains("cannot write to standard output: it is closed");
            assert_eq!(
                is_named,
                status == 125,
                "{script}: {arguments:?}: {}",
                all_output(&output)
            );
        }
    }
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .expect("/dev/full");
    let output = command(&["list"])
        .stdout(full)
        .output()
        .expect("millibox-lab");
    assert_eq!(output.status.code(), Some(125), "{}", all_output(&output));
    assert!(
        all_output(&output).starts_with("millibox-lab: cannot write to standard output"),
        "{}",
        all_output(&output)
    );
}

#[test]
fn millibox_bench_is_rejected_with_hint_to_use_millibox_lab() {
    for arguments in [&["bench", "true"][..], &["bench"], &["help", "bench"]] {
        let output = Command::new(executable("millibox"))
            .args(arguments)
            .output()
            .expect("millibox");
        assert_eq!(
            output.status.code(),
            Some(125),
            "{arguments:?}: {}",
            all_output(&output)
        );
        assert!(
            all_output(&output).contains("millibox-lab"),
            "{arguments:?}: {}",
            all_output(&output)
        );
    }
}
