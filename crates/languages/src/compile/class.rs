//! Finds the Java class with a main method in class files.
//!
//! Class files state their methods exactly (Java Virtual Machine Specification, chapter 4). Sources
//! would require a parser that handles comments and strings.

/// A class with a main method.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MainClass {
    /// Name as in a command line: `package.Class`.
    pub(super) class: String,
    /// Whether the method is `public static void main(String[])`, which every Java version can
    /// start.
    pub(super) classic: bool,
}

/// Maximum size in bytes of a class file that is read. A class has at most 65,535 constants and
/// methods, and compilers write far smaller files.
pub(super) const MAX_CLASS_FILE_BYTES: u64 = 16 << 20;

const CLASSIC: &[u8] = b"([Ljava/lang/String;)V";
const WITHOUT_ARGUMENTS: &[u8] = b"()V";
const PUBLIC_STATIC: u16 = 0x0001 | 0x0008;

/// Returns the class in a class file if it has a main method. Returns `None` also if the bytes are
/// not a class file.
pub(super) fn main_class(bytes: &[u8]) -> Option<MainClass> {
    let mut input = ByteReader(bytes);
    if input.take(4)? != [0xca, 0xfe, 0xba, 0xbe] {
        return None;
    }
    input.take(4)?;
    let constants = constants(&mut input)?;
    input.take(2)?;
    let this = match constants.get(usize::from(input.u16()?))? {
        Constant::Class(name) => text(&constants, *name)?,
        _ => return None,
    };
    input.take(2)?;
    let interfaces = input.u16()?;
    input.take(2 * usize::from(interfaces))?;
    for _field in 0..input.u16()? {
        member(&mut input)?;
    }
    let mut found = None;
    for _method in 0..input.u16()? {
        let (flags, name, descriptor) = member(&mut input)?;
        if text(&constants, name)? != b"main" {
            continue;
        }
        let descriptor = text(&constants, descriptor)?;
        let classic = descriptor == CLASSIC && flags & PUBLIC_STATIC == PUBLIC_STATIC;
        if classic || descriptor == CLASSIC || descriptor == WITHOUT_ARGUMENTS {
            found = Some(found.unwrap_or(false) || classic);
        }
    }
    let class = std::str::from_utf8(this).ok()?.replace('/', ".");
    // The name becomes an argument of a command, and a class file can contain any name.
    if class.is_empty() || class.starts_with(['-', '@']) || class.chars().any(char::is_control) {
        return None;
    }
    found.map(|classic| MainClass { class, classic })
}

enum Constant<'b> {
    Text(&'b [u8]),
    /// A class, with the number of the constant that contains its name.
    Class(u16),
    Other,
}

fn text<'b>(constants: &[Constant<'b>], number: u16) -> Option<&'b [u8]> {
    match constants.get(usize::from(number))? {
        Constant::Text(text) => Some(text),
        _ => None,
    }
}

fn constants<'b>(input: &mut ByteReader<'b>) -> Option<Vec<Constant<'b>>> {
    let count = usize::from(input.u16()?);
    // Constants are numbered from 1.
    let mut constants = vec![Constant::Other];
    while constants.len() < count {
        let tag = input.take(1)?[0];
        let constant = match tag {
            1 => {
                let length = input.u16()?;
                Constant::Text(input.take(usize::from(length))?)
            }
            7 => Constant::Class(input.u16()?),
            _ => {
                input.take(match tag {
                    8 | 16 | 19 | 20 => 2,
                    15 => 3,
                    3 | 4 | 9..=12 | 17 | 18 => 4,
                    5 | 6 => 8,
                    _ => return None,
                })?;
                Constant::Other
            }
        };
        constants.push(constant);
        // Long and Double use two numbers.
        if matches!(tag, 5 | 6) {
            constants.push(Constant::Other);
        }
    }
    Some(constants)
}

/// Reads a field or method. Returns its flags, and the constant numbers of its name and descriptor.
fn member(input: &mut ByteReader<'_>) -> Option<(u16, u16, u16)> {
    let member = (input.u16()?, input.u16()?, input.u16()?);
    for _attribute in 0..input.u16()? {
        input.take(2)?;
        let length = u32::from_be_bytes(input.take(4)?.try_into().ok()?);
        input.take(usize::try_from(length).ok()?)?;
    }
    Some(member)
}

struct ByteReader<'b>(&'b [u8]);

impl<'b> ByteReader<'b> {
    fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A class file with one method.
    fn class(flags: u16, method: &str, descriptor: &str) -> Vec<u8> {
        let mut bytes = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 61];
        let mut pool = Vec::new();
        for constant in ["p/C", method, descriptor, "Code"] {
            pool.push(1);
            pool.extend((constant.len() as u16).to_be_bytes());
            pool.extend(constant.as_bytes());
        }
        pool.extend([7, 0, 1]); // constant 5: the class
        pool.extend([5, 0, 0, 0, 0, 0, 0, 0, 1]); // constants 6 and 7: a long
        bytes.extend(8u16.to_be_bytes());
        bytes.extend(pool);
        bytes.extend([0, 0x21, 0, 5, 0, 0, 0, 1, 0, 5]); // flags, this, super, one interface
        bytes.extend([0, 1, 0, 0, 0, 2, 0, 3, 0, 0]); // one field
        bytes.extend([0, 1]);
        bytes.extend(flags.to_be_bytes());
        bytes.extend([0, 2, 0, 3, 0, 1, 0, 4, 0, 0, 0, 2, 9, 9]);
        bytes
    }

    #[test]
    fn main_class_finds_main_methods() {
        let of =
            |flags, method: &str, descriptor: &str| main_class(&class(flags, method, descriptor));
        let main = |classic| {
            Some(MainClass {
                class: "p.C".to_owned(),
                classic,
            })
        };
        assert_eq!(of(9, "main", "([Ljava/lang/String;)V"), main(true));
        assert_eq!(of(8, "main", "([Ljava/lang/String;)V"), main(false));
        assert_eq!(of(0, "main", "()V"), main(false));
        assert_eq!(of(9, "main", "(I)V"), None);
        assert_eq!(of(9, "niam", "([Ljava/lang/String;)V"), None);
    }

    #[test]
    fn main_class_with_invalid_name_is_none() {
        let good = class(9, "main", "([Ljava/lang/String;)V");
        let at = good.windows(3).position(|name| name == b"p/C").unwrap();
        for name in [b"p\0C", b"-jC", b"@pC", b"p\nC"] {
            let mut bad = good.clone();
            bad[at..at + 3].copy_from_slice(name);
            assert_eq!(main_class(&bad), None, "{name:?}");
        }
    }

    #[test]
    fn main_class_of_damaged_file_returns() {
        let good = class(9, "main", "([Ljava/lang/String;)V");
        for length in 0..good.len() {
            assert_eq!(main_class(&good[..length]), None, "{length}");
        }
        // Changing any byte causes no panic.
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0xff;
            main_class(&bad);
        }
    }
}
