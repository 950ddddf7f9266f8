//! Figures on generated programs: independent ones, and copies that are renamed and formatted
//! differently.

use super::*;
use std::fmt::Write as _;

/// The similarity in percent from which a pair counts.
const LEAST: usize = 50;
/// The number of participants, of which each second has a copy.
const PARTICIPANTS: usize = 40;

/// Pseudo-random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap()
    }
}

/// Statements of a small language, in which programs are generated and copied.
#[derive(Clone)]
enum Statement {
    Assign(usize, Vec<usize>),
    Call(usize, Vec<usize>),
    If(usize, Vec<Statement>),
    For(usize, usize, Vec<Statement>),
}

fn block(random: &mut Random, depth: usize) -> Vec<Statement> {
    let count = 2 + random.below(3);
    let mut statements = Vec::new();
    for _ in 0..count {
        let name = random.below(9);
        let terms = (0..1 + random.below(5)).map(|_| random.below(40)).collect();
        let kind = if depth == 0 {
            random.below(2)
        } else {
            random.below(4)
        };
        statements.push(match kind {
            0 => Statement::Assign(name, terms),
            1 => Statement::Call(name, terms),
            2 => Statement::If(random.below(40), block(random, depth - 1)),
            _ => Statement::For(name, random.below(40), block(random, depth - 1)),
        });
    }
    statements
}

/// How a person writes a program.
struct Style {
    /// The beginning of all names.
    name: &'static str,
    indent: &'static str,
    /// Puts opening braces on lines of their own.
    is_wide: bool,
    comments: bool,
}

impl Style {
    fn term(&self, term: usize) -> String {
        let name = self.name;
        match term % 4 {
            0 => term.to_string(),
            1 => format!("{name}{}", term / 4),
            2 => format!("{name}{}[{name}{}]", term / 4, term / 7),
            _ => format!("({name}{} % {})", term / 4, term + 2),
        }
    }

    fn sum(&self, terms: &[usize]) -> String {
        let signs = [" + ", " * ", " - "];
        let mut text = String::new();
        for (at, term) in terms.iter().enumerate() {
            if at > 0 {
                text.push_str(signs[term % 3]);
            }
            text.push_str(&self.term(*term));
        }
        text
    }

    fn write(&self, statements: &[Statement], depth: usize, text: &mut String) {
        let pad = self.indent.repeat(depth);
        let open = if self.is_wide {
            format!("\n{pad}{{")
        } else {
            " {".to_owned()
        };
        for (at, statement) in statements.iter().enumerate() {
            if self.comments && at % 2 == 0 {
                writeln!(text, "{pad}// step {at} of {} /* x */", self.name).unwrap();
            }
            match statement {
                Statement::Assign(name, terms) => {
                    writeln!(text, "{pad}{}{name} = {};", self.name, self.sum(terms)).unwrap();
                }
                Statement::Call(name, terms) => {
                    let terms: Vec<String> = terms.iter().map(|term| self.term(*term)).collect();
                    writeln!(text, "{pad}{}{name}({});", self.name, terms.join(", ")).unwrap();
                }
                Statement::If(term, inner) => {
                    writeln!(text, "{pad}if ({} > 0){open}", self.term(*term)).unwrap();
                    self.write(inner, depth + 1, text);
                    writeln!(text, "{pad}}}").unwrap();
                }
                Statement::For(name, term, inner) => {
                    let (name, end) = (format!("{}{name}", self.name), self.term(*term));
                    writeln!(
                        text,
                        "{pad}for (int {name} = 0; {name} < {end}; {name}++){open}"
                    )
                    .unwrap();
                    self.write(inner, depth + 1, text);
                    writeln!(text, "{pad}}}").unwrap();
                }
            }
        }
    }

    /// A program with the same beginning and reading of input that everyone uses.
    fn program(&self, statements: &[Statement]) -> String {
        let mut text = String::from(
            "#include <bits/stdc++.h>\nusing namespace std;\nint main() {\n\
             ios::sync_with_stdio(false); cin.tie(nullptr); int n, m; cin >> n >> m;\n\
             vector<int> a(n); for (int i = 0; i < n; i++) cin >> a[i];\n",
        );
        self.write(statements, 1, &mut text);
        text + "cout << n << endl; return 0;\n}\n"
    }
}

const FIRST: Style = Style {
    name: "x",
    indent: "    ",
    is_wide: false,
    comments: false,
};
const SECOND: Style = Style {
    name: "completelyDifferent",
    indent: "\t",
    is_wide: true,
    comments: true,
};

/// The sources of participants: each second one is a copy of the one before, if `with_copies`.
fn sources(seed: u64, with_copies: bool) -> Vec<Entry> {
    let mut random = Random(seed);
    let mut entries = Vec::new();
    for participant in 0..PARTICIPANTS {
        let number = i64::try_from(participant).unwrap();
        if with_copies && participant % 2 == 1 {
            continue;
        }
        let statements = block(&mut random, 3);
        let mut add = |number: i64, text: &str| {
            entries.push(Entry::new(number, number, "a.cpp", text.as_bytes()));
        };
        add(number, &FIRST.program(&statements));
        if with_copies {
            add(number + 1, &SECOND.program(&statements));
        }
    }
    entries
}

/// Of 10 sets, the pairs of independent sources that are similar, and the copies that are found.
#[test]
fn copies_are_found_and_independent_sources_are_not() {
    let (mut false_pairs, mut independent) = (0, 0);
    let (mut found, mut copies) = (0, 0);
    for seed in 0..10 {
        let entries = sources(seed, false);
        false_pairs += pairs(&entries, LEAST).len();
        independent += entries.len() * (entries.len() - 1) / 2;
        let entries = sources(seed, true);
        copies += entries.len() / 2;
        for pair in pairs(&entries, LEAST) {
            let [first, second] = pair.participants;
            match first.abs_diff(second) == 1 && first.min(second) % 2 == 0 {
                true => found += 1,
                false => false_pairs += 1,
            }
        }
        independent += entries.len() * (entries.len() - 1) / 2 - entries.len() / 2;
    }
    assert!(
        false_pairs * 1000 <= independent,
        "{false_pairs} of {independent}"
    );
    // Some programs are too short beside the beginning that all have.
    assert!(found * 100 >= copies * 90, "{found} of {copies}");
}

#[test]
fn names_comments_and_formatting_do_not_count() {
    let table = [
        (
            "a.cpp",
            "int a=1;//x\nwhile(a<10){a+=2;}",
            "long  bb = 7; /* y */ while ( bb < 3 ) {\nbb += 1; }",
        ),
        (
            "a.py",
            "x = 'a' # b\nif x: print(1)\n",
            "yy = \"c\\\"d\"\nif yy: show(22.5)\n",
        ),
        (
            "a.pas",
            "BEGIN x := 1 { y } END.",
            "begin (* z *) Other := 17 End.",
        ),
    ];
    for (name, first, second) in table {
        let family = Family::of(name);
        assert_eq!(tokens(family, first), tokens(family, second), "{name}");
    }
    assert_ne!(tokens(Family::C, "a + b"), tokens(Family::C, "a - b"));
    // Neither a comment nor a string without an end leaves the text.
    for text in ["/* a", "\"a", "'\\", "{", "(*", "#"] {
        for family in [Family::C, Family::Script, Family::Pascal] {
            tokens(family, text);
        }
    }
}

#[test]
fn sources_of_one_participant_and_short_ones_are_not_compared() {
    let text = FIRST.program(&block(&mut Random(1), 3));
    let entry =
        |submission, participant| Entry::new(submission, participant, "a.cpp", text.as_bytes());
    assert!(pairs(&[entry(1, 1), entry(2, 1)], 0).is_empty());
    let found = pairs(&[entry(1, 1), entry(2, 1), entry(3, 2)], LEAST);
    assert_eq!(
        found.len(),
        1,
        "one pair of each two participants: {found:?}"
    );
    assert_eq!((found[0].submissions, found[0].percent), ([2, 3], 100));
    let short = |number| {
        Entry::new(
            number,
            number,
            "a.py",
            b"print(sum(map(int, input().split())))",
        )
    };
    assert!(pairs(&[short(1), short(2)], 0).is_empty());
    // The same text in two families.
    let other = Entry::new(4, 4, "a.pas", text.as_bytes());
    assert!(pairs(&[entry(1, 1), other], 0).is_empty());
}

#[test]
fn text_that_everyone_has_does_not_count() {
    let template = FIRST.program(&block(&mut Random(1), 3));
    let entries: Vec<Entry> = (0..20)
        .map(|number| Entry::new(number, number, "a.cpp", template.as_bytes()))
        .collect();
    assert!(pairs(&entries, 0).is_empty());
}
