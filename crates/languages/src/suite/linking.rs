//! Static or dynamic programs.
//!
//! A static program starts without the dynamic linker, which for a program of a few milliseconds is
//! a large part of its time. A suite names the arguments for each way. Whether the static libraries
//! are installed is found out by linking the suite's example once; see `compile`.

use serde::Serialize;

/// A way to link a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Link {
    /// Everything is in the executable.
    Static,
    /// Libraries are loaded when the program starts.
    Dynamic,
}

impl std::fmt::Display for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Link::Static => "static",
            Link::Dynamic => "dynamic",
        })
    }
}

/// How a suite's programs are linked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linking {
    /// The way that is tried first.
    wanted: Link,
    /// The compiler links only this way.
    fixed: bool,
    static_arguments: Vec<String>,
    dynamic_arguments: Vec<String>,
    /// Debian packages with the static libraries, as `apt install` takes them.
    package: String,
}

impl Linking {
    pub(super) fn fixed(link: Link) -> Linking {
        Linking {
            wanted: link,
            fixed: true,
            static_arguments: Vec::new(),
            dynamic_arguments: Vec::new(),
            package: String::new(),
        }
    }

    pub(super) fn either(
        wanted: Link,
        for_static: Vec<String>,
        for_dynamic: Vec<String>,
        package: String,
    ) -> Linking {
        Linking {
            wanted,
            fixed: false,
            static_arguments: for_static,
            dynamic_arguments: for_dynamic,
            package,
        }
    }

    pub(super) fn choose(&mut self, link: Link) {
        if !self.fixed {
            self.wanted = link;
        }
    }

    /// The way that is tried first.
    pub fn wanted(&self) -> Link {
        self.wanted
    }

    /// Whether the compiler links only this way.
    pub fn is_fixed(&self) -> bool {
        self.fixed
    }

    /// Debian packages with the static libraries, as `apt install` takes them; empty: none are
    /// needed.
    pub fn package(&self) -> &str {
        &self.package
    }

    pub(crate) fn arguments(&self, link: Link) -> &[String] {
        match link {
            Link::Static => &self.static_arguments,
            Link::Dynamic => &self.dynamic_arguments,
        }
    }
}
