//! The messages of faults of YAML files and of their keys.

use super::{Messages, meant};
use millibox_package::fault::text::{Found, Number, Suggestion, ValueKind, WordList};
use millibox_package::fault::values::{KeyFault, OtherMeaning, YamlFault};

pub fn messages() -> Messages {
    messages![
        "YamlFault::Syntax" => YamlFault::Syntax {
            reason: "REASON".into(),
        },
        "YamlFault::SecondDocument" => YamlFault::SecondDocument,
        "YamlFault::RecursiveAlias" => YamlFault::RecursiveAlias,
        "YamlFault::TooDeep" => YamlFault::TooDeep { max: 3 },
        "YamlFault::OldWord, boolean" => YamlFault::OldWord {
            word: "WORD".into(),
            meaning: OtherMeaning::Boolean,
        },
        "YamlFault::OldWord, number" => YamlFault::OldWord {
            word: "WORD".into(),
            meaning: OtherMeaning::Number,
        },
        "YamlFault::OldWord, octal" => YamlFault::OldWord {
            word: "WORD".into(),
            meaning: OtherMeaning::Octal,
        },
        "YamlFault::OldWord, string" => YamlFault::OldWord {
            word: "WORD".into(),
            meaning: OtherMeaning::String,
        },
        "KeyFault::NotMap" => KeyFault::NotMap {
            name: "NAME".into(),
            found: ValueKind::List,
        },
        "KeyFault::KeyNotText" => KeyFault::KeyNotText {
            found: ValueKind::List,
        },
        "KeyFault::Repeated" => KeyFault::Repeated {
            key: "KEY".into(),
            first_line: 3,
        },
        "KeyFault::Unknown" => KeyFault::Unknown {
            key: "KEY".into(),
            suggestion: meant(),
        },
        "KeyFault::NotText" => KeyFault::NotText {
            key: "KEY".into(),
            found: ValueKind::List,
        },
        "KeyFault::NotOneOf" => KeyFault::NotOneOf {
            key: "key",
            choices: WordList::new(["CHOICES"]),
            found: Found::Text("x".into()),
        },
        "KeyFault::NotNumber" => KeyFault::NotNumber {
            key: "key",
            found: Found::Text("x".into()),
        },
        "KeyFault::TooSmall" => KeyFault::TooSmall {
            key: "key",
            min: Number(2.5),
            number: Number(2.5),
        },
        "KeyFault::NotTime" => KeyFault::NotTime {
            key: "key",
            seconds: Number(2.5),
        },
        "KeyFault::NotWhole" => KeyFault::NotWhole {
            key: "key",
            min: 3,
            found: Found::Text("x".into()),
        },
        "KeyFault::TooLarge" => KeyFault::TooLarge {
            key: "key",
            number: 3,
        },
        "KeyFault::NotTexts" => KeyFault::NotTexts {
            key: "KEY".into(),
            found: ValueKind::List,
        },
        "KeyFault::TextsContain" => KeyFault::TextsContain {
            key: "KEY".into(),
            found: ValueKind::List,
        },
        "KeyFault::NotNumber, list" => KeyFault::NotNumber {
            key: "key",
            found: Found::Other(ValueKind::List),
        },
        "KeyFault::NotNumber, map" => KeyFault::NotNumber {
            key: "key",
            found: Found::Other(ValueKind::Map),
        },
        "KeyFault::NotNumber, nothing" => KeyFault::NotNumber {
            key: "key",
            found: Found::Other(ValueKind::Null),
        },
        "KeyFault::NotNumber, text" => KeyFault::NotNumber {
            key: "key",
            found: Found::Other(ValueKind::Text),
        },
        "KeyFault::Unknown, no suggestion" => KeyFault::Unknown {
            key: "KEY".into(),
            suggestion: Suggestion::NONE,
        },
    ]
}
