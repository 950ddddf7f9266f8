//! Values that the client, the supervisor or the kernel rejects.

use super::{assert_client_rejects, assert_not_started};
use crate::{builder, supervisor};
use millibox::{
    Error, Hint, Limit, LimitError, Mount, Outcome, Request, RequestMistake, RunError, Step, World,
    WorldError, WorldProblem,
};
use millibox_tests::{has_cgroups_or_skips, request, result, run};
use std::time::Duration;

#[test]
fn values_that_the_kernel_rejects_are_reported() {
    let supervisor = supervisor();
    let micros = Duration::from_micros;
    let bandwidth = |max, period| request(["exit", "0"]).cpu_bandwidth(micros(max), micros(period));
    if supervisor.info().backend() != millibox::Backend::Rlimit {
        for period_us in [999, 1_000_001] {
            let expected = RequestMistake::Limit(LimitError::BandwidthPeriod { period_us });
            assert_client_rejects(&supervisor, &bandwidth(5000, period_us), &expected);
        }
        let expected = RequestMistake::Limit(LimitError::BandwidthMax { max_us: 999 });
        assert_client_rejects(&supervisor, &bandwidth(999, 5000), &expected);
    }
    let swap = request(["exit", "0"]).swap_limit(1 << 20);
    assert_client_rejects(
        &supervisor,
        &swap,
        &RequestMistake::Limit(LimitError::SwapWithoutMemory),
    );
    assert_eq!(
        request(["x"]).rlimit("BOGUS", 1).check(),
        Err(RequestMistake::UnknownRlimit("BOGUS".to_owned()).into())
    );
    assert_eq!(
        request(["x"]).cpus([]).check(),
        Err(RequestMistake::NoCpus.into())
    );
    assert_eq!(
        request(["x"]).cpus([1024]).check(),
        Err(RequestMistake::CpuNumber(1024).into())
    );
    assert_client_rejects(
        &supervisor,
        &request(["x"]).cpus([1024]),
        &RequestMistake::CpuNumber(1024),
    );
    let no_such_cpu = request(["exit", "0"]).cpus([1023]);
    assert_not_started(
        &supervisor,
        &no_such_cpu,
        &RunError::new(Step::Affinity).with_errno(libc::EINVAL),
    );
    for mode in [0o10000, u32::MAX] {
        for mount in [
            Mount::create_dir("/a", mode),
            Mount::create_file("/a", mode),
            Mount::tmpfs("/a").mode(mode).into(),
        ] {
            let world = World::minimal().mount(mount);
            let expected = RequestMistake::World(WorldError::at(b"/a", WorldProblem::Mode(mode)));
            assert_client_rejects(
                &supervisor,
                &request(["exit", "0"]).world(&world),
                &expected,
            );
        }
    }
    // The kernel would read these as other numbers, or reject them without a reason.
    for (size, inodes, problem) in [
        (Some(u64::MAX), None, WorldProblem::Size(u64::MAX)),
        (Some(1 << 63), None, WorldProblem::Size(1 << 63)),
        (None, Some(u64::MAX), WorldProblem::Inodes(u64::MAX)),
        (None, Some(1 << 54), WorldProblem::Inodes(1 << 54)),
        (Some(0), None, WorldProblem::ZeroSize),
    ] {
        for at in ["/a", "/tmp/a"] {
            let mut tmpfs = Mount::tmpfs(at).mode(0o755);
            if let Some(size) = size {
                tmpfs = tmpfs.size_limit(size);
            }
            if let Some(inodes) = inodes {
                tmpfs = tmpfs.inode_limit(inodes);
            }
            let expected = RequestMistake::World(WorldError::at(at.as_bytes(), problem.clone()));
            assert_client_rejects(
                &supervisor,
                &request(["exit", "0"]).world(&World::minimal().mount(tmpfs)),
                &expected,
            );
        }
    }
    for (size, inodes) in [((1 << 63) - 1, (1 << 54) - 1), (1, 1)] {
        let tmpfs = Mount::tmpfs("/a")
            .size_limit(size)
            .inode_limit(inodes)
            .mode(0o755);
        let world = World::minimal().mount(tmpfs);
        assert_eq!(
            result(&supervisor, &request(["exit", "0"]).world(&world)).outcome,
            Outcome::Exited(0)
        );
    }
    let hard = request(["exit", "0"]).rlimit("NICE", 40);
    let expected = RunError::new(Step::Rlimit)
        .with_errno(libc::EPERM)
        .with_subject("RLIMIT_NICE");
    assert_not_started(&supervisor, &hard, &expected);
}

#[test]
fn request_with_several_mistakes_reports_all() {
    let supervisor = supervisor();
    let world = World::minimal()
        .mount(Mount::tmpfs("/a").size_limit(0))
        .mount(Mount::read_only("usr", "/x"))
        .uid(u32::MAX);
    let request = Request::new("")
        .rlimit("BOGUS", 1)
        .cpus([1024])
        .env("A=B", "c")
        .env("", "d")
        .arg("e\0")
        .real_time_limit(Duration::ZERO)
        .world(&world);
    let expected = [
        RequestMistake::UnknownRlimit("BOGUS".to_owned()),
        RequestMistake::CpuNumber(1024),
        RequestMistake::EmptyPath,
        RequestMistake::Limit(LimitError::Zero(Limit::RealTime)),
        RequestMistake::VariableHasEquals("A=B".into()),
        RequestMistake::UnnamedVariable("=d".into()),
        RequestMistake::HasNul("e\0".into()),
        RequestMistake::World(WorldError::at(b"/a", WorldProblem::ZeroSize)),
        RequestMistake::World(WorldError::at(
            b"/x",
            WorldProblem::SourceNotAbsolute("usr".to_owned()),
        )),
        RequestMistake::from(WorldProblem::NoId {
            name: "user id".to_owned(),
        }),
    ];
    let error = supervisor.run(&request).unwrap_err();
    assert_eq!(error.request_mistakes(), expected);
    assert_eq!(error.to_string().lines().count(), expected.len());
    let checked = request.check().unwrap_err();
    assert_eq!(checked.as_slice(), expected);
    // A pair reports the mistakes of both requests.
    let other = self::request(["x"]).memory_limit(0);
    let error = supervisor.run_pair([&request, &other]).unwrap_err();
    let of_pair = [
        &expected[..],
        &[RequestMistake::Limit(LimitError::Zero(Limit::Memory))],
    ]
    .concat();
    assert_eq!(error.request_mistakes(), of_pair);
}

#[test]
fn smaller_of_two_file_size_limits_applies() {
    let supervisor = supervisor();
    let writes = |limit: &str| {
        Request::new("/bin/sh")
            .args(["-c", limit])
            .output_limit(1000)
    };
    for (first, expected) in [(10_000, 1000), (100, 100)] {
        let request =
            writes("ulimit -f; trap '' XFSZ; head -c 5000 /dev/zero > /tmp/x; stat -c %s /tmp/x");
        let request = request.rlimit("FSIZE", first);
        let text = run(&supervisor, &request).text();
        assert_eq!(
            text.lines().last(),
            Some(expected.to_string().as_str()),
            "{text}"
        );
    }
}

#[test]
fn process_limit_above_maximum_is_rejected() {
    let supervisor = supervisor();
    for limit in [Request::MAX_PROCESS_LIMIT + 1, 5_000_000] {
        let expected = RequestMistake::Limit(LimitError::TooManyProcesses { limit });
        assert_client_rejects(
            &supervisor,
            &Request::new("/bin/true").process_limit(limit),
            &expected,
        );
    }
    if has_cgroups_or_skips(&supervisor) {
        let largest = Request::new("/bin/true").process_limit(Request::MAX_PROCESS_LIMIT);
        assert_eq!(result(&supervisor, &largest).outcome, Outcome::Exited(0));
    }
}

#[test]
fn limits_of_zero_are_rejected() {
    let supervisor = supervisor();
    let request = || Request::new("/bin/true");
    for (request, limit) in [
        (request().process_limit(0), Limit::Processes),
        (request().memory_limit(0), Limit::Memory),
        (request().real_time_limit(Duration::ZERO), Limit::RealTime),
        (request().cpu_time_limit(Duration::ZERO), Limit::CpuTime),
    ] {
        assert_client_rejects(
            &supervisor,
            &request,
            &RequestMistake::Limit(LimitError::Zero(limit)),
        );
    }
}

#[test]
fn builder_with_invalid_slots_or_cpus_returns_error() {
    for (builder, expected) in [
        (
            builder().slots(0),
            "the number of slots is 0; pass a number from 1 to 512",
        ),
        (builder().slots(513), "the number of slots is 513;"),
        (
            builder().runners_per_slot(0),
            "the number of runners per slot is 0; pass a number from 1 to 4",
        ),
        (
            builder().runners_per_slot(5),
            "the number of runners per slot is 5;",
        ),
        (
            builder().cpus([0, 1024]),
            "CPU 1024 does not exist; the largest number is 1023",
        ),
    ] {
        match builder.start() {
            Err(Error::Start(why)) => assert!(why.to_string().contains(expected), "{why}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn invalid_user_and_group_ids_are_rejected() {
    let supervisor = supervisor();
    for (world, name) in [
        (World::minimal().uid(u32::MAX), "user id"),
        (World::minimal().gid(u32::MAX), "group id"),
    ] {
        let expected = RequestMistake::from(WorldProblem::NoId {
            name: name.to_owned(),
        });
        assert_client_rejects(
            &supervisor,
            &Request::new("/bin/true").world(&world),
            &expected,
        );
    }
}

#[test]
fn world_with_too_many_mounts_is_rejected() {
    let supervisor = supervisor();
    let many = (0..2500).fold(World::minimal(), |world, n| {
        world.mount(Mount::tmpfs(format!("/m{n}")))
    });
    let result = result(&supervisor, &Request::new("/bin/true").world(&many));
    let error = millibox_tests::not_started(&result);
    let Some(Hint::World(WorldError { problem, .. })) = &error.hint else {
        panic!("{error:?}")
    };
    let (WorldProblem::TooLong { bytes, max_bytes }
    | WorldProblem::RunMountsTooLong { bytes, max_bytes }) = problem
    else {
        panic!("{error:?}")
    };
    assert!(bytes > max_bytes, "{error}");
}
