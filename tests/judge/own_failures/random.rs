//! A property test: random broken products never cause a judge error.

use super::{Bench, Case, GOOD, elf, patched, reason};
use millibox_judge::verdict::Verdict;
use std::fs;
use std::time::{Duration, Instant};

/// Seed of the property test.
const SEED: &str = "MILLIBOX_SEED";
/// Number of cases of the property test. The default number takes about 20 s.
const CASES: &str = "MILLIBOX_CASES";
const DEFAULT_CASES: u64 = 200;
/// Number of cases that are judged together and followed by a submission that must be accepted.
const BATCH: u64 = 24;
/// If the number of cases is the default, the test stops after this time, even on a slow machine.
const MOST_TIME: Duration = Duration::from_secs(60);

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, most: usize) -> usize {
        (self.next() % most as u64) as usize
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }

    /// A number near a boundary, or any number.
    fn number(&mut self) -> u64 {
        let near = self.next() % 3;
        let power = 1u64 << self.below(64);
        match self.below(4) {
            0 => 0u64.wrapping_sub(near),
            1 => power.wrapping_sub(1).wrapping_add(near),
            2 => self.next() % 65536,
            _ => self.next(),
        }
    }

    /// An interpreter, which may be invalid.
    fn interpreter(&mut self) -> Vec<u8> {
        let all: &[&str] = &[
            "/bin/sh",
            "/usr/bin/env",
            "/usr/bin/env nothing",
            "/bin/true",
            "/program/program",
            "/program",
            "program",
            ".",
            "",
            "/",
            "/dev/null",
            "/dev/stdin",
            "/dev/fd/0",
            "/proc/self/exe",
            "/proc/self/fd/0",
            "/proc/1/exe",
            "/proc/self/mem",
            "/etc/ld.so.cache",
            "/lib64/ld-linux-x86-64.so.2",
            "/usr/lib",
            "/no/such/thing",
            "/bin/sh/x",
        ];
        let mut text = self.of(all).as_bytes().to_vec();
        match self.below(5) {
            0 => text.extend(vec![b'x'; self.below(5000)]),
            1 => text.extend(self.bytes(8)),
            2 => text.insert(0, b' '),
            _ => {}
        }
        text
    }
}

/// Commands of compilations that leave something other than a plain program, or that disturb the
/// process that packs it.
const MISDEEDS: &[&str] = &[
    "mkdir program",
    "mkfifo program",
    "ln -s /bin/sh program",
    "ln -s program program",
    "ln -s /proc/self/root program",
    "ln -s . loop",
    "ln /source/main.crafted program",
    "truncate -s 1G program",
    "truncate -s 9000P program",
    "fallocate -l 15M program",
    "cp /bin/true program; chmod 6777 program",
    "cp /bin/true program; ln program other; chmod 0 other",
    "touch \"$(printf '\\001\\n\\033\\377')\"",
    "touch -- '-x' '{executable}' '{memory_mib}' '@y' '*'",
    "mkdir -p a/b/c/d/e/f/g; chmod 0 a/b",
    "for i in $(seq 40); do mkdir d && cd -P d; done; echo >x; cd $OUTPUT",
    "d=$(printf %0255d 0); for i in 1 2 3 4 5 6; do mkdir $d && cd -P $d; done; echo >x; cd \
     $OUTPUT",
    "touch $(seq 1000)",
    "head -c 17000000 /dev/zero >large",
    "(while :; do echo x >>grows; done) &",
    "(while :; do mv program p; mv p program; done) & sleep 0.02",
    "(setsid sleep 100 >/dev/null 2>&1 &)",
    "(while kill -9 $(pidof tar); do :; done; sleep 1) &",
    "(while :; do kill -CONT -1; done) &",
    "(sleep 0.01; kill -9 $PPID) & sleep 0.05",
    "kill -9 $PPID",
    "kill -9 -1",
    "kill -SEGV $$",
    "exit 1",
    "exit 255",
    "echo 0 >>$(echo /proc/$PPID/fd/1?)",
    "head -c 3000 /dev/urandom >>$(echo /proc/$PPID/fd/1?)",
    "exec >&- 2>&-",
    "chmod 0 $OUTPUT",
    "rm -rf $OUTPUT/* $OUTPUT",
    "cd /; rm -rf $OUTPUT; ln -s /tmp $OUTPUT",
    "ulimit -n 0; ulimit -f 0",
    "head -c 100000 /dev/urandom >&2",
    "cat /dev/zero >/tmp/x",
    "x=$(head -c 200000000 /dev/zero | tr '\\0' x)",
];

/// Creates a broken product. The name of the case describes the kind of damage.
fn craft(random: &mut Random, name: String) -> Case {
    let good = |random: &mut Random| match random.below(3) {
        0 => fs::read("/usr/bin/true").unwrap_or_else(|_| elf(None)),
        1 => elf(Some(b"/lib64/ld-linux-x86-64.so.2\0")),
        _ => elf(None),
    };
    let (what, bytes) = match random.below(7) {
        0 => {
            let mut file = good(random);
            file.truncate(random.below(file.len().min(4096)));
            ("truncated", file)
        }
        1 => {
            let mut file = good(random);
            for _ in 0..=random.below(16) {
                let at = random.below(file.len().min(1024));
                file[at] ^= 1 << random.below(8);
            }
            ("bits", file)
        }
        2 => {
            let mut file = elf(Some(
                &[random.interpreter(), vec![0; random.below(2)]].concat(),
            ));
            // Change numbers of the header (from byte 16 on) or of one of its two segments.
            for _ in 0..random.below(4) {
                let at = 16 + 2 * random.below(80);
                let number = random.number().to_le_bytes();
                let width = [2, 4, 8][random.below(3)];
                file = patched(file, at, &number[..width]);
            }
            ("fields", file)
        }
        3 => (
            "script",
            [
                b"#!",
                &random.interpreter()[..],
                random.of(&["\n", "\0", " -x\n", " a b\n", ""]).as_bytes(),
            ]
            .concat(),
        ),
        4 => {
            let length = random.below(3000);
            ("noise", random.bytes(length))
        }
        _ => {
            let (first, second) = (random.of(MISDEEDS), random.of(MISDEEDS));
            let order = if random.below(2) == 0 {
                [GOOD, ""]
            } else {
                ["", GOOD]
            };
            let script = format!("cd $OUTPUT\n{}{first}\n{second}\n{}", order[0], order[1]);
            return Case::script(&name, &script);
        }
    };
    Case::product(&format!("{name}-{what}"), bytes)
}

#[test]
fn random_broken_products_never_cause_judge_error() {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .map(|text| text.parse::<u64>().expect("a number"))
    };
    let seed = number(SEED).unwrap_or_else(|| u64::from(std::process::id()) ^ 0x6d69_6c6c);
    let cases = number(CASES).unwrap_or(DEFAULT_CASES);
    let bench = Bench::new();
    let (judge, prepared) = bench.judge();
    let began = Instant::now();
    let mut seen = std::collections::BTreeMap::<&str, u64>::new();
    for first in (0..cases).step_by(BATCH as usize) {
        let numbers = first..cases.min(first + BATCH);
        // A case depends only on its number, so it can be reproduced.
        let crafted: Vec<Case> = numbers
            .clone()
            .map(|number| {
                craft(
                    &mut Random(seed.wrapping_mul(0x1_0000_0001).wrapping_add(number)),
                    number.to_string(),
                )
            })
            .collect();
        let reports = bench.reports(&judge, &prepared, &crafted);
        for (case, report) in crafted.iter().zip(&reports) {
            *seen.entry(report.words()).or_default() += 1;
            let shown = case
                .files
                .iter()
                .map(|(name, bytes)| format!("{name}: {}", bytes.escape_ascii()));
            assert!(
                !matches!(report.verdict, Some(Verdict::JudgeError) | None),
                "{SEED}={seed}, case {}: {}: {}\n{}",
                case.name,
                report.words(),
                reason(report),
                shown.collect::<Vec<_>>().join("\n")
            );
        }
        if began.elapsed() > MOST_TIME && cases == DEFAULT_CASES {
            eprintln!(
                "stopped after {} of {cases} cases, as this machine is slow",
                numbers.end
            );
            break;
        }
    }
    eprintln!("{SEED}={seed}: {seen:?} in {:?}", began.elapsed());
    // Some cases must reach the kernel, and others must reach the packing.
    for words in ["compile error", "run-time error"] {
        assert!(
            seen.contains_key(words) || cases < DEFAULT_CASES,
            "{SEED}={seed}: {seen:?}"
        );
    }
}
