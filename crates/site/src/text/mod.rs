//! The texts of the pages in the languages of their readers.
//!
//! The texts are Fluent messages in `languages/CODE/*.ftl`. The build script generates a type for
//! each English message, in the module [`t`]: the message `sign-in` is the type `t::SignIn`, and
//! the variable `$login` of a message is its field `login`. A message is rendered like any other
//! part of a page: `h1 { (t::SignIn) }`.
//!
//! | file | content |
//! | --- | --- |
//! | `locale` | a language with its messages, and the set of languages of the site |
//! | `message` | messages, their arguments, and how they become text |
//! | `current` | the language and the time zone of the current request |

mod current;
mod locale;
mod message;

pub use current::{
    Reader, Request, at_once, back_to, current, reader, request, scope, set_contest_zone,
    set_language, set_user_zone, zone,
};
pub use locale::{Locale, Locales};
pub use message::{Message, score};

/// A type for each message.
pub mod t {
    use super::locale::Key;
    use super::message::{Argument, Message, Value, message};

    include!(concat!(env!("OUT_DIR"), "/messages.rs"));
}

#[cfg(test)]
mod tests {
    use super::locale::LocaleError;
    use super::*;
    use crate::core::zone::Zone;

    /// The messages that the languages of this program lack.
    const FAULTS: &[&str] = include!(concat!(env!("OUT_DIR"), "/faults.rs"));

    fn reader(tag: &str) -> Reader {
        let locales = Locales::built_in();
        Reader {
            locale: locales.find(tag).expect("a language").clone(),
            zone: Zone::UTC,
        }
    }

    fn shown(message: &dyn Message) -> String {
        message.render().into_string()
    }

    #[test]
    fn languages_have_the_same_messages_with_the_same_variables() {
        assert!(FAULTS.is_empty(), "{FAULTS:#?}");
    }

    #[test]
    fn texts_of_users_are_escaped_and_markup_is_not() {
        let login = maud::html! { strong { ("a<b") } };
        let page = t::ResetForLogin { login: &login };
        assert_eq!(shown(&page), "For the login <strong>a&lt;b</strong>.");
        let page = t::ResetForLogin {
            login: "<i>\u{fdd0}0\u{fdd1}",
        };
        assert_eq!(shown(&page), "For the login &lt;i&gt;0.");
    }

    #[test]
    fn plurals_and_numbers_follow_the_language() {
        let text = |tag: &str, seconds: u64| {
            at_once(&reader(tag), || shown(&t::ErrorTooOftenDetail { seconds }))
        };
        assert!(text("en", 1).ends_with("in 1 second."), "{}", text("en", 1));
        assert!(text("en", 12_345).ends_with("in 12,345 seconds."));
        assert!(text("de", 12_345).contains("12.345 Sekunden"));
        assert!(text("pl", 1).contains("1 sekundę"));
        assert!(text("pl", 3).contains("3 sekundy"));
        assert!(text("pl", 12_345).contains("12\u{a0}345 sekund."));
    }

    #[test]
    fn problems_of_programs_are_english_also_inside() {
        at_once(&reader("de"), || {
            let error = t::RosterInFile {
                file: "teams",
                detail: t::MistakeEmail,
            };
            assert!(
                error.english().starts_with("teams: An e-mail"),
                "{}",
                error.english()
            );
            assert!(
                shown(&error).starts_with("teams: Eine E-Mail"),
                "{}",
                shown(&error)
            );
        });
    }

    #[test]
    fn points_have_the_decimal_mark_of_the_language() {
        let points = crate::core::score::Score(33_300_000);
        assert_eq!(at_once(&reader("en"), || score(points)), "33.3");
        assert_eq!(at_once(&reader("de"), || score(points)), "33,3");
    }

    #[test]
    fn browsers_get_the_language_that_they_like_best() {
        let locales = Locales::built_in();
        let choose = |header: &str| {
            locales
                .negotiate(header)
                .map(|found| found.tag().to_owned())
        };
        assert_eq!(choose("pl"), Some("pl".to_owned()));
        assert_eq!(choose("de-AT,de;q=0.9,en;q=0.8"), Some("de".to_owned()));
        assert_eq!(choose("fr, en;q=0.4, pl;q=0.7"), Some("pl".to_owned()));
        assert_eq!(choose("de;q=0, *;q=0.5"), None);
        assert_eq!(choose("fr"), None);
        assert_eq!(choose(";;q=x,,="), None);
    }

    #[test]
    fn added_language_falls_back_to_english() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("fr.ftl");
        std::fs::write(&file, "language-name = Français\nsign-in = Se connecter\n")
            .expect("a file");
        let locales = Locales::with_directory(directory.path(), "fr").expect("languages");
        let french = Reader {
            locale: locales.find("fr").expect("French").clone(),
            zone: Zone::UTC,
        };
        assert_eq!(locales.default_locale().tag(), "fr");
        assert_eq!(french.locale.name(), "Français");
        at_once(&french, || {
            assert_eq!(shown(&t::SignIn), "Se connecter");
            assert_eq!(shown(&t::SignUp), "Sign up");
        });
        std::fs::write(&file, "sign-in\n").expect("a file");
        let error = Locales::with_directory(directory.path(), "en");
        assert!(
            matches!(error, Err(LocaleError::Syntax { .. })),
            "{error:?}"
        );
        std::fs::remove_file(file).expect("removed");
        let error = Locales::with_directory(directory.path(), "fr");
        assert!(matches!(error, Err(LocaleError::Unknown(_))), "{error:?}");
    }

    /// The page that describes the API. Its other files send English to programs.
    const API_PAGE: &str = "document";

    fn sources(directory: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(directory).expect("sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|it| it == "rs") {
                found.push(path);
            }
        }
    }

    /// Whether a literal reads like a sentence or a heading: `Two words` or `Word`.
    fn is_prose(literal: &str) -> bool {
        let mut chars = literal.chars();
        chars.next().is_some_and(|first| first.is_ascii_uppercase())
            && chars
                .next()
                .is_some_and(|second| second.is_ascii_lowercase())
            && !literal.contains([':', '=', '_'])
    }

    #[test]
    fn pages_have_no_literals_in_place_of_messages() {
        let mut files = Vec::new();
        let http = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http");
        sources(&http, &mut files);
        let mut found = Vec::new();
        for path in files {
            let is_api = path.components().any(|part| part.as_os_str() == "api");
            let stem = path
                .file_stem()
                .and_then(|stem| stem.to_str())
                .unwrap_or_default();
            let is_test = path.starts_with(http.join("pairs")) || stem == "pairs";
            if is_api && stem != API_PAGE || stem == "export" || is_test {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a source");
            let text = text.split("#[cfg(test)]").next().unwrap_or_default();
            for (number, line) in (1..).zip(text.lines()) {
                let code = line.trim_start();
                if code.starts_with("//") || code.contains("reason = ") || code.contains("error(") {
                    continue;
                }
                for literal in code.split('"').skip(1).step_by(2).filter(|it| is_prose(it)) {
                    found.push(format!("{}:{number}: {literal}", path.display()));
                }
            }
        }
        // The debug form of tokens, names of formats, and the schema of problems.
        found.retain(|one| {
            !["Token", "Problem", "Bearer", "OpenAPI"]
                .iter()
                .any(|name| one.ends_with(&format!(": {name}")))
        });
        assert!(found.is_empty(), "{found:#?}");
    }
}
