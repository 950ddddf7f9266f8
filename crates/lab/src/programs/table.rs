//! The program `table`, which times single services of the kernel on their own, like lmbench's
//! table (McVoy and Staelin 1996).

use super::{ProgramError, sys};
use rustix::fs::{Mode, OFlags};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The name on the command line.
    pub name: &'static str,
    /// The description for readers.
    pub what: &'static str,
    /// The number of repetitions between two readings of the clock.
    batch: u32,
    work: fn(u32) -> Result<(), ProgramError>,
}

/// All rows.
pub const ROWS: [Row; 10] = [
    Row {
        name: "null",
        what: "null call (getppid)",
        batch: 1000,
        work: null,
    },
    Row {
        name: "stat",
        what: "stat /usr/bin/true",
        batch: 200,
        work: stat,
    },
    Row {
        name: "open-close",
        what: "open and close /usr/bin/true",
        batch: 200,
        work: open_close,
    },
    Row {
        name: "fork",
        what: "fork, exit, wait",
        batch: 1,
        work: fork,
    },
    Row {
        name: "exec",
        what: "spawn /usr/bin/true, wait",
        batch: 1,
        work: exec,
    },
    Row {
        name: "pipe",
        what: "round trip over two pipes",
        batch: 200,
        work: pipe,
    },
    Row {
        name: "socket",
        what: "round trip over a Unix socket",
        batch: 200,
        work: socket,
    },
    Row {
        name: "fault",
        what: "page fault (anonymous memory)",
        batch: 1024,
        work: fault,
    },
    Row {
        name: "create",
        what: "create an empty file (tmpfs)",
        batch: 100,
        work: create,
    },
    Row {
        name: "create-delete",
        what: "create, write 1 KiB, delete (tmpfs)",
        batch: 100,
        work: create_delete,
    },
];

/// Finds a row by name.
pub fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

/// Repeats a row's work for this time. Returns the nanoseconds per repetition, as the median of
/// batches.
pub fn measure(row: &Row, time: Duration) -> Result<f64, ProgramError> {
    // Fill caches and page tables first.
    (row.work)(row.batch)?;
    let begin = Instant::now();
    let mut batches = Vec::new();
    while begin.elapsed() < time || batches.len() < 5 {
        let begin = Instant::now();
        (row.work)(row.batch)?;
        batches.push(begin.elapsed().as_nanos() as f64 / f64::from(row.batch));
    }
    batches.sort_unstable_by(f64::total_cmp);
    Ok(batches[batches.len() / 2])
}

/// Prints the times of these rows, or of all rows if none is given, on standard output as one JSON
/// object. `directory` must be on a tmpfs.
pub fn print(rows: &[String], time: Duration, directory: &Path) -> Result<u8, ProgramError> {
    // With relative file names, the depth of the directory does not affect the times.
    std::env::set_current_dir(directory)?;
    let mut figures = serde_json::Map::new();
    for wanted in &ROWS {
        if rows.is_empty() || rows.iter().any(|name| name == wanted.name) {
            let ns = measure(wanted, time).map_err(|error| format!("{}: {error}", wanted.name))?;
            figures.insert(wanted.name.to_owned(), ns.into());
        }
    }
    println!("{}", serde_json::Value::Object(figures));
    Ok(0)
}

const PROGRAM: &str = "/usr/bin/true";

fn null(times: u32) -> Result<(), ProgramError> {
    for _ in 0..times {
        // No C library caches getppid(2), while old ones cache getpid(2).
        std::hint::black_box(rustix::process::getppid());
    }
    Ok(())
}

fn stat(times: u32) -> Result<(), ProgramError> {
    for _ in 0..times {
        rustix::fs::stat(PROGRAM)?;
    }
    Ok(())
}

fn open_close(times: u32) -> Result<(), ProgramError> {
    for _ in 0..times {
        drop(rustix::fs::open(
            PROGRAM,
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )?);
    }
    Ok(())
}

fn fork(times: u32) -> Result<(), ProgramError> {
    for _ in 0..times {
        match sys::fork()? {
            None => sys::exit_child(0),
            Some(pid) => drop(sys::wait(pid)?),
        }
    }
    Ok(())
}

fn exec(times: u32) -> Result<(), ProgramError> {
    for _ in 0..times {
        let status = Command::new(PROGRAM).stdin(Stdio::inherit()).status()?;
        if !status.success() {
            return Err(format!("{PROGRAM}: {status}").into());
        }
    }
    Ok(())
}

/// Repeatedly sends one byte to a child and back. The child lives for one batch.
fn round_trips(
    times: u32,
    mut ours: (impl Read, impl Write),
    mut its: (impl Read, impl Write),
) -> Result<(), ProgramError> {
    let Some(child) = sys::fork()? else {
        // The child ends when the parent closes its end, or after all round trips.
        let mut byte = [0];
        for _ in 0..times {
            if its
                .0
                .read_exact(&mut byte)
                .and_then(|()| its.1.write_all(&byte))
                .is_err()
            {
                sys::exit_child(1);
            }
        }
        sys::exit_child(0);
    };
    drop(its);
    let mut byte = [b'.'];
    for _ in 0..times {
        ours.1.write_all(&byte)?;
        ours.0.read_exact(&mut byte)?;
    }
    drop(ours);
    sys::wait(child)?;
    Ok(())
}

fn pipe(times: u32) -> Result<(), ProgramError> {
    let (there_read, there_write) = std::io::pipe()?;
    let (back_read, back_write) = std::io::pipe()?;
    round_trips(times, (back_read, there_write), (there_read, back_write))
}

fn socket(times: u32) -> Result<(), ProgramError> {
    let (ours, its) = UnixStream::pair()?;
    round_trips(times, (&ours, &ours), (&its, &its))
}

fn fault(times: u32) -> Result<(), ProgramError> {
    let page = rustix::param::page_size();
    let length = times as usize * page;
    let memory = sys::Mapping::new(length)?;
    for index in 0..times as usize {
        memory.touch(index * page);
    }
    Ok(())
}

fn create(times: u32) -> Result<(), ProgramError> {
    let names: Vec<_> = (0..times)
        .map(|index| format!("lab-{}-{index}", std::process::id()))
        .collect();
    for name in &names {
        drop(std::fs::File::create_new(name)?);
    }
    for name in &names {
        std::fs::remove_file(name)?;
    }
    Ok(())
}

fn create_delete(times: u32) -> Result<(), ProgramError> {
    let name = format!("lab-{}", std::process::id());
    for _ in 0..times {
        std::fs::File::create_new(&name)?.write_all(&[b'.'; 1024])?;
        std::fs::remove_file(&name)?;
    }
    Ok(())
}
