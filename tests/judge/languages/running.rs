//! Compiled programs: visible files, stacks and memory limits.

use super::{LIMITS, compile, compiled, run_with, stdout_of, supervisor, toolbox, usable};
use millibox_languages::compile::Toolbox;
use millibox_languages::program::Limits;
use millibox_languages::suite::Suites;
use millibox_tests::shared_cache;

#[test]
fn compiled_program_sees_only_libraries() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    if !usable(&toolbox, "c") {
        return;
    }
    let source = "#include <stdio.h>\n#include <unistd.h>\nint main(void) {\nconst char *all[] = \
                  {\"/bin/sh\", \"/usr/bin\", \"/usr/include\", \"/tmp\", \"/proc/kallsyms\", \
                  \"/source\"};\nfor (int i = 0; i < 6; i++) if (access(all[i], F_OK) == 0) \
                  puts(all[i]);\nFILE *f = fopen(\"/program/x\", \"w\"); if (f) \
                  puts(\"written\");\n}\n";
    assert_eq!(
        stdout_of(
            &supervisor,
            &compiled(compile(&toolbox, "c", &[("a.c", source)])),
            ""
        ),
        ""
    );
}

#[test]
fn stack_limit_equals_memory_limit() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    if !usable(&toolbox, "c") {
        return;
    }
    let source = "#include <stdio.h>\nint f(int n) { volatile char a[1000]; a[n % 1000] = 1; \
                  return n ? f(n - 1) + a[n % 1000] : 0; }\nint main(void) { printf(\"%d\\n\", \
                  f(100000)); }\n";
    assert_eq!(
        stdout_of(
            &supervisor,
            &compiled(compile(&toolbox, "c", &[("a.c", source)])),
            ""
        ),
        "100000"
    );
}

#[test]
fn thread_stacks_fit_into_memory_limit() {
    let supervisor = supervisor();
    let toolbox = toolbox(&supervisor);
    if !usable(&toolbox, "c") {
        return;
    }
    let source = "#include <pthread.h>\n#include <stdio.h>\nvoid *f(void *p) { return p; }\nint \
                  main(void) { int made = 0; pthread_t all[10];\nfor (; made < 10 && \
                  pthread_create(all + made, 0, f, 0) == 0; made++);\nfor (int i = 0; i < made; \
                  i++) pthread_join(all[i], 0);\npthread_attr_t a; size_t size; \
                  pthread_attr_init(&a); pthread_attr_getstacksize(&a, &size);\nprintf(\"%d \
                  threads, %zu MiB\\n\", made, size >> 20); }\n";
    let executable = compiled(compile(&toolbox, "c", &[("a.c", source)]));
    let limits = Limits {
        memory: 64 << 20,
        processes: 16,
        ..LIMITS
    };
    assert_eq!(
        run_with(&supervisor, &executable, &limits, "").text(),
        "10 threads, 2 MiB\n"
    );
}

#[test]
fn runtimes_adapt_to_memory_limit() {
    let supervisor = supervisor();
    let toolbox = Toolbox::new(&supervisor, Suites::builtin(), shared_cache());
    let java = "class M { public static void main(String[] a) { \
        System.out.println(Runtime.getRuntime().maxMemory() >> 20); } }";
    let go = "package main\nimport (\"fmt\"; \"runtime/debug\")\nfunc main() { \
        fmt.Println(debug.SetMemoryLimit(-1) >> 20) }\n";
    let js = "console.log(require('v8').getHeapStatistics().heap_size_limit >> 20);\n";
    for (language, file, source) in [
        ("java", "M.java", java),
        ("go", "m.go", go),
        ("js", "m.js", js),
    ] {
        if !usable(&toolbox, language) {
            continue;
        }
        let executable = compiled(compile(&toolbox, language, &[(file, source)]));
        let mut seen = Vec::new();
        for mebibytes in [64u64, 128] {
            let limits = Limits {
                memory: mebibytes << 20,
                ..LIMITS
            };
            let output = run_with(&supervisor, &executable, &limits, "");
            let reported: u64 = output
                .text()
                .trim()
                .parse()
                .unwrap_or_else(|_| panic!("{language}: {}", output.result));
            // A run-time system does not count some parts of its heap, and counts others twice.
            assert!(
                reported >= mebibytes - 8 && reported <= mebibytes + 80,
                "{language}: {reported} of {mebibytes}"
            );
            seen.push(reported);
        }
        assert!(seen[0] < seen[1], "{language}: {seen:?}");
    }
}
