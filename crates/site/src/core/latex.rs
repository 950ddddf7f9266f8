//! Statements in LaTeX: the programs that compile them, and the preamble that fragments lack.

use super::sample::Sample;
use millibox_languages::suite::{Faults, Suites};
use millibox_package::Constants;

/// Programs that make PDFs, with their Debian packages.
const ENGINES: [(&str, &str); 3] = [
    ("pdflatex", "texlive-latex-recommended lmodern"),
    ("xelatex", "texlive-xetex"),
    ("lualatex", "texlive-luatex texlive-latex-recommended"),
];
/// Packages of LaTeX that need a program other than pdflatex.
const UNICODE_PACKAGES: [&str; 3] = ["fontspec", "polyglossia", "unicode-math"];
/// What these packages write to the log of pdflatex.
const NEEDS_OTHER_ENGINE: [&str; 2] = ["requires either XeTeX", "cannot be used with pdftex"];
/// What lualatex writes to its log if it cannot use these packages, because the part of its
/// installation that loads their fonts is missing.
const NO_FONT_LOADER: &str = "module 'luaotfload-main' not found";
/// The Debian package with that part.
pub const FONT_LOADER_PACKAGE: &str = "texlive-luatex";
/// The description of a program.
const SUITE: &str = include_str!("latex/suite.toml");
/// The beginning of a document whose source is only a fragment.
const FRAGMENT: &str = include_str!("latex/fragment.tex");
/// Headings of fragments: language, input, output, interaction, example. The first is the default.
const HEADINGS: [[&str; 5]; 3] = [
    ["en", "Input", "Output", "Interaction", "Sample"],
    ["de", "Eingabe", "Ausgabe", "Interaktion", "Beispiel"],
    ["pl", "Wejście", "Wyjście", "Interakcja", "Przykład"],
];

/// The suites of the programs that make PDFs.
///
/// # Errors
/// Never: a test reads them.
pub fn suites() -> Result<Suites, Faults> {
    let file = |(engine, packages): (&str, &str)| {
        let text = SUITE
            .replace("ENGINE", engine)
            .replace("PACKAGES", packages);
        (format!("{engine}.toml"), text)
    };
    Suites::from_files(&ENGINES.map(file))
}

/// The programs that can compile a source, the preferred one first. A source can name one of the
/// programs in a comment that editors read, too: `% !TEX program = xelatex`.
pub fn engines(source: &str) -> Vec<&'static str> {
    let all = ENGINES.map(|(engine, _)| engine);
    let named = source.lines().find_map(|line| {
        let line = line.trim_start().strip_prefix('%')?.trim_start();
        let (key, value) = line.strip_prefix("!TEX")?.split_once('=')?;
        let value = value.trim().to_ascii_lowercase();
        let names_program = key.trim_end().ends_with("program");
        all.into_iter()
            .find(|engine| names_program && *engine == value)
    });
    if let Some(engine) = named {
        return vec![engine];
    }
    let needs_unicode = UNICODE_PACKAGES.iter().any(|name| source.contains(name));
    all.into_iter()
        .filter(|engine| !needs_unicode || *engine != "pdflatex")
        .collect()
}

/// Whether a log shows that the source needs a program other than pdflatex.
pub fn needs_other_engine(log: &str) -> bool {
    NEEDS_OTHER_ENGINE.iter().any(|words| log.contains(words))
}

/// The file that LaTeX has not found, according to its log.
pub fn missing_file(log: &str) -> Option<&str> {
    let (_, rest) = log.rsplit_once("LaTeX Error: File `")?;
    let (name, rest) = rest.split_once('\'')?;
    rest.starts_with(" not found").then_some(name)
}

/// Whether a log shows that lualatex lacks the part that loads fonts, and that the source needs it.
pub fn lacks_font_loader(log: &str) -> bool {
    let needs_it = UNICODE_PACKAGES.iter().any(|name| log.contains(name));
    needs_it && log.contains(NO_FONT_LOADER)
}

/// Whether a source has no preamble of its own.
pub fn is_fragment(source: &str) -> bool {
    let code = String::from_utf8_lossy(&without_comments(source.as_bytes())).into_owned();
    !["\\documentclass", "\\documentstyle", "\\begin{document}"]
        .iter()
        .any(|command| code.contains(command))
}

/// A document that includes a fragment. The files of the samples are `sample-1.in`,
/// `sample-1.ans` and so on.
pub fn document(fragment: &str, language: &str, samples: usize, constants: &Constants) -> String {
    let constants = definitions(constants);
    let found = HEADINGS.iter().find(|headings| headings[0] == language);
    let [_, input, output, interaction, sample] = found.unwrap_or(&HEADINGS[0]);
    format!(
        "{FRAGMENT}\\newcommand{{\\inputname}}{{{input}}}\n\
         \\newcommand{{\\outputname}}{{{output}}}\n\
         \\newcommand{{\\interactionname}}{{{interaction}}}\n\
         \\newcommand{{\\samplename}}{{{sample}}}\n\
         \\newcommand{{\\samplecount}}{{{samples}}}\n\
         {constants}\
         \\begin{{document}}\n\\input{{{fragment}}}\n\\remainingsamples\n\\end{{document}}\n"
    )
}

/// Definitions of the values of constants, for the command `\constant`. Those that would end or
/// exceed their definition are left out. A document that uses one of them has an error.
fn definitions(constants: &Constants) -> String {
    let is_plain = |symbol: char| symbol.is_ascii_alphanumeric() || "_.-".contains(symbol);
    let usable = constants.iter().filter_map(|(name, value)| {
        let value = name.chars().all(is_plain).then(|| replacement(value))??;
        Some(format!(
            "\\expandafter\\def\\csname constant@{name}\\endcsname{{{value}}}\n"
        ))
    });
    usable.collect()
}

/// The value of a constant as the text of a definition, or `None` if its braces are not balanced.
/// It may contain commands, but a comment or a parameter is never meant.
fn replacement(value: &str) -> Option<String> {
    let (mut text, mut depth) = (String::new(), 0_usize);
    let mut symbols = value.chars();
    while let Some(symbol) = symbols.next() {
        match symbol {
            '%' | '#' => text.push('\\'),
            '{' => depth += 1,
            '}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        text.push(symbol);
        if symbol == '\\' {
            text.push(symbols.next()?);
        }
    }
    (depth == 0).then_some(text)
}

/// The samples that a fragment shows: all, or none if TeX may lack a character of one of them. The
/// page shows all of them in any case.
pub fn printable_samples(samples: &[Sample]) -> &[Sample] {
    let is_printable = |text: &str| {
        text.bytes()
            .all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t'))
    };
    let mut all = samples.iter();
    if all.all(|sample| is_printable(&sample.input) && is_printable(&sample.output)) {
        samples
    } else {
        &[]
    }
}

/// The source without its comments, which may reveal more than contestants should know.
pub fn without_comments(source: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(source.len());
    for line in source.split_inclusive(|byte| *byte == b'\n') {
        let mut is_escaped = false;
        let comment = line.iter().position(|byte| {
            let begins = *byte == b'%' && !is_escaped;
            is_escaped = *byte == b'\\' && !is_escaped;
            begins
        });
        match comment {
            // A comment on its own line is removed with the line. Elsewhere, the percent sign also
            // hides the end of the line.
            Some(at) if line[..at].iter().all(u8::is_ascii_whitespace) => {}
            Some(at) => {
                kept.extend_from_slice(&line[..=at]);
                kept.push(b'\n');
            }
            None => kept.extend_from_slice(line),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_describe_each_program() {
        let suites = suites().unwrap();
        for (engine, _) in ENGINES {
            assert_eq!(suites.named(engine).unwrap().name, engine);
        }
    }

    #[test]
    fn engine_follows_from_the_source() {
        assert_eq!(engines("\\documentclass{article}")[0], "pdflatex");
        assert_eq!(engines("\\usepackage{fontspec}"), ["xelatex", "lualatex"]);
        for named in [
            "% !TEX program = lualatex\n\\usepackage{fontspec}",
            "%!TEX TS-program = LuaLaTeX",
        ] {
            assert_eq!(engines(named), ["lualatex"], "{named}");
        }
        assert_eq!(engines("% !TEX program = rm -rf /\n")[0], "pdflatex");
        assert_eq!(engines("% !TEX root = xelatex\n")[0], "pdflatex");
    }

    #[test]
    fn font_loader_is_missed_by_sources_that_need_it() {
        let log = format!("{NO_FONT_LOADER}:\n(/usr/share/fontspec.sty)");
        assert!(lacks_font_loader(&log));
        assert!(!lacks_font_loader(NO_FONT_LOADER));
        assert!(!lacks_font_loader("(/usr/share/fontspec.sty)"));
    }

    #[test]
    fn missing_file_is_found_in_the_log() {
        let log = "(x.sty)\n./main.tex:3: LaTeX Error: File `tikz.sty' not found.\n\nType X";
        assert_eq!(missing_file(log), Some("tikz.sty"));
        assert_eq!(missing_file("LaTeX Error: File `a.sty' ended early"), None);
        assert_eq!(missing_file("LaTeX Error: File `"), None);
    }

    #[test]
    fn fragment_has_no_preamble_outside_of_comments() {
        assert!(is_fragment(
            "% \\documentclass{article}\n\\problemname{Sum}\n"
        ));
        assert!(!is_fragment("50\\% \\documentclass{article}"));
    }

    #[test]
    fn comments_are_removed_and_percent_signs_stay() {
        let source = b"50\\% of $a$% twice\n  % use dp\nend \\\\% b\nlast % c";
        let expected = b"50\\% of $a$%\nend \\\\%\nlast %\n";
        assert_eq!(without_comments(source), expected);
    }

    #[test]
    fn value_of_constant_stays_in_its_definition() {
        for (value, expected) in [
            ("5000", Some("5000")),
            ("5 \\cdot {10}^6", Some("5 \\cdot {10}^6")),
            ("50% #1", Some("50\\% \\#1")),
            ("50\\% \\{", Some("50\\% \\{")),
            ("{", None),
            ("}{", None),
            ("\\", None),
        ] {
            assert_eq!(replacement(value).as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn samples_are_shown_if_all_characters_exist() {
        let sample = |input: &str| Sample {
            input: input.to_owned(),
            output: String::new(),
        };
        let plain = [sample("1 2\r\n\t~")];
        assert_eq!(printable_samples(&plain), plain);
        assert!(printable_samples(&[sample("1"), sample("ż")]).is_empty());
    }
}
