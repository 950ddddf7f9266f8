//! The programs that the lab runs, inside the sandbox and outside.
//!
//! They are hidden in the command: `millibox-lab lab-program NAME ...` is one of them. So there is
//! nothing to build or install besides, and the sandbox takes it as it is, by an open descriptor.
//!
//! | name | what it does | file |
//! | --- | --- | --- |
//! | `ask N`, `answer N` | a reactive task's interactor and solution | `talk` |
//! | `batch` | the same solution, all questions in a file | `talk` |
//! | `calls N` | single system calls, a clock observer each | `calls` |
//! | `table MS DIR [ROW...]` | what the kernel does for a program, each thing on its own | `table` |
//! | `place PLACE... -- COMMAND...` | a command in cgroups or a session of its own | `place` |
//! | `under WHAT COMMAND...` | a command, with something else than millibox observer it | `under` |

pub mod calls;
mod place;
#[allow(unsafe_code, reason = "the lab's one room for it")]
pub(crate) mod sys;
pub mod table;
pub mod talk;
pub mod under;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Why one of them could not do its work.
type ProgramError = Box<dyn std::error::Error + Send + Sync>;

/// The first argument by which the command knows that it is to be one of them.
pub const PROGRAM_ARGUMENT: &str = "lab-program";

/// Is one of the programs, if the arguments (the command's own name before them) say so.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter().skip(1);
    if arguments.next()? != PROGRAM_ARGUMENT {
        return None;
    }
    let arguments: Vec<String> = arguments.map(|argument| argument.to_string_lossy().into_owned()).collect();
    Some(match run(&arguments) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("millibox-lab {PROGRAM_ARGUMENT} {}: {error}", arguments.join(" "));
            // Of no use to anybody who counts on a program's own codes.
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
            table::print(&rows, Duration::from_millis(milliseconds.parse()?), Path::new(directory))
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

/// The command that has the programs in it: this one, or the one built beside it (for tests).
///
/// # Errors
/// It is not there.
pub fn executable() -> std::io::Result<PathBuf> {
    const NAME: &str = "millibox-lab";
    let own = std::env::current_exe()?;
    let beside = [own.parent(), own.parent().and_then(Path::parent)].into_iter().flatten();
    let mut places = std::iter::once(own.clone())
        .filter(|own| own.file_name().is_some_and(|name| name == NAME))
        .chain(beside.map(|directory| directory.join(NAME)));
    places.find(|path| path.is_file()).ok_or_else(|| {
        let why = format!("the command {NAME} is not beside {}; build it first", own.display());
        std::io::Error::new(std::io::ErrorKind::NotFound, why)
    })
}
