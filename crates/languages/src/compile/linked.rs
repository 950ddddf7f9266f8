//! Chooses static or dynamic linking on this machine.
//!
//! Linking the example of a suite once shows whether static libraries are installed. A success is
//! stored in the cache, with the identity of the tools. A failure is not cached, because libraries
//! may be installed at any time. A source that does not link statically, for example because it
//! uses a library without a static form, is compiled again with dynamic linking.

use super::availability::Remedy;
use super::build::{BuildResult, Spent};
use super::builder::Builder;
use super::error::{BuildError, CompileError, InternalError, Limit};
use super::input::Input;
use super::memo::Memo;
use super::options::Options;
use super::tools::Tools;
use crate::cache::{Entry, KeyBuilder};
use crate::suite::{Link, Suite};

/// How the programs of a suite are linked on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Linkage {
    /// Whether programs are linked statically or dynamically.
    pub link: Link,
    /// Why programs are linked dynamically although the suite prefers static linking.
    pub fallback: Option<Fallback>,
}

/// Why programs are not linked statically.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a static program cannot be linked here: {error}")]
#[non_exhaustive]
pub struct Fallback {
    /// The result of linking the example statically.
    pub error: BuildError,
    /// The remedy.
    pub remedy: Remedy,
}

impl Fallback {
    /// Returns the first line of a compilation's messages.
    pub(super) fn note(&self) -> String {
        format!("[millibox: linked dynamically: {self}; {}]\n", self.remedy)
    }
}

/// What is known about linking for each language: why static linking fails, if it does.
#[derive(Debug, Default)]
pub(super) struct Links(Memo<Result<Option<Fallback>, InternalError>>);

impl Links {
    /// Returns how the suite's programs are linked, or `None` if the suite does not choose.
    pub(super) fn linkage(
        &self,
        builder: &Builder<'_>,
        suite: &Suite,
        tools: &Tools,
    ) -> Result<Option<Linkage>, InternalError> {
        let Some(linking) = &suite.linking else {
            return Ok(None);
        };
        let preferred = Linkage {
            link: linking.wanted(),
            fallback: None,
        };
        if linking.is_fixed() || linking.wanted() == Link::Dynamic {
            return Ok(Some(preferred));
        }
        let found = self.0.get(&suite.language, || {
            try_static(builder, suite, tools, linking.package())
        });
        found.map(|fallback| match fallback {
            None => Some(preferred),
            fallback => Some(Linkage {
                link: Link::Dynamic,
                fallback,
            }),
        })
    }
}

/// Links the example statically. If that fails, returns the reason.
fn try_static(
    builder: &Builder<'_>,
    suite: &Suite,
    tools: &Tools,
    package: &str,
) -> Result<Option<Fallback>, InternalError> {
    let key = KeyBuilder::new()
        .with("static")
        .with(&suite.text)
        .with(&tools.identity)
        .key();
    if builder.cache.get(&key, || builder.store().ok()).is_some() {
        return Ok(None);
    }
    let input = Input::example(suite).map_err(|refusal| InternalError::Suite {
        title: suite.title.clone(),
        error: Box::new(BuildError::new(refusal, "")),
    })?;
    let options = Options::default();
    let BuildResult {
        messages,
        figures,
        files,
        ..
    } = builder.build_unproven(
        suite,
        tools,
        &input,
        &options,
        Some(Link::Static),
        Spent::default(),
    );
    match files {
        Ok(_) => {
            // The entry records the success and needs no program.
            if let Ok(files) = builder.stored(&[]) {
                builder.cache.put(
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
        // The failure does not concern the libraries.
        Err(CompileError::Internal(error)) => Err(error),
        Err(error) => Ok(Some(Fallback {
            error: BuildError::new(error, &messages),
            remedy: Remedy::Install {
                package: package.to_owned(),
                hint: None,
            },
        })),
    }
}

/// Builds a product with the linkage of the suite. A source that does not link statically is
/// compiled again with dynamic linking.
pub(super) fn build(
    builder: &Builder<'_>,
    suite: &Suite,
    tools: &Tools,
    input: &Input,
    options: &Options,
    linkage: Option<&Linkage>,
) -> BuildResult {
    let link = linkage.map(|linkage| linkage.link);
    let mut built = builder.build(suite, tools, input, options, link, Spent::default());
    let has_choice = suite
        .linking
        .as_ref()
        .is_some_and(|linking| !linking.is_fixed());
    // A failure of the compiler looks like a failure of the linker, so a source with an error is
    // also compiled twice.
    let is_refused = matches!(built.files, Err(CompileError::Refused(_)));
    if !(has_choice && link == Some(Link::Static) && is_refused) {
        return built;
    }
    // Both attempts share the limits, so a source with an error cannot use them twice.
    let spent = Spent::of(built.figures.as_ref());
    let mut again = builder.build(suite, tools, input, options, Some(Link::Dynamic), spent);
    match again.files {
        Ok(_) => again.messages.insert_str(
            0,
            "[millibox: it cannot be linked statically, so it is linked dynamically]\n",
        ),
        Err(CompileError::Limit(Limit::CpuTime(_) | Limit::RealTime(_))) => {
            built.messages.insert_str(
                0,
                "[millibox: static linking left too little time to try dynamic linking]\n",
            );
            return built;
        }
        Err(_) => {}
    }
    again
}
