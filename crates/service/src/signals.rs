//! Names of signals.

/// Names of signals by number, on x86-64 and aarch64 (signal(7)).
const SIGNALS: [&str; 31] = [
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];
/// The first real-time signal that the C library leaves to programs, and the last one.
const REAL_TIME_SIGNALS: [i32; 2] = [34, 64];

/// The name of a signal, such as `SIGSEGV`.
pub fn signal_name(number: i32) -> Option<String> {
    let [first, last] = REAL_TIME_SIGNALS;
    let index = usize::try_from(number).ok()?.checked_sub(1)?;
    match SIGNALS.get(index) {
        Some(name) => Some((*name).to_owned()),
        None if number == first => Some("SIGRTMIN".to_owned()),
        None if number == last => Some("SIGRTMAX".to_owned()),
        None if (first..first + 16).contains(&number) => {
            Some(format!("SIGRTMIN+{}", number - first))
        }
        None if (first..last).contains(&number) => Some(format!("SIGRTMAX-{}", last - number)),
        None => None,
    }
}

/// Whether a signal has this name.
pub fn is_signal_name(name: &str) -> bool {
    let [_, last] = REAL_TIME_SIGNALS;
    (1..=last).any(|number| signal_name(number).as_deref() == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_time_signals_are_named_from_the_nearer_end() {
        for (number, name) in [
            (1, "SIGHUP"),
            (9, "SIGKILL"),
            (31, "SIGSYS"),
            (34, "SIGRTMIN"),
            (35, "SIGRTMIN+1"),
            (49, "SIGRTMIN+15"),
            (50, "SIGRTMAX-14"),
            (64, "SIGRTMAX"),
        ] {
            assert_eq!(signal_name(number).as_deref(), Some(name));
            assert!(is_signal_name(name));
        }
        for number in [-1, 0, 32, 33, 65] {
            assert_eq!(signal_name(number), None);
        }
        assert!(!is_signal_name("KILL") && !is_signal_name("SIGRTMIN+16"));
    }
}
