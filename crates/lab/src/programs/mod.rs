//! The programs that experiments run inside and outside the sandbox.
//!
//! The programs are hidden in the command as `millibox-lab lab-program NAME ...`. So no other
//! program must be built or installed, and the sandbox executes the same file through an open
//! descriptor.
//!
//! | name | purpose | file |
//! | --- | --- | --- |
//! | `ask N`, `answer N` | a reactive task's interactor and solution | `talk` |
//! | `batch` | the same solution, with all queries in a file | `talk` |
//! | `calls N` | single system calls with a clock around each | `calls` |
//! | `table MS DIR [ROW...]` | single services of the kernel, each timed on its own | `table` |
//! | `place PLACE... -- COMMAND...` | a command in given cgroups or in its own session | `place` |
//! | `under WHAT COMMAND...` | a command under an observer other than millibox | `under` |

pub mod calls;
mod place;
#[allow(unsafe_code, reason = "the programs' one module for it")]
pub(crate) mod sys;
pub mod table;
pub mod talk;
pub mod under;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// The reason why a program failed.
type ProgramError = Box<dyn std::error::Error + Send + Sync>;

/// The first argument that selects one of these programs.
pub const PROGRAM_ARGUMENT: &str = "lab-program";

/// Runs one of the programs if the first argument after the command's name is [`PROGRAM_ARGUMENT`].
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter().skip(1);
    if arguments.next()? != PROGRAM_ARGUMENT {
        return None;
    }
    let arguments: Vec<String> = arguments
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    Some(match run(&arguments) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!(
                "millibox-lab {PROGRAM_ARGUMENT} {}: {error}",
                arguments.join(" ")
            );
            // No program of the lab uses this exit status itself.
            ExitCode::from(99)
        }
    })
}

fn run(arguments: &[String]) -> Result<u8, ProgramError> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["ask", queries] => talk::ask(queries.parse()?),
        ["answer", queries] => talk::answer(queries.parse()?, true),
        ["batch"] => talk::answer(u64::MAX, false),
        ["calls", repetitions] => calls::print(repetitions.parse()?),
        ["table", milliseconds, directory, ref rows @ ..] => {
            let rows: Vec<String> = rows.iter().map(ToString::to_string).collect();
            table::print(
                &rows,
                Duration::from_millis(milliseconds.parse()?),
                Path::new(directory),
            )
        }
        ["place", ref arguments @ ..] => {
            let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
            place::run(&arguments)
        }
        ["under", observer, ref command @ ..] => {
            let command: Vec<String> = command.iter().map(ToString::to_string).collect();
            under::run(observer.parse()?, &command)
        }
        _ => Err("there is no such program".into()),
    }
}

/// The executable that contains the programs. It is this executable, or in tests the command beside
/// it.
///
/// # Errors
/// The executable does not exist.
pub fn executable() -> std::io::Result<PathBuf> {
    const NAME: &str = "millibox-lab";
    let own = std::env::current_exe()?;
    let beside = [own.parent(), own.parent().and_then(Path::parent)]
        .into_iter()
        .flatten();
    let mut places = std::iter::once(own.clone())
        .filter(|own| own.file_name().is_some_and(|name| name == NAME))
        .chain(beside.map(|directory| directory.join(NAME)));
    places.find(|path| path.is_file()).ok_or_else(|| {
        let why = format!(
            "the command {NAME} is not beside {}; build it first",
            own.display()
        );
        std::io::Error::new(std::io::ErrorKind::NotFound, why)
    })
}
