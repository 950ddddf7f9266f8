//! Static or dynamic: which way a suite's programs are linked here.
//!
//! Whether static libraries are installed is found out by linking the suite's example once. That it
//! worked is kept in the cache, with the tools' identity; that it did not is tried again by the
//! next judge, since libraries may be installed at any time. A source that does not link statically
//! (it may use a library that has no static form) is compiled a second time, dynamically.

use super::build::BuildResult;
use super::tools::Tools;
use super::{CompileError, Input, Options, Toolbox, example, with_first_line};
use crate::cache::{Entry, KeyBuilder};
use crate::suite::{Link, Suite};

/// How a suite's programs are linked here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linkage {
    /// The way.
    pub link: Link,
    /// Why it is not the static one, although that was wanted, and what mends it.
    pub fallback: Option<Fallback>,
}

/// Why programs are not linked statically.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a static program cannot be linked here: {why}")]
pub struct Fallback {
    /// What came of trying, in one line.
    pub why: String,
    /// What mends it.
    pub remedy: String,
}

impl Fallback {
    /// For the beginning of a compiler's messages.
    pub(super) fn note(&self) -> String {
        format!("[millibox: linked dynamically: {self}; {}]\n", self.remedy)
    }
}

impl Toolbox<'_> {
    /// How the suite's programs are linked here; none: the suite says nothing of it. Tried once for
    /// a language.
    ///
    /// # Errors
    /// The suite cannot be used, or sandbox or machine failed while it was tried.
    pub fn linking(&self, suite: &Suite) -> Result<Option<Linkage>, String> {
        let tools = self.tools(suite).map_err(|why| why.to_string())?;
        self.linked(suite, &tools)
    }

    pub(super) fn linked(&self, suite: &Suite, tools: &Tools) -> Result<Option<Linkage>, String> {
        let Some(linking) = &suite.linking else {
            return Ok(None);
        };
        let as_wanted = Linkage {
            link: linking.wanted(),
            fallback: None,
        };
        if linking.is_fixed() || linking.wanted() == Link::Dynamic {
            return Ok(Some(as_wanted));
        }
        let found = self.links.get(&suite.language, || {
            let key = KeyBuilder::new()
                .with("static")
                .with(&suite.text)
                .with(&tools.identity)
                .key();
            if self.cache.get(&key, || self.store().ok()).is_some() {
                return Ok(None);
            }
            let input = Input::new(&example(suite), suite, &Options::default())?;
            let BuildResult {
                messages,
                figures,
                files,
                ..
            } = self.build_unproven(
                suite,
                tools,
                &input,
                &Options::default(),
                Some(Link::Static),
            );
            match files {
                Ok(_) => {
                    // What is kept is that it works, without the program.
                    if let Ok(files) = self.stored(&[]) {
                        self.cache.put(
                            &key,
                            &Entry {
                                messages,
                                figures,
                                files,
                            },
                        );
                    }
                    Ok(None)
                }
                // Nothing is said of the libraries.
                Err(CompileError::Judge(why)) => Err(why),
                Err(error) => Ok(Some(Fallback {
                    why: with_first_line(&error, &messages),
                    remedy: format!("apt install {}", linking.package()),
                })),
            }
        });
        found.map(|fallback| match fallback {
            None => Some(as_wanted),
            fallback => Some(Linkage {
                link: Link::Dynamic,
                fallback,
            }),
        })
    }

    /// Compiles as the suite is linked here. A source that does not link statically is compiled
    /// again, dynamically.
    pub(super) fn build_linked(
        &self,
        suite: &Suite,
        tools: &Tools,
        input: &Input,
        options: &Options,
        linked: Option<&Linkage>,
    ) -> BuildResult {
        let link = linked.map(|linked| linked.link);
        let built = self.build(suite, tools, input, options, link);
        let choice = suite
            .linking
            .as_ref()
            .is_some_and(|linking| !linking.is_fixed());
        // Compiler and linker fail alike, so this is also done for a source with a plain error in
        // it.
        if !(choice
            && link == Some(Link::Static)
            && matches!(built.files, Err(CompileError::Refused(_))))
        {
            return built;
        }
        let mut again = self.build(suite, tools, input, options, Some(Link::Dynamic));
        if again.files.is_ok() {
            again.messages.insert_str(
                0,
                "[millibox: it cannot be linked statically, so it is linked dynamically]\n",
            );
        }
        again
    }
}
