//! The programs `ask`, `answer` and `batch`, which are the interactor and the solution of a
//! reactive task.

use super::ProgramError;
use rustix::fd::AsFd;
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::time::Instant;

/// The query with this index.
fn query(index: u64) -> u64 {
    index.wrapping_mul(2_654_435_761) % 1_000_003
}

/// The correct answer to a query.
fn answer_to(query: u64) -> u64 {
    query * query % 1_000_003
}

/// The content of the batch solution's input file, which has all queries.
pub fn queries(count: u64) -> String {
    (0..count)
        .map(|index| format!("{}\n", query(index)))
        .collect()
}

/// Whether a solution's output is correct.
pub fn is_correct(output: &str, queries: u64) -> bool {
    let mut lines = output.lines();
    (0..queries).all(|index| lines.next() == Some(answer_to(query(index)).to_string().as_str()))
        && lines.next().is_none()
}

/// The standard streams without the library's locks and line buffers, because the experiment
/// measures how much a program writes at a time.
fn streams() -> Result<(BufReader<File>, BufWriter<File>), ProgramError> {
    let input = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    Ok((BufReader::new(input), BufWriter::new(output)))
}

/// The CPU time of this process, in nanoseconds.
fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The interactor sends queries and checks the answers. It prints on standard error the real time
/// and its own CPU time from the first answer to the last, in nanoseconds. The exit status is 42 if
/// all answers are correct, and 43 otherwise.
pub fn ask(queries: u64) -> Result<u8, ProgramError> {
    let (mut input, mut output) = streams()?;
    let mut line = String::new();
    let (mut begin, mut cpu) = (Instant::now(), cpu_ns());
    for index in 0..queries {
        writeln!(output, "{}", query(index))?;
        output.flush()?;
        line.clear();
        input.read_line(&mut line)?;
        if line.trim_end().parse() != Ok(answer_to(query(index))) {
            return Ok(43);
        }
        if index == 0 {
            // The solution may have started later than this program.
            (begin, cpu) = (Instant::now(), cpu_ns());
        }
    }
    eprintln!("{} {}", begin.elapsed().as_nanos(), cpu_ns() - cpu);
    Ok(42)
}

/// The solution answers this number of queries, or all queries until the end of the input.
///
/// With `flush` it writes each answer at once, as a reactive solution must. Otherwise writes are
/// buffered.
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
