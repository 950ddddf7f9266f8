//! Parsers of option values. clap puts the name of the option and the value before their errors.

use millibox::Request;
use millibox_cli_support::values::is_number;
pub use millibox_cli_support::values::{id, number, time};
use millibox_judge::report::counted;
use millibox_languages::suite::Link;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, PathBuf};
use std::time::Duration;

// The fuzzer also includes this file, so the path must not depend on the including module.
#[path = "value_error.rs"]
mod error;
pub use error::ValueError;

/// `static`, `dynamic`.
pub fn link(text: &str) -> Result<Link, ValueError> {
    match text {
        "static" => Ok(Link::Static),
        "dynamic" => Ok(Link::Dynamic),
        _ => Err(ValueError::Link),
    }
}

/// `64M`, `1.5GiB`, `4096`: units are powers of 1024.
pub fn size(text: &str) -> Result<u64, ValueError> {
    bytes(text)
        .ok_or(ValueError::Size)?
        .ok_or(ValueError::SizeTooLarge)
}

/// Parses a size, in bytes. The outer `None` means no size; the inner one means that it is too
/// large.
fn bytes(text: &str) -> Option<Option<u64>> {
    let end = text
        .bytes()
        .position(|byte| !byte.is_ascii_digit() && byte != b'.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.to_ascii_lowercase();
    let unit = match unit.strip_suffix("ib") {
        Some("") => return None,
        Some(unit) => unit,
        None => unit.strip_suffix('b').unwrap_or(&unit),
    };
    let shift = 10
        * ["", "k", "m", "g", "t", "p"]
            .iter()
            .position(|known| *known == unit)?;
    // A fraction of a byte is not a size.
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) if shift > 0 && fraction.len() <= 15 => (whole, fraction),
        Some(_) => return None,
        None => (number, "0"),
    };
    let parts_of_one = 10u128.pow(u32::try_from(fraction.len()).ok()?);
    let fraction = u128::from(fraction.parse::<u64>().ok()?);
    if !is_number(whole) {
        return None;
    }
    let Ok(whole) = whole.parse::<u64>() else {
        return Some(None);
    };
    Some(u64::try_from((u128::from(whole) << shift) + (fraction << shift) / parts_of_one).ok())
}

/// A size that is not 0.
pub fn positive_size(text: &str) -> Result<u64, ValueError> {
    size(text).and_then(|bytes| {
        if bytes == 0 {
            Err(ValueError::Empty)
        } else {
            Ok(bytes)
        }
    })
}

/// A size that is large enough for a program.
pub fn memory(text: &str) -> Result<u64, ValueError> {
    size(text).and_then(|bytes| match bytes {
        // If the unit is missing, the user usually means M.
        1..=0xf_ffff if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(ValueError::MemoryUnit(text.to_owned()))
        }
        0..=0xf_ffff => Err(ValueError::Memory),
        bytes => Ok(bytes),
    })
}

/// A time limit, bounded like one that a package states.
pub fn time_limit(text: &str) -> Result<Duration, ValueError> {
    const DAY: Duration = Duration::from_secs(86_400);
    let time = time(text)?;
    (time <= DAY).then_some(time).ok_or(ValueError::Day)
}

/// The number of CPUs that an affinity can name.
pub const MAX_CPUS: u32 = 1024;

/// `50ms/100ms`: CPU time and period.
pub fn bandwidth(text: &str) -> Result<(Duration, Duration), ValueError> {
    let Some((max, period)) = text.split_once('/') else {
        return Err(ValueError::Bandwidth);
    };
    let (max, period) = (time(max)?, time(period)?);
    if max < Duration::from_millis(1) {
        return Err(ValueError::BandwidthMax);
    }
    if !(Duration::from_millis(1)..=Duration::from_secs(1)).contains(&period) {
        return Err(ValueError::BandwidthPeriod);
    }
    if max > period * MAX_CPUS {
        return Err(ValueError::BandwidthCpus);
    }
    Ok((max, period))
}

/// `NOFILE=64`, `stack=8M`, `RLIMIT_CORE=unlimited`. The returned name is in upper case without the
/// prefix.
pub fn rlimit(text: &str) -> Result<(String, u64), ValueError> {
    let Some((name, value)) = text.split_once('=') else {
        return Err(ValueError::Rlimit);
    };
    let value = match value {
        // RLIM_INFINITY (getrlimit(2)).
        "unlimited" => u64::MAX,
        value => size(value).map_err(|error| match error {
            ValueError::Size => ValueError::RlimitValue,
            error => ValueError::RlimitSize(Box::new(error)),
        })?,
    };
    // The library checks the name.
    Request::new("/").rlimit(name, value).check()?;
    let name = name.to_ascii_uppercase();
    Ok((
        name.strip_prefix("RLIMIT_").unwrap_or(&name).to_owned(),
        value,
    ))
}

/// A set of CPUs. clap would interpret a plain `Vec` as a repeated option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpus(pub Vec<usize>);

/// `0,2,4-7`.
pub fn cpus(text: &str) -> Result<Cpus, ValueError> {
    let number = |text: &str| {
        text.parse::<usize>()
            .ok()
            .filter(|cpu| *cpu < 1024)
            .ok_or(ValueError::Cpus)
    };
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(ValueError::Cpus);
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(Cpus(cpus))
}

/// `K=V`.
pub fn variable(text: OsString) -> Result<(OsString, OsString), ValueError> {
    let bytes = text.as_bytes();
    match bytes.iter().position(|&byte| byte == b'=') {
        None | Some(0) => Err(ValueError::Variable),
        Some(at) => Ok((
            OsStr::from_bytes(&bytes[..at]).to_owned(),
            OsStr::from_bytes(&bytes[at + 1..]).to_owned(),
        )),
    }
}

/// A file for a standard stream. Other commands use `-` for the stream itself, so it is rejected.
pub fn stream(path: PathBuf) -> Result<PathBuf, ValueError> {
    if path.as_os_str() == "-" {
        return Err(ValueError::Dash);
    }
    Ok(path)
}

/// A path inside the world: absolute, without `..`.
pub fn inside(path: OsString) -> Result<PathBuf, ValueError> {
    let path = PathBuf::from(path);
    if !path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
        return Err(ValueError::Inside);
    }
    // Without `.`, doubled and trailing slashes.
    Ok(path.components().collect())
}

/// A mount point: a path inside that is not the root.
pub fn mount_point(path: OsString) -> Result<PathBuf, ValueError> {
    match inside(path) {
        Ok(path) if path.parent().is_none() => Err(ValueError::Root),
        other => other,
    }
}

/// A file or directory of the host and its mount point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bind {
    /// The absolute path on the host.
    pub source: PathBuf,
    pub at: PathBuf,
}

/// `SRC[:DST]`; `\:` is a colon in a path.
pub fn bind(text: OsString) -> Result<Bind, ValueError> {
    let mut parts = fields(&text);
    if parts.len() > 2 {
        return Err(ValueError::Bind);
    }
    let at = parts.get(1).cloned();
    let source = parts.swap_remove(0);
    if source.is_empty() {
        return Err(ValueError::NoSource);
    }
    let source = std::path::absolute(&source)?;
    // The sandbox reports a file that its user may not access. A missing file is reported here.
    if let Err(error) = std::fs::metadata(&source)
        && matches!(
            error.kind(),
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
        )
    {
        return Err(error.into());
    }
    let at = match at {
        Some(at) => mount_point(at).map_err(|error| ValueError::Destination(Box::new(error)))?,
        None if source.parent().is_none() => return Err(ValueError::NoDestination),
        None if source.components().any(|part| part == Component::ParentDir) => {
            std::fs::canonicalize(&source)?
        }
        None => source.components().collect(),
    };
    Ok(Bind { source, at })
}

/// An empty tmpfs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tmpfs {
    pub at: PathBuf,
    pub size: Option<u64>,
    pub inodes: Option<u64>,
}

/// `DST[:SIZE[:INODES]]`.
pub fn tmpfs(text: OsString) -> Result<Tmpfs, ValueError> {
    let parts = fields(&text);
    if parts.len() > 3 {
        return Err(ValueError::Tmpfs);
    }
    let text = |index: usize| {
        parts
            .get(index)
            .map(|part| part.to_str().ok_or(ValueError::Tmpfs))
            .transpose()
    };
    let size = text(1)?.map(positive_size).transpose()?;
    // The root directory counts as one inode. The kernel charges 1 KiB for each inode
    // (BOGO_INODE_SIZE in mm/shmem.c).
    let inodes = text(2)?
        .map(number(1, u64::MAX >> 10))
        .transpose()
        .map_err(ValueError::Inodes)?;
    Ok(Tmpfs {
        at: mount_point(parts[0].clone())?,
        size,
        inodes,
    })
}

/// Splits at colons without a backslash. Returns at least one field.
fn fields(text: &OsStr) -> Vec<OsString> {
    let mut fields = vec![Vec::new()];
    let mut bytes = text.as_bytes().iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let byte = match byte {
            b':' => {
                fields.push(Vec::new());
                continue;
            }
            b'\\' => bytes.next_if_eq(&b':').unwrap_or(byte),
            byte => byte,
        };
        if let Some(field) = fields.last_mut() {
            field.push(byte);
        }
    }
    fields.into_iter().map(OsString::from_vec).collect()
}

/// A size in text: `64 MiB`.
pub fn shown_size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["TiB", "GiB", "MiB", "KiB"];
    for (index, unit) in UNITS.iter().enumerate() {
        let one = 1u64 << (10 * (UNITS.len() - index));
        if bytes >= one && bytes.is_multiple_of(one) {
            return format!("{} {unit}", bytes / one);
        }
    }
    counted(bytes, "byte")
}

#[cfg(test)]
mod tests {
    use super::*;
    use millibox::RequestMistake;
    use millibox_cli_support::values::ValueError as CommonError;

    #[test]
    fn size_accepts_units_and_rejects_other_text() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("64K", 64 << 10),
            ("64k", 64 << 10),
            ("1.5M", 3 << 19),
            ("64MB", 64 << 20),
            ("64MiB", 64 << 20),
            ("2G", 2 << 30),
            ("18446744073709551615", u64::MAX),
            ("64b", 64),
            ("0.1K", 102),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in [
            "",
            "M",
            "-1",
            "64X",
            "1e6",
            "99999999999999999999",
            "64M ",
            "1_0",
            "18446744073709551616",
            "16777216T",
            "1.5",
            "1.2.3M",
            ".",
            "+1",
            "1KiBB",
            "1IB",
        ] {
            assert!(size(text).is_err(), "{text}");
        }
        for text in [
            "99999999999999999999",
            "18446744073709551616",
            "16777216T",
            "99999999999999999999.5M",
        ] {
            assert_eq!(size(text), Err(ValueError::SizeTooLarge), "{text}");
        }
        // The error lists all units that the parser accepts.
        let accepted: String = ('A'..='Z')
            .filter(|unit| size(&format!("1{unit}iB")).is_ok())
            .collect();
        assert_eq!(accepted, "GKMPT");
        assert_eq!(size("64Q"), Err(ValueError::Size));
        assert!(positive_size("0").is_err());
        assert_eq!(
            (memory("1M"), memory("1048576")),
            (Ok(1 << 20), Ok(1 << 20))
        );
        assert_eq!(memory("256"), Err(ValueError::MemoryUnit("256".to_owned())));
        assert!(memory("0").is_err() && memory("64K").is_err());
        assert_eq!(shown_size(64 << 20), "64 MiB");
        assert_eq!(shown_size((64 << 20) + 1), "67108865 bytes");
        assert_eq!(
            [0, 1, 1 << 10, 3 << 40].map(shown_size),
            ["0 bytes", "1 byte", "1 KiB", "3 TiB"]
        );
    }

    #[test]
    fn number_too_large_is_named_in_rlimits_and_tmpfs() {
        assert_eq!(
            rlimit("NOFILE=99999999999999999999"),
            Err(ValueError::RlimitSize(Box::new(ValueError::SizeTooLarge)))
        );
        assert_eq!(
            tmpfs("/tmp:1M:99999999999999999999".into()),
            Err(ValueError::Inodes(CommonError::Above(u64::MAX >> 10)))
        );
    }

    #[test]
    fn time_limit_above_a_day_is_rejected() {
        assert_eq!(time_limit("1d"), Ok(Duration::from_secs(86_400)));
        for text in ["1d 1ns", "10000000000000000000s"] {
            assert_eq!(time_limit(text), Err(ValueError::Day), "{text}");
        }
        assert!(time_limit("0s").is_err());
    }

    #[test]
    fn bandwidth_with_bad_period_is_rejected() {
        assert_eq!(
            bandwidth("50ms/100ms"),
            Ok((Duration::from_millis(50), Duration::from_millis(100)))
        );
        for text in ["50ms", "50ms/", "10us/100ms", "1ms/2s", "50%", "1ms/1us"] {
            assert!(bandwidth(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rlimit_with_unknown_name_is_rejected() {
        assert_eq!(rlimit("NOFILE=64"), Ok(("NOFILE".to_owned(), 64)));
        assert_eq!(rlimit("stack=8M"), Ok(("STACK".to_owned(), 8 << 20)));
        assert_eq!(
            rlimit("RLIMIT_CORE=unlimited"),
            Ok(("CORE".to_owned(), u64::MAX))
        );
        let unknown = RequestMistake::UnknownRlimit("FILES".to_owned());
        assert_eq!(rlimit("FILES=1"), Err(ValueError::Request(unknown.into())));
        for text in ["NOFILE", "NOFILE=", "NOFILE=x", "=1"] {
            assert!(rlimit(text).is_err(), "{text}");
        }
    }

    #[test]
    fn cpus_with_bad_range_is_rejected() {
        assert_eq!(cpus("0"), Ok(Cpus(vec![0])));
        assert_eq!(cpus("4-6,0,5"), Ok(Cpus(vec![0, 4, 5, 6])));
        for text in ["", ",", "1-", "2-1", "x", "0-9999", "-1", "1024"] {
            assert!(cpus(text).is_err(), "{text}");
        }
    }

    #[test]
    fn variable_without_a_name_is_rejected() {
        assert_eq!(variable("A=b=c".into()), Ok(("A".into(), "b=c".into())));
        assert_eq!(variable("A=".into()), Ok(("A".into(), "".into())));
        assert!(variable("A".into()).is_err());
        assert!(variable("=b".into()).is_err());
    }

    #[test]
    fn bind_with_bad_path_is_rejected() {
        let bound = |source: &str, at: &str| {
            Ok(Bind {
                source: source.into(),
                at: at.into(),
            })
        };
        assert_eq!(bind("/usr".into()), bound("/usr", "/usr"));
        assert_eq!(bind("/usr/:/opt/".into()), bound("/usr/", "/opt"));
        assert_eq!(bind("/:/a\\:b".into()), bound("/", "/a:b"));
        let here = std::env::current_dir().unwrap();
        assert_eq!(
            bind(".:/w".into()),
            Ok(Bind {
                source: here.clone(),
                at: "/w".into()
            })
        );
        assert_eq!(
            bind(".".into()),
            Ok(Bind {
                source: here.clone(),
                at: here
            })
        );
        for text in [
            "",
            ":/a",
            "/usr:",
            "/usr:a",
            "/usr:/a/../b",
            "/usr:/a:/b",
            "/missing/path",
            "/",
            "/usr:/",
            "/usr:/.",
        ] {
            assert!(bind(text.into()).is_err(), "{text}");
        }
    }

    #[test]
    fn tmpfs_with_bad_field_is_rejected() {
        let at = |size, inodes| {
            Ok(Tmpfs {
                at: "/tmp".into(),
                size,
                inodes,
            })
        };
        assert_eq!(tmpfs("/tmp".into()), at(None, None));
        assert_eq!(tmpfs("/tmp:1M".into()), at(Some(1 << 20), None));
        assert_eq!(tmpfs("/tmp:1M:100".into()), at(Some(1 << 20), Some(100)));
        for text in [
            "",
            "tmp",
            "/tmp:",
            "/tmp:x",
            "/tmp:0",
            "/tmp:1M:0",
            "/tmp:1M:x",
            "/tmp:1M:1:1",
            "/a/../b",
            "/",
        ] {
            assert!(tmpfs(text.into()).is_err(), "{text}");
        }
    }
}
