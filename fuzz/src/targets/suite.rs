//! Suite files.

use crate::Target;
use millibox_languages::suite::Suites;

pub const SUITE: Target = Target {
    name: "suite",
    run: suite,
    dictionary: &[
        "[compile]\n",
        "[run]\n",
        "[example]\n",
        "[tool.x]\n",
        "[variant.y]\n",
        "[services]\n",
        "[variant.y.services]\n",
        "judge0 = [1]\n",
        "piston = { name = 'x', aliases = ['{version}'], runtime = 'y' }\n",
        "sandbox_fusion = ['x']\n",
        "[prepare]\n",
        "command = ['{main}']\n",
        "{executable}",
        "{sources}",
        "{output}",
        "{",
        "}",
        "{{",
        "{}",
        "memory_mib = ",
        "extensions = ['x']\n",
        "names = ['c']\n",
        "system = 'libraries'\n",
        "default = true\n",
        "product = 'sources'\n",
        "\\u0000",
        "\u{7f}",
    ],
};

/// Parses a suite file. The result must be either suites, each of which can be found by all its
/// names, or faults with existing lines.
fn suite(bytes: &[u8]) {
    const FILE: &str = "fuzzed.toml";
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match Suites::from_files(&[(FILE.to_owned(), text.to_owned())]) {
        Ok(suites) => {
            for suite in suites.iter() {
                let named = suites.named(&suite.name).map(|found| &found.name);
                assert_eq!(
                    named.ok(),
                    Some(&suite.name),
                    "a suite's name finds another suite"
                );
                for name in &suite.names {
                    let found = suites
                        .named(name)
                        .unwrap_or_else(|error| panic!("{name:?}: {error}"));
                    assert_eq!(found.name, suite.name, "{name:?}");
                }
            }
        }
        Err(faults) => {
            assert!(!faults.0.is_empty());
            for fault in &faults.0 {
                assert!(fault.line <= text.lines().count() + 1, "{fault}");
                assert!(
                    fault.file == FILE || fault.kind.to_string().contains(FILE),
                    "{fault} does not name the file"
                );
                super::assert_one_line(&fault.kind.to_string());
            }
        }
    }
}
