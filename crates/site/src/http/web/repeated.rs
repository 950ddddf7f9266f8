//! Forms whose fields may occur more than once, such as a list of check boxes.

use super::error::PageError;
use super::mistake::Mistake;
use serde::Deserialize;

/// The fields of a form, in their order.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Repeated(Vec<(String, String)>);

impl Repeated {
    /// The values of a field.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let fields = self.0.iter().filter(move |(field, _)| field == name);
        fields.map(|(_, value)| value.as_str())
    }

    /// The first value of a field; `None` if the form has no such field.
    pub fn get(&self, name: &str) -> Option<&str> {
        let field = self.0.iter().find(|(field, _)| field == name);
        field.map(|(_, value)| value.as_str())
    }

    /// The first value of a field that each form has.
    ///
    /// # Errors
    /// The form is not complete.
    pub fn required(&self, name: &str) -> Result<&str, PageError> {
        self.get(name).ok_or(PageError::Malformed)
    }

    /// The first value of a field; empty if the form has no such field.
    pub fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// A number from 1 to `max`; `None` if the field is empty or absent.
    ///
    /// # Errors
    /// The text is a different one.
    pub fn number(&self, name: &str, max: i64) -> Result<Option<i64>, Mistake> {
        match self.text(name).trim() {
            "" => Ok(None),
            text => match text.parse() {
                Ok(number) if (1..=max).contains(&number) => Ok(Some(number)),
                _ => Err(Mistake::NumberRange {
                    text: text.to_owned(),
                    max,
                }),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_by_name_and_numbers_have_a_range() {
        let fields = [
            ("a", "1"),
            ("b", " 7 "),
            ("a", "2"),
            ("c", "0"),
            ("d", "8"),
            ("e", " "),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let form = Repeated(fields.into());
        assert_eq!(form.all("a").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(
            (form.get("a"), form.get("x"), form.text("x")),
            (Some("1"), None, "")
        );
        let number = |name| form.number(name, 7).ok();
        let found = ["b", "c", "d", "e", "x"].map(number);
        assert_eq!(found, [Some(Some(7)), None, None, Some(None), Some(None)]);
    }
}
