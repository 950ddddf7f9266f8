//! A language with its messages, and the set of languages of the site.

use super::t;

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentResource, FluentValue};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use unic_langid::LanguageIdentifier;

/// The languages of this program: their tags and their messages.
const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/languages.rs"));
/// The language that defines all messages.
const ENGLISH: &str = "en";
/// The marks around the digits of a number.
pub(super) const NUMBER: [char; 2] = ['\u{fdd2}', '\u{fdd3}'];

/// The language whose messages replace those that other languages lack.
pub static FALLBACK: LazyLock<Arc<Locale>> = LazyLock::new(|| {
    let locales = Locales::built_in();
    // The build script reads English first.
    locales.find(ENGLISH).unwrap_or(&locales.default).clone()
});

/// Why the languages cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocaleError {
    /// A file or the directory cannot be read.
    #[error("cannot read {}: {error}", .path.display())]
    Read {
        path: PathBuf,
        error: std::io::Error,
    },
    /// The name of a file is not the tag of a language.
    #[error("{} must be named after a language tag, as in fr.ftl", .0.display())]
    Name(PathBuf),
    /// A file has lines that are not messages.
    #[error("{}: {detail}", .path.display())]
    Syntax { path: PathBuf, detail: String },
    /// The site has no such language.
    #[error("the site has no language {0}")]
    Unknown(String),
}

/// A message of the languages.
pub trait Key {
    /// The name in the files of languages.
    fn key(&self) -> &'static str;
}

/// A language.
pub struct Locale {
    tag: String,
    name: String,
    decimal: String,
    group: String,
    pub(super) bundle: FluentBundle<FluentResource>,
}

impl fmt::Debug for Locale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Locale").field(&self.tag).finish()
    }
}

impl Locale {
    fn new(id: LanguageIdentifier, messages: &str) -> Result<Locale, String> {
        let tag = id.to_string();
        let mut bundle = FluentBundle::new_concurrent(vec![id]);
        // The built-in languages are all written from left to right.
        bundle.set_use_isolating(false);
        // Long messages have several lines, which are one text.
        bundle.set_transform(Some(|text| match text.contains('\n') {
            true => text.replace('\n', " ").into(),
            false => text.into(),
        }));
        bundle.set_formatter(Some(|value, _| mark_number(value)));
        let resource = FluentResource::try_new(messages.to_owned())
            .map_err(|(_, errors)| list(errors.iter()))?;
        bundle
            .add_resource(resource)
            .map_err(|errors| list(errors.iter()))?;
        let text = |message: &dyn Key| {
            let pattern = bundle.get_message(message.key())?.value()?;
            let text = bundle.format_pattern(pattern, None, &mut Vec::new());
            Some(text.into_owned())
        };
        Ok(Locale {
            name: text(&t::LanguageName).unwrap_or_else(|| tag.clone()),
            decimal: text(&t::NumberDecimal).unwrap_or_else(|| ".".to_owned()),
            group: text(&t::NumberGroup).unwrap_or_default(),
            tag,
            bundle,
        })
    }

    /// The tag, such as `de`.
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// The name of the language in the language itself.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The decimal separator of a number.
    pub fn decimal(&self) -> &str {
        &self.decimal
    }

    /// The separator between the groups of digits of a large number.
    pub fn group(&self) -> &str {
        &self.group
    }
}

fn list(errors: impl Iterator<Item = impl fmt::Display>) -> String {
    let errors: Vec<String> = errors.map(|error| error.to_string()).collect();
    errors.join("; ")
}

/// Puts marks around the digits of a number.
fn mark_number(value: &FluentValue<'_>) -> Option<String> {
    match value {
        FluentValue::Number(number) => {
            Some(format!("{}{}{}", NUMBER[0], number.as_string(), NUMBER[1]))
        }
        _ => None,
    }
}

/// The languages of a site.
#[derive(Debug)]
pub struct Locales {
    all: Vec<Arc<Locale>>,
    default: Arc<Locale>,
}

impl Locales {
    /// The languages of this program; English is the default.
    ///
    /// # Panics
    /// A built-in language contains an error, which the tests would find.
    pub fn built_in() -> Locales {
        let read = |&(tag, messages): &(&str, &str)| {
            let id = tag.parse().map_err(|_| tag.to_owned());
            Arc::new(
                id.and_then(|id| Locale::new(id, messages))
                    .expect("a valid language"),
            )
        };
        let all: Vec<Arc<Locale>> = BUILT_IN.iter().map(read).collect();
        let english = all.iter().find(|one| one.tag == ENGLISH);
        let default = english.expect("English").clone();
        Locales { all, default }
    }

    /// Adds the languages of a directory, if it exists: `fr.ftl` contains the French messages. A
    /// file replaces a language of this program that has the same tag.
    ///
    /// # Errors
    /// A file cannot be read or is malformed, or `default` is not among the languages.
    pub fn with_directory(directory: &Path, default: &str) -> Result<Locales, LocaleError> {
        let mut locales = Locales::built_in();
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error| LocaleError::Read { path, error }
        };
        let entries = match std::fs::read_dir(directory) {
            Ok(entries) => entries.collect::<Result<Vec<_>, _>>(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        };
        let entries = entries.map_err(failed(directory))?;
        let paths = entries.iter().map(std::fs::DirEntry::path);
        let mut paths: Vec<PathBuf> = paths
            .filter(|path| path.extension().is_some_and(|it| it == "ftl"))
            .collect();
        paths.sort();
        for path in paths {
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            let id: Option<LanguageIdentifier> = stem.and_then(|stem| stem.parse().ok());
            let id = id.ok_or_else(|| LocaleError::Name(path.clone()))?;
            let text = std::fs::read_to_string(&path).map_err(failed(&path))?;
            let locale = Locale::new(id, &text);
            let locale = locale.map_err(|detail| LocaleError::Syntax { path, detail })?;
            locales.all.retain(|one| one.tag != locale.tag);
            locales.all.push(Arc::new(locale));
        }
        locales.all.sort_by(|a, b| a.tag.cmp(&b.tag));
        let found = locales.find(default);
        locales.default = found
            .ok_or_else(|| LocaleError::Unknown(default.to_owned()))?
            .clone();
        Ok(locales)
    }

    /// The languages by their tags.
    pub fn all(&self) -> &[Arc<Locale>] {
        &self.all
    }

    /// The language for browsers that request no language of the site.
    pub fn default_locale(&self) -> &Arc<Locale> {
        &self.default
    }

    /// The language with a tag.
    pub fn find(&self, tag: &str) -> Option<&Arc<Locale>> {
        self.all.iter().find(|one| one.tag == tag)
    }

    /// The language that the header `Accept-Language` prefers among those of the site.
    pub fn negotiate(&self, header: &str) -> Option<&Arc<Locale>> {
        let mut wanted: Vec<(f32, &str)> = header.split(',').filter_map(preference).collect();
        // The sort is stable, so the first of equal preferences wins.
        wanted.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let is_close = |tag: &str, locale: &Locale| {
            let language = |tag: &str| tag.split('-').next().map(str::to_ascii_lowercase);
            language(tag) == language(&locale.tag)
        };
        wanted.iter().find_map(|(_, tag)| {
            let exact = self
                .all
                .iter()
                .find(|one| one.tag.eq_ignore_ascii_case(tag));
            exact.or_else(|| self.all.iter().find(|one| is_close(tag, one)))
        })
    }
}

/// A tag with its weight, unless the weight is 0.
fn preference(part: &str) -> Option<(f32, &str)> {
    let mut parts = part.split(';').map(str::trim);
    let tag = parts.next().filter(|tag| !tag.is_empty())?;
    let weight = parts.find_map(|one| one.strip_prefix("q="));
    let weight = weight.map_or(Some(1.0), |text| text.parse::<f32>().ok())?;
    (weight > 0.0).then_some((weight, tag))
}
