//! Interactive problems: who ends first decides, on any machine and at any load.
//!
//! Both programs are the puppet, which does what its arguments say.

use crate::setting::Data;
use Verdict::{
    Accepted, JudgeError, MemoryLimit, OutputLimit, RunTimeError, TimeLimit, WrongAnswer,
};
use millibox::{Backend, BackendChoice, Outcome, Supervisor, World};
use millibox_judge::batch::{Case, Trial, Worker};
use millibox_judge::checker::custom::OutputValidator;
use millibox_judge::interactive::{END_GRACE, Mode, judge};
use millibox_judge::program::{Executable, Limits};
use millibox_judge::staging::Staged;
use millibox_judge::verdict::{Points, TestResult, Verdict};
use millibox_package::model::Convention;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const BOTH: [Mode; 2] = [Mode::Direct, Mode::Relay];
/// Much later than at once.
const LATER: &str = "sleep:400";
/// More than a pipe holds.
const FLOOD: &str = "pour:3000000";
/// Kept by the interactor until the solution has ended.
const WAIT: &str = "read-to-end";

/// A supervisor that takes limits, and what all its tests share.
struct Table {
    supervisor: Supervisor,
    puppet: Arc<tempfile::TempDir>,
    data: Data,
}

impl Table {
    fn new() -> Table {
        Table::with_slots(2)
    }

    fn with_slots(slots: usize) -> Table {
        let start =
            |backend| millibox_tests::start(Supervisor::builder().backend(backend).slots(slots));
        let mut supervisor = start(BackendChoice::Auto);
        if supervisor.info().backend() == Backend::Rlimit {
            supervisor = start(BackendChoice::Rlimit);
        }
        let puppet = millibox_tests::directory();
        let copy = puppet.path().join("puppet");
        std::fs::copy(millibox_tests::executable("puppet"), &copy).unwrap();
        millibox_tests::share(&copy, 0o755);
        Table {
            supervisor,
            puppet: Arc::new(puppet),
            data: Data::new(
                "1
", "1
",
            ),
        }
    }

    fn has_cgroups(&self) -> bool {
        self.supervisor.info().backend() != Backend::Rlimit
    }

    fn executable(&self, part: &[&str]) -> Executable {
        Executable {
            world: World::minimal().read_only(self.puppet.path(), "/judge/puppet"),
            argv: ["/judge/puppet/puppet"]
                .iter()
                .chain(part)
                .chain(&["--"])
                .map(Into::into)
                .collect(),
            env: Vec::new(),
            current_dir: "/".into(),
            processes: 0,
            memory: 0,
            suite: "puppet".to_owned(),
            files: self.puppet.clone(),
        }
    }

    fn interactor(&self, convention: Convention, part: &[&str]) -> Arc<OutputValidator> {
        self.interactor_of(convention, self.executable(part))
    }

    fn interactor_of(
        &self,
        convention: Convention,
        executable: Executable,
    ) -> Arc<OutputValidator> {
        let data = Staged::new(self.data.path(), self.supervisor.info().ids()).unwrap();
        Arc::new(OutputValidator {
            executable,
            convention,
            data,
            limits: limits(),
        })
    }

    /// The test, with a flag for the interactor.
    fn judge(
        &self,
        mode: Mode,
        limits: &Limits,
        solution: &Executable,
        interactor: &Arc<OutputValidator>,
    ) -> TestResult {
        let Data { input, answer, .. } = &self.data;
        let case = Case {
            input,
            answer: Some(answer),
            arguments: &[],
            flags: &["flag".to_owned()],
        };
        let trial = Trial {
            executable: solution,
            case,
            limits,
        };
        judge(&mut Worker::new(&self.supervisor), &trial, interactor, mode)
    }

    fn play(&self, mode: Mode, solution: &[&str], interactor: &[&str]) -> TestResult {
        self.play_within(mode, &limits(), solution, interactor)
    }

    fn play_within(
        &self,
        mode: Mode,
        limits: &Limits,
        solution: &[&str],
        interactor: &[&str],
    ) -> TestResult {
        self.judge(
            mode,
            limits,
            &self.executable(solution),
            &self.interactor(Convention::Icpc, interactor),
        )
    }

    fn says(
        &self,
        modes: &[Mode],
        solution: &[&str],
        interactor: &[&str],
        verdict: Verdict,
    ) -> Vec<TestResult> {
        let results: Vec<TestResult> = std::thread::scope(|scope| {
            let play = |&mode| scope.spawn(move || self.play(mode, solution, interactor));
            let threads: Vec<_> = modes.iter().map(play).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        for (result, mode) in results.iter().zip(modes) {
            assert_eq!(
                result.verdict, verdict,
                "{mode:?}, solution {solution:?}, interactor {interactor:?}: {result:?}"
            );
        }
        results
    }
}

fn limits() -> Limits {
    Limits {
        cpu_time: Duration::from_millis(300),
        real_time: Duration::from_millis(2000),
        memory: 64 << 20,
        output: 10 << 20,
        processes: 1,
    }
}

#[test]
fn there_may_be_all_the_time_in_the_world() {
    let table = Table::new();
    let limits = Limits {
        cpu_time: Duration::MAX,
        real_time: Duration::MAX,
        ..limits()
    };
    for mode in BOTH {
        let result = table.play_within(mode, &limits, &["exit:0"], &["exit:42"]);
        assert_eq!(result.verdict, Accepted, "{mode:?}: {result:?}");
    }
}

/// Ways to fail, with what is said of a solution that fails so.
fn failures(table: &Table) -> Vec<(&'static str, Verdict)> {
    let mut all = vec![
        ("exit:3", RunTimeError),
        ("signal:11", RunTimeError),
        ("signal:9", RunTimeError),
        ("spin:100000", TimeLimit),
        ("sleep:100000", TimeLimit),
    ];
    if table.has_cgroups() {
        all.push(("eat:100", MemoryLimit));
    } else {
        millibox_tests::skip("memory limits of a tree need cgroups");
    }
    all
}

#[test]
fn a_conversation() {
    let table = Table::new();
    let asks = [
        "write:guess",
        "read:higher",
        "write:again",
        "read:right",
        "exit:0",
    ];
    let answers = [
        "given:4",
        "read:guess",
        "write:higher",
        "read:again",
        "write:right",
        "read-to-end",
    ];
    for (code, verdict) in [("exit:42", Accepted), ("exit:43", WrongAnswer)] {
        for result in table.says(
            &BOTH,
            &asks,
            &[&answers[..], &["note:judgemessage.txt=so", code]].concat(),
            verdict,
        ) {
            assert_eq!(
                (result.comment.as_str(), result.reason.as_str()),
                ("so", "")
            );
            assert_eq!(result.run.unwrap().outcome, Outcome::Exited(0));
            assert!(result.checker.unwrap().real_time_ns > 0);
        }
    }
}

#[test]
fn a_solution_that_fails_first_has_failed() {
    let table = Table::new();
    for (fails, verdict) in failures(&table) {
        for said in ["exit:42", "exit:43"] {
            // It sees the silence, and says so.
            table.says(&BOTH, &["write:x", fails], &["read:x", WAIT, said], verdict);
        }
        // It does not look, and says so later.
        if matches!(fails, "exit:3" | "signal:11" | "signal:9") {
            table.says(&BOTH, &[fails], &[LATER, "exit:43"], verdict);
            // It writes on, to nobody: no fault of its.
            table.says(
                &BOTH,
                &[fails],
                &[LATER, "write:x", FLOOD, "read-to-end", "exit:43"],
                verdict,
            );
            table.says(&BOTH, &[fails], &[FLOOD, "read-to-end", "exit:43"], verdict);
        }
    }
}

#[test]
fn a_wrong_answer_that_is_said_first_stays_one() {
    let table = Table::new();
    for (fails, _) in failures(&table) {
        // The solution would fail if it were let.
        table.says(
            &BOTH,
            &["write:x", LATER, fails],
            &["read:x", "exit:43"],
            WrongAnswer,
        );
    }
    // It falls over the interactor's end, or would.
    for falls in ["read", "read-to-end", FLOOD, "ask:1000000"] {
        table.says(
            &BOTH,
            &["write:x", falls, "exit:1"],
            &["read:x", "exit:43"],
            WrongAnswer,
        );
    }
    // Nobody waits for what cannot matter.
    for result in table.says(
        &BOTH,
        &["write:x", "sleep:100000"],
        &["read:x", "exit:43"],
        WrongAnswer,
    ) {
        assert_eq!(result.run.unwrap().outcome, Outcome::Killed);
    }
    // Told so, and then left.
    for falls in ["exit:1", "signal:6", "read", "sleep:100000"] {
        table.says(
            &BOTH,
            &["write:x", "read:wrong", falls],
            &["read:x", "write:wrong", "exit:43"],
            WrongAnswer,
        );
    }
    table.says(&BOTH, &["exit:0"], &["sleep:50", "exit:43"], WrongAnswer);
}

#[test]
fn who_is_accepted_must_still_end_well() {
    let table = Table::new();
    for (fails, verdict) in failures(&table) {
        table.says(
            &BOTH,
            &["write:x", "sleep:50", fails],
            &["read:x", "exit:42"],
            verdict,
        );
    }
    // The end of the interactor is the end of its output; and what it would not have read is
    // nobody's loss.
    table.says(
        &BOTH,
        &["write:x", "read-to-end", "exit:0"],
        &["read:x", "exit:42"],
        Accepted,
    );
    table.says(
        &BOTH,
        &["write:x", "read", "exit:0"],
        &["read:x", "exit:42"],
        RunTimeError,
    );
    table.says(
        &BOTH,
        &["write:x", "sleep:50", FLOOD, "exit:0"],
        &["read:x", "exit:42"],
        Accepted,
    );
    table.says(
        &BOTH,
        &["write:x", LATER, "exit:0"],
        &["read:x", "exit:42"],
        Accepted,
    );
    table.says(&BOTH, &["exit:0"], &[WAIT, "exit:42"], Accepted);
}

#[test]
fn who_leaves_an_interactor_that_writes_is_what_that_says() {
    let table = Table::new();
    for leaves in [
        &["exit:0"][..],
        // The interactor waits for room in a pipe that is full, and in the next.
        &["sleep:200", "exit:0"],
        &["read", "close:0", "exit:0"],
        &["close:1", "sleep:50", "exit:0"],
    ] {
        for (says, verdict) in [("exit:43", WrongAnswer), ("exit:42", Accepted)] {
            for pours in ["write:x", FLOOD, "pour:30000000"] {
                table.says(
                    &BOTH,
                    leaves,
                    &["write:x", pours, "read-to-end", pours, says],
                    verdict,
                );
            }
            // It does not look whether anybody is there.
            table.says(&BOTH, leaves, &["write:x", "pour:30000000", says], verdict);
        }
    }
    // For ever: that is not the solution's doing, which has left.
    for result in table.says(
        &BOTH,
        &["exit:0"],
        &["pour:1000000000000", "exit:43"],
        JudgeError,
    ) {
        assert!(result.reason.contains("time limit"), "{result:?}");
    }
    // Who has had all that it wanted is not held up by what is left in the pipe.
    table.says(
        &BOTH,
        &["write:x", "exit:0"],
        &["pour:900000", "read:x", "exit:42"],
        Accepted,
    );
}

#[test]
fn an_interactor_that_fails_is_no_verdict() {
    let table = Table::new();
    let mut fails = vec![
        "exit:0",
        "exit:1",
        "exit:44",
        "signal:11",
        "spin:100000",
        "sleep:100000",
    ];
    if table.has_cgroups() {
        fails.push("eat:100");
    }
    for fails in fails {
        for solution in [
            &["write:x", "exit:0"][..],
            &["write:x", "exit:3"],
            &["write:x", "read"],
        ] {
            // The solution is done before, or is waiting, or done for.
            for result in table.says(&[Mode::Direct], solution, &["read:x", fails], JudgeError) {
                assert!(result.reason.starts_with("interactor: "), "{result:?}");
            }
        }
        table.says(
            &[Mode::Relay],
            &["write:x", "exit:3"],
            &["read:x", WAIT, fails],
            JudgeError,
        );
    }
    // What it says of that is passed on.
    let result = &table.says(
        &[Mode::Direct],
        &["read-to-end"],
        &["say:oops", "exit:7"],
        JudgeError,
    )[0];
    assert!(result.reason.contains("oops"), "{result:?}");
}

#[test]
fn who_waits_for_ever_is_the_solution() {
    let table = Table::new();
    let result = &table.says(&BOTH, &["read"], &[WAIT, "exit:43"], TimeLimit)[0];
    let used = result.run.as_ref().unwrap().figures;
    assert!(
        used.cpu_user_ns + used.cpu_system_ns < 300_000_000,
        "waiting is not computing: {used:?}"
    );
    // Both have written more than anybody holds, and neither reads.
    table.says(
        &BOTH,
        &[FLOOD, "read-to-end"],
        &[FLOOD, "read-to-end", "exit:42"],
        TimeLimit,
    );
}

#[test]
fn what_a_failed_solution_has_written_does_not_keep_the_interactor() {
    let table = Table::new();
    // A pipe full of it would take this one longer than it may.
    let slow = ["sip:40", "exit:43"];
    table.says(&BOTH, &[FLOOD], &slow, TimeLimit);
    table.says(&BOTH, &["pour:900000", "exit:3"], &slow, RunTimeError);
    // A line that it comes to late is there.
    table.says(
        &BOTH,
        &["write:x", "exit:3"],
        &[LATER, "read:x", "exit:42"],
        RunTimeError,
    );
    // It has all that was written by one that ends well.
    let quicker = ["sip:1", "exit:42"];
    table.says(&BOTH, &["pour:900000", "exit:0"], &quicker, Accepted);
}

#[test]
fn the_interactors_own_work_is_not_the_solutions_time() {
    let table = Table::new();
    for result in table.says(
        &BOTH,
        &["write:x", "read:y"],
        &["read:x", "spin:600", "write:y", WAIT, "exit:42"],
        Accepted,
    ) {
        let used = result.run.unwrap().figures;
        assert!(
            used.cpu_user_ns + used.cpu_system_ns < 300_000_000,
            "{used:?}"
        );
        assert!(used.real_time_ns > 600_000_000, "{used:?}");
    }
}

#[test]
fn a_solution_that_closes_its_output_and_lives_on() {
    let table = Table::new();
    let closes = ["write:x", "close:1", "read:y", "exit:0"];
    let waits = ["read-to-end", "write:y", "exit:42"];
    // Nobody is told: the interactor waits for the end, and the solution for the interactor.
    table.says(&[Mode::Direct], &closes, &waits, TimeLimit);
    table.says(&[Mode::Relay], &closes, &waits, Accepted);
    // Without need of an answer it makes no difference.
    table.says(
        &BOTH,
        &["write:x", "close:1", "sleep:100", "exit:0"],
        &["read:x", WAIT, "exit:42"],
        Accepted,
    );
    table.says(
        &BOTH,
        &["write:x", "close:1", "exit:3"],
        &["read:x", WAIT, LATER, "exit:43"],
        RunTimeError,
    );
    // Its input is closed with it: its end is waited for.
    table.says(
        &BOTH,
        &["close:0", "close:1", LATER, "exit:3"],
        &["read-to-end", "exit:43"],
        RunTimeError,
    );
}

#[test]
fn an_interactor_that_closes_its_output_and_lives_on() {
    let table = Table::new();
    let solution = ["read:x", "read-to-end", "write:y", "exit:0"];
    let closes = ["write:x", "close:1", WAIT, "exit:42"];
    table.says(&[Mode::Direct], &solution, &closes, TimeLimit);
    table.says(&[Mode::Relay], &solution, &closes, Accepted);
    // It has ended for the solution, but not said anything yet: who crashes now crashes first.
    table.says(
        &[Mode::Relay],
        &["read", "exit:0"],
        &["close:1", WAIT, "exit:43"],
        RunTimeError,
    );
}

#[test]
fn who_closes_its_input_is_written_to_in_vain() {
    let table = Table::new();
    for part in [
        &["read:a", "close:0", "write:b", "sleep:50", "exit:0"][..],
        &["close:0", "write:b", "exit:0"],
    ] {
        table.says(
            &BOTH,
            part,
            &[
                "write:a",
                "write:a",
                "read:b",
                "pour:100000",
                WAIT,
                "exit:42",
            ],
            Accepted,
        );
    }
    table.says(
        &BOTH,
        &["write:b", FLOOD_OF_A_PIPE, "exit:0"],
        &["read:b", "close:0", LATER, "exit:42"],
        Accepted,
    );
    // More than a pipe holds: in a relay it goes on.
    table.says(
        &[Mode::Relay],
        &["write:b", FLOOD, "exit:0"],
        &["read:b", "close:0", LATER, "exit:42"],
        Accepted,
    );
}

const FLOOD_OF_A_PIPE: &str = "pour:40000";

#[test]
fn a_writev_that_is_bad_in_its_second_half() {
    let table = Table::new();
    // The kernel takes nothing of the first, and whole pages of the others.
    for bytes in [1, 5000, 100_000] {
        let (writes, reads) = (
            format!("bad-writev:{bytes}"),
            format!("read:{}", "x".repeat(bytes)),
        );
        table.says(
            &BOTH,
            &[&writes, "read:y", "exit:0"],
            &[&reads, "write:y", WAIT, "exit:42"],
            Accepted,
        );
        table.says(
            &BOTH,
            &[&reads, "write:y", "exit:0"],
            &[&writes, "read:y", WAIT, "exit:42"],
            Accepted,
        );
    }
}

#[test]
fn output_is_counted_in_a_relay() {
    let table = Table::new();
    let mut limits = limits();
    limits.output = 100_000;
    let verdict = |mode, part: &[&str], interactor: &[&str]| {
        table.play_within(mode, &limits, part, interactor).verdict
    };
    for reads in [&[WAIT, "exit:42"][..], &[LATER, "exit:42"], &["exit:42"]] {
        assert_eq!(verdict(Mode::Relay, &["pour:100000"], reads), Accepted);
        assert_eq!(verdict(Mode::Relay, &["pour:100001"], reads), OutputLimit);
        assert_eq!(
            verdict(Mode::Relay, &["pour:100001", "sleep:100000"], reads),
            OutputLimit
        );
        assert_eq!(verdict(Mode::Direct, &["pour:100001"], reads), Accepted);
    }
    // What nobody had read, nor moved, when both had ended. Two pipes hold 2 MiB.
    for (limit, said) in [(1_500_000, OutputLimit), (1_900_000, Accepted)] {
        let limits = Limits {
            output: limit,
            ..limits
        };
        let result =
            table.play_within(Mode::Relay, &limits, &["pour:1900000"], &[LATER, "exit:42"]);
        assert_eq!(result.verdict, said, "{result:?}");
    }
    // With nobody to count, its time ends it.
    assert_eq!(
        verdict(
            Mode::Direct,
            &["pour:1000000000000"],
            &[LATER, WAIT, "exit:42"]
        ),
        TimeLimit
    );
}

#[test]
fn how_interactors_answer() {
    let table = Table::new();
    let play = |convention, part: &[&str]| {
        let interactor = table.interactor(convention, &[&["write:x"], part].concat());
        table.judge(
            Mode::Direct,
            &limits(),
            &table.executable(&["read:x", "write:y"]),
            &interactor,
        )
    };
    let sim = play(
        Convention::Sim,
        &["given:1", "read:y", "say:OK", "say:40", "say:well"],
    );
    assert_eq!(
        (sim.verdict, sim.score, sim.comment.as_str()),
        (Accepted, Some(Points::Part(0.4)), "well")
    );
    let sim = play(Convention::Sim, &["read:y", "say:WRONG", "say:", "say:bad"]);
    assert_eq!((sim.verdict, sim.comment.as_str()), (WrongAnswer, "bad"));
    assert_eq!(play(Convention::Sim, &["read:y"]).verdict, JudgeError);
    let testlib = play(Convention::Testlib, &["given:4", "read:y", "say:ok fine"]);
    assert_eq!(
        (testlib.verdict, testlib.comment.as_str()),
        (Accepted, "ok fine")
    );
    assert_eq!(
        play(Convention::Testlib, &["read:y", "exit:1"]).verdict,
        WrongAnswer
    );
    assert_eq!(
        play(Convention::Testlib, &["read:y", "exit:3"]).verdict,
        JudgeError
    );
    let icpc = play(
        Convention::Icpc,
        &["given:4", "read:y", "note:score.txt=12.5", "exit:42"],
    );
    assert_eq!(
        (icpc.verdict, icpc.score),
        (Accepted, Some(Points::Absolute(12.5)))
    );
}

#[test]
fn one_worker_judges_many() {
    let table = Table::with_slots(1);
    let interactor = table.interactor(
        Convention::Icpc,
        &["read:x", "note:judgemessage.txt=once", "exit:42"],
    );
    let Data { input, answer, .. } = &table.data;
    let case = Case {
        input,
        answer: Some(answer),
        arguments: &[],
        flags: &[],
    };
    let mut worker = Worker::new(&table.supervisor).cpus([0]);
    for part in [&["write:x"][..], &["write:y"], &["write:x"], &["exit:0"]] {
        let solution = table.executable(part);
        let result = judge(
            &mut worker,
            &Trial {
                executable: &solution,
                case,
                limits: &limits(),
            },
            &interactor,
            Mode::Direct,
        );
        let (verdict, comment) = if part == ["write:x"] {
            (Accepted, "once")
        } else {
            (JudgeError, "")
        };
        assert_eq!(
            (result.verdict, result.comment.as_str()),
            (verdict, comment),
            "{result:?}"
        );
    }
}

#[test]
fn what_cannot_be_judged_is_no_verdict() {
    let table = Table::new();
    let missing = Executable {
        argv: vec!["/missing".into()],
        ..table.executable(&[])
    };
    let waits = table.executable(&["read-to-end"]);
    let says_wrong = table.interactor(Convention::Icpc, &["read-to-end", "exit:43"]);
    let result = table.judge(Mode::Direct, &limits(), &missing, &says_wrong);
    assert_eq!(result.verdict, JudgeError);
    assert!(result.reason.contains("No such file"), "{result:?}");
    let result = table.judge(
        Mode::Direct,
        &limits(),
        &waits,
        &table.interactor_of(Convention::Icpc, missing),
    );
    assert!(
        result.reason.starts_with("interactor: ") && result.reason.contains("No such file"),
        "{result:?}"
    );
    let case = Case {
        input: &table.data.input,
        answer: None,
        arguments: &[],
        flags: &[],
    };
    let mut worker = Worker::new(&table.supervisor);
    let result = judge(
        &mut worker,
        &Trial {
            executable: &waits,
            case,
            limits: &limits(),
        },
        &says_wrong,
        Mode::Direct,
    );
    assert!(
        result.verdict == JudgeError && result.reason.contains("no answer"),
        "{result:?}"
    );
    // A solution that could look at the answer.
    let sees = Executable {
        world: waits.world.clone().read_only(table.data.path(), "/tests"),
        ..waits
    };
    let result = table.judge(Mode::Direct, &limits(), &sees, &says_wrong);
    assert!(
        result.verdict == JudgeError && result.reason.contains("could read"),
        "{result:?}"
    );
}

#[test]
fn twenty_conversations_at_once_on_one_slot_and_on_two() {
    for slots in [1, 2] {
        let table = Table::with_slots(slots);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..20)
                .map(|number| {
                    let table = &table;
                    let mode = BOTH[number % 2];
                    scope.spawn(move || {
                        table.play(mode, &["ask:100"], &["answer:100", WAIT, "exit:42"])
                    })
                })
                .collect();
            for thread in threads {
                let result = thread.join().unwrap();
                assert_eq!(result.verdict, Accepted, "{result:?}");
            }
        });
    }
}

/// Keeps all CPUs busy while it lives.
struct Load {
    stop: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Load {
    fn new() -> Load {
        let stop = Arc::new(AtomicBool::new(false));
        let count = std::thread::available_parallelism().map_or(2, usize::from) * 2;
        let spin = |stop: Arc<AtomicBool>| move || while !stop.load(Ordering::Relaxed) {};
        let threads = (0..count)
            .map(|_| std::thread::spawn(spin(stop.clone())))
            .collect();
        Load { stop, threads }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// The same every time, with more to do than there are CPUs.
fn the_same_every_time(times: usize) {
    let table = Table::new();
    let _load = Load::new();
    let mut limits = limits();
    limits.real_time = Duration::from_secs(60);
    let scenes: [(&[&str], &[&str], Verdict); 9] = [
        // The solution first.
        (
            &["write:x", "exit:1"],
            &["read:x", WAIT, "exit:43"],
            RunTimeError,
        ),
        (
            &["write:x", "signal:11"],
            &["read:x", "write:y", WAIT, "exit:43"],
            RunTimeError,
        ),
        // The interactor first.
        (
            &["write:x", "read", "exit:1"],
            &["read:x", "exit:43"],
            WrongAnswer,
        ),
        (
            &["write:x", FLOOD, "exit:1"],
            &["read:x", "exit:43"],
            WrongAnswer,
        ),
        // At once.
        (&["write:x", "exit:1"], &["read:x", "exit:43"], WrongAnswer),
        (
            &["write:x", "read:wrong", "signal:6"],
            &["read:x", "write:wrong", "exit:43"],
            WrongAnswer,
        ),
        (&["write:x", "exit:1"], &["read:x", "exit:42"], RunTimeError),
        // The solution has left, and the interactor is still writing.
        (
            &["write:x", "exit:0"],
            &["read:x", FLOOD, WAIT, "exit:43"],
            WrongAnswer,
        ),
        (
            &["write:x", "exit:0"],
            &[FLOOD, "read:x", "exit:42"],
            Accepted,
        ),
    ];
    let mut late = 0;
    for time in 0..times {
        for (number, (solution, interactor, verdict)) in scenes.iter().enumerate() {
            let mode = BOTH[(time + number) % 2];
            let result = table.play_within(mode, &limits, solution, interactor);
            if *verdict == WrongAnswer
                && result.verdict == RunTimeError
                && interactor_came_late(&result)
            {
                late += 1;
                continue;
            }
            assert_eq!(
                result.verdict, *verdict,
                "time {time}, {mode:?}, {solution:?}, {interactor:?}: {result:?}"
            );
        }
    }
    // With this load one of some thousands gets no CPU for so long.
    assert!(late <= 1 + times / 100, "{late} interactors came late");
}

/// Whether the interactor had no CPU for so long that it may have been told of the solution's end
/// before its own.
fn interactor_came_late(result: &TestResult) -> bool {
    let (Some(run), Some(interactor)) = (&result.run, &result.checker) else {
        return false;
    };
    // They began together, to some milliseconds.
    let late = interactor
        .real_time_ns
        .saturating_sub(run.figures.real_time_ns);
    Duration::from_nanos(late) > END_GRACE / 2
}

#[test]
fn the_same_verdict_thirty_times_out_of_thirty() {
    the_same_every_time(30);
}

#[test]
#[ignore = "takes minutes: cargo test --test judge -- --ignored thousand"]
fn the_same_verdict_a_thousand_times_out_of_a_thousand() {
    the_same_every_time(1000);
}
