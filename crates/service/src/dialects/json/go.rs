//! The rules by which Go's `encoding/json` assigns a document to a type.
//!
//! * A key is that of a field in any case, unless another field has exactly this name.
//! * Of several values for a field, the last one counts. Objects are joined.
//! * `null` leaves a field as it is, except that options, sequences and maps become empty, as
//!   pointers, slices and maps do in Go.
//! * Unknown keys are ignored, and an array is no object.

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{
    self, Deserialize, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Number};
use std::fmt;

/// A JSON value that keeps the order of keys and those that occur twice.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Tree {
    #[default]
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
    /// `null` after an earlier value of the same field.
    Cleared(Box<Tree>),
}

impl Tree {
    /// The value for fields that `null` leaves as they are.
    fn unless_cleared(self) -> Tree {
        match self {
            Tree::Cleared(earlier) => *earlier,
            value => value,
        }
    }

    /// A later value of the same field.
    fn assign(&mut self, later: Tree) {
        let earlier = std::mem::take(self);
        *self = match (earlier, later) {
            (cleared @ (Tree::Null | Tree::Cleared(_)), Tree::Null) => cleared,
            (earlier, Tree::Null) => Tree::Cleared(Box::new(earlier)),
            (Tree::Object(mut fields), Tree::Object(more)) => {
                fields.extend(more);
                Tree::Object(fields)
            }
            (_, later) => later,
        };
    }
}

/// The values of the fields with these names.
fn assigned(
    object: Vec<(String, Tree)>,
    names: &'static [&'static str],
) -> Vec<(&'static str, Tree)> {
    let mut fields: Vec<(&str, Tree)> = Vec::new();
    for (key, value) in object {
        let exact = names.iter().find(|name| **name == key);
        let name = exact.or_else(|| names.iter().find(|name| is_same(name, &key)));
        let Some(name) = name else { continue };
        match fields.iter_mut().find(|(known, _)| known == name) {
            Some((_, earlier)) => earlier.assign(value),
            None => fields.push((name, value)),
        }
    }
    fields
}

/// Whether a key is the name of a field in any case. Unicode has two more forms of ASCII letters.
fn is_same(name: &str, key: &str) -> bool {
    let ascii = |character| match character {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        character => character.to_ascii_lowercase(),
    };
    let name = name.chars().map(|character| character.to_ascii_lowercase());
    key.chars().map(ascii).eq(name)
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tree, D::Error> {
        struct AnyValue;

        impl<'de> Visitor<'de> for AnyValue {
            type Value = Tree;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a JSON value")
            }

            fn visit_unit<E>(self) -> Result<Tree, E> {
                Ok(Tree::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
                Ok(Tree::Bool(value))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
                Ok(Tree::Number(value.into()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
                Ok(Tree::Number(value.into()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
                Ok(Number::from_f64(value).map_or(Tree::Null, Tree::Number))
            }

            fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
                Ok(Tree::Text(value.to_owned()))
            }

            fn visit_string<E>(self, value: String) -> Result<Tree, E> {
                Ok(Tree::Text(value))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Tree::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tree, A::Error> {
                let mut object = Vec::new();
                while let Some(entry) = entries.next_entry()? {
                    object.push(entry);
                }
                Ok(Tree::Object(object))
            }
        }

        deserializer.deserialize_any(AnyValue)
    }
}

impl IntoDeserializer<'_, Error> for Tree {
    type Deserializer = Tree;

    fn into_deserializer(self) -> Tree {
        self
    }
}

/// Defines methods for types that `null` leaves as they are, with their zero values.
macro_rules! scalars {
    ($($method:ident => $zero:expr;)*) => {
        $(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
                match self.unless_cleared() {
                    Tree::Null => $zero.into_deserializer().$method(visitor),
                    value => value.deserialize_any(visitor),
                }
            }
        )*
    };
}

impl<'de> Deserializer<'de> for Tree {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Tree::Null | Tree::Cleared(_) => visitor.visit_unit(),
            Tree::Bool(value) => visitor.visit_bool(value),
            Tree::Number(number) => number.deserialize_any(visitor),
            Tree::Text(text) => visitor.visit_string(text),
            Tree::List(list) => visitor.visit_seq(SeqDeserializer::new(list.into_iter())),
            Tree::Object(object) => visitor.visit_map(MapDeserializer::new(object.into_iter())),
        }
    }

    scalars! {
        deserialize_bool => false;
        deserialize_i64 => 0i64;
        deserialize_u64 => 0u64;
        deserialize_u16 => 0u16;
        deserialize_string => String::new();
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Tree::Null | Tree::Cleared(_) => visitor.visit_none(),
            value => visitor.visit_some(value),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Tree::Null | Tree::Cleared(_) => Tree::List(Vec::new()).deserialize_any(visitor),
            value => value.deserialize_any(visitor),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Tree::Null | Tree::Cleared(_) => Tree::Object(Vec::new()).deserialize_any(visitor),
            value => value.deserialize_any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let object = match self.unless_cleared() {
            Tree::Null => Vec::new(),
            Tree::Object(object) => object,
            Tree::List(_) => return Err(de::Error::invalid_type(Unexpected::Seq, &visitor)),
            value => return value.deserialize_any(visitor),
        };
        visitor.visit_map(MapDeserializer::new(assigned(object, names).into_iter()))
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u32 u128 f32 f64 char str bytes byte_buf unit unit_struct
        newtype_struct tuple tuple_struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::super::go;
    use serde::Deserialize;
    use std::collections::BTreeMap;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Sample {
        task_size: u64,
        exact: i64,
        #[serde(rename = "EXACT")]
        upper: i64,
        name: String,
        link: Option<String>,
        list: Vec<String>,
        map: BTreeMap<String, Inner>,
        inner: Inner,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Inner {
        a: u64,
        b: bool,
    }

    fn sample(text: &str) -> Sample {
        go(text.as_bytes()).unwrap()
    }

    #[test]
    fn keys_match_in_any_case_and_exact_ones_first() {
        for key in ["taskSize", "tasksize", "TASKSIZE", "ta\u{17f}\u{212a}Size"] {
            assert_eq!(sample(&format!("{{\"{key}\":1}}")).task_size, 1, "{key}");
        }
        let found = sample(r#"{"EXACT":2,"exact":1,"Task_Size":3}"#);
        assert_eq!((found.exact, found.upper, found.task_size), (1, 2, 0));
    }

    #[test]
    fn last_value_counts_and_objects_are_joined() {
        let text = r#"{"name":"x","NAME":"y","inner":{"a":1},"Inner":{"B":true},
            "map":{"k":{"a":1},"K":{},"k":{"b":true}},"list":["a","b"],"list":["c"]}"#;
        let found = sample(text);
        let inner = |a, b| Inner { a, b };
        assert_eq!((&found.name[..], found.inner), ("y", inner(1, true)));
        assert_eq!(
            (&found.map["k"], &found.map["K"]),
            (&inner(0, true), &inner(0, false))
        );
        assert_eq!(found.list, ["c"]);
    }

    #[test]
    fn null_leaves_scalars_and_empties_the_rest() {
        let text = r#"{"name":"x","name":null,"link":"x","link":null,"list":[null,"b"],
            "map":{"k":null},"taskSize":null,"inner":null}"#;
        let found = sample(text);
        assert_eq!((&found.name[..], found.link), ("x", None));
        assert_eq!(found.list, ["", "b"]);
        assert_eq!(found.map["k"], Inner::default());
        assert!(sample(r#"{"list":["a"],"list":null}"#).list.is_empty());
        assert_eq!(sample("null"), Sample::default());
    }

    #[test]
    fn wrong_types_are_rejected_and_later_text_is_not_read() {
        for text in [
            r#"{"taskSize":-1}"#,
            r#"{"taskSize":1.5}"#,
            r#"{"taskSize":"1"}"#,
            r#"{"inner":[1,true]}"#,
            r#"{"inner":{"b":1}}"#,
            r#"{"list":{}}"#,
            "[]",
            "",
            r#"{"name":"x""#,
        ] {
            go::<Sample>(text.as_bytes()).unwrap_err();
        }
        assert_eq!(sample("{\"taskSize\":1} {").task_size, 1);
        assert_eq!(sample(r#"{"name":"\ud800<"}"#).name, "\u{fffd}<");
    }
}
