//! Writing what was found.
//!
//! | file | what |
//! | --- | --- |
//! | `words` | numbers as a person reads them |
//! | `rows` | tables in words |
//! | `markdown`, `html`, `plot` | the three ways to look at them |

mod html;
mod markdown;
mod plot;
mod rows;
mod words;

use crate::{Claim, Error, Holds, Report};
use std::path::Path;

/// Writes all reports into a directory, which is made if it is not there: `NAME.json` for each experiment,
/// `NAME-TABLE-METRIC.svg` for each plot, and `summary.md` and `index.html` for all of them.
///
/// # Errors
/// Something cannot be written.
pub fn write(reports: &[Report], directory: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(directory).map_err(Error::system(format!("make {}", directory.display())))?;
    let put = |name: &str, content: &str| {
        let path = directory.join(name);
        std::fs::write(&path, content).map_err(Error::system(format!("write {}", path.display())))
    };
    let mut plots = Vec::new();
    for report in reports {
        let json = serde_json::to_string_pretty(report).map_err(|error| Error::says(error.to_string()))?;
        put(&format!("{}.json", report.experiment), &(json + "\n"))?;
        let of_report = report.tables.iter().map(plot::of).collect::<Result<Vec<_>, Error>>()?;
        for plot in of_report.iter().flatten() {
            put(&format!("{}-{}.svg", report.experiment, plot.name), &plot.svg)?;
        }
        plots.push(of_report);
    }
    put("summary.md", &format!("# millibox: the lab\n\n{}", markdown(reports)))?;
    put("index.html", &html::page(reports, &plots))
}

/// All reports as Markdown, each under a heading of level two.
pub fn markdown(reports: &[Report]) -> String {
    reports.iter().map(markdown::report).collect::<Vec<_>>().join("\n")
}

fn claim_words(claim: &Claim) -> &'static str {
    match claim.holds {
        Holds::Yes => "yes",
        Holds::No => "no",
        Holds::Unclear => "unclear",
    }
}
