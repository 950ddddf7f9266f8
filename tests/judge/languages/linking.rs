//! Static and dynamic linking.

use super::{
    LIMITS, compile, compile_with, compiled, refused, run_with, stdout_of, supervisor, usable,
};
use millibox::{Outcome, Supervisor};
use millibox_languages::cache::Cache;
use millibox_languages::compile::{Compilation, Options, Refusal, Toolbox};
use millibox_languages::program::{Executable, Limits};
use millibox_languages::suite::{Link, Suites};
use millibox_tests::{shared_cache, skip};
use std::time::Duration;

/// Reports whether the executable names a dynamic linker (ELF, PT_INTERP).
fn is_dynamic(executable: &Executable) -> bool {
    let bytes = std::fs::read(executable.files.path().join("program")).unwrap();
    let number = |at: usize, length: usize| {
        bytes[at..at + length]
            .iter()
            .rev()
            .fold(0usize, |number, byte| number << 8 | usize::from(*byte))
    };
    let (headers, size, count) = (number(32, 8), number(54, 2), number(56, 2));
    (0..count).any(|header| number(headers + header * size, 4) == 3)
}

fn linked(supervisor: &Supervisor, link: Link) -> Toolbox<'_> {
    Toolbox::new(
        supervisor,
        Suites::builtin().with_linking(link),
        shared_cache(),
    )
}

#[test]
fn both_ways_of_linking_produce_programs_that_run() {
    let supervisor = supervisor();
    for link in [Link::Static, Link::Dynamic] {
        let toolbox = linked(&supervisor, link);
        for language in ["c", "cpp", "rust", "go", "pascal"] {
            if !usable(&toolbox, language) {
                continue;
            }
            let suite = toolbox.suites().named(language).unwrap();
            let fixed = suite.linking.as_ref().unwrap().is_fixed();
            let found = toolbox.linking(suite).unwrap().unwrap();
            if let Some(fallback) = found.fallback {
                skip(&format!("{language}: {fallback}"));
                continue;
            }
            assert_eq!(
                found.link,
                if fixed { Link::Static } else { link },
                "{language}"
            );
            let executable = compiled(compile(
                &toolbox,
                language,
                &[(&suite.example.file, &suite.example.source)],
            ));
            assert_eq!(
                is_dynamic(&executable),
                found.link == Link::Dynamic,
                "{language} {link}"
            );
            assert_eq!(
                stdout_of(&supervisor, &executable, "1 2\n-3\n40\n"),
                "40",
                "{language} {link}"
            );
        }
    }
}

#[test]
fn cpp_threads_exceptions_and_locales_work_in_both_linkings() {
    const SOURCE: &str = r#"
#include <condition_variable>
#include <future>
#include <iomanip>
#include <iostream>
#include <locale>
#include <mutex>
#include <netdb.h>
#include <pwd.h>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

thread_local int mine = 7;
std::once_flag once;

int main() {
    std::mutex mutex;
    std::condition_variable condition;
    int sum = 0, ready = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&, i] {
            std::call_once(once, [&] { ready = 1; });
            std::lock_guard<std::mutex> lock(mutex);
            sum += i + mine;
            condition.notify_all();
        });
    {
        std::unique_lock<std::mutex> lock(mutex);
        condition.wait(lock, [&] { return sum == 34; });
    }
    for (auto &thread : threads)
        thread.join();
    try {
        std::async(std::launch::async, [] { throw std::runtime_error("thrown"); }).get();
    } catch (const std::exception &error) {
        std::cout << error.what() << ' ';
    }
    std::ostringstream text;
    text.imbue(std::locale("C"));
    text << std::fixed << std::setprecision(2) << 3.14159;
    bool none = false;
    try {
        std::locale("xx_YY");
    } catch (const std::runtime_error &) {
        none = true;
    }
    // The linker warns about these functions in static programs.
    bool unknown_user = getpwnam("no-such-user") == nullptr;
    addrinfo *found = nullptr;
    bool unknown_host = getaddrinfo("no-such-host.invalid", nullptr, nullptr, &found) != 0;
    std::cout << text.str() << ' ' << sum << ready << none << unknown_user << unknown_host << '\n';
}
"#;
    let supervisor = supervisor();
    let limits = Limits {
        processes: 8,
        ..LIMITS
    };
    for link in [Link::Static, Link::Dynamic] {
        let toolbox = linked(&supervisor, link);
        if !usable(&toolbox, "cpp") {
            return;
        }
        let suite = toolbox.suites().named("cpp").unwrap();
        if let Some(fallback) = toolbox.linking(suite).unwrap().unwrap().fallback {
            skip(&format!("cpp: {fallback}"));
            continue;
        }
        let executable = compiled(compile(&toolbox, "cpp", &[("main.cpp", SOURCE)]));
        assert_eq!(is_dynamic(&executable), link == Link::Dynamic);
        let output = run_with(&supervisor, &executable, &limits, "");
        assert_eq!(
            output.result.outcome,
            Outcome::Exited(0),
            "{link}: {}",
            output.result
        );
        assert_eq!(output.text().trim(), "thrown 3.14 341111", "{link}");
    }
}

/// A language whose compiler is a shell script. Its third argument is `static` or `dynamic`.
fn shell_suites(script: &str) -> Suites {
    let text = format!(
        "name = 'own'\ntitle = 'Own'\nextensions = ['own']\n[tool.cat]\npackage = \
         'coreutils'\n[linking]\nstatic = ['static']\ndynamic = ['dynamic']\npackage = \
         'own-static-libraries'\n[compile]\ncommand = ['/bin/sh', '-c', '{script}', 'own', \
         '{{main}}', '{{executable}}', '{{linking}}']\n[run]\ncommand = \
         ['{{executable}}']\n[example]\nfile = 'a.own'\nsource = 'good'\n"
    );
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("own.toml"), text).unwrap();
    Suites::with_directory(directory.path()).unwrap_or_else(|faults| panic!("{faults}"))
}

#[test]
fn missing_static_libraries_cause_dynamic_linking_and_remedy() {
    let supervisor = supervisor();
    let script = r#"[ $3 = dynamic ] || { echo no libown.a; exit 1; }; echo $3 >$2 && chmod +x $2"#;
    let toolbox = Toolbox::new(&supervisor, shell_suites(script), Cache::none());
    let suite = toolbox.suites().named("own").unwrap();
    let found = toolbox.linking(suite).unwrap().unwrap();
    assert_eq!(found.link, Link::Dynamic);
    let fallback = found.fallback.unwrap();
    assert_eq!(
        fallback.error.message.as_deref(),
        Some("no libown.a"),
        "{fallback:?}"
    );
    assert_eq!(
        fallback.remedy.package(),
        Some("own-static-libraries"),
        "{fallback:?}"
    );
    let compilation = compile(&toolbox, "own", &[("x.own", "good")]);
    assert!(
        compilation
            .messages
            .contains("apt install own-static-libraries"),
        "{:?}",
        compilation.messages
    );
    let executable = compiled(compilation);
    assert_eq!(
        std::fs::read(executable.files.path().join("program")).unwrap(),
        b"dynamic\n"
    );
    // If static linking is not requested, the toolbox does not try it.
    let dynamic = Toolbox::new(
        &supervisor,
        shell_suites(script).with_linking(Link::Dynamic),
        Cache::none(),
    );
    let found = dynamic
        .linking(dynamic.suites().named("own").unwrap())
        .unwrap()
        .unwrap();
    assert_eq!((found.link, found.fallback), (Link::Dynamic, None));
}

#[test]
fn source_that_fails_static_linking_is_linked_dynamically_with_message() {
    let supervisor = supervisor();
    let script = "case $(cat $1) in bad) exit 1;; shared) [ $3 = dynamic ] || exit 1;; esac; \
                  echo $3 >$2 && chmod +x $2";
    let toolbox = Toolbox::new(&supervisor, shell_suites(script), Cache::none());
    let product = |compilation: Compilation| {
        let messages = compilation.messages.clone();
        let executable = compiled(compilation);
        (
            std::fs::read_to_string(executable.files.path().join("program")).unwrap(),
            messages,
        )
    };
    assert_eq!(
        product(compile(&toolbox, "own", &[("x.own", "good")])),
        ("static\n".to_owned(), String::new())
    );
    let (made, messages) = product(compile(&toolbox, "own", &[("x.own", "shared")]));
    assert_eq!(made, "dynamic\n");
    assert!(
        messages.starts_with("[millibox: it cannot be linked statically"),
        "{messages}"
    );
    assert_eq!(
        *refused(&compile(&toolbox, "own", &[("x.own", "bad")])),
        Refusal::Exited(1)
    );
}

#[test]
fn both_attempts_to_link_share_the_time_limit() {
    let supervisor = supervisor();
    // A compiler that works for 2.2 s and then refuses the source.
    let script = "[ $(cat $1) = bad ] || { echo $3 >$2; chmod +x $2; exit 0; }; while :; do i=0; \
                  while [ $i -lt 20000 ]; do i=$((i + 1)); done; times >/tmp/t; \
                  read -r u s </tmp/t; \
                  case $u in 0m2.[2-9]*|0m[3-9]*) exit 1;; esac; done";
    let toolbox = Toolbox::new(&supervisor, shell_suites(script), Cache::none());
    let options = Options {
        cpu_time: Some(Duration::from_secs(4)),
        ..Options::default()
    };
    let compilation = compile_with(&toolbox, "own", &[("x.own", "bad")], &options);
    assert_eq!(*refused(&compilation), Refusal::Exited(1));
    assert!(
        compilation
            .messages
            .contains("too little time to try dynamic linking"),
        "{:?}",
        compilation.messages
    );
}

#[test]
fn cache_keeps_static_and_dynamic_programs_apart() {
    let supervisor = supervisor();
    let directory = tempfile::tempdir().unwrap();
    let script = r#"echo $3 >$2 && chmod +x $2"#;
    let from = |link: Link| {
        let cache = Cache::in_directory(&directory.path().join("cache"), 1 << 30).unwrap();
        let toolbox = Toolbox::new(&supervisor, shell_suites(script).with_linking(link), cache);
        let compilation = compile(&toolbox, "own", &[("x.own", "good")]);
        let from_cache = compilation.from_cache;
        (
            from_cache,
            std::fs::read_to_string(compiled(compilation).files.path().join("program")).unwrap(),
        )
    };
    for (link, made) in [(Link::Static, "static\n"), (Link::Dynamic, "dynamic\n")] {
        assert_eq!(from(link), (false, made.to_owned()));
        assert_eq!(from(link), (true, made.to_owned()));
    }
}
