//! The reactive task: one program asks, the other answers, line by line.

use super::ProgramError;
use rustix::fd::AsFd;
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::time::Instant;

/// What is asked for the `index`th time.
fn question(index: u64) -> u64 {
    index.wrapping_mul(2_654_435_761) % 1_000_003
}

/// What has to be answered.
fn answer_to(question: u64) -> u64 {
    question * question % 1_000_003
}

/// All questions, as a file has them.
pub fn questions(queries: u64) -> String {
    (0..queries).map(|index| format!("{}\n", question(index))).collect()
}

/// Whether a solution's output is right.
pub fn is_correct(output: &str, queries: u64) -> bool {
    let mut lines = output.lines();
    (0..queries).all(|index| lines.next() == Some(answer_to(question(index)).to_string().as_str()))
        && lines.next().is_none()
}

/// Standard streams, without the library's locks and line buffers: how much is written at a time
/// is what is measured.
fn streams() -> Result<(BufReader<File>, BufWriter<File>), ProgramError> {
    let input = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    Ok((BufReader::new(input), BufWriter::new(output)))
}

/// Our own CPU time, in nanoseconds.
fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Asks and checks the answers; says on standard error how long that took and how much CPU time of
/// its own, in nanoseconds from the first question's answer to the last one's. Exits as an interactor
/// does: 42 or 43.
pub fn ask(queries: u64) -> Result<u8, ProgramError> {
    let (mut input, mut output) = streams()?;
    let mut line = String::new();
    let (mut begin, mut cpu) = (Instant::now(), cpu_ns());
    for index in 0..queries {
        writeln!(output, "{}", question(index))?;
        output.flush()?;
        line.clear();
        input.read_line(&mut line)?;
        if line.trim_end().parse() != Ok(answer_to(question(index))) {
            return Ok(43);
        }
        if index == 0 {
            // The other program may have been started after us.
            (begin, cpu) = (Instant::now(), cpu_ns());
        }
    }
    eprintln!("{} {}", begin.elapsed().as_nanos(), cpu_ns() - cpu);
    Ok(42)
}

/// The solution: answers so many questions, or all that there are.
///
/// `flush`: each answer on its own, as one must who is asked on; else when there is enough.
pub fn answer(queries: u64, flush: bool) -> Result<u8, ProgramError> {
    let (mut input, mut output) = streams()?;
    let mut line = String::new();
    for _ in 0..queries {
        line.clear();
        if input.read_line(&mut line)? == 0 {
            break;
        }
        writeln!(output, "{}", answer_to(line.trim_end().parse()?))?;
        if flush {
            output.flush()?;
        }
    }
    output.flush()?;
    Ok(0)
}
