//! Reads small packages that would need much memory or time. Reading ends at the bound that the
//! package exceeds.
//!
//! The measured memory is the peak resident set of the process, so the tests run one at a time.

use millibox_package::{Bound, read, read_unfinished};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Maximum memory for reading. A package with 64 MiB of plain text needs about this much.
const MAX_MEMORY_MIB: u64 = 512;
/// Maximum time for reading. The slowest package needs 2 s, and would need far longer without
/// bounds.
const MAX_TIME: Duration = Duration::from_secs(40);

struct Bomb(TempDir);

impl Bomb {
    fn new() -> Bomb {
        Bomb(tempfile::tempdir().unwrap())
    }

    fn icpc(header: &str) -> Bomb {
        let bomb = Bomb::new();
        bomb.file("problem.yaml", header)
            .file("data/secret/1.in", "1\n")
            .file("data/secret/1.ans", "1\n");
        bomb.file("submissions/accepted/a.cpp", "");
        bomb
    }

    fn sim(sipfile: &str) -> Bomb {
        let bomb = Bomb::new();
        bomb.file("Simfile", "name: Bomb\nlabel: bom\nmemory_limit: 64\n")
            .file("Sipfile", sipfile);
        bomb.file("prog/a.cpp", "").file("utils/gen.cpp", "");
        bomb
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("pack")
    }

    fn file(&self, path: &str, text: impl AsRef<[u8]>) -> &Bomb {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Asserts that `read_unfinished` fails quickly at this bound.
    fn exceeds(&self, bound: Bound) {
        exceeds(&self.path(), bound);
    }
}

fn exceeds(path: &Path, bound: Bound) {
    let (found, memory, time) = measured(path, true);
    assert!(found.contains(&bound), "{bound:?} is not among {found:?}");
    assert!(memory < MAX_MEMORY_MIB, "{memory} MiB");
    assert!(time < MAX_TIME, "{time:?}");
}

/// Returns the exceeded bounds, the memory in MiB, and the time for reading.
fn measured(path: &Path, unfinished: bool) -> (Vec<Bound>, u64, Duration) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    // Writing 5 resets the peak resident set (proc_pid_clear_refs(5)).
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = resident_mib();
    let start = Instant::now();
    let found = if unfinished {
        read_unfinished(path)
    } else {
        read(path)
    };
    let (time, memory) = (start.elapsed(), resident_mib().saturating_sub(before));
    eprintln!(
        "{}: {memory} MiB, {:.2} s",
        std::thread::current().name().unwrap_or_default(),
        time.as_secs_f64()
    );
    let bounds = match &found {
        Ok(_) => Vec::new(),
        Err(faults) => faults.iter().filter_map(|fault| fault.bound()).collect(),
    };
    (bounds, memory, time)
}

/// Returns the peak resident set of the process.
fn resident_mib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() >> 10
}

#[test]
fn yaml_aliases_of_long_text_are_counted() {
    let mut text = format!("name: &a {}\nkeywords:\n", "x".repeat(900 << 10));
    (0..4_000).for_each(|_| text.push_str("- *a\n"));
    Bomb::icpc(&text).exceeds(Bound::Text);
}

#[test]
fn yaml_nested_anchors_are_counted() {
    let text: String = (0..60).map(|level| format!("&a{level} [")).collect();
    let text = format!("name: {text}{}{}", "x".repeat(12 << 20), "]".repeat(60));
    Bomb::icpc(&text).exceeds(Bound::Text);
}

#[test]
fn yaml_nested_aliases_are_counted() {
    let mut text = "name: &a0 x\n".to_owned();
    (0..40).for_each(|level| {
        writeln!(
            text,
            "k{}: &a{} [*a{level}, *a{level}]",
            level + 1,
            level + 1
        )
        .unwrap()
    });
    Bomb::icpc(&text).exceeds(Bound::Values);
}

#[test]
fn yaml_many_keys_take_linear_time() {
    let mut text = "name: x\n".to_owned();
    (0..49_000).for_each(|key| writeln!(text, "some_key_{key}: 1").unwrap());
    let (bounds, memory, time) = measured(&Bomb::icpc(&text).path(), false);
    assert!(
        bounds.is_empty() && memory < MAX_MEMORY_MIB && time < MAX_TIME,
        "{bounds:?} {memory} {time:?}"
    );
}

#[test]
fn yaml_long_key_is_not_compared() {
    let text = format!("name: x\n\"{}\": 1\n", "k".repeat(8 << 20));
    let (bounds, memory, time) = measured(&Bomb::icpc(&text).path(), false);
    assert!(
        bounds.is_empty() && memory < MAX_MEMORY_MIB && time < MAX_TIME,
        "{bounds:?} {memory} {time:?}"
    );
}

#[test]
fn yaml_flags_of_many_words_are_refused() {
    Bomb::icpc(&format!(
        "name: x\nvalidator_flags: {}\n",
        "a ".repeat(8 << 20 >> 1)
    ))
    .exceeds(Bound::Words);
}

#[test]
fn flags_inherited_by_many_tests_are_counted() {
    let bomb = Bomb::icpc("name: x\nvalidation: custom\n");
    bomb.file("output_validators/v.py", "");
    bomb.file(
        "data/testdata.yaml",
        format!("output_validator_flags: [{}]\n", "x".repeat(1 << 20)),
    );
    (0..3_000).for_each(|test| {
        bomb.file(&format!("data/secret/t{test}.in"), "")
            .file(&format!("data/secret/t{test}.ans"), "");
    });
    bomb.exceeds(Bound::Text);
}

#[test]
fn constants_used_often_are_counted() {
    let header = "problem_format_version: 2025-09\nname: x\nuuid: 1\ntype: scoring\n";
    let bomb = Bomb::icpc(&format!(
        "{header}constants:\n  n: {}\n",
        "x".repeat(200 << 10)
    ));
    bomb.file(
        "data/secret/test_group.yaml",
        format!("max_score: {}\n", "{{n}}".repeat(20_000)),
    );
    bomb.exceeds(Bound::Text);
}

#[test]
fn constants_without_ends_take_linear_time() {
    let header =
        "problem_format_version: 2025-09\nname: x\nuuid: 1\ntype: scoring\nconstants:\n  n: 1\n";
    let bomb = Bomb::icpc(header);
    bomb.file(
        "data/secret/test_group.yaml",
        format!("max_score: {}\n", "{".repeat(1 << 20)),
    );
    let (_, memory, time) = measured(&bomb.path(), false);
    assert!(
        memory < MAX_MEMORY_MIB && time < MAX_TIME,
        "{memory} {time:?}"
    );
}

#[test]
fn sim_ranges_are_counted_together() {
    let ranges: String = (0..300)
        .map(|range| format!("p{range}x1-9999 sh:g\n"))
        .collect();
    Bomb::sim(&format!("gen: [\n{ranges}]\n")).exceeds(Bound::TestsOfFile);
}

#[test]
fn sim_repeated_range_is_counted() {
    Bomb::sim(&format!("gen: [\n{}]\n", "1-9999 sh:g\n".repeat(300))).exceeds(Bound::TestsOfFile);
}

#[test]
fn sim_long_prefix_is_refused() {
    Bomb::sim(&format!("static: [{}1-9999]\n", "x".repeat(200_000))).exceeds(Bound::TestName);
}

#[test]
fn sim_long_arguments_are_counted_for_each_test() {
    Bomb::sim(&format!(
        "gen: [\n1-9999 gen {}\n]\n",
        "x".repeat(500 << 10)
    ))
    .exceeds(Bound::Text);
}

#[test]
fn sim_many_keys_are_refused() {
    let text: String = (0..300_000).map(|key| format!("k{key}:\n")).collect();
    Bomb::sim(&text).exceeds(Bound::Keys);
}

#[test]
fn sim_many_values_are_refused() {
    Bomb::sim(&format!("static: [{}]\n", "a1,".repeat(5 << 20))).exceeds(Bound::Values);
}

#[test]
fn sim_many_groups_take_linear_time() {
    let limits: String = (0..90_000).map(|group| format!("t{group} 1\n")).collect();
    let bomb = Bomb::sim("");
    bomb.file(
        "Simfile",
        format!("name: x\nmemory_limit: 64\nlimits: [\n{limits}]\n"),
    );
    let (_, memory, time) = measured(&bomb.path(), false);
    assert!(
        memory < MAX_MEMORY_MIB && time < MAX_TIME,
        "{memory} {time:?}"
    );
}

#[test]
fn generators_of_many_files_are_counted_for_each_test() {
    let bomb = Bomb::icpc("name: x\n");
    (0..2_000).for_each(|file| {
        bomb.file(&format!("generators/g/{}{file}.py", "n".repeat(100)), "");
    });
    let tests: String = (0..30_000)
        .map(|test| format!("    t{test}: g {test}\n"))
        .collect();
    bomb.file(
        "generators/generators.yaml",
        format!("data:\n  secret:\n   data:\n{tests}"),
    );
    bomb.exceeds(Bound::Text);
}

#[test]
fn missing_generators_take_linear_time() {
    let bomb = Bomb::icpc("name: x\n");
    (0..5_000).for_each(|file| {
        bomb.file(&format!("generators/some_generator_{file}.py"), "");
    });
    let tests: String = (0..40_000)
        .map(|test| format!("    t{test}: another_generator_{test}\n"))
        .collect();
    bomb.file(
        "generators/generators.yaml",
        format!("data:\n  secret:\n   data:\n{tests}"),
    );
    let (_, memory, time) = measured(&bomb.path(), true);
    assert!(
        memory < MAX_MEMORY_MIB && time < MAX_TIME,
        "{memory} {time:?}"
    );
}

#[test]
fn submissions_yaml_with_many_patterns_is_refused() {
    let bomb = Bomb::icpc("problem_format_version: 2025-09\nname: x\nuuid: 1\n");
    let patterns: String = (0..20_000)
        .map(|key| format!("\"acc*/{{a{key},b*,c}}*.cpp\": {{}}\n"))
        .collect();
    bomb.file("submissions/submissions.yaml", patterns);
    bomb.exceeds(Bound::Patterns);
}

#[test]
fn submissions_yaml_with_long_pattern_is_refused() {
    let bomb = Bomb::icpc("problem_format_version: 2025-09\nname: x\nuuid: 1\n");
    bomb.file(
        "submissions/submissions.yaml",
        format!("\"a{}\": {{}}\n", "{*,a*}".repeat(150)),
    );
    bomb.exceeds(Bound::Patterns);
}

/// Adds directories that each have two links to the next one, which makes 2^30 paths for 30 levels.
fn web(bomb: &Bomb, name: &str, levels: usize) {
    for level in 0..levels {
        bomb.file(&format!("data/secret/w/{level}/{name}"), "");
        for link in ["a", "b"] {
            let from = bomb
                .path()
                .join(format!("data/secret/w/{level}/{link}{name}"));
            std::os::unix::fs::symlink(format!("../{}", level + 1), from).unwrap();
        }
    }
}

#[test]
fn links_with_long_paths_are_counted() {
    let bomb = Bomb::icpc("name: x\n");
    web(&bomb, &"n".repeat(240), 30);
    bomb.exceeds(Bound::Paths);
}

#[test]
fn dangling_links_are_counted() {
    let bomb = Bomb::icpc("name: x\n");
    web(&bomb, "n", 14);
    fs::create_dir_all(bomb.path().join("data/secret/w/14")).unwrap();
    for link in 0..300 {
        std::os::unix::fs::symlink(
            "none",
            bomb.path().join(format!("data/secret/w/14/l{link}")),
        )
        .unwrap();
    }
    bomb.exceeds(Bound::Files);
}

fn archive(write: impl FnOnce(&mut zip::ZipWriter<fs::File>)) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bomb.zip");
    let mut writer = zip::ZipWriter::new(fs::File::create(&path).unwrap());
    write(&mut writer);
    writer.finish().unwrap();
    (directory, path)
}

#[test]
fn archive_with_long_links_is_refused() {
    let (_directory, path) = archive(|writer| {
        let target = "x/".repeat(2_000);
        for link in 0..20_000 {
            writer
                .add_symlink(
                    format!("l{link}"),
                    &target,
                    zip::write::SimpleFileOptions::default(),
                )
                .unwrap();
        }
    });
    exceeds(&path, Bound::Links);
}

#[test]
fn archive_with_deep_directories_is_refused() {
    let (_directory, path) = archive(|writer| {
        for file in 0..500 {
            let name = format!("{file}/{}x", "d/".repeat(1_500));
            writer
                .start_file(name, zip::write::SimpleFileOptions::default())
                .unwrap();
            writer.write_all(b"x").unwrap();
        }
    });
    exceeds(&path, Bound::Directories);
}
