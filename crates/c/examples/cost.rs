//! Compares the time of a run from C with that from Rust, one run after another:
//!
//! ```text
//! cargo run --release -p millibox-c --example cost -- target/release/libmillibox.so.0 2000
//! ```
//!
//! Each round runs /bin/true once in each of four ways, in changing order. Prints the median of
//! each way, and the median of the differences within a round.
#![allow(
    unsafe_code,
    reason = "the shared library is loaded and called as C does"
)]

use millibox::{Request, Supervisor, World};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

const MAX_OUTPUT_BYTES: u64 = 16 << 20;

/// The functions of the shared library that a run needs.
struct Functions {
    sandbox_new: extern "C" fn(*const c_void, *mut *mut c_void) -> *mut c_void,
    sandbox_run: extern "C" fn(*const c_void, *const c_void, *mut *mut c_void) -> *mut c_void,
    program_new: extern "C" fn(*const c_char) -> *mut c_void,
    set_stdout: extern "C" fn(*mut c_void, c_int),
    set_stderr: extern "C" fn(*mut c_void, c_int),
    is_success: extern "C" fn(*const c_void) -> bool,
    result_free: extern "C" fn(*mut c_void),
}

/// Finds a function of a loaded library.
///
/// # Safety
/// `F` must be the type of a pointer to this function.
unsafe fn find<F: Copy>(library: *mut c_void, name: &CStr) -> F {
    assert_eq!(size_of::<F>(), size_of::<*mut c_void>());
    // SAFETY: the library is loaded, and is never closed.
    let symbol = unsafe { libc::dlsym(library, name.as_ptr()) };
    assert!(!symbol.is_null(), "{name:?} is missing");
    // SAFETY: both are pointers of the same size; the caller promises the type.
    unsafe { std::mem::transmute_copy(&symbol) }
}

impl Functions {
    fn load(path: &CStr) -> Functions {
        // SAFETY: the path is a string of C, and the initializers of the library only store the
        // arguments of the process.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
        assert!(!library.is_null(), "cannot load {path:?}");
        // SAFETY: the types are those of the header; handles are passed as untyped pointers, which
        // have the same representation.
        unsafe {
            Functions {
                sandbox_new: find(library, c"millibox_sandbox_new"),
                sandbox_run: find(library, c"millibox_sandbox_run"),
                program_new: find(library, c"millibox_program_new"),
                set_stdout: find(library, c"millibox_program_set_stdout_fd"),
                set_stderr: find(library, c"millibox_program_set_stderr_fd"),
                is_success: find(library, c"millibox_result_is_success"),
                result_free: find(library, c"millibox_result_free"),
            }
        }
    }

    fn run(&self, sandbox: *const c_void, program: *const c_void) {
        let mut result = null_mut();
        let error = (self.sandbox_run)(sandbox, program, &mut result);
        assert!(error.is_null() && (self.is_success)(result));
        (self.result_free)(result);
    }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(library), rounds) = (arguments.next(), arguments.next()) else {
        panic!("usage: cost LIBRARY [ROUNDS]");
    };
    let rounds: usize = rounds
        .map_or(Ok(1000), |text| text.parse())
        .expect("a number");
    let functions = Functions::load(&CString::new(library).expect("a path"));
    let mut sandbox = null_mut();
    assert!((functions.sandbox_new)(null(), &mut sandbox).is_null());
    let captured = (functions.program_new)(c"/bin/true".as_ptr());
    let discarded = (functions.program_new)(c"/bin/true".as_ptr());
    (functions.set_stdout)(discarded, -1);
    (functions.set_stderr)(discarded, -1);

    let supervisor = Supervisor::start().unwrap_or_else(|error| panic!("{error}"));
    let request = Request::new("/bin/true")
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("LANG", "C.UTF-8")
        .env("HOME", "/tmp")
        .world(&World::standard())
        .real_time_limit(Duration::from_secs(10));
    let plain = || {
        let result = supervisor.run(&request).and_then(|run| run.wait());
        assert_eq!(result.expect("a result").exit_code, Some(0));
    };
    let output = || {
        let output = supervisor.output(&request, MAX_OUTPUT_BYTES);
        assert!(output.expect("a result").is_success());
    };
    let c_plain = || functions.run(sandbox, discarded);
    let c_output = || functions.run(sandbox, captured);
    let ways: [(&str, &dyn Fn()); 4] = [
        ("Rust, no output", &plain),
        ("C, no output", &c_plain),
        ("Rust, output", &output),
        ("C, output", &c_output),
    ];
    let mut times = ways.map(|_| Vec::with_capacity(rounds));
    for round in 0..rounds {
        for index in 0..ways.len() {
            // Both directions, so that no way always follows the same other way.
            let step = if round % 2 == 0 {
                index
            } else {
                ways.len() - index
            };
            let way = (round / 2 + step) % ways.len();
            let begin = Instant::now();
            ways[way].1();
            times[way].push(begin.elapsed().as_secs_f64() * 1e6);
        }
    }
    for pair in [0, 2] {
        let differences = times[pair + 1].iter().zip(&times[pair]);
        let mut differences: Vec<f64> = differences.map(|(c, rust)| c - rust).collect();
        for way in [pair, pair + 1] {
            println!(
                "{:16} {:8.1} us",
                ways[way].0,
                median(&mut times[way].clone())
            );
        }
        println!("{:16} {:+8.1} us", "difference", median(&mut differences));
    }
}
