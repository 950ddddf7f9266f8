//! Messages, their arguments, and how they become text.
//!
//! Fluent sees markup and numbers as short marks. After the text is escaped, markup replaces its
//! mark, and numbers are formatted for the language. The marks are noncharacters of Unicode. The
//! site removes them from users' texts.

use super::current::current;
use super::locale::{FALLBACK, Key, Locale, NUMBER};
use crate::core::score::Score;
use fluent_bundle::{FluentArgs, FluentValue};
use maud::{Markup, Render};
use std::borrow::Cow;

/// The marks around the index of a part of markup.
const MARKUP: [char; 2] = ['\u{fdd0}', '\u{fdd1}'];
/// Numbers with fewer digits have no groups.
const GROUPED_DIGITS: usize = 5;

/// A text of the site, with its arguments.
pub trait Message: Render + Key {
    /// The values of the variables.
    fn arguments(&self) -> Vec<(&'static str, Argument<'_>)>;

    /// The text without markup, in the language of the current request.
    fn plain(&self) -> String {
        plain(&current(), self.key(), &self.arguments())
    }

    /// The text without markup in English, for programs.
    fn english(&self) -> String {
        plain(&FALLBACK, self.key(), &self.arguments())
    }
}

/// The value of a variable.
#[derive(Debug)]
pub enum Argument<'a> {
    /// A text. It is escaped.
    Text(Cow<'a, str>),
    /// A number, which selects plural forms.
    Number(i64),
    /// A part of a page.
    Markup(&'a str),
    /// Another message.
    Message(&'a dyn Message),
}

impl std::fmt::Debug for dyn Message + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.key())
    }
}

/// A type that the variable of a message can have.
pub trait Value {
    /// The value as an argument.
    fn argument(&self) -> Argument<'_>;
}

impl<T: Value + ?Sized> Value for &T {
    fn argument(&self) -> Argument<'_> {
        (**self).argument()
    }
}

impl Value for str {
    fn argument(&self) -> Argument<'_> {
        Argument::Text(Cow::Borrowed(self))
    }
}

impl Value for String {
    fn argument(&self) -> Argument<'_> {
        Argument::Text(Cow::Borrowed(self))
    }
}

impl Value for Markup {
    fn argument(&self) -> Argument<'_> {
        Argument::Markup(&self.0)
    }
}

impl Value for dyn Message + '_ {
    fn argument(&self) -> Argument<'_> {
        Argument::Message(self)
    }
}

impl Value for Box<dyn Message + '_> {
    fn argument(&self) -> Argument<'_> {
        Argument::Message(&**self)
    }
}

impl Value for Score {
    fn argument(&self) -> Argument<'_> {
        Argument::Text(Cow::Owned(score(*self)))
    }
}

macro_rules! numbers {
    ($($type:ty)*) => { $(
        impl Value for $type {
            fn argument(&self) -> Argument<'_> {
                Argument::Number(i64::try_from(*self).unwrap_or(i64::MAX))
            }
        }
    )* };
}
numbers!(i64 u64 usize u32 i32 u16 u8);

/// Defines the type of a message.
macro_rules! message {
    ($text:literal $name:ident, $key:literal) => {
        #[doc = $text]
        #[derive(Debug, Clone, Copy)]
        pub struct $name;
        message!(@impl [] $name [] $key);
    };
    ($text:literal $name:ident, $key:literal, $($variable:ident: $type:ident),+) => {
        #[doc = $text]
        #[derive(Debug, Clone, Copy)]
        pub struct $name<$($type),+> { $(pub $variable: $type),+ }
        message!(@impl [<$($type: Value),+>] $name [<$($type),+>] $key, $($variable)+);
    };
    (@impl [$($generics:tt)*] $name:ident [$($types:tt)*] $key:literal
        $(, $($variable:ident)+)?) => {
        impl $($generics)* Key for $name $($types)* {
            fn key(&self) -> &'static str {
                $key
            }
        }

        impl $($generics)* Message for $name $($types)* {
            fn arguments(&self) -> Vec<(&'static str, Argument<'_>)> {
                vec![$($((stringify!($variable), self.$variable.argument())),+)?]
            }
        }

        impl $($generics)* maud::Render for $name $($types)* {
            fn render_to(&self, buffer: &mut String) {
                $crate::text::message::render(self, buffer);
            }
        }

        impl $($generics)* Value for $name $($types)* {
            fn argument(&self) -> Argument<'_> {
                Argument::Message(self)
            }
        }
    };
}
pub(super) use message;

/// Writes a message as HTML, in the language of the current request.
pub fn render(message: &dyn Message, buffer: &mut String) {
    let arguments = message.arguments();
    let locale = current();
    let text = format(&locale, message.key(), &arguments);
    let mut escaped = String::new();
    text.render_to(&mut escaped);
    let part = |index: usize, buffer: &mut String| match arguments.get(index) {
        Some((_, Argument::Markup(markup))) => buffer.push_str(markup),
        Some((_, Argument::Message(message))) => message.render_to(buffer),
        _ => {}
    };
    finish(&locale, &escaped, part, buffer);
}

fn plain(locale: &Locale, key: &str, arguments: &[(&'static str, Argument<'_>)]) -> String {
    let text = format(locale, key, arguments);
    let mut plain = String::new();
    let part = |index: usize, buffer: &mut String| {
        // Markup has no place in a text without markup.
        if let Some((_, Argument::Message(inner))) = arguments.get(index) {
            let inner = self::plain(locale, inner.key(), &inner.arguments());
            buffer.push_str(&inner);
        }
    };
    finish(locale, &text, part, &mut plain);
    plain
}

fn format(locale: &Locale, key: &str, arguments: &[(&'static str, Argument<'_>)]) -> String {
    let pattern = |locale: &'_ Locale| {
        let message = locale.bundle.get_message(key)?;
        let mut values = FluentArgs::new();
        for (index, (name, argument)) in arguments.iter().enumerate() {
            let value = match argument {
                Argument::Text(text) => FluentValue::from(without_marks(text)),
                Argument::Number(number) => FluentValue::from(*number),
                Argument::Markup(_) | Argument::Message(_) => {
                    FluentValue::from(format!("{}{index}{}", MARKUP[0], MARKUP[1]))
                }
            };
            values.set(*name, value);
        }
        let mut errors = Vec::new();
        let pattern = message.value()?;
        let text = locale
            .bundle
            .format_pattern(pattern, Some(&values), &mut errors);
        Some(text.into_owned())
    };
    pattern(locale)
        .or_else(|| pattern(&FALLBACK))
        .unwrap_or_else(|| key.to_owned())
}

fn without_marks(text: &str) -> String {
    text.replace(|c| MARKUP.contains(&c) || NUMBER.contains(&c), "")
}

/// Replaces the marks of a text. `part` writes the part with an index.
fn finish(locale: &Locale, mut text: &str, part: impl Fn(usize, &mut String), buffer: &mut String) {
    while let Some(at) = text.find([MARKUP[0], NUMBER[0]]) {
        let (before, rest) = text.split_at(at);
        buffer.push_str(before);
        let is_number = rest.starts_with(NUMBER[0]);
        let close = if is_number { NUMBER[1] } else { MARKUP[1] };
        let rest = &rest[MARKUP[0].len_utf8()..];
        let (inner, after) = rest.split_once(close).unwrap_or((rest, ""));
        if is_number {
            buffer.push_str(&group(locale, inner));
        } else if let Ok(index) = inner.parse() {
            part(index, buffer);
        }
        text = after;
    }
    buffer.push_str(text);
}

/// The digits of a whole number in groups of three, if it is large.
fn group(locale: &Locale, digits: &str) -> String {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("−", digits),
        None => ("", digits),
    };
    if digits.len() < GROUPED_DIGITS || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return format!("{sign}{digits}");
    }
    let mut grouped = sign.to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            grouped.push_str(locale.group());
        }
        grouped.push(digit);
    }
    grouped
}

/// Points in the form of the current language.
pub fn score(points: Score) -> String {
    points.to_string().replace('.', current().decimal())
}
