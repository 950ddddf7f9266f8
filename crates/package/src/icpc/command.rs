//! Commands of generators.yaml: their seeds and placeholders.

use sha2::{Digest, Sha512};

/// Placeholders in a command.
pub const PLACEHOLDERS: [&str; 2] = ["{name}", "{seed}"];
/// Maximum length of a word in braces that is checked for a misspelt placeholder.
const MAX_PLACEHOLDER_BYTES: usize = 64;

/// Returns the seed that BAPCtools assigns to the command: the last 31 bits of its SHA-512.
pub fn seed(salt: &str, command: &str) -> u64 {
    let digest = Sha512::new()
        .chain_update(salt)
        .chain_update(command)
        .finalize();
    let last = digest[digest.len() - 4..]
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte));
    last & 0x7fff_ffff
}

/// Replaces `{seed}` and `{seed:NUMBER}` in a word. Adds the number of replacements to `count`.
pub fn with_seed(word: &str, seed: u64, count: &mut usize) -> String {
    let mut done = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once("{seed") {
        done.push_str(before);
        let digits = after.strip_prefix(':').map_or(after, |after| {
            after.trim_start_matches(|c: char| c.is_ascii_digit())
        });
        match digits.strip_prefix('}') {
            Some(behind) => {
                done.push_str(&seed.to_string());
                *count += 1;
                rest = behind;
            }
            None => {
                done.push_str("{seed");
                rest = after;
            }
        }
    }
    done + rest
}

/// Returns the parts of a word that look like placeholders but are unknown: a word in braces,
/// optionally with a colon and an argument.
pub fn unknown_placeholders(word: &str) -> impl Iterator<Item = &str> {
    word.match_indices('{').filter_map(|(from, _)| {
        let length = word.as_bytes()[from + 1..]
            .iter()
            .take(MAX_PLACEHOLDER_BYTES)
            .position(|byte| *byte == b'}')?;
        let inner = &word[from + 1..from + 1 + length];
        let (name, rest) = inner.split_once(':').unwrap_or((inner, ""));
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_word =
            name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.bytes().all(plain);
        let known =
            inner == "name" || name == "seed" && rest.bytes().all(|byte| byte.is_ascii_digit());
        (is_word && !known).then(|| &word[from..from + inner.len() + 2])
    })
}

/// Returns the text with a line feed at its end, unless the text is empty.
pub fn line(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') {
        text.to_owned()
    } else {
        format!("{text}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_seed_replaces_and_counts_seeds() {
        let mut count = 0;
        assert_eq!(with_seed("a{seed}b", 7, &mut count), "a7b");
        assert_eq!(with_seed("seed={seed:12}", 7, &mut count), "seed=7");
        assert_eq!(count, 2);
        assert_eq!(with_seed("{seed", 7, &mut count), "{seed");
        assert_eq!(with_seed("{seedling}{", 7, &mut count), "{seedling}{");
        assert_eq!(count, 2);
    }

    #[test]
    fn unknown_placeholders_returns_misspelt_words() {
        let unknown = |word| unknown_placeholders(word).collect::<Vec<_>>();
        assert_eq!(unknown("{sed}x{name}{Seed}"), ["{sed}", "{Seed}"]);
        assert_eq!(unknown("{seed:x}{name:1}"), ["{seed:x}", "{name:1}"]);
        assert!(unknown("{seed}{seed:12}{name}{}{1,2}{\"a\":1}{}}{{ö}{a").is_empty());
    }

    #[test]
    fn seed_is_hash_of_salt_and_command() {
        // FIPS 180-2, appendix C.1: the digest of "abc" ends in a54ca49f.
        assert_eq!(seed("", "abc"), 0xa54c_a49f & 0x7fff_ffff);
        assert_eq!(seed("a", "bc"), seed("", "abc"));
    }
}
