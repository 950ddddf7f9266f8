//! Kinds of judgements.

use serde::{Deserialize, Serialize};
use std::fmt::{self, Display};
use std::str::FromStr;

/// A kind of judgement, which a worker may accept or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Submissions to contests.
    Contest,
    /// Submissions outside contests.
    Practice,
    /// Submissions that are judged again.
    Rejudge,
    /// Submissions of packages.
    Model,
}

/// A name that is no class.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} is not a class; the classes are contest, practice, rejudge and model")]
pub struct ClassError {
    /// The name.
    pub name: String,
}

impl Class {
    /// All classes.
    pub const ALL: [Class; 4] = [
        Class::Contest,
        Class::Practice,
        Class::Rejudge,
        Class::Model,
    ];

    /// The name in options.
    pub fn name(self) -> &'static str {
        match self {
            Class::Contest => "contest",
            Class::Practice => "practice",
            Class::Rejudge => "rejudge",
            Class::Model => "model",
        }
    }
}

impl Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Class {
    type Err = ClassError;

    fn from_str(text: &str) -> Result<Class, ClassError> {
        let found = Class::ALL.into_iter().find(|class| class.name() == text);
        found.ok_or_else(|| ClassError {
            name: text.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_survives_its_name() {
        for class in Class::ALL {
            assert_eq!(class.to_string().parse(), Ok(class));
        }
        assert!("contests".parse::<Class>().is_err());
    }
}
