//! Names of signals.

/// The name of a signal without `SIG` (signal(7), x86-64 and aarch64), or its number.
pub fn signal_name(number: i32) -> String {
    const NAMES: [&str; 32] = [
        "0", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV",
        "USR2", "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU",
        "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    match usize::try_from(number)
        .ok()
        .and_then(|index| NAMES.get(index))
    {
        Some(name) => (*name).to_owned(),
        None if (34..=64).contains(&number) => format!("RTMIN+{}", number - 34),
        None => number.to_string(),
    }
}
