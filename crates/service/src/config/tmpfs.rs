//! Options of a tmpfs, as mount(8) and go-judge write them: `size=128m,nr_inodes=4k`.

use serde::Deserialize;
use std::str::FromStr;

/// Options of a tmpfs. `None` means that the option is not set, and has a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "String")]
pub struct TmpfsOptions {
    /// The size in bytes, at least 1.
    pub size: Option<u64>,
    /// The maximum number of files and directories, at least 1.
    pub inodes: Option<u64>,
    /// The mode of the root directory.
    pub mode: Option<u32>,
}

/// Why options of a tmpfs are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TmpfsError {
    /// The option is not supported.
    #[error("{0:?} is not an option of a tmpfs; the options are size, nr_inodes and mode")]
    Option(String),
    /// A number is malformed, or stands for "no limit".
    #[error("{0:?} is not a number of at least 1, such as 4096, 4k, 128m or 1g")]
    Number(String),
    /// A mode is malformed.
    #[error("{0:?} is not a mode, such as 1777")]
    Mode(String),
}

impl FromStr for TmpfsOptions {
    type Err = TmpfsError;

    fn from_str(text: &str) -> Result<TmpfsOptions, TmpfsError> {
        let mut options = TmpfsOptions::default();
        for option in text.split(',').map(str::trim).filter(|it| !it.is_empty()) {
            match option.split_once('=') {
                Some(("size", number)) => options.size = Some(suffixed(number)?),
                Some(("nr_inodes", number)) => options.inodes = Some(suffixed(number)?),
                Some(("mode", mode)) => {
                    let parsed = u32::from_str_radix(mode, 8).ok();
                    let parsed = parsed.filter(|mode| *mode <= 0o7777);
                    options.mode = Some(parsed.ok_or_else(|| TmpfsError::Mode(mode.to_owned()))?);
                }
                _ => return Err(TmpfsError::Option(option.to_owned())),
            }
        }
        Ok(options)
    }
}

impl TryFrom<String> for TmpfsOptions {
    type Error = TmpfsError;

    fn try_from(text: String) -> Result<TmpfsOptions, TmpfsError> {
        text.parse()
    }
}

/// A number with one of the suffixes of the kernel, which are powers of 1024.
fn suffixed(text: &str) -> Result<u64, TmpfsError> {
    let suffixes = [('k', 10), ('m', 20), ('g', 30)];
    let found = suffixes.iter().find_map(|(suffix, shift)| {
        let digits = text.strip_suffix([*suffix, suffix.to_ascii_uppercase()])?;
        Some((digits, *shift))
    });
    let (digits, shift) = found.unwrap_or((text, 0));
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_number.then(|| digits.parse::<u64>().ok()).flatten();
    number
        .and_then(|number| number.checked_mul(1 << shift))
        // tmpfs has no limit if the number is 0.
        .filter(|number| *number > 0)
        .ok_or_else(|| TmpfsError::Number(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_sizes_and_name_mistakes() {
        let options: TmpfsOptions = "size=128m, nr_inodes=4k,mode=755".parse().unwrap();
        let expected = TmpfsOptions {
            size: Some(128 << 20),
            inodes: Some(4096),
            mode: Some(0o755),
        };
        assert_eq!(options, expected);
        assert_eq!("".parse(), Ok(TmpfsOptions::default()));
        let mistake = |text: &str| text.parse::<TmpfsOptions>().unwrap_err();
        for number in ["", "0", "50%", "-1", "k", "1kk", "99999999999g"] {
            let text = format!("size={number}");
            assert_eq!(mistake(&text), TmpfsError::Number(number.to_owned()));
        }
        for option in ["size", "huge=always", "noexec"] {
            assert_eq!(mistake(option), TmpfsError::Option(option.to_owned()));
        }
        assert_eq!(mistake("mode=8"), TmpfsError::Mode("8".to_owned()));
    }
}
