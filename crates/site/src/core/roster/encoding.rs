//! Files as text: the encodings in which spreadsheets save tables.

/// Why a file is no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncodingError {
    /// It is a workbook, with its own format.
    Workbook,
    /// A line is neither UTF-8 nor UTF-16.
    Line(usize),
}

/// The first bytes of workbooks: of archives, and of the older format of Excel.
const WORKBOOKS: [&[u8]; 2] = [b"PK\x03\x04", b"\xd0\xcf\x11\xe0"];

/// Reads UTF-8 or UTF-16, with or without a byte order mark.
pub fn decode(bytes: &[u8]) -> Result<String, EncodingError> {
    if WORKBOOKS.iter().any(|start| bytes.starts_with(start)) {
        return Err(EncodingError::Workbook);
    }
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes)?,
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes)?,
        // The first symbol of a table is a letter, a quotation mark or a bracket.
        [1..=0x7f, 0, ..] => wide(bytes, u16::from_le_bytes)?,
        [0, 1..=0x7f, ..] => wide(bytes, u16::from_be_bytes)?,
        _ => {
            let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
            let text = std::str::from_utf8(bytes).map_err(|error| {
                let ends = bytes[..error.valid_up_to()].iter();
                EncodingError::Line(1 + ends.filter(|byte| **byte == b'\n').count())
            })?;
            text.to_owned()
        }
    };
    // Old programs end lines with a carriage return only.
    Ok(if text.contains('\n') {
        text
    } else {
        text.replace('\r', "\n")
    })
}

fn wide(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, EncodingError> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut text = String::new();
    let mut line = 1;
    for symbol in char::decode_utf16(pairs.iter().map(|pair| unit(*pair))) {
        let symbol = symbol.map_err(|_| EncodingError::Line(line))?;
        line += usize::from(symbol == '\n');
        text.push(symbol);
    }
    if rest.is_empty() {
        Ok(text)
    } else {
        Err(EncodingError::Line(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_spreadsheets_is_read() {
        let text = "Login;Imię\nala;Ala\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [
            text.as_bytes(),
            &[b"\xef\xbb\xbf", text.as_bytes()].concat(),
            &little,
            &big,
            &[b"\xff\xfe", &little[..]].concat(),
            &[b"\xfe\xff", &big[..]].concat(),
        ] {
            assert_eq!(decode(bytes).as_deref(), Ok(text), "{bytes:?}");
        }
        assert_eq!(decode(b"login\rala\r").as_deref(), Ok("login\nala\n"));
        assert_eq!(decode(b"").as_deref(), Ok(""));
    }

    #[test]
    fn other_files_are_refused_with_the_line() {
        // Windows-1250.
        let found = decode(b"login;name\nala;Ala\nola;\xcelska\n");
        assert_eq!(found, Err(EncodingError::Line(3)));
        assert_eq!(decode(b"PK\x03\x04..."), Err(EncodingError::Workbook));
        assert_eq!(decode(b"\xff\xfea\0\n\0b"), Err(EncodingError::Line(2)));
        assert_eq!(decode(b"\xff\xfea\0\x00\xd8"), Err(EncodingError::Line(1)));
    }
}
