//! A program that executes its arguments as commands, one after another. It acts as a solution or
//! an interactor.
//!
//! Arguments before `--` are commands. Arguments after it come from the judge; only `note` and
//! `given` read them. The program uses plain system calls, and signals kill it like a C program.

#![allow(unsafe_code, reason = "uses plain system calls like a C program")]

use std::time::{Duration, Instant};

fn main() {
    for signal in [libc::SIGPIPE, libc::SIGSEGV, libc::SIGBUS] {
        // SAFETY: the process has one thread, and no handler is installed.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    let mut arguments = std::env::args().skip(1);
    let commands: Vec<String> = arguments
        .by_ref()
        .take_while(|argument| argument != "--")
        .collect();
    let given: Vec<String> = arguments.collect();
    for command_text in &commands {
        let (command, rest) = command_text.split_once(':').unwrap_or((command_text, ""));
        execute(command, rest, &given);
    }
}

fn execute(command: &str, rest: &str, given: &[String]) {
    let number = || rest.parse::<u64>().unwrap_or(0);
    match command {
        "exit" => std::process::exit(number() as i32),
        "signal" => {
            // SAFETY: both calls take numbers only.
            unsafe { libc::kill(libc::getpid(), number() as i32) };
            std::thread::sleep(Duration::from_secs(1000));
        }
        "sleep" => std::thread::sleep(Duration::from_millis(number())),
        "spin" => {
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_millis(number()) {}
        }
        "eat" => {
            let mut all = Vec::new();
            for _ in 0..number() {
                all.push(std::hint::black_box(vec![1u8; 1 << 20]));
            }
            std::hint::black_box(&all);
        }
        "write" => write_all(1, format!("{rest}\n").as_bytes()),
        "say" => write_all(2, format!("{rest}\n").as_bytes()),
        // Writes this number of bytes.
        "pour" => {
            let chunk = vec![b'x'; 1 << 16];
            let mut left = number() as usize;
            while left > 0 {
                let now = left.min(chunk.len());
                write_all(1, &chunk[..now]);
                left -= now;
            }
        }
        // Reads a line. If the command names a line, any other line ends the program with 8. The
        // end of input ends it with 9.
        "read" => match read_line() {
            None => std::process::exit(9),
            Some(line) if rest.is_empty() || rest == line => {}
            Some(_) => std::process::exit(8),
        },
        "read-to-end" => while read(&mut [0; 4096]) > 0 {},
        // Reads to the end, with a pause of this many milliseconds after each page.
        "sip" => {
            while read(&mut [0; 4096]) > 0 {
                std::thread::sleep(Duration::from_millis(number()));
            }
        }
        "close" => {
            // SAFETY: the program owns no object with this descriptor.
            unsafe { libc::close(number() as i32) };
        }
        // Writes a line of this many bytes from two vectors. The second vector is invalid. Then
        // writes the bytes that the kernel did not accept.
        "bad-writev" => {
            let line = "x".repeat(number() as usize) + "\n";
            let vectors = [
                libc::iovec {
                    iov_base: line.as_ptr() as *mut _,
                    iov_len: line.len(),
                },
                libc::iovec {
                    iov_base: std::ptr::dangling_mut::<u8>().cast(),
                    iov_len: 100,
                },
            ];
            // SAFETY: the kernel reads the first vector and rejects the second.
            let written = unsafe { libc::writev(1, vectors.as_ptr(), 2) };
            write_all(
                1,
                line.as_bytes()
                    .get(written.max(0) as usize..)
                    .unwrap_or_default(),
            );
        }
        // Sends this number of questions, and reads one line as the answer to each.
        "ask" => {
            for _ in 0..number() {
                write_all(1, b"?\n");
                if read_line().is_none() {
                    std::process::exit(9);
                }
            }
        }
        "answer" => {
            for _ in 0..number() {
                if read_line().is_none() {
                    std::process::exit(9);
                }
                write_all(1, b"!\n");
            }
        }
        // `note:NAME=TEXT` leaves a file in the directory that the third argument names.
        "note" => {
            let (name, text) = rest.split_once('=').unwrap_or((rest, ""));
            let directory = given.get(2).map_or("/", String::as_str);
            if std::fs::write(format!("{directory}{name}"), text).is_err() {
                std::process::exit(7);
            }
        }
        // Ends with 6 unless this number of arguments came from the judge, and the file that the
        // first of them names exists.
        "given" => {
            let files = given
                .iter()
                .take(1)
                .all(|file| std::fs::metadata(file).is_ok());
            if given.len() as u64 != number() || !files {
                std::process::exit(6);
            }
        }
        _ => std::process::exit(5),
    }
}

fn write_all(fd: i32, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: the buffer is valid for the whole call.
        match unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) } {
            written @ 1.. => bytes = &bytes[written as usize..],
            // The write failed, and the program ignores or blocks the signal.
            _ => std::process::exit(4),
        }
    }
}

fn read(buffer: &mut [u8]) -> usize {
    // SAFETY: the buffer is valid for the whole call.
    let length = unsafe { libc::read(0, buffer.as_mut_ptr().cast(), buffer.len()) };
    length.max(0) as usize
}

fn read_line() -> Option<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        match read(&mut byte) {
            0 => return None,
            _ if byte == *b"\n" => return Some(String::from_utf8_lossy(&line).into_owned()),
            _ => line.extend(byte),
        }
    }
}
