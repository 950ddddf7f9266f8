//! Collects the faults of a package while it is read.

use super::{Fault, FaultKind, Faults, Severity};
use crate::bound::{Bound, MAX_TEXT_BYTES};
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Maximum number of faults that are kept. Further faults are only counted.
const MAX_FAULTS: usize = 1_000;

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

    /// Returns a place in the same file.
    pub fn at(&self, line: u32, column: u32) -> Place {
        Place {
            path: Rc::clone(&self.path),
            line: Some(line),
            column: Some(column),
        }
    }

    /// Returns a line of the same file.
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

/// The faults found so far. Reading continues after a fault to find the others.
pub(crate) struct Log {
    package: RefCell<PathBuf>,
    faults: RefCell<Vec<Fault>>,
    /// The numbers of errors and warnings that were not kept.
    dropped: Cell<(usize, usize)>,
    /// The number of bytes of text that were read; see [`MAX_TEXT_BYTES`].
    text_bytes: Cell<u64>,
}

impl Log {
    pub fn new(package: &Path) -> Log {
        Log {
            package: RefCell::new(package.to_owned()),
            faults: RefCell::default(),
            dropped: Cell::default(),
            text_bytes: Cell::default(),
        }
    }

    /// Sets the package's directory, to which all later paths are relative.
    pub fn enter(&self, directory: &Path) {
        self.package.borrow_mut().push(directory);
    }

    pub fn error(&self, place: impl Into<Place>, kind: impl Into<FaultKind>) {
        self.add(Severity::Error, &place.into(), kind);
    }

    pub fn warning(&self, place: impl Into<Place>, kind: impl Into<FaultKind>) {
        self.add(Severity::Warning, &place.into(), kind);
    }

    /// Reads a part of the package that judging does not need. Faults in this part become warnings.
    pub fn mildly<T>(&self, read: impl FnOnce() -> T) -> T {
        let before = self.faults.borrow().len();
        let (errors, warnings) = self.dropped.get();
        let read = read();
        let mut faults = self.faults.borrow_mut();
        // An exceeded bound always stays an error, because reading would continue otherwise.
        let mild = faults[before..]
            .iter_mut()
            .filter(|fault| fault.bound().is_none());
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

    /// Whether additional faults are only counted.
    pub fn is_full(&self) -> bool {
        self.faults.borrow().len() >= MAX_FAULTS
    }

    /// Reports that the package exceeds a bound. Each bound is reported once.
    pub fn exceeds(&self, place: impl Into<Place>, bound: Bound) {
        let is_new = self
            .faults
            .borrow()
            .iter()
            .all(|fault| fault.bound() != Some(bound));
        if is_new {
            self.keep(Severity::Error, &place.into(), bound.into());
        }
    }

    /// Counts bytes of text. If the package has too many, reports this and returns false.
    #[must_use]
    pub fn takes(&self, place: impl Into<Place>, bytes: usize) -> bool {
        self.text_bytes
            .set(self.text_bytes.get().saturating_add(bytes as u64));
        let fits = self.text_bytes.get() <= MAX_TEXT_BYTES;
        if !fits {
            self.exceeds(place, Bound::Text);
        }
        fits
    }

    pub fn add(&self, severity: Severity, place: &Place, kind: impl Into<FaultKind>) {
        if self.is_full() {
            let (errors, warnings) = self.dropped.get();
            self.dropped.set(match severity {
                Severity::Error => (errors + 1, warnings),
                Severity::Warning => (errors, warnings + 1),
            });
            return;
        }
        self.keep(severity, place, kind.into());
    }

    fn keep(&self, severity: Severity, place: &Place, kind: FaultKind) {
        let mut path = self.package.borrow().clone();
        if !place.path.is_empty() {
            path.push(&*place.path);
        }
        self.faults.borrow_mut().push(Fault {
            path,
            line: place.line,
            column: place.column,
            severity,
            kind,
        });
    }

    /// Returns all faults if one of them is an error, and otherwise the warnings.
    pub fn finish(self) -> Result<Vec<Fault>, Faults> {
        let mut faults = self.faults.into_inner();
        let (errors, warnings) = self.dropped.get();
        if errors + warnings > 0 {
            let severity = if errors > 0 {
                Severity::Error
            } else {
                Severity::Warning
            };
            let kind = FaultKind::NotShown { errors, warnings };
            faults.push(Fault::new(self.package.into_inner(), severity, kind));
        }
        faults.sort_by(|a, b| (&a.path, a.line, a.column).cmp(&(&b.path, b.line, b.column)));
        faults.dedup();
        match faults.iter().any(|fault| fault.severity == Severity::Error) {
            true => Err(Faults(faults)),
            false => Ok(faults),
        }
    }
}
