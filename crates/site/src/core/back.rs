//! The address to which a form returns. It is always an address of this site.

use serde::{Deserialize, Serialize};

/// The maximum length of an address, in bytes. Pending sign-ins keep it in memory.
const MAX_BYTES: usize = 500;

/// An address of this site to which a form returns, if any.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Back(Option<String>);

impl From<String> for Back {
    fn from(address: String) -> Back {
        Back(Some(address).filter(|address| is_local(address)))
    }
}

impl From<Back> for String {
    fn from(back: Back) -> String {
        back.0.unwrap_or_default()
    }
}

impl Back {
    /// The address, or `other` if it is absent.
    pub fn or<'a>(&'a self, other: &'a str) -> &'a str {
        self.0.as_deref().unwrap_or(other)
    }

    /// The address for a hidden field of a form.
    pub fn address(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// A query that passes on the address; empty without an address.
    pub fn query(&self) -> String {
        let Some(address) = &self.0 else {
            return String::new();
        };
        let mut query = form_urlencoded::Serializer::for_suffix("?".to_owned(), 1);
        query.append_pair("back", address).finish()
    }

    /// The address in a query.
    pub fn of_query(query: &str) -> Back {
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        let found = pairs.find(|(name, _)| name == "back");
        found.map_or(Back::default(), |(_, address)| address.into_owned().into())
    }
}

/// Whether an address leads to a page of this site. Browsers read a backslash as a slash, remove
/// control characters, and read two slashes as the beginning of a host.
fn is_local(address: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    let is_path = address.starts_with('/') && !address.starts_with("//");
    is_path && address.len() <= MAX_BYTES && address.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_this_site_are_addresses() {
        for address in ["/", "/contests/1?round=2", "/a//b", "/enter/0f#x"] {
            let back = Back::from(address.to_owned());
            assert_eq!(back.address(), Some(address));
            let query = back.query();
            assert!(query.starts_with("?back="), "{query}");
            assert_eq!(Back::of_query(&query[1..]), back);
        }
        let long = format!("/{}", "x".repeat(MAX_BYTES));
        for address in [
            "",
            "//evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "https://evil.example/",
            "https:evil.example",
            "javascript:alert(1)",
            "evil",
            " /a",
            "/a b",
            "/\t/evil.example",
            "/\n/evil.example",
            "/a\r\nset-cookie: a=b",
            "/a\u{0}",
            "/ä",
            &long,
        ] {
            let back = Back::from(address.to_owned());
            assert_eq!(
                (back.or("/x"), back.query()),
                ("/x", String::new()),
                "{address}"
            );
        }
        assert_eq!(Back::of_query("x=1"), Back::default());
        assert_eq!(Back::of_query("back=//evil.example"), Back::default());
    }
}
