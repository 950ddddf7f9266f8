//! Highlights source code in web pages: comments, strings, numbers and keywords.
//!
//! [`tokens`] is for pages that show a finished source. [`EDITOR`] and [`STYLE`] are the script and
//! the style sheet of an editor. Both use the same table of languages.
//!
//! A tokenizer with one regular expression for each language knows less than a parser, but it is
//! right in nearly all cases, and it is never slow.
#![forbid(unsafe_code)]

use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The script of the editor, to be placed at the beginning of a module. The page has a text area
/// with the id `code` in an element with the id `editor`, and a selection list with the id
/// `runtime` whose options have `data-language`. The module calls `startEditor()`.
pub const EDITOR: &str = concat!(
    "// The languages that are highlighted: comments, quotes and keywords.\nconst LANGUAGES = ",
    include_str!("assets/languages.json"),
    ";\n\n",
    include_str!("assets/highlight.js"),
    include_str!("assets/editor.js"),
);

/// The style sheet of the editor and of highlighted sources. It uses the variables `--code`,
/// `--text`, `--mono`, `--keyword`, `--string`, `--number` and `--comment`.
pub const STYLE: &str = include_str!("assets/editor.css");

/// The kind of a part of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A comment.
    Comment,
    /// A string or a character.
    String,
    /// A number.
    Number,
    /// A word that has a special meaning in the language.
    Keyword,
}

impl Kind {
    /// Returns the class of the part's element in the style sheet.
    pub fn class(self) -> &'static str {
        match self {
            Kind::Comment => "token-comment",
            Kind::String => "token-string",
            Kind::Number => "token-number",
            Kind::Keyword => "token-keyword",
        }
    }
}

/// Splits a source into parts. Concatenated, the texts of the parts are the source. The language
/// may be the name of a suite, such as `cpp20`. In unknown languages, comments start with `#` or
/// `//`.
pub fn tokens<'a>(code: &'a str, language: &str) -> Vec<(Option<Kind>, &'a str)> {
    let grammar = Grammar::of(language);
    let mut tokens = Vec::new();
    let mut end = 0;
    for captures in grammar.regex.captures_iter(code) {
        let kinds = [Kind::Comment, Kind::String, Kind::Number, Kind::Keyword];
        let found = (1..)
            .zip(kinds)
            .find_map(|(group, kind)| Some((captures.get(group)?, kind)));
        let Some((part, kind)) = found else { continue };
        let is_word = kind == Kind::Keyword && !grammar.is_keyword(part.as_str());
        if is_word || part.is_empty() {
            continue;
        }
        if end < part.start() {
            tokens.push((None, &code[end..part.start()]));
        }
        tokens.push((Some(kind), &code[part.range()]));
        end = part.end();
    }
    if end < code.len() {
        tokens.push((None, &code[end..]));
    }
    tokens
}

/// The table of languages.
#[derive(Deserialize)]
struct Table {
    languages: HashMap<String, Language>,
    /// Other names of languages.
    same: HashMap<String, String>,
}

/// A language. Parts of regular expressions are valid here and in JavaScript.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Language {
    /// Strings that begin a comment which ends with the line.
    line: Vec<String>,
    /// Pairs of strings that begin and end other comments.
    block: Vec<(String, String)>,
    /// A regular expression for comments.
    comment: Option<String>,
    /// Characters that enclose strings.
    quotes: Option<String>,
    /// A regular expression for strings that span several lines.
    raw: Option<String>,
    /// Whether single quotes enclose characters.
    character: bool,
    /// A regular expression for words.
    word: Option<String>,
    /// Whether the case of keywords is ignored.
    insensitive: bool,
    /// Whether strings have no escape characters.
    no_escape: bool,
    /// Whether words after `#` at the beginning of a line are keywords.
    preprocessor: bool,
    /// The language whose keywords this language also has.
    with: Option<String>,
    /// Lines of keywords, separated by spaces.
    keywords: Vec<String>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    // The file is compiled into this program, and a test reads it.
    serde_json::from_str(include_str!("assets/languages.json")).unwrap_or(Table {
        languages: HashMap::new(),
        same: HashMap::new(),
    })
});

/// The compiled form of a language.
struct Grammar {
    /// Its groups are comments, strings, numbers and words.
    regex: Regex,
    keywords: HashSet<String>,
    insensitive: bool,
}

impl Grammar {
    /// Returns the grammar of a language, which is compiled once.
    fn of(name: &str) -> Arc<Grammar> {
        static COMPILED: LazyLock<Mutex<HashMap<&'static str, Arc<Grammar>>>> =
            LazyLock::new(Mutex::default);
        let (name, language) = find(name);
        let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        let grammar = compiled.entry(name);
        Arc::clone(grammar.or_insert_with(|| Arc::new(Grammar::compile(language))))
    }

    fn compile(language: &Language) -> Grammar {
        let compiled = RegexBuilder::new(&pattern(language))
            .case_insensitive(language.insensitive)
            .build();
        let mut keywords = HashSet::new();
        let mut next = Some(language);
        while let Some(one) = next {
            let words = one.keywords.iter().flat_map(|line| line.split(' '));
            keywords.extend(words.map(|word| match language.insensitive {
                true => word.to_lowercase(),
                false => word.to_owned(),
            }));
            next = one.with.as_ref().and_then(|name| TABLE.languages.get(name));
        }
        Grammar {
            // A test compiles all languages. Without an expression, nothing in the source is
            // highlighted.
            regex: compiled.unwrap_or_else(|_| NOTHING.clone()),
            keywords,
            insensitive: language.insensitive,
        }
    }

    fn is_keyword(&self, word: &str) -> bool {
        word.starts_with('#')
            || match self.insensitive {
                true => self.keywords.contains(&word.to_lowercase()),
                false => self.keywords.contains(word),
            }
    }
}

/// An expression that matches nothing.
const NEVER: &str = r"[^\s\S]";
#[expect(clippy::unwrap_used, reason = "the expression is constant and tested")]
static NOTHING: LazyLock<Regex> = LazyLock::new(|| Regex::new(NEVER).unwrap());

/// Finds a language by its name, by another name, or by a name with a version.
fn find(name: &str) -> (&'static str, &'static Language) {
    static UNKNOWN: LazyLock<Language> = LazyLock::new(|| Language {
        line: vec!["#".to_owned(), "//".to_owned()],
        ..Language::default()
    });
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || "._-".contains(c));
    let by_name = |name: &str| TABLE.languages.get_key_value(name);
    let found = by_name(name)
        .or_else(|| by_name(TABLE.same.get(name)?))
        .or_else(|| by_name(base));
    match found {
        Some((name, language)) => (name, language),
        None => ("", &UNKNOWN),
    }
}

fn pattern(language: &Language) -> String {
    let mut comments: Vec<String> = language
        .block
        .iter()
        .map(|(open, close)| {
            let (open, close) = (regex::escape(open), regex::escape(close));
            format!(r"{open}[\s\S]*?(?:{close}|$)")
        })
        .collect();
    comments.extend(language.comment.clone());
    for start in &language.line {
        // The beginning may already be a regular expression (Forth).
        let start = match start.contains('\\') {
            true => start.clone(),
            false => regex::escape(start),
        };
        comments.push(format!(r"{start}[^\n]*"));
    }
    let mut strings: Vec<String> = language.raw.iter().cloned().collect();
    for quote in language.quotes.as_deref().unwrap_or("\"'").chars() {
        strings.push(match language.no_escape {
            true => format!(r"{quote}[^{quote}\n]*{quote}?"),
            false => format!(r"{quote}(?:\\[^\n]|[^{quote}\\\n])*{quote}?"),
        });
    }
    if language.character {
        strings.push(r"'(?:\\[^\n']+|[^\n'\\])'".to_owned());
    }
    let of = |parts: &[String]| match parts {
        [] => NEVER.to_owned(),
        parts => parts.join("|"),
    };
    let word = language.word.as_deref().unwrap_or(r"[@A-Za-z_]\w*[!?]?");
    let preprocessor = if language.preprocessor {
        r"#[ \t]*[a-z]+|"
    } else {
        ""
    };
    let number = r"(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\w*";
    let (comments, strings) = (of(&comments), of(&strings));
    format!("({comments})|({strings})|({number})|({preprocessor}{word})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(code: &str, language: &str) -> String {
        let parts = tokens(code, language);
        assert_eq!(
            parts.iter().map(|(_, text)| *text).collect::<String>(),
            code
        );
        let mark = |(kind, text): &(Option<Kind>, &str)| match kind {
            Some(Kind::Comment) => format!("<c:{text}>"),
            Some(Kind::String) => format!("<s:{text}>"),
            Some(Kind::Number) => format!("<n:{text}>"),
            Some(Kind::Keyword) => format!("<k:{text}>"),
            None => (*text).to_owned(),
        };
        parts.iter().map(mark).collect()
    }

    #[test]
    fn parts_of_cpp_are_found() {
        let code = "#include <x>\nint main() { /* a */ return f(\"b\\\"\", 0x1F); } // end";
        let expected = "<k:#include> <x>\n<k:int> main() { <c:/* a */> <k:return> \
            f(<s:\"b\\\"\">, <n:0x1F>); } <c:// end>";
        assert_eq!(marked(code, "cpp20"), expected);
    }

    #[test]
    fn languages_have_other_names_and_rules() {
        assert_eq!(
            marked("print(1) # x", "python3"),
            "<k:print>(<n:1>) <c:# x>"
        );
        assert_eq!(
            marked("BEGIN {x} 'it''s'", "pascal"),
            "<k:BEGIN> <c:{x}> <s:'it'><s:'s'>"
        );
        assert_eq!(marked("a 'é' \u{1F600} b", "rust"), "a <s:'é'> \u{1F600} b");
        assert_eq!(marked("x // y", "no such language"), "x <c:// y>");
        assert_eq!(marked("\"open\nif", "java"), "<s:\"open>\n<k:if>");
    }

    #[test]
    fn all_languages_compile_and_have_their_bases() {
        assert!(TABLE.languages.len() > 50);
        for (name, language) in &TABLE.languages {
            let pattern = pattern(language);
            assert!(Regex::new(&pattern).is_ok(), "{name}: {pattern}");
            if let Some(base) = &language.with {
                assert!(TABLE.languages.contains_key(base), "{name}: {base}");
            }
        }
        for (name, same) in &TABLE.same {
            assert!(TABLE.languages.contains_key(same), "{name}: {same}");
        }
        assert!(!NOTHING.is_match("a"));
    }
}
