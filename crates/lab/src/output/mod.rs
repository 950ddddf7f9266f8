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

/// The bound of a claim and the measured value. A difference has a unit, that of its bound.
fn claim_numbers(claim: &Claim) -> [String; 2] {
    let (at_most, found) = (claim.at_most, claim.found);
    let Some(unit) = claim.unit else {
        // A bound such as 1/15 is shown with few digits.
        let rounded = (at_most * 1e4).round() / 1e4;
        return [rounded.to_string(), found.to_string()];
    };
    let shown = words::DisplayUnit::for_values(unit, at_most);
    let [value, low, high] = [found.value, found.low, found.high].map(|value| shown.number(value));
    [
        format!("{} {}", shown.scale(at_most), shown.unit),
        format!("{value} [{low}, {high}] {}", shown.unit),
    ]
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
    fn difference_is_shown_in_the_unit_of_its_bound() {
        let found = crate::statistics::Interval {
            value: 4100.0,
            low: -350.0,
            high: 12_345.0,
        };
        let claim = |unit, at_most| Claim {
            what: "a claim".to_owned(),
            unit,
            at_most,
            found,
            holds: ClaimStatus::Unclear,
        };
        assert_eq!(
            claim_numbers(&claim(Some(crate::Unit::Nanoseconds), 5000.0)),
            ["5 us", "4.100 [-0.350, 12.35] us"]
        );
        assert_eq!(claim_numbers(&claim(None, 1.15))[0], "1.15");
        assert_eq!(claim_numbers(&claim(None, 1.0 / 15.0))[0], "0.0667");
    }

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
