//! Manual pages of a command line. Packages contain them; see `packaging/`.

use crate::failure::Failure;
use clap_mangen::Man;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, UNIX_EPOCH};

/// The only argument before the directory.
const OPTION: &str = "--man-pages";

/// The variable with the date of the pages, in seconds since 1970
/// (<https://reproducible-builds.org/specs/source-date-epoch/>).
const DATE: &str = "SOURCE_DATE_EPOCH";

/// Writes the manual pages of a command and its subcommands if this program was started as
/// `PROGRAM --man-pages DIRECTORY`. Otherwise the result is `None`.
///
/// # Errors
/// A page cannot be written.
pub fn written(command: clap::Command) -> Option<Result<ExitCode, Failure>> {
    let mut arguments = std::env::args_os().skip(1);
    let (option, directory) = (arguments.next()?, arguments.next()?);
    if option != OPTION || arguments.next().is_some() {
        return None;
    }
    let directory = Path::new(&directory);
    let failed = |error| Failure::sandbox(format!("{}: {error}", directory.display()));
    let date = std::env::var(DATE).ok().and_then(|seconds| day(&seconds));
    let pages = generate(command, &date.unwrap_or_default(), directory);
    Some(pages.map(|()| ExitCode::SUCCESS).map_err(failed))
}

/// Writes a page for the command and each subcommand. The footer of all pages is the same;
/// `clap_mangen::generate_to` states the version only on the first page.
fn generate(command: clap::Command, date: &str, directory: &Path) -> io::Result<()> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let version = command.get_version().unwrap_or_default();
    let source = format!("{} {version}", command.get_name());
    generate_below(&command, source.trim_end(), date, directory)
}

fn generate_below(
    command: &clap::Command,
    source: &str,
    date: &str,
    directory: &Path,
) -> io::Result<()> {
    for command in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        generate_below(command, source, date, directory)?;
    }
    let page = Man::new(command.clone()).source(source).date(date);
    page.generate_to(directory)?;
    Ok(())
}

/// The day of a number of seconds since 1970, as in 2026-11-30.
fn day(seconds: &str) -> Option<String> {
    let time = UNIX_EPOCH.checked_add(Duration::from_secs(seconds.trim().parse().ok()?))?;
    // humantime rejects years above 9999 by an error of its `Display`.
    const LAST: u64 = 253_402_300_799;
    (time <= UNIX_EPOCH + Duration::from_secs(LAST)).then(|| {
        let text = humantime::format_rfc3339_seconds(time).to_string();
        text.split('T').next().unwrap_or_default().to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_of_nested_subcommand_states_version_and_date() {
        let inner = clap::Command::new("inner").about("Does nothing");
        let outer = clap::Command::new("outer").subcommand(inner);
        let command = clap::Command::new("program")
            .version("1.2.3")
            .subcommand(outer);
        let directory = tempfile::tempdir().expect("a directory");
        generate(command, "2026-11-30", directory.path()).expect("pages");
        for name in ["program", "program-outer", "program-outer-inner"] {
            let page = directory.path().join(name).with_extension("1");
            let page = std::fs::read_to_string(page).expect("a page");
            let title = page.lines().find(|line| line.starts_with(".TH"));
            let title = title.expect("a title").to_owned();
            assert!(title.contains("\"program 1.2.3\""), "{title}");
            assert!(title.contains("2026-11-30"), "{title}");
        }
    }

    #[test]
    fn day_of_seconds_is_a_date() {
        assert_eq!(day("1796022000").as_deref(), Some("2026-11-30"));
        for wrong in ["", "x", "-1", "18446744073709551615", "999999999999"] {
            assert_eq!(day(wrong), None, "{wrong}");
        }
    }
}
