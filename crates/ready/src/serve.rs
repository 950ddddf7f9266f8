//! The code of a template, of a run's pid1, and of a copy until it returns to the program.

use crate::context::{self, Context};
use crate::ready_protocol::{
    CONTROL, Failed, Go, MAX_MESSAGE_BYTES, Setup, TEMPLATE_PASS, message,
};
use crate::run_mounts::{self, RunMount};
use crate::signals::Signals;
use crate::sys::memory::Stack;
use crate::sys::process::{self, Clone};
use crate::sys::{self, Errno, calls};
use core::ffi::CStr;
use core::sync::atomic::AtomicI32;
use millibox_wire::Step;
use zerocopy::{FromBytes, IntoBytes};

/// The size of pid1's stack, on which fork(3) runs the handlers of all libraries.
const STACK_BYTES: usize = 256 << 10;

/// A program that was started so that it can be copied.
pub struct Template {
    setup: Setup,
    /// A procfs that the run's own procfs covers; -1 if the world has no procfs.
    procfs: i32,
    stack: Stack,
    /// The address and length of the thread's area that the kernel updates (rseq(2)).
    rseq: Option<(usize, u32)>,
    context: Context,
    /// The state of signals before the first run.
    signals: Option<Signals>,
    /// The message that launches a copy, and its descriptors.
    launch: Box<[u8]>,
    launch_length: usize,
    /// 1 while pid1 uses the template's memory.
    in_use: AtomicI32,
}

/// A pointer to a template, for the processes in its memory.
struct Shared(*mut Template);
// SAFETY: template, pid1 and copy use it one after the other. The template waits until pid1 has
// left its memory, and the copy has its own memory.
unsafe impl Sync for Shared {}

impl Template {
    /// Announces that the program is ready. Returns `None` if the program was not started as a
    /// template.
    pub fn announce() -> Option<Box<Template>> {
        sys::fd_flags(CONTROL)?;
        let kind = rustix::net::sockopt::socket_type(sys::borrow(CONTROL)).ok()?;
        if kind != rustix::net::SocketType::SEQPACKET {
            return None;
        }
        // Children of the program must not inherit the socket.
        rustix::io::fcntl_setfd(sys::borrow(CONTROL), rustix::io::FdFlags::CLOEXEC).ok()?;
        sys::set_pass(TEMPLATE_PASS);
        let mut launch = vec![0; MAX_MESSAGE_BYTES].into_boxed_slice();
        let stack = Stack::new(STACK_BYTES).ok()?;
        calls::send(CONTROL, &[message::READY]).ok()?;
        let received = calls::receive(CONTROL, &mut launch, 0).ok()?;
        let setup: Setup = millibox_wire::decode(launch.get(..received.length)?).ok()?;
        let procfs = setup.mounts.iter().find_map(|(_, mount)| match mount {
            RunMount::Proc { path, .. } => Some(path),
            _ => None,
        });
        let procfs = procfs.map_or(Ok(-1), |path| {
            calls::openat(libc::AT_FDCWD, path, libc::O_PATH | libc::O_DIRECTORY, 0)
        });
        Some(Box::new(Template {
            procfs: procfs.ok()?,
            setup,
            stack,
            rseq: rseq_area(),
            context: Context(0),
            signals: None,
            launch,
            launch_length: 0,
            in_use: AtomicI32::new(0),
        }))
    }

    /// Serves runs. Returns in each copy.
    #[allow(clippy::boxed_local, reason = "the address must stay the same")]
    pub fn serve(mut self: Box<Template>) -> (Go, Vec<u8>) {
        let Ok(signals) = Signals::take() else {
            // Without this protection, no run may start.
            calls::exit(NOT_STARTED);
        };
        self.signals = Some(signals);
        let template = &raw mut *self;
        // SAFETY: the template is on the heap, also in the copy. `serve_runs` does not return, and
        // copies resume this frame, which the template never leaves.
        unsafe {
            let context = &mut (*template).context;
            context::call(context, serve_runs, template as usize);
        }
        // Only a copy gets here.
        let bytes = self.launch.get(1..self.launch_length).unwrap_or(&[]);
        let (go, strings) = Go::read_from_prefix(bytes).unwrap_or_default();
        let strings = strings
            .get(go.directory_bytes as usize..)
            .unwrap_or(&[])
            .to_vec();
        (go, strings)
    }
}

/// Clones one run after another on request of the init process.
///
/// # Safety
/// `template` must be the address of a [`Template`] that no other code uses.
unsafe extern "C" fn serve_runs(template: usize) -> ! {
    let shared = Shared(template as *mut Template);
    loop {
        let mut byte = [0; 1];
        match calls::receive(CONTROL, &mut byte, 0) {
            Ok(received) if received.length == 1 && byte == [message::CLONE] => {}
            // The runner has ended or needs another world.
            _ => calls::exit(0),
        }
        // The id maps of pid1 can be written only while its memory is dumpable (proc(5)). No run
        // exists at this point.
        let _ = calls::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0);
        let mut namespaces =
            libc::CLONE_NEWUSER | libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWIPC;
        // SAFETY: the template outlives this function, and no other code uses it now.
        if unsafe { (*shared.0).setup.has_own_network } {
            namespaces |= libc::CLONE_NEWNET;
        }
        let how = Clone {
            flags: (namespaces | libc::CLONE_VM) as u64,
            into_cgroup: None,
        };
        // SAFETY: the template outlives pid1, for which this call waits.
        let (stack, in_use) = unsafe { (&(*shared.0).stack, &(*shared.0).in_use) };
        if let Err(errno) = process::run_sibling(how, stack, pid1, &shared, in_use) {
            report(Step::Clone, errno, 0);
        }
    }
}

fn report(step: Step, errno: Errno, object: u32) {
    let failed = Failed {
        step: step as u32,
        errno: errno.0,
        object,
    };
    let _ = calls::send_parts(CONTROL, [&[message::FAILED], failed.as_bytes()], &[]);
}

/// pid1 of a run, in the template's memory. To libc the process has one thread, because the
/// template's own thread waits in the kernel.
fn pid1(shared: &Shared) -> ! {
    if let Err((object, step, errno)) = prepare(shared) {
        report(step, errno, object);
        calls::exit(1);
    }
    // SAFETY: as the comment on this function explains, no other thread runs. The fork calls the
    // handlers of libraries (pthread_atfork(3)).
    match unsafe { libc::fork() } {
        -1 => {
            report(Step::CloneTarget, std::io::Error::last_os_error().into(), 0);
            calls::exit(1)
        }
        0 => copy(shared),
        copy => watch(copy),
    }
}

fn prepare(shared: &Shared) -> Result<(), (u32, Step, Errno)> {
    let at = |step| move |errno| (0, step, errno);
    let parent_death = calls::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as usize, 0, 0, 0);
    parent_death.map_err(at(Step::ParentDeath))?;
    calls::send(CONTROL, &[message::BORN]).map_err(at(Step::Ready))?;
    let mut byte = [0; 1];
    let received = calls::receive(CONTROL, &mut byte, 0).map_err(at(Step::Ready))?;
    if received.length != 1 || byte != [message::MAPPED] {
        return Err((0, Step::Ready, Errno(libc::EPROTO)));
    }
    // The template may have other standard streams, and its open files are those of all runs. If it
    // has closed some, the new descriptors have the lowest free numbers, in the same order.
    for (standard, &stream) in (0..3).zip(&received.descriptors) {
        let at_descriptors = at(Step::Descriptors);
        if stream < 0 {
            return Err(at_descriptors(Errno(libc::EMFILE)));
        }
        if stream == standard {
            calls::fcntl(stream, libc::F_SETFD, 0).map_err(at_descriptors)?;
        } else {
            calls::dup3(stream, standard, 0).map_err(at_descriptors)?;
        }
    }
    // SAFETY: the template waits.
    let template = unsafe { &*shared.0 };
    run_mounts::carry_out(&template.setup.mounts, template.procfs, true)?;
    // A directory of the template's own tmpfs would be shared by all runs.
    calls::chdir(c"/").map_err(at(Step::WorkingDirectory))?;
    run_mounts::give_up_capabilities().map_err(at(Step::Capabilities))?;
    // From now on no process of the run may trace pid1, which shares the template's memory.
    calls::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0).map_err(at(Step::Session))?;
    Ok(())
}

/// Waits for the copy, ends all other processes of the run and reports.
fn watch(copy: i32) -> ! {
    let mut status = -1;
    loop {
        match process::wait(-1, libc::__WALL) {
            Ok(child) if child.pid == copy => {
                status = child.status;
                break;
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    while let Ok(child) = process::wait(-1, libc::__WALL | libc::WNOHANG) {
        if child.pid == 0 {
            let _ = calls::kill(-1, libc::SIGKILL);
            let _ = process::wait(-1, libc::__WALL);
        }
    }
    let _ = calls::send_parts(CONTROL, [&[message::DONE], status.as_bytes()], &[]);
    calls::exit(0)
}

/// The exit status of a copy that could not be launched. No process evaluates it.
const NOT_STARTED: i32 = 127;

/// The copy prepares itself, waits for its launch and continues after `millibox_ready`.
fn copy(shared: &Shared) -> ! {
    // SAFETY: this process has its own copy of the memory, and one thread.
    let template = unsafe { &mut *shared.0 };
    if let Err((step, errno)) = launch(template) {
        report(step, errno, 0);
        calls::exit(NOT_STARTED);
    }
    // SAFETY: the frame of `Template::serve` is alive in this copy, and no value of the frames in
    // between needs destruction.
    unsafe { context::resume(&template.context) }
}

fn launch(template: &mut Template) -> Result<(), (Step, Errno)> {
    let at = |step| move |errno| (step, errno);
    // The memory belongs to this process alone.
    calls::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0).map_err(at(Step::Session))?;
    calls::setsid().map_err(at(Step::Session))?;
    if let Some(signals) = &template.signals {
        signals.restore().map_err(at(Step::Session))?;
    }
    if let Some((area, length)) = template.rseq {
        calls::register_rseq(area, length).map_err(at(Step::Session))?;
    }
    calls::send(CONTROL, &[message::PREPARED]).map_err(at(Step::Receive))?;
    let received = calls::receive(CONTROL, &mut template.launch, 0).map_err(at(Step::Receive))?;
    template.launch_length = received.length;
    let bytes = template.launch.get(..received.length).unwrap_or(&[]);
    let Some((&message::GO, body)) = bytes.split_first() else {
        return Err((Step::Receive, Errno(libc::EPROTO)));
    };
    let unreadable = |_| (Step::Receive, Errno(libc::EPROTO));
    let (go, strings) = Go::read_from_prefix(body).map_err(unreadable)?;
    let mut next = received.descriptors.iter().copied();
    for standard in 0..3 {
        if go.descriptors & 1 << standard != 0 {
            let fd = next.next().filter(|&fd| fd >= 0);
            let fd = fd.ok_or((Step::Descriptors, Errno(libc::EMFILE)))?;
            calls::dup3(fd, standard, 0).map_err(at(Step::Descriptors))?;
        }
    }
    let directory = strings
        .get(..go.directory_bytes as usize)
        .and_then(|bytes| CStr::from_bytes_with_nul(bytes).ok())
        .ok_or((Step::WorkingDirectory, Errno(libc::EPROTO)))?;
    if directory != c"/" {
        calls::chdir(directory).map_err(at(Step::WorkingDirectory))?;
    }
    if let Some(program) = &template.setup.seccomp {
        calls::attach_seccomp(program).map_err(at(Step::Seccomp))?;
    }
    // Close the socket last, so that every earlier failure can be reported. From now on the copy is
    // a run like any other.
    calls::close_range(CONTROL as u32, u32::MAX, 0).map_err(at(Step::Descriptors))?;
    sys::set_pass(0);
    Ok(())
}

/// The area that the C library has registered (glibc 2.35: `__rseq_offset`). pid1 has no
/// registration, because it shares memory, so a copy must register the area again.
fn rseq_area() -> Option<(usize, u32)> {
    // SAFETY: both symbols are numbers in the C library, if they exist.
    let (offset, size) = unsafe {
        let offset = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()).cast::<isize>();
        let size = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()).cast::<u32>();
        if offset.is_null() || size.is_null() {
            return None;
        }
        (offset.read(), size.read())
    };
    // A size of 0 means that the registration failed. The kernel's original length is 32.
    (size != 0).then(|| {
        (
            sys::thread_pointer().wrapping_add_signed(offset),
            size.max(32),
        )
    })
}
