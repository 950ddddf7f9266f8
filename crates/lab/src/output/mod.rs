//! Writes results to files.
//!
//! | file | what |
//! | --- | --- |
//! | `words` | numbers in text |
//! | `rows` | tables as text |
//! | `markdown`, `html`, `plot` | the three presentations |

mod html;
mod markdown;
mod plot;
mod rows;
mod words;

use crate::{Claim, ClaimStatus, Error, Report};
use std::path::Path;

/// The file to which `make bench` writes criterion's output about the parts inside one process. If
/// a directory of results contains this file, the page and the summary show it.
const PIECES_FILE: &str = "pieces.txt";

/// Writes all reports into a directory, which is created if necessary. The files are `NAME.json`
/// for each experiment, `NAME-TABLE-METRIC.svg` for each plot, and `summary.md` and `index.html`
/// for all of them.
///
/// # Errors
/// A file cannot be written, or a plot cannot be drawn.
pub fn write(reports: &[Report], directory: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(directory)
        .map_err(Error::system(format!("create {}", directory.display())))?;
    let put = |name: &str, content: &str| {
        let path = directory.join(name);
        std::fs::write(&path, content).map_err(Error::system(format!("write {}", path.display())))
    };
    let mut plots = Vec::new();
    for report in reports {
        let json = serde_json::to_string_pretty(report)
            .map_err(|error| Error::other(error.to_string()))?;
        put(&format!("{}.json", report.experiment), &(json + "\n"))?;
        let of_report = report
            .tables
            .iter()
            .map(plot::of)
            .collect::<Result<Vec<_>, Error>>()?;
        for plot in of_report.iter().flatten() {
            put(
                &format!("{}-{}.svg", report.experiment, plot.name),
                &plot.svg,
            )?;
        }
        plots.push(of_report);
    }
    let pieces = std::fs::read_to_string(directory.join(PIECES_FILE)).ok();
    let in_summary = pieces
        .as_ref()
        .map(|pieces| format!("\n## {}\n\n```text\n{pieces}```\n", html::PIECES_HEADING));
    put(
        "summary.md",
        &format!(
            "# millibox: the lab\n\n{}{}",
            markdown(reports),
            in_summary.unwrap_or_default()
        ),
    )?;
    put(
        "index.html",
        &html::page(reports, &plots, pieces.as_deref()),
    )
}

/// Renders all reports as Markdown, each under a heading of level two.
pub fn markdown(reports: &[Report]) -> String {
    reports
        .iter()
        .map(markdown::report)
        .collect::<Vec<_>>()
        .join("\n")
}

fn claim_words(claim: &Claim) -> &'static str {
    match claim.holds {
        ClaimStatus::Yes => "yes",
        ClaimStatus::No => "no",
        ClaimStatus::Unclear => "unclear",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_file_is_shown_if_it_exists() {
        let directory = tempfile::tempdir().expect("a directory");
        let shown = || {
            write(&[], directory.path()).expect("written");
            ["summary.md", "index.html"]
                .map(|name| std::fs::read_to_string(directory.path().join(name)).expect("read"))
        };
        assert!(
            shown()
                .iter()
                .all(|text| !text.contains(html::PIECES_HEADING))
        );
        std::fs::write(
            directory.path().join(PIECES_FILE),
            "test wire/encode ... 5 < 6\n",
        )
        .expect("a file");
        let [summary, page] = shown();
        assert!(
            summary.contains("\n```text\ntest wire/encode ... 5 < 6\n```\n"),
            "{summary}"
        );
        assert!(
            page.contains("<pre>test wire/encode ... 5 &lt; 6\n</pre>"),
            "{page}"
        );
    }
}
