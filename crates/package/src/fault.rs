//! The faults of a package and their places.

use crate::bound::{Bound, MOST_TEXT};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The severity of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The package can be judged, but its author may have intended something different.
    Warning,
    /// The package cannot be judged.
    Error,
}

/// One fault of a package, rendered as `PATH:LINE:COLUMN: error: MESSAGE`. Unknown numbers are
/// omitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file or directory: the package's path as the caller named it, and the path below it.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column in characters, from 1.
    pub column: Option<u32>,
    /// The severity.
    pub severity: Severity,
    /// What is wrong and how to fix it, in one line.
    pub message: String,
    /// The bound that the package exceeds, if that is the fault.
    pub bound: Option<Bound>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.to_string_lossy();
        // A fault is one line even if the name of a file has line breaks.
        path.chars().try_for_each(|c| {
            if c.is_control() {
                write!(f, "{}", c.escape_default())
            } else {
                write!(f, "{c}")
            }
        })?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
            if let Some(column) = self.column {
                write!(f, ":{column}")?;
            }
        }
        f.write_str(match self.severity {
            Severity::Warning => ": warning: ",
            Severity::Error => ": error: ",
        })?;
        f.write_str(&self.message)
    }
}

/// Why a package cannot be judged: all its faults, including warnings, sorted by file and line.
/// Each is rendered as one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// All faults, sorted.
    pub fn iter(&self) -> std::slice::Iter<'_, Fault> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a Faults {
    type Item = &'a Fault;
    type IntoIter = std::slice::Iter<'a, Fault>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl IntoIterator for Faults {
    type Item = Fault;
    type IntoIter = std::vec::IntoIter<Fault>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            fault.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}

/// A place in a package.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// The path below the package.
    path: Rc<str>,
    line: Option<u32>,
    column: Option<u32>,
}

impl Place {
    pub fn file(path: &str) -> Place {
        Place {
            path: path.into(),
            line: None,
            column: None,
        }
    }

    /// A place in the same file.
    pub fn at(&self, line: u32, column: u32) -> Place {
        Place {
            path: Rc::clone(&self.path),
            line: Some(line),
            column: Some(column),
        }
    }

    /// A line of the same file.
    pub fn at_line(&self, line: u32) -> Place {
        Place {
            path: Rc::clone(&self.path),
            line: Some(line),
            column: None,
        }
    }

    pub fn line(&self) -> Option<u32> {
        self.line
    }

    pub fn column(&self) -> Option<u32> {
        self.column
    }
}

impl From<&str> for Place {
    fn from(path: &str) -> Place {
        Place::file(path)
    }
}

impl From<&String> for Place {
    fn from(path: &String) -> Place {
        Place::file(path)
    }
}

impl From<&Place> for Place {
    fn from(place: &Place) -> Place {
        place.clone()
    }
}

/// The number of faults that are kept. Of the others only the number is reported.
const MOST_FAULTS: usize = 1_000;
/// The most bytes of a message. Texts that a message quotes may be as long as files.
const LONGEST_MESSAGE: usize = 2_000;

/// Collects faults, so that reading continues and finds all of them.
pub(crate) struct Log {
    package: RefCell<PathBuf>,
    faults: RefCell<Vec<Fault>>,
    /// The numbers of errors and warnings that are not kept.
    dropped: Cell<(usize, usize)>,
    /// Bytes of text that the package has become; see [`MOST_TEXT`].
    text: Cell<u64>,
}

impl Log {
    pub fn new(package: &Path) -> Log {
        Log {
            package: RefCell::new(package.to_owned()),
            faults: RefCell::default(),
            dropped: Cell::default(),
            text: Cell::default(),
        }
    }

    /// Sets the directory of the package that further paths are relative to.
    pub fn enter(&self, directory: &Path) {
        self.package.borrow_mut().push(directory);
    }

    pub fn error(&self, place: impl Into<Place>, message: impl Into<String>) {
        self.add(Severity::Error, &place.into(), message.into());
    }

    pub fn warning(&self, place: impl Into<Place>, message: impl Into<String>) {
        self.add(Severity::Warning, &place.into(), message.into());
    }

    /// Reads what judging does not need: faults in it become warnings.
    pub fn mildly<T>(&self, read: impl FnOnce() -> T) -> T {
        let before = self.faults.borrow().len();
        let (errors, warnings) = self.dropped.get();
        let read = read();
        let mut faults = self.faults.borrow_mut();
        // A bound is always an error, or reading would continue.
        let mild = faults[before..]
            .iter_mut()
            .filter(|fault| fault.bound.is_none());
        mild.for_each(|fault| fault.severity = Severity::Warning);
        let (more_errors, more_warnings) = self.dropped.get();
        self.dropped.set((
            errors,
            warnings + (more_errors - errors) + (more_warnings - warnings),
        ));
        read
    }

    /// The number of errors so far.
    pub fn errors(&self) -> usize {
        let kept = self
            .faults
            .borrow()
            .iter()
            .filter(|fault| fault.severity == Severity::Error)
            .count();
        kept + self.dropped.get().0
    }

    /// Whether further faults are only counted.
    pub fn is_full(&self) -> bool {
        self.faults.borrow().len() >= MOST_FAULTS
    }

    /// Reports that the package exceeds a bound. Each bound is reported once.
    pub fn exceeds(&self, place: impl Into<Place>, bound: Bound) {
        if self
            .faults
            .borrow()
            .iter()
            .all(|fault| fault.bound != Some(bound))
        {
            self.keep(
                Severity::Error,
                &place.into(),
                bound.to_string(),
                Some(bound),
            );
        }
    }

    /// Counts bytes of text. Returns false, and logs it, if the package has become too large.
    #[must_use]
    pub fn takes(&self, place: impl Into<Place>, bytes: usize) -> bool {
        self.text.set(self.text.get().saturating_add(bytes as u64));
        let fits = self.text.get() <= MOST_TEXT;
        if !fits {
            self.exceeds(place, Bound::Text);
        }
        fits
    }

    pub fn add(&self, severity: Severity, place: &Place, mut message: String) {
        if self.is_full() {
            let (errors, warnings) = self.dropped.get();
            self.dropped.set(match severity {
                Severity::Error => (errors + 1, warnings),
                Severity::Warning => (errors, warnings + 1),
            });
            return;
        }
        if message.len() > LONGEST_MESSAGE {
            let end = (0..=LONGEST_MESSAGE)
                .rev()
                .find(|at| message.is_char_boundary(*at))
                .unwrap_or_default();
            let more = message.len() - end;
            message.truncate(end);
            message.push_str(&format!(" [{more} more bytes]"));
            message.shrink_to_fit();
        }
        self.keep(severity, place, message, None);
    }

    fn keep(&self, severity: Severity, place: &Place, message: String, bound: Option<Bound>) {
        let mut file = self.package.borrow().clone();
        if !place.path.is_empty() {
            file.push(&*place.path);
        }
        let fault = Fault {
            path: file,
            line: place.line,
            column: place.column,
            severity,
            message,
            bound,
        };
        self.faults.borrow_mut().push(fault);
    }

    /// All faults if one of them is an error; otherwise the warnings.
    pub fn finish(self) -> Result<Vec<Fault>, Faults> {
        let mut faults = self.faults.into_inner();
        let (errors, warnings) = self.dropped.get();
        if errors + warnings > 0 {
            let severity = if errors > 0 {
                Severity::Error
            } else {
                Severity::Warning
            };
            let message = format!(
                "{errors} more errors and {warnings} more warnings are not shown; mend these first"
            );
            let path = self.package.into_inner();
            faults.push(Fault {
                path,
                line: None,
                column: None,
                severity,
                message,
                bound: None,
            });
        }
        faults.sort_by(|a, b| (&a.path, a.line, a.column).cmp(&(&b.path, b.line, b.column)));
        faults.dedup();
        match faults.iter().any(|fault| fault.severity == Severity::Error) {
            true => Err(Faults(faults)),
            false => Ok(faults),
        }
    }
}

/// ` (did you mean ...?)` if one of the words is similar to this one; otherwise an empty text.
///
/// A comparison takes memory and time in proportion to the product of both lengths, so a long word
/// has no similar one, and only the first of many words are compared.
pub(crate) fn did_you_mean<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> String {
    const LONGEST: usize = 100;
    const MOST: usize = 200;
    if word.len() > LONGEST {
        return String::new();
    }
    let near = words
        .into_iter()
        .take(MOST)
        .filter(|known| known.len() <= LONGEST)
        .map(|known| (strsim::damerau_levenshtein(word, known), known))
        .filter(|(distance, known)| *distance <= 1 + known.len() / 5)
        .min();
    near.map_or_else(String::new, |(_, known)| {
        format!("; did you mean {known:?}?")
    })
}
