//! The files beside generators.yaml.

use crate::tree::{Kind, Tree};
use std::collections::HashMap;

/// The directory of the generators.
pub const DIRECTORY: &str = "generators";

/// The files and directories beside generators.yaml.
#[non_exhaustive]
pub struct Siblings<'a> {
    pub names: Vec<&'a str>,
    /// Paths of files by their names without extensions.
    pub stems: HashMap<&'a str, Vec<&'a str>>,
}

impl<'a> Siblings<'a> {
    pub fn of(tree: &'a Tree) -> Siblings<'a> {
        let mut siblings = Siblings {
            names: Vec::new(),
            stems: HashMap::new(),
        };
        for (name, path, kind) in tree.children(DIRECTORY) {
            siblings.names.push(name);
            if let Some((stem, extension)) = name.rsplit_once('.')
                && kind == Kind::File
                && extension != "yaml"
            {
                siblings.stems.entry(stem).or_default().push(path);
            }
        }
        siblings
    }
}
