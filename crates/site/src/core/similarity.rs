//! Similar sources: winnowing (Schleimer, Wilkerson and Aiken, "Winnowing: Local Algorithms for
//! Document Fingerprinting", 2003).
//!
//! A source becomes a sequence of tokens without comments, formatting and names, so renaming and
//! formatting change nothing. Each [`GRAM`] tokens in a row have a hash. Of each [`WINDOW`] hashes
//! in a row, the smallest one is a fingerprint. So two sources with `GRAM + WINDOW - 1` equal
//! tokens in a row share a fingerprint. The similarity of two sources is the part of their
//! fingerprints that they share.
//!
//! Fingerprints that many participants have, such as those of a template, do not count.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The number of tokens of a hash.
const GRAM: usize = 14;
/// The number of hashes of which one is a fingerprint.
const WINDOW: usize = 9;
/// The maximum number of tokens of a source that are read.
const MAX_TOKENS: usize = 10_000;
/// The maximum number of comparisons between fingerprints. The rarest fingerprints come first,
/// and those beyond the bound do not count.
const MAX_SHARED: usize = 50_000_000;
/// The lowest similarity, in percent, of a pair that a comparison keeps.
pub const LEAST_PERCENT: usize = 30;
/// Sources with fewer fingerprints are too short for a comparison.
const MIN_FINGERPRINTS: usize = 8;
/// A fingerprint of more than this part of the participants, and of at least
/// [`COMMON_PARTICIPANTS`], does not count.
const COMMON_PART: usize = 4;
const COMMON_PARTICIPANTS: usize = 5;

/// How sources of a language are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// `//` and `/* */`: C, C++, Java, Rust, Go, JavaScript and others.
    C,
    /// `#`: Python, Ruby, shells.
    Script,
    /// `{ }`, `(* *)` and `//`; names in any case.
    Pascal,
}

impl Family {
    /// The family of a file by its extension.
    pub fn of(file_name: &str) -> Family {
        let extension = file_name.rsplit('.').next().unwrap_or_default();
        match extension.to_lowercase().as_str() {
            "py" | "rb" | "sh" | "pl" | "jl" | "r" | "ex" => Family::Script,
            "pas" | "pp" | "dpr" => Family::Pascal,
            _ => Family::C,
        }
    }

    /// Whether a word has a meaning in a language of the family. All other words are names.
    fn is_keyword(self, word: &str) -> bool {
        let words: &[&str] = match self {
            Family::C => &[
                "break", "case", "class", "const", "continue", "do", "else", "enum", "fn", "for",
                "func", "function", "if", "import", "in", "let", "loop", "match", "mut", "new",
                "package", "private", "pub", "public", "return", "static", "struct", "switch",
                "template", "try", "typedef", "use", "using", "var", "void", "while",
            ],
            Family::Script => &[
                "and", "break", "class", "continue", "def", "do", "elif", "else", "end", "except",
                "for", "from", "if", "import", "in", "is", "lambda", "not", "or", "pass", "return",
                "try", "while", "with", "yield",
            ],
            Family::Pascal => &[
                "and",
                "array",
                "begin",
                "case",
                "const",
                "div",
                "do",
                "downto",
                "else",
                "end",
                "for",
                "function",
                "if",
                "mod",
                "not",
                "of",
                "or",
                "procedure",
                "program",
                "record",
                "repeat",
                "then",
                "to",
                "type",
                "until",
                "var",
                "while",
            ],
        };
        words.contains(&word)
    }
}

/// Hashes the tokens of a source.
fn tokens(family: Family, text: &str) -> Vec<u64> {
    let symbols: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < symbols.len() && tokens.len() < MAX_TOKENS {
        if let Some(end) = comment(family, &symbols, at) {
            at = end;
            continue;
        }
        let symbol = symbols[at];
        let word = |from: usize| {
            let is_part = |symbol: &char| symbol.is_alphanumeric() || *symbol == '_';
            from + symbols[from..].iter().take_while(|it| is_part(it)).count()
        };
        if symbol.is_whitespace() {
            at += 1;
        } else if symbol.is_ascii_digit() {
            tokens.push(hash("0"));
            at = word(at);
            // A fraction is part of the number.
            if symbols.get(at) == Some(&'.')
                && symbols.get(at + 1).is_some_and(char::is_ascii_digit)
            {
                at = word(at + 1);
            }
        } else if symbol.is_alphabetic() || symbol == '_' {
            let end = word(at);
            let text: String = symbols[at..end].iter().collect();
            let text = match family {
                Family::Pascal => text.to_lowercase(),
                Family::C | Family::Script => text,
            };
            tokens.push(hash(if family.is_keyword(&text) {
                &text
            } else {
                "name"
            }));
            at = end;
        } else if symbol == '"' || symbol == '\'' {
            tokens.push(hash("\""));
            at = string(&symbols, at);
        } else {
            let text: String = symbol.into();
            tokens.push(hash(&text));
            at += 1;
        }
    }
    tokens
}

/// The end of the comment that begins at a place; `None` if none does.
fn comment(family: Family, symbols: &[char], at: usize) -> Option<usize> {
    let rest = &symbols[at..];
    let until = |end: &[char], skip: usize| {
        let found = rest[skip..].windows(end.len()).position(|part| part == end);
        at + found.map_or(rest.len(), |found| skip + found + end.len())
    };
    match (family, rest) {
        (Family::C | Family::Pascal, ['/', '/', ..]) | (Family::Script, ['#', ..]) => {
            Some(until(&['\n'], 1))
        }
        (Family::C, ['/', '*', ..]) => Some(until(&['*', '/'], 2)),
        (Family::Pascal, ['{', ..]) => Some(until(&['}'], 1)),
        (Family::Pascal, ['(', '*', ..]) => Some(until(&['*', ')'], 2)),
        _ => None,
    }
}

/// The end of the string that begins at a place. A string ends with its line at the latest.
fn string(symbols: &[char], at: usize) -> usize {
    let quote = symbols[at];
    let mut end = at + 1;
    while let Some(&symbol) = symbols.get(end) {
        end += 1;
        match symbol {
            '\\' => end += 1,
            '\n' => break,
            symbol if symbol == quote => break,
            _ => {}
        }
    }
    end.min(symbols.len())
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The fingerprints of a source, sorted and without repetitions.
fn fingerprints(family: Family, text: &str) -> Vec<u64> {
    let tokens = tokens(family, text);
    let grams: Vec<u64> = tokens.windows(GRAM).map(hash).collect();
    let windows = grams.windows(WINDOW.min(grams.len()).max(1));
    let mut found: Vec<u64> = windows.filter_map(|it| it.iter().min().copied()).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// A source that is compared.
#[derive(Debug)]
pub struct Entry {
    /// The submission.
    pub submission: i64,
    /// Sources of the same participant are not compared.
    pub participant: i64,
    family: Family,
    fingerprints: Vec<u64>,
}

impl Entry {
    /// Reads a source.
    pub fn new(submission: i64, participant: i64, file_name: &str, content: &[u8]) -> Entry {
        let family = Family::of(file_name);
        let text = String::from_utf8_lossy(content);
        Entry {
            submission,
            participant,
            family,
            fingerprints: fingerprints(family, &text),
        }
    }
}

/// Two similar sources of different participants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    pub submissions: [i64; 2],
    pub participants: [i64; 2],
    /// The part of the fingerprints that both have, in percent.
    pub percent: usize,
}

/// The most similar pairs of sources, at most one of each two participants, with at least `least`
/// percent. The most similar pair comes first.
pub fn pairs(entries: &[Entry], least: usize) -> Vec<Pair> {
    let mut owners: HashMap<(Family, u64), Vec<usize>> = HashMap::new();
    for (index, entry) in entries.iter().enumerate() {
        if entry.fingerprints.len() >= MIN_FINGERPRINTS {
            for one in &entry.fingerprints {
                owners.entry((entry.family, *one)).or_default().push(index);
            }
        }
    }
    let participants = |indices: &[usize]| {
        let mut all: Vec<i64> = indices.iter().map(|it| entries[*it].participant).collect();
        all.sort_unstable();
        all.dedup();
        all.len()
    };
    let everyone = participants(&(0..entries.len()).collect::<Vec<_>>());
    let common = (everyone / COMMON_PART).max(COMMON_PARTICIPANTS - 1);
    owners.retain(|_, indices| participants(indices) <= common);
    // The numbers of fingerprints that count.
    let mut sizes = vec![0_usize; entries.len()];
    let mut shared: HashMap<(usize, usize), usize> = HashMap::new();
    let mut owners: Vec<Vec<usize>> = owners.into_values().collect();
    owners.sort_unstable();
    owners.sort_by_key(Vec::len);
    let mut room = MAX_SHARED;
    for indices in owners {
        let compared = indices.len() * indices.len() / 2;
        if compared > room {
            break;
        }
        room -= compared;
        for (place, first) in indices.iter().enumerate() {
            sizes[*first] += 1;
            for second in &indices[place + 1..] {
                if entries[*first].participant != entries[*second].participant {
                    *shared.entry((*first, *second)).or_default() += 1;
                }
            }
        }
    }
    let mut best: HashMap<[i64; 2], Pair> = HashMap::new();
    for ((first, second), count) in shared {
        let total = sizes[first] + sizes[second];
        if sizes[first].min(sizes[second]) < MIN_FINGERPRINTS {
            continue;
        }
        let pair = Pair {
            submissions: [first, second].map(|it| entries[it].submission),
            participants: [first, second].map(|it| entries[it].participant),
            percent: 200 * count / total.max(1),
        };
        let mut key = pair.participants;
        key.sort_unstable();
        let known = best.entry(key).or_insert(pair);
        if (pair.percent, pair.submissions) > (known.percent, known.submissions) {
            *known = pair;
        }
    }
    let mut pairs: Vec<Pair> = best.into_values().collect();
    pairs.retain(|pair| pair.percent >= least);
    pairs.sort_by_key(|pair| (std::cmp::Reverse(pair.percent), pair.submissions));
    pairs
}

#[cfg(test)]
mod tests;
