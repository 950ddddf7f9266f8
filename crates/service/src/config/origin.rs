//! Origins of web pages, as browsers send them.

use axum::http::Uri;
use serde::Deserialize;
use std::str::FromStr;

/// Stands for all origins.
const ANY: &str = "*";

/// An origin such as `https://box.example.org`, without a path, or `*` for all origins.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Origin(String);

/// The text is not an origin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not an origin; write it as https://box.example.org or http://127.0.0.1:3000, or `*` \
     for all origins"
)]
pub struct OriginError(String);

impl Origin {
    /// Whether this stands for all origins.
    pub fn is_any(&self) -> bool {
        self.0 == ANY
    }

    /// The origin as browsers send it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Origin {
    type Err = OriginError;

    fn from_str(text: &str) -> Result<Origin, OriginError> {
        if text == ANY {
            return Ok(Origin(text.to_owned()));
        }
        let error = || OriginError(text.to_owned());
        let uri: Uri = text.parse().map_err(|_| error())?;
        let authority = uri.authority().ok_or_else(error)?;
        let scheme = uri.scheme_str().ok_or_else(error)?;
        // Browsers send neither a path nor capital letters.
        let origin = format!("{scheme}://{authority}");
        if matches!(scheme, "http" | "https") && text.to_lowercase() == text && origin == text {
            Ok(Origin(origin))
        } else {
            Err(error())
        }
    }
}

impl TryFrom<String> for Origin {
    type Error = OriginError;

    fn try_from(text: String) -> Result<Origin, OriginError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origin_has_scheme_and_authority_only() {
        for text in [
            "https://box.example.org",
            "http://127.0.0.1:3000",
            "http://[::1]:80",
            "*",
        ] {
            assert_eq!(text.parse::<Origin>().unwrap().as_str(), text);
        }
        for text in [
            "",
            "null",
            "box.example.org",
            "ftp://box.example.org",
            "https://box.example.org/",
            "https://Box.example.org",
        ] {
            assert_eq!(text.parse::<Origin>(), Err(OriginError(text.to_owned())));
        }
    }
}
