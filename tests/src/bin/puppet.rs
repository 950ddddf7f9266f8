//! A program that does what its arguments say, one after another: a solution or an interactor.
//!
//! Arguments up to `--` are its part; those after it (the judge's) are looked at by `note` only.
//! It speaks in plain system calls, and dies of signals as a C program does.

#![allow(unsafe_code, reason = "it speaks in plain system calls")]

use std::time::{Duration, Instant};

fn main() {
    for signal in [libc::SIGPIPE, libc::SIGSEGV, libc::SIGBUS] {
        // SAFETY: nothing else runs yet.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    let mut arguments = std::env::args().skip(1);
    let part: Vec<String> = arguments
        .by_ref()
        .take_while(|argument| argument != "--")
        .collect();
    let given: Vec<String> = arguments.collect();
    for step in &part {
        let (command, rest) = step.split_once(':').unwrap_or((step, ""));
        act(command, rest, &given);
    }
}

fn act(command: &str, rest: &str, given: &[String]) {
    let number = || rest.parse::<u64>().unwrap_or(0);
    match command {
        "exit" => std::process::exit(number() as i32),
        "signal" => {
            // SAFETY: plain calls.
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
        // So many bytes.
        "pour" => {
            let chunk = vec![b'x'; 1 << 16];
            let mut left = number() as usize;
            while left > 0 {
                let now = left.min(chunk.len());
                write_all(1, &chunk[..now]);
                left -= now;
            }
        }
        // A line, which must be this one, if one is named; without one to read, the end with 9.
        "read" => match read_line() {
            None => std::process::exit(9),
            Some(line) if rest.is_empty() || rest == line => {}
            Some(_) => std::process::exit(8),
        },
        "read-to-end" => while read(&mut [0; 4096]) > 0 {},
        // The same, with a pause of so many milliseconds after each page.
        "sip" => {
            while read(&mut [0; 4096]) > 0 {
                std::thread::sleep(Duration::from_millis(number()));
            }
        }
        "close" => {
            // SAFETY: nobody else uses that number.
            unsafe { libc::close(number() as i32) };
        }
        // A line of so many bytes, by two vectors of which the second is nowhere, and what the
        // kernel did not take of it once more.
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
            // SAFETY: the kernel reads the first and refuses the second.
            let written = unsafe { libc::writev(1, vectors.as_ptr(), 2) };
            write_all(
                1,
                line.as_bytes()
                    .get(written.max(0) as usize..)
                    .unwrap_or_default(),
            );
        }
        // `count` questions to whoever answers each line with a line.
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
        // Ends with 6 unless so many arguments came, and the files that the first of them name
        // exist.
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
        // SAFETY: the buffer is ours.
        match unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) } {
            written @ 1.. => bytes = &bytes[written as usize..],
            // It says so only where it was not killed for it.
            _ => std::process::exit(4),
        }
    }
}

fn read(buffer: &mut [u8]) -> usize {
    // SAFETY: the buffer is ours.
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
