//! The architectures: their system call tables and their `AUDIT_ARCH_*` values.

mod aarch64;
mod x86_64;

use std::fmt;

/// An architecture for which a policy can be compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arch {
    /// 64-bit x86. Policies cannot name the x32 numbers (bit 30 set).
    X86_64,
    /// Little-endian 64-bit Arm.
    Aarch64,
}

impl Arch {
    /// All architectures.
    pub const ALL: [Arch; 2] = [Arch::X86_64, Arch::Aarch64];

    /// The architecture for which this crate was compiled.
    pub const fn native() -> Arch {
        #[cfg(target_arch = "x86_64")]
        return Arch::X86_64;
        #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
        return Arch::Aarch64;
        #[cfg(not(any(
            target_arch = "x86_64",
            all(target_arch = "aarch64", target_endian = "little")
        )))]
        compile_error!("millibox-seccomp knows x86_64 and little-endian aarch64 only");
    }

    /// The value of `seccomp_data.arch` in a call of this architecture: `AUDIT_ARCH_*`.
    pub const fn audit_value(self) -> u32 {
        // The ELF machine number, with bit 31 for 64-bit and bit 30 for little-endian.
        match self {
            Arch::X86_64 => 0xc000_003e,
            Arch::Aarch64 => 0xc000_00b7,
        }
    }

    /// The number of the system call `name`, or `None` if this architecture lacks it.
    pub fn number(self, name: &str) -> Option<u32> {
        let table = self.table();
        let found = table
            .binary_search_by_key(&name, |&(known, _)| known)
            .ok()?;
        Some(table[found].1)
    }

    /// The name of the system call `number`, or `None` if no system call has this number.
    pub fn name(self, number: u32) -> Option<&'static str> {
        self.syscalls()
            .find(|&(_, known)| known == number)
            .map(|(name, _)| name)
    }

    /// The name and number of every system call, sorted by name.
    pub fn syscalls(self) -> impl Iterator<Item = (&'static str, u32)> {
        self.table().iter().copied()
    }

    const fn table(self) -> &'static [(&'static str, u32)] {
        match self {
            Arch::X86_64 => x86_64::SYSCALLS,
            Arch::Aarch64 => aarch64::SYSCALLS,
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Arch::X86_64 => "x86_64",
            Arch::Aarch64 => "aarch64",
        })
    }
}

/// The system call name closest to `name`, or `None` if no name is close.
pub(crate) fn nearest_name(name: &str) -> Option<&'static str> {
    let max_distance = (name.len() / 3).clamp(1, 3);
    Arch::ALL
        .into_iter()
        .flat_map(Arch::syscalls)
        .map(|(known, _)| (edit_distance(name, known), known))
        .filter(|&(distance, _)| distance <= max_distance)
        .min()
        .map(|(_, known)| known)
}

/// The Damerau-Levenshtein distance (optimal string alignment): the number of letters to insert,
/// drop, replace or swap with a neighbour to turn `from` into `to`.
fn edit_distance(from: &str, to: &str) -> usize {
    let (from, to) = (from.as_bytes(), to.as_bytes());
    let mut before_last = vec![0; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let mut least = (last[j] + usize::from(a != b))
                .min(last[j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && *a == to[j - 1] && from[i - 1] == *b {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_and_numbers_unique() {
        for arch in Arch::ALL {
            assert!(arch.table().is_sorted_by(|a, b| a.0 < b.0));
            let mut numbers: Vec<u32> = arch.syscalls().map(|(_, number)| number).collect();
            numbers.sort_unstable();
            assert!(
                numbers.is_sorted_by(|a, b| a < b),
                "{arch}: a number with two names"
            );
        }
    }

    #[test]
    fn number_of_common_calls_is_known() {
        assert_eq!(Arch::X86_64.number("read"), Some(0));
        assert_eq!(Arch::X86_64.number("execve"), Some(59));
        assert_eq!(Arch::X86_64.number("clone3"), Some(435));
        assert_eq!(Arch::X86_64.number("mseal"), Some(462));
        assert_eq!(Arch::Aarch64.number("read"), Some(63));
        assert_eq!(Arch::Aarch64.number("execve"), Some(221));
        assert_eq!(Arch::Aarch64.number("fork"), None);
        assert_eq!(Arch::Aarch64.name(93), Some("exit"));
        assert_eq!(Arch::X86_64.name(0x4000_0000), None);
    }

    #[test]
    fn nearest_name_tolerates_few_edits() {
        assert_eq!(nearest_name("raed"), Some("read"));
        assert_eq!(nearest_name("opentat"), Some("openat"));
        assert_eq!(nearest_name("frobnicate"), None);
        // Longer names tolerate more edits.
        assert_eq!(nearest_name("rexvmxg"), Some("recvmsg"));
        assert_eq!(nearest_name("qxq"), None);
    }

    #[test]
    fn edit_distance_is_minimal() {
        for (from, to, wanted) in [
            ("", "ab", 2),
            ("ab", "", 2),
            ("ab", "ba", 1),
            ("ac", "abc", 1),
            ("abc", "ac", 1),
            ("abc", "abd", 1),
            ("abcd", "badc", 2),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(edit_distance(from, to), wanted, "{from} {to}");
        }
    }

    #[test]
    fn display_is_kernel_name() {
        assert_eq!(
            Arch::ALL.map(|arch| arch.to_string()),
            ["x86_64", "aarch64"]
        );
    }
}
