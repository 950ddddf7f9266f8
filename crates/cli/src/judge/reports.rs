//! The files of `--report`, each with a format.

use crate::failure::Failure;
use crate::report_file::ReportFile;
use millibox_judge::report::{JudgeReport, html, json, junit};
use std::ffi::OsString;
use std::path::Path;

#[derive(Clone, Copy)]
enum Format {
    Json,
    Html,
    Junit,
}

/// The report files. They are opened before judging.
pub struct Reports(Vec<(Format, ReportFile)>);

impl Reports {
    /// Opens the files. `pairs` alternates between formats and paths.
    pub fn open(pairs: &[OsString]) -> Result<Reports, Failure> {
        let mut reports = Reports(Vec::new());
        for pair in pairs.chunks(2) {
            let [format, path] = pair else {
                return Err(Failure::option(
                    "--report: requires a format and a path, for example --report json out.json",
                ));
            };
            let format = match format.to_str() {
                Some("json") => Format::Json,
                Some("html") => Format::Html,
                Some("junit") => Format::Junit,
                _ => {
                    return Err(Failure::option(format!(
                        "--report: there is no format {format:?}; use json, html or junit, as in \
                         --report json out.json"
                    )));
                }
            };
            let file = ReportFile::open(Path::new(path))?;
            if reports
                .0
                .iter()
                .any(|(_, other)| other.has_destination_of(&file))
            {
                return Err(Failure::option(format!(
                    "--report {} {}: another report goes there already; use different files",
                    pair[0].display(),
                    path.display()
                )));
            }
            reports.0.push((format, file));
        }
        Ok(reports)
    }

    /// Whether a report goes to standard output, which then carries no other output.
    pub fn use_stdout(&self) -> bool {
        self.0.iter().any(|(_, file)| file.is_stdout())
    }

    /// Writes all reports, even if one cannot be written.
    pub fn write(&mut self, report: &JudgeReport) -> Result<(), Failure> {
        let written = self.0.iter_mut().map(|(format, file)| {
            let mut text = Vec::new();
            let made = match format {
                Format::Json => json::write(report, &mut text),
                Format::Html => html::write(report, &mut text),
                Format::Junit => junit::write(report, &mut text),
            };
            file.write(made.map(|()| text))
        });
        written.fold(Ok(()), Result::and)
    }
}
