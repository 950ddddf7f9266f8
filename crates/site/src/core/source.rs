//! Sources of submissions.

/// The maximum length of a source, in bytes.
pub const MAX_SOURCE: usize = 256 << 10;

/// A file name that is safe in a directory and as an argument of compilers.
pub fn safe_name(name: &str) -> Option<&str> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_.-+".contains(c);
    let first = name.chars().next()?;
    let is_safe =
        name.len() <= 100 && first.is_ascii_alphanumeric() && name.chars().all(is_allowed);
    is_safe.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::safe_name;

    #[test]
    fn unsafe_file_names_are_replaced() {
        for name in [
            "", "../a.cpp", "-o.cpp", "a b.cpp", ".hidden", "a/b.cpp", "ü.cpp",
        ] {
            assert_eq!(safe_name(name), None, "{name}");
        }
        assert_eq!(safe_name("Main-2.java"), Some("Main-2.java"));
    }
}
