//! Measures the parts of a run inside one process. These are encoding and decoding requests, and
//! the work for each new world (compiling a policy, checking a program and adding the sandbox's own
//! pass to it).
//!
//! Run `cargo bench -p millibox-lab --bench pieces`; criterion compares with the previous run.
//! `make bench` includes a short run.

#![allow(missing_docs, reason = "criterion_group! generates a public function")]

use criterion::{Criterion, criterion_group, criterion_main};
use millibox_seccomp::{
    Arch, Data, Policy, Program, compile, constant_action, profile, run, with_pass,
};
use millibox_wire::{Descriptors, Limits, Mount, Run, World};
use std::hint::black_box;

fn seccomp(criterion: &mut Criterion) {
    let arch = Arch::X86_64;
    let policy = profile("default").expect("built in");
    let program = compile(&policy, arch).expect("compiles");
    let bytes = program.as_bytes();
    let mut group = criterion.benchmark_group("seccomp");
    group.bench_function("parse the default profile", |bencher| {
        bencher.iter(|| black_box(profile(black_box("default"))));
    });
    group.bench_function("compile it", |bencher| {
        bencher.iter(|| compile(black_box::<&Policy>(&policy), arch))
    });
    group.bench_function("check its bytes", |bencher| {
        bencher.iter(|| Program::from_bytes(black_box(&bytes)))
    });
    group.bench_function("let pass 40 calls", |bencher| {
        let numbers: Vec<u32> = (100..140).collect();
        bencher.iter(|| with_pass(black_box(&program), arch, &numbers, 0x0123_4567_89ab_cdef));
    });
    group.bench_function("answer one call", |bencher| {
        let data = Data {
            nr: 231,
            arch: arch.audit_value(),
            ..Data::default()
        };
        bencher.iter(|| run(black_box(&program), black_box(&data)));
    });
    group.bench_function("find what is constant, 470 calls", |bencher| {
        bencher.iter(|| {
            (0..470)
                .filter_map(|nr| constant_action(black_box(&program), arch, nr))
                .count()
        });
    });
    group.finish();
}

fn wire(criterion: &mut Criterion) {
    let world = World {
        mounts: vec![
            Mount::read_only("/usr", "/usr"),
            Mount::read_only("/etc/alternatives", "/etc/alternatives"),
            Mount::Devices {
                at: b"/dev".to_vec(),
            },
            Mount::tmpfs("/tmp"),
        ],
        seccomp: Some(
            compile(&profile("default").expect("built in"), Arch::X86_64)
                .expect("compiles")
                .as_bytes(),
        ),
        ..World::default()
    };
    let world = millibox_wire::encode(&world);
    let request = Run {
        world: &world,
        strings: b"/\0/bin/true\0true\0PATH=/usr/bin:/bin\0",
        paths: 1,
        arguments: 1,
        environment: 1,
        descriptors: Descriptors {
            stdin: true,
            stdout: true,
            stderr: true,
            program: false,
            tracer: false,
        },
        limits: Limits {
            memory: Some(256 << 20),
            processes: Some(16),
            cpu_time_ns: Some(1 << 30),
            ..Limits::default()
        },
        rlimits: Vec::new(),
        cpus: Vec::new(),
        may_start_cold: false,
    };
    let bytes = millibox_wire::encode(&request);
    let mut group = criterion.benchmark_group("wire");
    group.bench_function("encode a request", |bencher| {
        bencher.iter(|| millibox_wire::encode(black_box(&request)))
    });
    group.bench_function("decode it", |bencher| {
        bencher.iter(|| millibox_wire::decode::<Run>(black_box(&bytes)))
    });
    group.bench_function("decode its world", |bencher| {
        bencher.iter(|| millibox_wire::decode::<World>(black_box(&world)));
    });
    group.finish();
}

criterion_group!(pieces, seccomp, wire);
criterion_main!(pieces);
