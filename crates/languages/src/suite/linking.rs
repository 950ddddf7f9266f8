//! Static or dynamic linking.
//!
//! A static program starts without the dynamic linker. In a program that runs for a few
//! milliseconds, the dynamic linker accounts for a large part of the time. A suite names the
//! compiler arguments for each way of linking. [`crate::compile`] links the example of the suite to
//! find out whether static libraries are installed.

use serde::Serialize;

/// A way to link a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Link {
    /// The executable contains all libraries.
    Static,
    /// The dynamic linker loads libraries when the program starts.
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
    /// The preferred way of linking.
    wanted: Link,
    /// Whether the compiler supports no other way.
    fixed: bool,
    static_arguments: Vec<String>,
    dynamic_arguments: Vec<String>,
    /// Debian packages with the static libraries.
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

    /// The preferred way of linking.
    pub fn wanted(&self) -> Link {
        self.wanted
    }

    /// Whether the compiler supports no other way.
    pub fn is_fixed(&self) -> bool {
        self.fixed
    }

    /// Debian packages with the static libraries, as arguments of `apt install`. The string is
    /// empty if the suite needs no package.
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
