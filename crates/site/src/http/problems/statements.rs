//! A cache of rendered statements and sources, because many users open the same problem at the same
//! moment.
//!
//! A version of a package never changes, so its rendered statements stay valid, unless the PDF of a
//! statement is missing. Callers first check whether the viewer may see a statement.

use crate::core::kept::Kept;
use crate::core::package::{File, Manifest};
use maud::Markup;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The number of entries to keep of each kind.
const MAX_ENTRIES: usize = 128;
/// The maximum size of a statement or source that is kept, in bytes.
const MAX_BYTES: usize = 256 << 10;

/// The cached values.
#[derive(Debug)]
pub struct Statements {
    /// Descriptions of packages, by the number of the version.
    manifests: Mutex<Kept<i64, Arc<Manifest>>>,
    /// HTML, by [`key`].
    pages: Mutex<Kept<String, Arc<str>>>,
}

impl Default for Statements {
    fn default() -> Statements {
        Statements {
            manifests: Mutex::new(Kept::new(MAX_ENTRIES)),
            pages: Mutex::new(Kept::new(MAX_ENTRIES)),
        }
    }
}

fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The key of the HTML of a text: its content, the address of its images and their names.
pub fn key(images: &[File], digest: &str, files: &str) -> String {
    let images = images.iter().map(|image| image.name.as_str());
    let images: Vec<&str> = images.collect();
    format!("{digest}\n{files}\n{}", images.join("\n"))
}

impl Statements {
    /// The description of a version, if it is kept.
    pub fn manifest(&self, version: i64) -> Option<Arc<Manifest>> {
        lock(&self.manifests).get(&version).cloned()
    }

    /// Keeps the description of a version, unless a job can add a PDF to it.
    pub fn keep_manifest(&self, version: i64, manifest: Manifest) -> Arc<Manifest> {
        let manifest = Arc::new(manifest);
        if manifest.sources.is_empty() {
            lock(&self.manifests).insert(version, manifest.clone());
        }
        manifest
    }

    /// A statement as HTML, if it is kept.
    pub fn page(&self, key: &String) -> Option<Arc<str>> {
        lock(&self.pages).get(key).cloned()
    }

    /// Keeps a statement.
    pub fn keep_page(&self, key: String, html: String) -> Arc<str> {
        let html: Arc<str> = html.into();
        if html.len() <= MAX_BYTES {
            lock(&self.pages).insert(key, html.clone());
        }
        html
    }
}

/// A source as it is shown.
#[derive(Debug)]
pub struct Shown {
    /// The source.
    pub view: Markup,
    /// Its changes since the author's previous submission.
    pub changes: Option<Markup>,
}

/// What determines how a source is shown: the submission, the previous one and the language.
pub type SourceKey = (i64, Option<i64>, String);

/// The sources that were shown last.
#[derive(Debug)]
pub struct Sources(Mutex<Kept<SourceKey, Arc<Shown>>>);

impl Default for Sources {
    fn default() -> Sources {
        Sources(Mutex::new(Kept::new(MAX_ENTRIES)))
    }
}

impl Sources {
    /// A source, if it is kept.
    pub fn get(&self, key: &SourceKey) -> Option<Arc<Shown>> {
        lock(&self.0).get(key).cloned()
    }

    /// Keeps a source that is not too large.
    pub fn keep(&self, key: SourceKey, shown: Shown) -> Arc<Shown> {
        let shown = Arc::new(shown);
        let changes = shown.changes.as_ref().map_or(0, |it| it.0.len());
        if shown.view.0.len() + changes <= MAX_BYTES {
            lock(&self.0).insert(key, shown.clone());
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::package::Source;

    #[test]
    fn kept_statements_are_bounded() {
        let statements = Statements::default();
        let key = |digest: &str, files: &str| key(&[], digest, files);
        statements.keep_page(key("a", "/problems/1"), "one".to_owned());
        let page = |digest, files| statements.page(&key(digest, files));
        assert_eq!(page("a", "/problems/1").as_deref(), Some("one"));
        assert!(page("a", "/problems/2").is_none(), "its images differ");
        assert!(page("b", "/problems/1").is_none(), "another text");
        let image = File {
            name: "a.png".to_owned(),
            media: "image/png".to_owned(),
            digest: "d".to_owned(),
        };
        let other = super::key(&[image], "a", "/problems/1");
        assert!(statements.page(&other).is_none(), "an image is known");
        let long = "x".repeat(MAX_BYTES + 1);
        let shown = statements.keep_page(key("b", "/"), long.clone());
        assert_eq!(*shown, *long);
        assert!(page("b", "/").is_none());
        let source = Source {
            language: "en".to_owned(),
            path: "a.tex".into(),
            digest: "d".to_owned(),
            failure: None,
        };
        let unfinished = Manifest {
            sources: vec![source],
            ..Manifest::default()
        };
        statements.keep_manifest(-2, unfinished);
        assert!(statements.manifest(-2).is_none(), "a PDF may be added");
        for number in 0..i64::try_from(MAX_ENTRIES).unwrap() {
            statements.keep_manifest(number, Manifest::default());
        }
        assert!(statements.manifest(0).is_some());
        statements.keep_manifest(-1, Manifest::default());
        assert!(statements.manifest(1).is_none() && statements.manifest(-1).is_some());
        assert!(statements.manifest(0).is_some(), "it was used");
    }
}
