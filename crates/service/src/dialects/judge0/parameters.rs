//! The parameters of requests.
//!
//! As in Rails, the fields of a body and those of the URL are parameters alike. Those of the URL
//! take precedence.

use super::error::RequestError;
use super::submission::{FIELDS, NEW_FIELDS};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde_json::{Map, Value};
use std::convert::Infallible;

/// Fields that are returned if a request does not specify any.
pub const DEFAULT_FIELDS: [&str; 8] = [
    "token",
    "time",
    "memory",
    "stdout",
    "stderr",
    "compile_output",
    "message",
    "status",
];

/// The parameters that are no fields of a submission.
const OPTIONS: [&str; 3] = ["base64_encoded", "fields", "wait"];

/// The parameters of a request.
#[derive(Debug, Clone, Default)]
pub struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Parses a query string.
    pub fn new(query: Option<&str>) -> Parameters {
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        Parameters(pairs.into_owned().collect())
    }

    /// The parameters together with the fields of a body.
    pub fn with_body(&self, fields: &Map<String, Value>) -> Parameters {
        let options = OPTIONS.into_iter().filter_map(|name| {
            let value = fields.get(name)?.as_str()?;
            Some((name.to_owned(), value.to_owned()))
        });
        Parameters(options.chain(self.0.iter().cloned()).collect())
    }

    /// Adds the parameters to the fields of a body.
    pub fn add_to(&self, fields: &mut Map<String, Value>) {
        for (name, value) in &self.0 {
            fields.insert(name.clone(), value.as_str().into());
        }
    }

    /// The value of a parameter; the last one if there are several.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut pairs = self.0.iter().rev();
        pairs
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// Whether a parameter is `true`.
    pub fn is_true(&self, name: &str) -> bool {
        self.get(name) == Some("true")
    }

    /// A whole number; text that does not begin with a digit is 0.
    pub fn number(&self, name: &str) -> Option<i64> {
        let text = self.get(name)?.trim();
        let digits = text
            .bytes()
            .enumerate()
            .take_while(|(at, byte)| byte.is_ascii_digit() || (*at == 0 && *byte == b'-'))
            .count();
        Some(text[..digits].parse().unwrap_or_default())
    }

    /// The fields of submissions to return.
    ///
    /// # Errors
    /// No submission has such a field.
    pub fn fields(&self) -> Result<Vec<&'static str>, RequestError> {
        let wanted = self.get("fields").unwrap_or_default();
        let wanted = wanted.split(',').filter(|name| !name.is_empty());
        let (mut fields, mut unknown) = (Vec::new(), Vec::new());
        for name in wanted {
            match FIELDS.iter().find(|known| **known == name) {
                Some(field) => fields.push(*field),
                None if name == "*" => {
                    fields.extend(FIELDS.iter().filter(|field| !NEW_FIELDS.contains(field)));
                }
                None => unknown.push(name.to_owned()),
            }
        }
        if !unknown.is_empty() {
            return Err(RequestError::UnknownFields(unknown));
        }
        if fields.is_empty() {
            fields.extend(DEFAULT_FIELDS);
        }
        Ok(fields)
    }
}

impl<S: Sync> FromRequestParts<S> for Parameters {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Parameters, Infallible> {
        Ok(Parameters::new(parts.uri.query()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_known_ones_or_the_default() {
        let fields = |query| Parameters::new(Some(query)).fields();
        assert_eq!(fields("").unwrap(), DEFAULT_FIELDS);
        assert_eq!(
            fields("fields=stdout,status_id").unwrap(),
            ["stdout", "status_id"]
        );
        assert_eq!(fields("fields=*").unwrap().len(), FIELDS.len() - 5);
        assert_eq!(fields("fields=started_at").unwrap(), ["started_at"]);
        assert_eq!(
            fields("fields=a,stdout,b"),
            Err(RequestError::UnknownFields(vec![
                "a".to_owned(),
                "b".to_owned()
            ]))
        );
    }

    #[test]
    fn parameters_of_the_url_precede_the_fields_of_the_body() {
        let parameters = Parameters::new(Some("fields=stdout&language_id=71"));
        let body = serde_json::json!({
            "fields": "stderr", "wait": "true", "base64_encoded": true, "language_id": 50,
        });
        let mut body = body.as_object().cloned().unwrap();
        let joined = parameters.with_body(&body);
        assert_eq!(joined.fields().unwrap(), ["stdout"]);
        // Judge0 compares the text, so a Boolean value is not enough.
        assert!(joined.is_true("wait") && !joined.is_true("base64_encoded"));
        parameters.add_to(&mut body);
        assert_eq!(body["language_id"], "71");
    }

    #[test]
    fn last_parameter_counts_and_numbers_are_lenient() {
        let parameters = Parameters::new(Some("page=1&page=-3x&per_page=x&wait=true&e=%3D"));
        assert_eq!(parameters.number("page"), Some(-3));
        assert_eq!(parameters.number("per_page"), Some(0));
        assert_eq!(parameters.number("none"), None);
        assert!(parameters.is_true("wait") && !parameters.is_true("page"));
        assert_eq!(parameters.get("e"), Some("="));
    }
}
