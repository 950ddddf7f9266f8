//! Statements in LaTeX, which are compiled in the sandbox.
//!
//! With TeX: `apt install texlive-latex-recommended lmodern`.

use crate::support::contest::{Contest, contestant, first_admin, make_contest, make_contest_of};
use crate::support::{Answer, Browser, Site, archive, files_of_sum, with_each};
use millibox_tests::skip;

const FRAGMENT: &str = "\\problemname{Sum}
% A secret of the author.
Add $a$ and $b$, 100\\% right.
\\begin{Input}Two numbers.\\end{Input}
\\begin{Output}\\input{parts/output}\\end{Output}
\\nextsample
";
/// A statement whose references are known only in the second pass.
const REFERENCES: &str = "\\documentclass{article}
\\pdfcompresslevel=0 \\pdfobjcompresslevel=0
\\begin{document}
\\pdfinfo{/Keywords (\\ifcsname r@end\\endcsname known\\fi)}
See \\ref{end}. \\section{End} \\label{end}
\\end{document}
";

/// Constants of a package, of which one has a variant and one is not text of LaTeX.
const CONSTANTS: &str = "problem_format_version: 2025-09
name: Sum
limits: { time_limit: 5 }
constants:
  most: { value: 5000, tex: '5,000' }
  share: 7% of 9
  open: '{'
  tag: <b>bold</b>
";

fn is_installed(program: &str) -> bool {
    let directories = ["/usr/local/bin", "/usr/bin", "/bin"];
    directories
        .iter()
        .any(|directory| std::path::Path::new(directory).join(program).exists())
}

/// Whether TeX is installed. If not, reports the test as skipped; the caller must return.
fn has_tex_or_skips() -> bool {
    let found = is_installed("pdflatex");
    if !found {
        skip("pdflatex is not installed; install texlive-latex-recommended and lmodern");
    }
    found
}

/// The files of a package with a statement in LaTeX, and with a part of one.
fn files_with(statement: &str) -> Vec<(&'static str, &str)> {
    let mut files = files_of_sum();
    files.retain(|(name, _)| !name.starts_with("problem_statement"));
    files.push(("problem_statement/problem.en.tex", statement));
    files.push(("problem_statement/parts/output.tex", "The sum."));
    files
}

/// The files of a package with constants.
fn files_with_constants<'a>(name: &'a str, statement: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut files = files_of_sum();
    files.retain(|(name, _)| name.starts_with("data/"));
    files.push(("problem.yaml", CONSTANTS));
    files.push((name, statement));
    files
}

/// The log of the job that an answer leads to, when the job is done.
fn log_of(browser: &mut Browser, answer: &Answer) -> String {
    assert_eq!(answer.status, 303, "{answer:#?}");
    let page = answer.location.as_deref().expect("a page");
    assert!(page.starts_with("/jobs/"), "{page}");
    browser.wait_for(page, "<dd id=\"state\">done</dd>");
    browser.get(&format!("{page}/log")).body
}

/// A contest whose problem now has this statement, and the log of the job.
fn contest_with(admin: &mut Browser, statement: &str) -> (Contest, String) {
    let contest = make_contest(admin);
    let versions = format!("/problems/{}/versions", contest.package);
    let package = archive(&files_with(statement));
    let log = admin.upload(&versions, &[], ("sum.zip", &package));
    let log = log_of(admin, &log);
    let page = admin.get(&format!("/round-problems/{}", contest.problem));
    let newest = page
        .body
        .split("name=\"version\"")
        .nth(1)
        .expect("a choice");
    let newest = newest.split("value=\"").nth(1).expect("a version");
    let newest = newest.split('"').next().and_then(|id| id.parse().ok());
    contest.use_version(admin, newest.expect("an id"));
    (contest, log)
}

/// Compiles a statement. Returns the log of the job.
fn compile(admin: &mut Browser, problem: i64, statement: &str) -> String {
    let path = format!("/problems/{problem}/statement");
    let file = ("problem.en.tex", statement.as_bytes());
    let changed = admin.upload(&path, &[], file);
    log_of(admin, &changed)
}

#[test]
fn latex_statement_is_shown_as_pdf() {
    if !has_tex_or_skips() {
        return;
    }
    with_each(|site| {
        let mut admin = first_admin(&site);
        let (contest, log) = contest_with(&mut admin, FRAGMENT);
        assert!(log.contains("problem.en.tex: compiled"), "{log}");
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        let page = format!("/round-problems/{}", contest.problem);
        let shown = bob.get(&page).body;
        assert!(shown.contains(&format!("{page}/files/en.pdf")), "{shown}");
        assert!(!shown.contains("en.tex"), "{shown}");
        let pdf = bob.get(&format!("{page}/files/en.pdf"));
        assert!(pdf.body.starts_with("%PDF-"), "{pdf:#?}");
        for (name, value) in [
            ("content-type", "application/pdf"),
            ("x-content-type-options", "nosniff"),
            (
                "content-security-policy",
                "default-src 'none'; frame-ancestors 'none'",
            ),
        ] {
            assert_eq!(pdf.headers[name].to_str().ok(), Some(value), "{name}");
        }
        assert_eq!(bob.get(&format!("{page}/files/en.tex")).status, 404);

        // The other site compiles it again.
        let number = contest.id.to_string();
        site.run(&["export"], &[&number, "cup"]).output();
        site.run(&["import"], &["cup"]).output();
        let copy = format!("/problems/{}", contest.package + 1);
        admin.wait_for(&copy, &format!("{copy}/files/en.pdf"));
    });
}

#[test]
fn latex_statement_is_compiled_until_references_are_known() {
    if !has_tex_or_skips() {
        return;
    }
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let package = archive(&[
        (
            "Simfile",
            "name: Sum\nlabel: sum\nstatement: doc/sum.tex\nlimits: [\n  sum0 1 64\n]\n",
        ),
        ("in/sum0.in", "1 2\n"),
        ("out/sum0.out", "3\n"),
        ("prog/sum.py", "print(3)\n"),
        ("doc/sum.tex", REFERENCES),
    ]);
    let fields = [("visibility", "private")];
    let added = admin.upload("/problems/new", &fields, ("sum.zip", &package));
    let log = log_of(&mut admin, &added);
    assert!(log.contains("doc/sum.tex: compiled"), "{log}");
    let pdf = admin.get("/problems/1/files/en.pdf").body;
    assert!(pdf.contains("/Keywords (known)"), "{pdf}");
}

/// Compiles documents with these bodies. The second value is a part of the expected log.
fn compile_all(bodies: &[(String, &str)]) -> Site {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    for (body, expected) in bodies {
        let document =
            format!("\\documentclass{{article}}\\begin{{document}}{body}\\end{{document}}");
        let log = compile(&mut admin, contest.package, &document);
        assert!(log.contains(expected), "{body}: {log}");
        assert!(!log.contains("root:"), "{body}: {log}");
    }
    site
}

#[test]
fn latex_statement_starts_no_programs() {
    if !has_tex_or_skips() {
        return;
    }
    let body = "\\immediate\\write18{echo x >/tmp/made/written.tex}
        \\ifnum\\pdfshellescape>0 \\programsarestarted \\fi
        \\IfFileExists{/tmp/made/written.tex}{\\programsarestarted}{} x";
    compile_all(&[(body.to_owned(), "tex: compiled")]);
}

#[test]
fn latex_statement_reads_no_other_files() {
    if !has_tex_or_skips() {
        return;
    }
    for path in ["/etc/passwd", "../etc/passwd"] {
        let include = format!("\\input{{{path}}}");
        let open = format!(
            "\\newread\\file \\openin\\file={path} \\unless\\ifeof\\file\\filesarereadable\\fi x"
        );
        compile_all(&[(include, "not compiled"), (open, "tex: compiled")]);
    }
}

#[test]
fn latex_statement_writes_no_other_files() {
    if !has_tex_or_skips() {
        return;
    }
    let write = |path: &str| {
        let body = format!(
            "\\newwrite\\file \\immediate\\openout\\file={path} \\immediate\\write\\file{{x}} x"
        );
        (body, "not compiled")
    };
    compile_all(&["/tmp/x.tex", "../x.tex", "/source/x.tex"].map(write));
}

#[test]
fn latex_statement_has_limits() {
    if !has_tex_or_skips() {
        return;
    }
    let write = "\\newwrite\\file \\immediate\\openout\\file=large.txt
        \\loop\\immediate\\write\\file{xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx}\\iftrue\\repeat";
    let cases = [
        ("\\def\\more#1{\\more{#1#1}}\\more{xxxxxxxx}", "capacity"),
        (write, "output limit"),
        // Without cgroups, the kernel may end TeX before the sandbox does, on a loaded machine. The
        // shell that started TeX then reports a signal.
        ("\\def\\endless{\\endless}\\endless", "not compiled"),
    ];
    compile_all(&cases.map(|(body, expected)| (body.to_owned(), expected)));
}

/// Whether a log shows that a statement was compiled, or names what must be installed for that.
fn is_compiled_or_explained(log: &str) -> bool {
    let explains =
        log.contains("; try: apt install texlive-") && !log.contains("the end of the log");
    log.contains("tex: compiled") != explains
}

#[test]
fn latex_statement_with_fontspec_is_compiled_or_explained() {
    if !has_tex_or_skips() {
        return;
    }
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    let body = "\\begin{document} x \\end{document}";
    for document in [
        format!("\\documentclass{{article}}\\usepackage{{fontspec}}{body}"),
        format!(
            "% !TEX program = lualatex\n\\documentclass{{article}}\\usepackage{{fontspec}}{body}"
        ),
        // The source does not name the package, so that the site tries pdflatex first.
        format!("\\documentclass{{article}}\\def\\x{{font}}\\usepackage{{\\x spec}}{body}"),
    ] {
        let log = compile(&mut admin, contest.package, &document);
        assert!(is_compiled_or_explained(&log), "{document}: {log}");
    }
}

#[test]
fn missing_file_of_a_latex_statement_is_named() {
    if !has_tex_or_skips() {
        return;
    }
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    let document = "\\documentclass{article}\\usepackage{no-such-style}\\begin{document}";
    let log = compile(&mut admin, contest.package, document);
    assert!(
        log.contains("LaTeX does not find no-such-style.sty; put the file"),
        "{log}"
    );
}

#[test]
fn lua_in_a_latex_statement_does_no_more_than_latex() {
    if !is_installed("lualatex") {
        return skip("lualatex is not installed; install texlive-luatex");
    }
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    let started = "if lfs.attributes('/tmp/made/x') then error('started' .. '-it') end";
    for (lua, expected) in [
        ("tex.print('x')", "tex: compiled"),
        ("pcall(os.execute, 'echo x > /tmp/made/x')", "tex: compiled"),
        (
            "pcall(function() io.popen('echo x > /tmp/made/x'):close() end)",
            "tex: compiled",
        ),
        (
            "local file = io.open('/etc/login.defs') if file then error(file:read('*a')) end",
            "tex: compiled",
        ),
        ("while true do end", "not compiled"),
    ] {
        let document = format!(
            "% !TEX program = lualatex
            \\documentclass{{article}}
            \\begin{{document}} x \\directlua{{{lua} {started}}} \\end{{document}}"
        );
        let log = compile(&mut admin, contest.package, &document);
        assert!(log.contains(expected), "{lua}: {log}");
        for secret in ["MAIL_DIR", "started-it"] {
            assert!(!log.contains(secret), "{lua}: {log}");
        }
    }
}

#[test]
fn latex_error_is_shown_only_to_the_owner() {
    if !has_tex_or_skips() {
        return;
    }
    const ERROR: &str = "Undefined control sequence";
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let statement = "\\problemname{Sum}\n% A secret.\n\\nosuchcommand\n";
    let (contest, log) = contest_with(&mut admin, statement);
    assert!(log.contains("problem.en.tex:3: Undefined"), "{log}");
    let problem = format!("/problems/{}", contest.package);
    let versions = format!("{problem}/versions");
    for page in [&problem, &versions] {
        assert!(admin.get(page).body.contains(ERROR), "{page}");
    }
    let again = admin.post(&format!("{problem}/compile"), &[]);
    let log = log_of(&mut admin, &again);
    assert!(log.contains(ERROR), "{log}");
    assert!(admin.get(&versions).body.contains(ERROR));

    let mut bob = contestant(&site, &mut admin, &contest, "bob");
    let page = format!("/round-problems/{}", contest.problem);
    let shown = bob.get(&page).body;
    assert!(
        shown.contains("files/en.tex") && !shown.contains(ERROR),
        "{shown}"
    );
    for hidden in [&problem, &versions, again.location.as_ref().unwrap()] {
        assert_eq!(bob.get(hidden).status, 404, "{hidden}");
    }
    assert_eq!(bob.post(&format!("{problem}/compile"), &[]).status, 404);
}

#[test]
fn source_is_offered_where_tex_is_missing() {
    let engines = ["xelatex", "lualatex", "pdflatex"];
    let Some(missing) = engines.into_iter().find(|engine| !is_installed(engine)) else {
        return skip("all programs of TeX are installed");
    };
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let statement = format!("% !TEX program = {missing}\n{FRAGMENT}");
    let (contest, log) = contest_with(&mut admin, &statement);
    assert!(
        log.contains(&format!("{missing} is not installed")) && log.contains("apt install tex"),
        "{log}"
    );
    let mut bob = contestant(&site, &mut admin, &contest, "bob");
    let page = format!("/round-problems/{}", contest.problem);
    let source = format!("{page}/files/en.tex");
    let shown = bob.get(&page).body;
    assert!(shown.contains(&source) && !shown.contains("apt"), "{shown}");
    let source = bob.get(&source);
    assert!(source.body.contains("100\\% right."), "{source:#?}");
    assert!(!source.body.contains("secret"), "{source:#?}");
    let disposition = source.headers["content-disposition"].to_str().unwrap();
    assert!(disposition.starts_with("attachment"), "{disposition}");
}

#[test]
fn constants_are_replaced_in_markdown() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let statement = "At most {{most.tex}}, $n = {{most}}$, {{unknown}}, {{share}}, {{tag}}.\n";
    let package = archive(&files_with_constants("statement/problem.en.md", statement));
    let contest = make_contest_of(&mut admin, &package);
    let shown = admin.get(&format!("/round-problems/{}", contest.problem));
    for expected in [
        "At most 5,000,",
        "<mn>5000</mn>",
        "{{unknown}}, 7% of 9, &lt;b&gt;bold&lt;/b&gt;.",
    ] {
        assert!(shown.body.contains(expected), "{expected}: {shown:#?}");
    }
}

#[test]
fn statements_of_all_languages_are_reachable() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let mut files = files_of_sum();
        files.extend([
            ("problem_statement/problem.pl.md", "Dodaj dwie liczby."),
            (
                "problem_statement/problem.sv.md",
                "Addera.\n\n{{nextsample}}\n",
            ),
            ("problem_statement/problem.de.pdf", "%PDF-1.4 leer"),
        ]);
        let contest = make_contest_of(&mut admin, &archive(&files));
        for page in [
            format!("/problems/{}", contest.package),
            format!("/round-problems/{}", contest.problem),
        ] {
            let mut shown = |language: &str, query: &str| {
                let header = ("accept-language", language);
                admin.get_with(&format!("{page}{query}"), header).body
            };
            let polish = shown("pl", "");
            assert!(polish.contains("Dodaj dwie liczby."), "{polish}");
            for link in [
                "\"?statement=en\"",
                "\"?statement=sv\"",
                &format!("\"{page}/files/de.pdf\""),
            ] {
                assert!(polish.contains(link), "{link}: {polish}");
            }
            assert!(!polish.contains("?statement=pl"), "{polish}");
            assert!(shown("en", "").contains("Add <math"));
            assert!(shown("fr", "").contains("Add <math"), "English is next");
            let german = shown("de", "");
            assert!(!german.contains("Add <math"), "a PDF is in German");
            assert!(german.contains("?statement=en"), "{german}");
            let swedish = shown("pl", "?statement=sv");
            assert!(swedish.contains("Addera."), "{swedish}");
            assert!(swedish.contains("?statement=pl"), "{swedish}");
            assert_eq!(swedish.matches("class=\"samples\"").count(), 1);
            assert!(shown("pl", "?statement=xx").contains("Dodaj"));
        }
    });
}

#[test]
fn samples_are_shown_where_markdown_has_them() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let statement = "Begin.\n\n{{nextsample}}\n\nMiddle.\n\n{{remainingsamples}}\n\nEnd.\n";
    let mut files = files_with_constants("statement/problem.en.md", statement);
    for (input, output) in [
        ("data/sample/2.in", "data/sample/2.ans"),
        ("data/sample/3.in", "data/sample/3.ans"),
    ] {
        files.extend([(input, "4 5\n"), (output, "9\n")]);
    }
    let contest = make_contest_of(&mut admin, &archive(&files));
    let page = admin.get(&format!("/round-problems/{}", contest.problem));
    let places = [
        "Begin",
        "Example 1",
        "Middle",
        "Example 2",
        "Example 3",
        "End",
    ];
    let places = places.map(|text| page.body.find(text).unwrap_or_else(|| panic!("{page:#?}")));
    assert!(places.is_sorted(), "{places:?}: {page:#?}");
    assert_eq!(page.body.matches("Example").count(), 3, "{page:#?}");
    assert!(!page.body.contains("{{"), "{page:#?}");
}

#[test]
fn constants_are_replaced_in_latex() {
    if !has_tex_or_skips() {
        return;
    }
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let add = |admin: &mut Browser, statement: &str| {
        let package = archive(&files_with_constants("statement/problem.en.tex", statement));
        let fields = [("visibility", "private")];
        let added = admin.upload("/problems/new", &fields, ("sum.zip", &package));
        log_of(admin, &added)
    };
    let statement = "\\pdfcompresslevel=0 \\pdfobjcompresslevel=0
        \\newcommand{\\valueof}[1]{\\constant{#1.tex}}
        \\pdfinfo{/Keywords (\\valueof{most}; \\constant{share}; ${{n}}$)}
        \\newcount\\limit \\limit=\\constant{most}
        \\unless\\ifnum\\limit=5000 \\numberisunknown\\fi x";
    let log = add(&mut admin, statement);
    assert!(log.contains("problem.en.tex: compiled"), "{log}");
    let pdf = admin.get("/problems/1/files/en.pdf").body;
    let keywords = "/Keywords (5,000; 7\\% of 9; ${{n}}$)";
    assert!(pdf.contains(keywords), "{pdf}");

    // Without a PDF, the source has the values.
    for (number, name) in [(2, "unknown"), (3, "open")] {
        let log = add(
            &mut admin,
            &format!("\\constant{{most}} \\constant{{{name}}}"),
        );
        let error = format!("Constant {name} is unknown, or its braces are not balanced");
        assert!(
            log.contains("not compiled") && log.contains(&error),
            "{log}"
        );
        let source = admin.get(&format!("/problems/{number}/files/en.tex")).body;
        assert!(source.starts_with("5000 "), "{source}");
    }
}
