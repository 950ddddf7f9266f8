//! Finds probable mistakes in the text files of tests.

use super::fault::ValidationFault;
use crate::SetterError;
use crate::error::{FileAction, file};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The result of reading one file.
#[non_exhaustive]
pub struct FileScan {
    pub digest: [u8; 32],
    /// Probable mistakes with their line numbers.
    pub mistakes: Vec<(Option<u32>, ValidationFault)>,
}

/// Reads a file once and computes its digest. If the file is `text`, also finds probable mistakes.
pub fn scan(path: &Path, text: bool) -> Result<FileScan, SetterError> {
    let failed = |error: std::io::Error| file(FileAction::Read, path, error);
    let mut source = File::open(path).map_err(failed)?;
    let mut digest = Sha256::new();
    let mut chunk = vec![0; 128 << 10];
    // The bytes of an incomplete character at the end of the last chunk.
    let mut begun: Vec<u8> = Vec::new();
    let (mut line, mut last) = (1u32, None);
    let (mut carriage, mut zero, mut foreign) = (None, None, None);
    let mut first = true;
    let mut mark = false;
    loop {
        let read = match source.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => &chunk[..read],
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(error)),
        };
        digest.update(read);
        mark |= std::mem::take(&mut first) && read.starts_with(b"\xef\xbb\xbf");
        let begin = line;
        for byte in read {
            match byte {
                b'\n' => line = line.saturating_add(1),
                b'\r' => {
                    carriage.get_or_insert(line);
                }
                0 => {
                    zero.get_or_insert(line);
                }
                _ => {}
            }
        }
        last = read.last().copied();
        if foreign.is_none() {
            begun.extend_from_slice(read);
            match std::str::from_utf8(&begun) {
                Ok(_) => begun.clear(),
                Err(error) if error.error_len().is_none() => {
                    drop(begun.drain(..error.valid_up_to()))
                }
                Err(error) => {
                    let good = begun[..error.valid_up_to()]
                        .iter()
                        .filter(|byte| **byte == b'\n')
                        .count();
                    foreign = Some(begin.saturating_add(good as u32));
                }
            }
        }
    }
    if foreign.is_none() && !begun.is_empty() {
        foreign = Some(line);
    }
    let mut mistakes = Vec::new();
    if text {
        let mut add = |line: Option<u32>, fault| mistakes.push((line, fault));
        if mark {
            add(Some(1), ValidationFault::ByteOrderMark);
        }
        if carriage.is_some() {
            add(carriage, ValidationFault::CarriageReturn);
        }
        if zero.is_some() {
            add(zero, ValidationFault::ZeroByte);
        } else if foreign.is_some() {
            add(foreign, ValidationFault::NotUtf8);
        }
        match last {
            None => add(None, ValidationFault::Empty),
            Some(b'\n') => {}
            Some(_) => add(Some(line), ValidationFault::NoLineFeed),
        }
    }
    Ok(FileScan {
        digest: digest.finalize().into(),
        mistakes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistakes(bytes: &[u8]) -> Vec<(Option<u32>, ValidationFault)> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, bytes).unwrap();
        scan(&path, true).unwrap().mistakes
    }

    #[test]
    fn scan_text_finds_probable_mistakes() {
        assert!(mistakes("1 2\n\u{e9}\n".as_bytes()).is_empty());
        let one = |bytes: &[u8], line: Option<u32>, fault: ValidationFault| {
            assert_eq!(mistakes(bytes), [(line, fault)]);
        };
        one(b"1\n2\r\n", Some(2), ValidationFault::CarriageReturn);
        one(b"1\n2", Some(2), ValidationFault::NoLineFeed);
        one(b"", None, ValidationFault::Empty);
        one(b"a\nb\0\n", Some(2), ValidationFault::ZeroByte);
        one(b"a\nb\n\xff\n", Some(3), ValidationFault::NotUtf8);
        one(b"\xef\xbb\xbfa\n", Some(1), ValidationFault::ByteOrderMark);
        // The first character is cut off at the end of the file; the second spans two chunks.
        assert!(mistakes(b"a\xc3").contains(&(Some(1), ValidationFault::NotUtf8)));
        let mut long = vec![b'a'; (128 << 10) - 1];
        long.extend("\u{e9}\n".as_bytes());
        assert!(mistakes(&long).is_empty());
    }
}
