//! Programs that try to reach their template, later runs or millibox.

use super::{PYTHON, is_possible_or_skips, prepared, python, request, text};
use crate::builder;
use millibox::{
    Hint, Outcome, Prepare, ProcessEnd, Request, RunResult, Supervisor, TemplateProblem, Unfit,
};
use millibox_tests::{not_started, result, start, world_with_proc};
use std::time::Duration;

/// `#### NAME` begins a program.
const PROGRAMS: &str = include_str!("hostile.txt");

fn program(name: &str) -> &'static str {
    let beginning = format!("{name}\n");
    let found = PROGRAMS
        .split("#### ")
        .find_map(|program| program.strip_prefix(&beginning));
    found.unwrap_or_else(|| panic!("no program {name}"))
}

/// A supervisor with one runner, so that all runs come from one template.
fn lone_runner() -> Supervisor {
    start(builder().slots(1).runners_per_slot(1))
}

/// Runs a program that prints `contained` if each of its attempts fails, and then a harmless
/// program.
fn assert_contained(name: &str) {
    let supervisor = lone_runner();
    if !is_possible_or_skips(&supervisor) {
        return;
    }
    let python = python(&world_with_proc());
    let _ = text(&supervisor, "pass", &python);
    assert_eq!(text(&supervisor, program(name), &python), "contained\n");
    assert_eq!(text(&supervisor, "print('fine')", &python), "fine\n");
}

#[test]
fn copy_has_only_standard_descriptors() {
    assert_contained("descriptors");
}

/// pid1 runs in the template's memory, so its memory must be protected.
#[test]
fn copy_cannot_open_memory_of_its_pid1() {
    assert_contained("memory of pid1");
    assert_contained("files of pid1");
}

#[test]
fn copy_cannot_trace_its_pid1() {
    assert_contained("trace of pid1");
}

#[test]
fn copy_cannot_signal_its_pid1_or_others() {
    assert_contained("signals");
}

#[test]
fn copy_cannot_change_limits_of_its_pid1() {
    assert_contained("limits of pid1");
}

/// After the attempt, another copy must still be possible.
#[test]
fn copy_cannot_exhaust_resources_of_its_template() {
    assert_contained("many processes");
    assert_contained("many descriptors");
}

#[test]
fn copy_has_no_capabilities() {
    assert_contained("capabilities");
}

#[test]
fn copy_cannot_use_calls_of_template() {
    assert_contained("calls of the template");
    assert_contained("filter of its own");
}

#[test]
fn copy_cannot_uncover_mounts_of_template() {
    assert_contained("mounts of the template");
}

#[test]
fn copy_cannot_raise_its_limits() {
    assert_contained("limits");
}

/// The library cannot serve runs in a copy, which may not make the system calls of a template.
#[test]
fn copy_cannot_serve_as_template() {
    assert_contained("serves as a template");
}

/// Runs a program with its own real-time limit, and then a harmless program. Returns the outcome.
fn outcome(name: &str, limit: Duration) -> Option<Outcome> {
    let supervisor = lone_runner();
    if !is_possible_or_skips(&supervisor) {
        return None;
    }
    let python = python(&world_with_proc());
    let hostile = request(program(name), &python).real_time_limit(limit);
    let outcome = result(&supervisor, &hostile).outcome;
    assert_eq!(text(&supervisor, "print('fine')", &python), "fine\n");
    Some(outcome)
}

#[test]
fn copy_that_stops_ends_at_its_limit() {
    if let Some(outcome) = outcome("stops its group", Duration::from_millis(300)) {
        assert_eq!(outcome, Outcome::RealTimeLimit);
    }
}

/// pid1 reports only the status of the first process, and ends the other processes.
#[test]
fn sibling_of_copy_does_not_change_its_status() {
    if let Some(outcome) = outcome("has a sibling", Duration::from_secs(60)) {
        assert_eq!(outcome, Outcome::Exited(7));
    }
}

/// The memory of a later run contains neither the memory nor the arguments of an earlier run.
#[test]
fn memory_of_earlier_run_is_absent() {
    let supervisor = lone_runner();
    if !is_possible_or_skips(&supervisor) {
        return;
    }
    let python = python(&world_with_proc());
    let (plant, look) = (program("plants a secret"), program("looks for the secret"));
    assert_eq!(text(&supervisor, plant, &python), "");
    assert_eq!(text(&supervisor, look, &python), "contained\n");
    let both = format!("{plant}\n{look}");
    assert_eq!(text(&supervisor, &both, &python), "found\n");
}

/// Runs a program several times. It must do the same each time.
fn assert_repeatable(name: &str, expected: &str) {
    let supervisor = lone_runner();
    if !is_possible_or_skips(&supervisor) {
        return;
    }
    let python = python(&world_with_proc());
    for _ in 0..4 {
        assert_eq!(text(&supervisor, program(name), &python), expected);
    }
}

#[test]
fn change_of_modules_and_memory_does_not_reach_next_run() {
    assert_repeatable("changes modules", "clean\n");
}

#[test]
fn processes_files_and_ipc_objects_do_not_reach_next_run() {
    assert_repeatable("leaves things behind", "[] ['1', '2'] True\n");
}

#[test]
fn changed_process_does_not_reach_next_run() {
    let supervisor = lone_runner();
    if !is_possible_or_skips(&supervisor) {
        return;
    }
    let python = python(&world_with_proc());
    let first = text(&supervisor, program("changes the process"), &python);
    let second = text(&supervisor, program("changes the process"), &python);
    assert_eq!(first, second);
}

#[test]
fn locks_queues_and_timers_do_not_reach_next_run() {
    let supervisor = lone_runner();
    if !is_possible_or_skips(&supervisor) {
        return;
    }
    let directory = millibox_tests::directory();
    let file = directory.path().join("lock");
    std::fs::write(&file, "").expect("a file");
    millibox_tests::set_mode(&file, 0o644);
    let python = python(&world_with_proc().read_only(&file, "/lock"));
    for _ in 0..4 {
        let left = text(
            &supervisor,
            program("leaves locks, queues and timers"),
            &python,
        );
        assert_eq!(left, "True False False False\n");
    }
}

#[test]
fn sockets_in_transit_do_not_reach_next_run() {
    assert_repeatable("leaves sockets in transit", "clean\n");
}

/// Runs a hostile template. Another run must work afterwards.
fn run_template(name: &str) -> Option<RunResult> {
    let supervisor = lone_runner();
    if !is_possible_or_skips(&supervisor) {
        return None;
    }
    let world = world_with_proc();
    let template = Prepare::new(PYTHON).arg("-c").arg(program(name));
    let template = prepared(&world, &template);
    let request = Request::new("/bin/false").prepared(&template);
    let answer = result(&supervisor, &request);
    let fine = result(&supervisor, &Request::new("/bin/true").world(&world));
    assert_eq!(fine.outcome, Outcome::Exited(0));
    Some(answer)
}

fn assert_template_ends(name: &str, problem: TemplateProblem) {
    if let Some(result) = run_template(name) {
        let hint = &not_started(&result).hint;
        assert_eq!(*hint, Some(Hint::Template(problem)), "{result}");
    }
}

#[test]
fn template_that_forges_messages_is_ended() {
    let problem = TemplateProblem::Unfit(Unfit::Protocol);
    assert_template_ends("forging template", problem);
    assert_template_ends("false birth", problem);
}

#[test]
fn template_that_shares_memory_is_ended() {
    let problem = TemplateProblem::Unfit(Unfit::SharedMemory);
    assert_template_ends("sharing template", problem);
}

/// The template exits with 1 if it finds that it can do more than a run.
#[test]
fn template_is_confined_like_run() {
    let problem = TemplateProblem::Ended(ProcessEnd::Exited(0));
    assert_template_ends("confinement of template", problem);
}
