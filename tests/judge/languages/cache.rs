//! The cache of compiled programs.

use super::{
    LIMITS, build, compile, compile_with, compiled, refused, run_with, supervisor, usable,
};
use millibox::Outcome;
use millibox_languages::cache::Cache;
use millibox_languages::compile::{Options, Toolbox};
use millibox_languages::suite::Suites;

#[test]
fn cached_program_is_not_compiled_again() {
    let supervisor = supervisor();
    let directory = tempfile::tempdir().unwrap();
    let cache = || Cache::in_directory(&directory.path().join("cache"), 1 << 30).unwrap();
    let toolbox = Toolbox::new(&supervisor, Suites::builtin(), cache());
    if !usable(&toolbox, "c") {
        return;
    }
    let source = "#include \"x.h\"\n#warning told\nint main(void) { return X; }\n";
    let from = |toolbox: &Toolbox<'_>, language: &str, header: &str, options: &Options| {
        let compilation = compile_with(
            toolbox,
            language,
            &[("a.c", source), ("x.h", header)],
            options,
        );
        assert!(compilation.messages.contains("told"), "{compilation:?}");
        let from_cache = compilation.from_cache;
        let executable = compiled(compilation);
        (
            from_cache,
            run_with(&supervisor, &executable, &LIMITS, "")
                .result
                .exit_code,
        )
    };
    let usual = Options::default();
    assert_eq!(
        from(&toolbox, "c17", "#define X 1\n", &usual),
        (false, Some(1))
    );
    assert_eq!(
        from(&toolbox, "c17", "#define X 1\n", &usual),
        (true, Some(1))
    );
    let later = Toolbox::new(&supervisor, Suites::builtin(), cache());
    assert_eq!(
        from(&later, "c17", "#define X 1\n", &usual),
        (true, Some(1))
    );
    // Every difference in sources, options or suites causes a new compilation.
    assert_eq!(
        from(&toolbox, "c17", "#define X 2\n", &usual),
        (false, Some(2))
    );
    assert_eq!(
        from(&toolbox, "c11", "#define X 1\n", &usual),
        (false, Some(1))
    );
    let large = Options {
        output: Some(1 << 20),
        ..Options::default()
    };
    assert_eq!(
        from(&toolbox, "c17", "#define X 1\n", &large),
        (false, Some(1))
    );
    let own = directory.path().join("suites");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(
        own.join("c.toml"),
        include_str!("../../../suites/c.toml").replace("-O2", "-O1"),
    )
    .unwrap();
    let other = Toolbox::new(&supervisor, Suites::with_directory(&own).unwrap(), cache());
    assert_eq!(
        from(&other, "c17", "#define X 1\n", &usual),
        (false, Some(1))
    );
    let uncached = Toolbox::new(&supervisor, Suites::builtin(), Cache::none());
    assert_eq!(
        from(&uncached, "c17", "#define X 1\n", &usual),
        (false, Some(1))
    );
    // A damaged entry is compiled again.
    for entry in std::fs::read_dir(directory.path().join("cache")).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        std::fs::write(&path, bytes).unwrap();
    }
    assert_eq!(
        from(&toolbox, "c17", "#define X 1\n", &usual),
        (false, Some(1))
    );
    assert_eq!(
        from(&toolbox, "c17", "#define X 1\n", &usual),
        (true, Some(1))
    );
}

#[test]
fn refused_source_is_not_cached() {
    let supervisor = supervisor();
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::in_directory(directory.path(), 1 << 30).unwrap();
    let toolbox = Toolbox::new(&supervisor, Suites::builtin(), cache);
    for _ in 0..2 {
        let compilation = build(&toolbox, "exit 1");
        assert!(!compilation.from_cache);
        refused(&compilation);
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn same_sources_are_compiled_concurrently() {
    let supervisor = supervisor();
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::in_directory(directory.path(), 1 << 30).unwrap();
    let toolbox = Toolbox::new(&supervisor, Suites::builtin(), cache);
    if !usable(&toolbox, "c") {
        return;
    }
    std::thread::scope(|scope| {
        for number in 0..6 {
            let (toolbox, supervisor) = (&toolbox, &supervisor);
            scope.spawn(move || {
                let source = format!("int main(void) {{ return {}; }}\n", number / 2);
                let executable = compiled(compile(toolbox, "c", &[("a.c", &source)]));
                let result = run_with(supervisor, &executable, &LIMITS, "").result;
                assert_eq!(result.outcome, Outcome::Exited(number / 2));
            });
        }
    });
}
