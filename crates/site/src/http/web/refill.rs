//! Puts what was typed back into the form of a page, and the mistake at its field.
//!
//! The page is one of this site, rendered for the viewer. Its tags are therefore well-formed, with
//! the values of attributes in double quotes, and texts contain no `<`. What was typed is escaped.
//! Passwords, one-time passwords, hidden and read-only fields keep the values that the page has for
//! them. Only hidden fields with the times that the form has shown keep these times.

use super::zones::SHOWN;
use maud::{Markup, Render, html};
use std::collections::HashMap;
use std::ops::Range;

/// The name of the hidden field with the path of the page that has the form.
pub const PAGE_FIELD: &str = "form-page";
/// The identifier of the element with the message.
const MESSAGE: &str = "form-mistake";

/// What was typed into a form.
#[derive(Debug, Default)]
pub struct Typed {
    /// The values of each field, in their order.
    pub values: HashMap<String, Vec<String>>,
    /// Fields that are absent were not sent. Otherwise, they may only not have been read.
    pub is_whole: bool,
}

impl Typed {
    fn of(&self, name: &str) -> &[String] {
        self.values.get(name).map_or(&[], Vec::as_slice)
    }
}

/// A form that was rejected.
pub struct Rejected<'r> {
    /// The path to which the form was sent.
    pub action: &'r str,
    /// The path of the page with the form.
    pub page: &'r str,
    /// What was typed; `None` if it is not known.
    pub typed: Option<&'r Typed>,
    /// Whether a field with this name and this value may have the mistake.
    pub concerns: &'r dyn Fn(&str, &str) -> bool,
    /// The field whose hidden field gets the current time.
    pub renewed: Option<&'r str>,
    /// What the title of the page begins with.
    pub title: &'r Markup,
    /// The reason.
    pub message: &'r Markup,
    /// The request to choose a file again.
    pub file_again: &'r Markup,
    /// The same for a field for several files.
    pub files_again: &'r Markup,
}

/// A tag: its place in the page, its name and its attributes.
struct Tag<'p> {
    place: Range<usize>,
    name: &'p str,
    attributes: &'p str,
}

impl<'p> Tag<'p> {
    /// The names of the attributes, and their values as they are written.
    fn attributes(&self) -> impl Iterator<Item = (&'p str, Option<&'p str>)> {
        let mut rest = self.attributes;
        std::iter::from_fn(move || {
            rest = rest.trim_start();
            let end = rest.find(['=', ' ']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            if name.is_empty() {
                return None;
            }
            let value = after.strip_prefix("=\"").and_then(|it| it.split_once('"'));
            rest = value.map_or(after.trim_start_matches('='), |(_, after)| after);
            Some((name, value.map(|(value, _)| value)))
        })
    }

    /// The value of an attribute as it is written; `None` if the tag does not have it.
    fn raw(&self, name: &str) -> Option<&'p str> {
        let mut attributes = self.attributes();
        let found = attributes.find(|(found, _)| *found == name);
        found.map(|(_, value)| value.unwrap_or_default())
    }

    fn attribute(&self, name: &str) -> Option<String> {
        self.raw(name).map(unescaped)
    }

    /// The tag without some attributes, and with others at its end.
    fn with(&self, removed: &[&str], added: &str) -> String {
        let mut tag = format!("<{}", self.name);
        for (name, value) in self.attributes() {
            if !removed.contains(&name) {
                tag.push(' ');
                tag.push_str(name);
                if let Some(value) = value {
                    tag.push_str("=\"");
                    tag.push_str(value);
                    tag.push('"');
                }
            }
        }
        tag.push_str(added);
        tag.push('>');
        tag
    }
}

fn unescaped(text: &str) -> String {
    let pairs = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&amp;", "&"),
    ];
    let replace = |text: String, (from, to): (&str, &str)| text.replace(from, to);
    pairs.into_iter().fold(text.to_owned(), replace)
}

/// A text for the content of an element, or for an attribute in double quotes.
fn escaped(text: &str) -> String {
    text.replace('\0', "").render().into_string()
}

/// The end of a tag, which is not inside quotes.
fn tag_end(text: &str) -> Option<usize> {
    let mut is_quoted = false;
    text.bytes().position(|byte| {
        is_quoted ^= byte == b'"';
        byte == b'>' && !is_quoted
    })
}

/// The first tag that begins in a part of the page.
fn next_tag(page: &str, part: Range<usize>) -> Option<Tag<'_>> {
    let begin = part.start + page.get(part.clone())?.find('<')?;
    let end = begin + tag_end(page.get(begin..part.end)?)?;
    let inner = &page[begin + 1..end];
    let name_end = inner.find(' ').unwrap_or(inner.len());
    Some(Tag {
        place: begin..end + 1,
        name: &inner[..name_end],
        attributes: &inner[name_end..],
    })
}

fn tags(page: &str, part: Range<usize>) -> impl Iterator<Item = Tag<'_>> {
    let mut from = part.start;
    std::iter::from_fn(move || {
        let tag = next_tag(page, from..part.end)?;
        from = tag.place.end;
        Some(tag)
    })
}

/// A form of a page: its tag, and the place of its content.
struct Form<'p> {
    tag: Tag<'p>,
    content: Range<usize>,
}

fn forms(page: &str) -> Vec<Form<'_>> {
    let found = tags(page, 0..page.len()).filter(|tag| tag.name == "form");
    let forms = found.filter_map(|tag| {
        let begin = tag.place.end;
        let end = begin + page[begin..].find("</form>")?;
        let content = begin..end;
        Some(Form { tag, content })
    });
    forms.collect()
}

fn path(address: &str) -> &str {
    address.split(['?', '#']).next().unwrap_or_default()
}

/// What a field of a form shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A text in one line, a number, a time, or the like.
    Line,
    Area,
    Select,
    /// A check box or a radio button.
    Check,
    File,
    /// A text that is never shown again.
    Secret,
    /// A hidden time that the form has shown.
    Shown,
}

impl Kind {
    /// The kind of a field; `None` if the user does not fill it in.
    fn of(tag: &Tag<'_>) -> Option<Kind> {
        if tag.raw("hidden").is_some() || tag.raw("readonly").is_some() {
            return None;
        }
        let is_shown = |name: &str| name.starts_with(SHOWN);
        match (tag.name, tag.raw("type").unwrap_or("text")) {
            ("textarea", _) => Some(Kind::Area),
            ("select", _) => Some(Kind::Select),
            ("input", "hidden") if tag.raw("name").is_some_and(is_shown) => Some(Kind::Shown),
            ("input", "hidden" | "submit" | "button" | "reset" | "image") => None,
            ("input", "checkbox" | "radio") => Some(Kind::Check),
            ("input", "file") => Some(Kind::File),
            ("input", "password") => Some(Kind::Secret),
            ("input", _) if tag.raw("autocomplete") == Some("one-time-code") => Some(Kind::Secret),
            ("input", _) => Some(Kind::Line),
            _ => None,
        }
    }
}

/// A field that the user fills in, and what was typed into it.
struct Field<'p, 'r> {
    tag: Tag<'p>,
    kind: Kind,
    name: String,
    value: Option<&'r str>,
}

/// The parts of a page that replace a field.
struct Filled {
    text: String,
    /// The end of the field in the page.
    end: usize,
}

impl<'r> Rejected<'r> {
    /// How well a form fits what was sent; `None` if it is sent to a different path.
    fn fit(&self, page: &str, form: &Form<'_>) -> Option<usize> {
        let action = form.tag.attribute("action");
        let action = action.as_deref().unwrap_or(self.page);
        let is_post = form.tag.raw("method") == Some("post");
        if !is_post || path(action) != self.action {
            return None;
        }
        let Some(typed) = self.typed else {
            return Some(0);
        };
        let fields = tags(page, form.content.clone()).filter_map(|tag| {
            let values = typed.of(&tag.attribute("name")?);
            // The forms in the rows of a table differ in hidden fields.
            let is_same = tag.raw("type") == Some("hidden")
                && tag
                    .attribute("value")
                    .is_some_and(|it| values.contains(&it));
            Some(usize::from(!values.is_empty()) + 2 * usize::from(is_same))
        });
        Some(fields.sum())
    }

    fn fields<'p>(&self, page: &'p str, form: &Form<'_>) -> Vec<Field<'p, 'r>> {
        let mut seen: HashMap<String, usize> = HashMap::new();
        let fields = tags(page, form.content.clone()).filter_map(|tag| {
            let kind = Kind::of(&tag)?;
            let name = tag.attribute("name")?;
            if kind == Kind::Shown && name.strip_prefix(SHOWN) == self.renewed {
                return None;
            }
            let values = self.typed.map_or(&[][..], |typed| typed.of(&name));
            let value = match kind {
                Kind::Check => {
                    let own = tag.attribute("value").unwrap_or("on".to_owned());
                    values.iter().find(|value| **value == own)
                }
                _ => {
                    let at = seen.entry(name.clone()).or_default();
                    *at += 1;
                    values.get(*at - 1)
                }
            };
            let value = value.map(String::as_str);
            Some(Field {
                tag,
                kind,
                name,
                value,
            })
        });
        fields.collect()
    }

    /// The page with the form filled in; `None` if the page does not have the form.
    pub fn fill(&self, page: &str) -> Option<String> {
        let page = &self.moved(page);
        let forms = forms(page);
        let fits = forms.iter().enumerate();
        let fits = fits.filter_map(|(at, form)| Some((self.fit(page, form)?, usize::MAX - at)));
        let chosen = usize::MAX - fits.max()?.1;
        let mut filled = String::with_capacity(page.len());
        let mut done = 0;
        for (at, form) in forms.iter().enumerate() {
            filled.push_str(&page[done..form.tag.place.start]);
            let action = match form.tag.raw("action") {
                Some(_) => String::new(),
                None => format!(" action=\"{}\"", escaped(self.page)),
            };
            filled.push_str(&form.tag.with(&[], &action));
            done = form.tag.place.end;
            if at == chosen {
                let mut content = String::new();
                self.fill_content(page, form, &mut content);
                filled.push_str(&opened(&content));
                done = form.content.end;
            }
        }
        filled.push_str(&page[done..]);
        Some(filled)
    }

    /// The page at the path of the form: its links name its path, and it follows no changes,
    /// because the script would load that path.
    fn moved(&self, page: &str) -> String {
        let links = format!("href=\"{}?", escaped(path(self.page)));
        let mut page = page.replace("href=\"?", &links);
        let live = tags(&page, 0..page.len())
            .take_while(|tag| tag.name != "body")
            .find(|tag| tag.name == "meta" && tag.raw("name") == Some("live"));
        if let Some(place) = live.map(|tag| tag.place) {
            page.replace_range(place, "");
        }
        let title = format!("<title>{} · ", self.title.0);
        page.replacen("<title>", &title, 1)
    }

    fn fill_content(&self, page: &str, form: &Form<'_>, filled: &mut String) {
        let fields = self.fields(page, form);
        let wrong = fields.iter().position(|field| {
            field.kind != Kind::Shown
                && (self.concerns)(&field.name, field.value.unwrap_or_default())
        });
        let input = html! { input type="hidden" name=(PAGE_FIELD) value=(self.page); };
        filled.push_str(&input.into_string());
        let note = match wrong {
            Some(_) => html! { span.bad id=(MESSAGE) role="alert" { (self.message) } },
            // The browser scrolls to the element with the focus.
            None => html! {
                div.bad id=(MESSAGE) role="alert" tabindex="-1" autofocus { (self.message) }
            },
        };
        let note = note.into_string();
        if wrong.is_none() {
            filled.push_str(&note);
        }
        let mut done = form.content.start;
        for (at, field) in fields.iter().enumerate() {
            filled.push_str(&page[done..field.tag.place.start]);
            let is_wrong = wrong == Some(at);
            let part = self.fill_field(page, form, field, is_wrong);
            filled.push_str(&part.text);
            if is_wrong {
                filled.push_str(&note);
            }
            done = part.end;
        }
        filled.push_str(&page[done..form.content.end]);
    }

    fn fill_field(
        &self,
        page: &str,
        form: &Form<'_>,
        field: &Field<'_, '_>,
        is_wrong: bool,
    ) -> Filled {
        let tag = &field.tag;
        let mut removed = Vec::new();
        let mut added = String::new();
        if is_wrong {
            removed.extend(["aria-invalid", "aria-describedby"]);
            let described = tag.raw("aria-describedby").unwrap_or_default();
            let described = format!("{MESSAGE} {described}");
            added = format!(
                " aria-invalid=\"true\" aria-describedby=\"{}\" autofocus",
                described.trim_end()
            );
        }
        let content = |name: &str| {
            let rest = &page[tag.place.end..form.content.end];
            let length = rest.find(&format!("</{name}>")).unwrap_or(rest.len());
            tag.place.end..tag.place.end + length
        };
        let (after, end) = match (field.kind, field.value) {
            (Kind::Line | Kind::Shown, Some(value)) => {
                removed.push("value");
                added.insert_str(0, &format!(" value=\"{}\"", escaped(value)));
                (String::new(), tag.place.end)
            }
            (Kind::Check, value) => {
                let typed = self
                    .typed
                    .filter(|it| it.is_whole || !it.of(&field.name).is_empty());
                if typed.is_some() {
                    removed.push("checked");
                    added.insert_str(0, if value.is_some() { " checked" } else { "" });
                }
                (String::new(), tag.place.end)
            }
            (Kind::Area, value) => {
                let content = content("textarea");
                let end = content.end + "</textarea>".len();
                let text = match value {
                    // The first line end after the tag does not belong to the text.
                    Some(value) => format!("\n{}", escaped(value)),
                    None => page[content].to_owned(),
                };
                (text + "</textarea>", end.min(form.content.end))
            }
            (Kind::Select, value) => {
                let content = content("select");
                let end = content.end + "</select>".len();
                let text = chosen(page, content, value);
                (text + "</select>", end.min(form.content.end))
            }
            (Kind::File, _) => {
                let again = match tag.raw("multiple") {
                    Some(_) => self.files_again,
                    None => self.file_again,
                };
                let again = html! { span.hint { (again) } };
                (again.into_string(), tag.place.end)
            }
            (Kind::Line | Kind::Shown | Kind::Secret, _) => (String::new(), tag.place.end),
        };
        Filled {
            text: tag.with(&removed, &added) + &after,
            end,
        }
    }
}

/// A form's content whose parts with fields are open, because a closed part would hide what was
/// typed and the mistake.
fn opened(content: &str) -> String {
    let is_closed = |tag: &Tag<'_>| tag.name == "details" && tag.raw("open").is_none();
    let mut opened = String::with_capacity(content.len());
    let mut done = 0;
    for tag in tags(content, 0..content.len()).filter(is_closed) {
        let rest = &content[tag.place.end..];
        let end = tag.place.end + rest.find("</details>").unwrap_or(rest.len());
        if tags(content, tag.place.end..end).any(|tag| Kind::of(&tag).is_some()) {
            opened.push_str(&content[done..tag.place.start]);
            opened.push_str(&tag.with(&[], " open"));
            done = tag.place.end;
        }
    }
    opened.push_str(&content[done..]);
    opened
}

/// The options of a choice, of which the one with a value is chosen, if it still exists.
fn chosen(page: &str, content: Range<usize>, value: Option<&str>) -> String {
    let is_option = |tag: &Tag<'_>| tag.name == "option";
    let is_chosen = |tag: &Tag<'_>| value.is_some() && tag.attribute("value").as_deref() == value;
    let mut options = tags(page, content.clone()).filter(is_option);
    if !options.any(|tag| is_chosen(&tag)) {
        return page[content].to_owned();
    }
    let mut text = String::new();
    let mut done = content.start;
    for tag in tags(page, content.clone()).filter(is_option) {
        text.push_str(&page[done..tag.place.start]);
        let added = if is_chosen(&tag) { " selected" } else { "" };
        text.push_str(&tag.with(&["selected"], added));
        done = tag.place.end;
    }
    text.push_str(&page[done..content.end]);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "<head><title>Thing</title><meta name=\"live\" content=\"/live\"></head>\
        <body><form method=\"get\"><input name=\"q\"></form><a href=\"?part=2\">2</a>\
        <form class=\"fields\" method=\"post\"><label>Name\
        <input name=\"name\" value=\"old\" required></label>\
        <textarea name=\"text\" aria-describedby=\"hint\">\nx</textarea>\
        <input type=\"checkbox\" name=\"a\" value=\"1\" checked>\
        <select name=\"role\"><option value=\"\" selected>-</option>\
        <option value=\"b\" data-x=\"a selected b > c\">B</option></select>\
        <input type=\"password\" name=\"password\"><input type=\"file\" name=\"file\">\
        <input name=\"code\" autocomplete=\"one-time-code\">\
        <input type=\"hidden\" name=\"version\" value=\"7\">\
        <input name=\"fixed\" value=\"1\" readonly>\
        <input type=\"hidden\" name=\"shown-a\" value=\"3\">\
        <input name=\"login\" value=\"ada\" hidden></form>\
        <form method=\"post\" action=\"/things/1/delete\"><button>Delete</button></form>";

    fn typed(fields: &[(&str, &str)], is_whole: bool) -> Typed {
        let mut values: HashMap<String, Vec<String>> = HashMap::new();
        for (name, value) in fields {
            let list = values.entry((*name).to_owned()).or_default();
            list.push((*value).to_owned());
        }
        Typed { values, is_whole }
    }

    fn filled(action: &str, typed: Option<&Typed>, wrong: &str) -> Option<String> {
        Rejected {
            action,
            page: "/things/1?x=1&y",
            typed,
            concerns: &|name, _| name == wrong,
            renewed: None,
            title: &html! { "Not accepted" },
            message: &html! { "No!" },
            file_again: &html! { "Again." },
            files_again: &html! {},
        }
        .fill(PAGE)
    }

    #[test]
    fn typed_values_are_in_the_form_and_the_mistake_at_its_field() {
        let fields = [
            ("name", "a \"<b>\" & c\0"),
            ("text", "1 < 2</textarea>\n\"line"),
            ("role", "b"),
            ("password", "secret"),
            ("code", "secret"),
            ("version", "6"),
            ("login", "eve"),
            ("fixed", "0"),
            ("shown-a", "2"),
        ];
        let page = filled("/things/1", Some(&typed(&fields, true)), "name").unwrap();
        for part in [
            "name=\"name\" required value=\"a &quot;&lt;b&gt;&quot; &amp; c\" \
             aria-invalid=\"true\" aria-describedby=\"form-mistake\" autofocus>\
             <span class=\"bad\" id=\"form-mistake\" role=\"alert\">No!</span>",
            "<textarea name=\"text\" aria-describedby=\"hint\">\n1 &lt; 2&lt;/textarea&gt;\n\
             &quot;line</textarea>",
            "<input type=\"checkbox\" name=\"a\" value=\"1\">",
            "<option value=\"\">-</option>\
             <option value=\"b\" data-x=\"a selected b > c\" selected>B</option></select>",
            "<input type=\"password\" name=\"password\">",
            "<input type=\"file\" name=\"file\"><span class=\"hint\">Again.</span>",
            "name=\"code\" autocomplete=\"one-time-code\">",
            "name=\"version\" value=\"7\"",
            "name=\"fixed\" value=\"1\" readonly",
            "type=\"hidden\" name=\"shown-a\" value=\"2\"",
            "name=\"login\" value=\"ada\" hidden",
            "name=\"form-page\" value=\"/things/1?x=1&amp;y\"",
            "<form method=\"get\" action=\"/things/1?x=1&amp;y\">",
            "<form method=\"post\" action=\"/things/1/delete\">",
            "<a href=\"/things/1?part=2\">",
            "<title>Not accepted · Thing</title>",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        for absent in ["secret", "eve", "\"live\"", "<b>"] {
            assert!(!page.contains(absent), "{absent}: {page}");
        }
        assert_eq!(page.matches("No!").count(), 1, "{page}");
        assert_eq!(page.matches("autofocus").count(), 1, "{page}");
    }

    #[test]
    fn fields_that_were_not_read_are_as_on_the_page() {
        for known in [None, Some(&typed(&[("name", "new")], false))] {
            let page = filled("/things/1", known, "text").unwrap();
            for part in [
                "name=\"a\" value=\"1\" checked>",
                "<option value=\"\" selected>",
                "aria-describedby=\"form-mistake hint\" autofocus>\nx</textarea><span",
            ] {
                assert!(page.contains(part), "{part}: {page}");
            }
            let name = if known.is_some() { "new" } else { "old" };
            assert!(page.contains(&format!("value=\"{name}\"")), "{page}");
        }
        // A choice that no longer exists leaves the choice of the page.
        let gone = typed(&[("role", "gone")], true);
        let page = filled("/things/1", Some(&gone), "role").unwrap();
        assert!(page.contains("<option value=\"\" selected>"), "{page}");
        assert!(page.contains("</select><span class=\"bad\""), "{page}");
    }

    #[test]
    fn mistake_without_a_field_is_at_the_begin_of_its_form() {
        let page = filled("/things/1/delete", Some(&Typed::default()), "name").unwrap();
        let (before, after) = page.split_once("No!").unwrap();
        assert!(before.contains("/things/1/delete") && after.contains("Delete</button>"));
        assert!(before.ends_with("tabindex=\"-1\" autofocus>"), "{before}");
        assert!(filled("/other", None, "name").is_none());
    }

    #[test]
    fn parts_with_fields_are_open() {
        let page = "<title>Thing</title><details><input name=\"a\"></details>\
            <form method=\"post\" action=\"/a\">\
            <details class=\"x\"><summary>S</summary><input name=\"a\"></details>\
            <details><p>no field</p></details><details open><input name=\"b\"></details></form>";
        let rejected = Rejected {
            action: "/a",
            page: "/a",
            typed: Some(&typed(&[("a", "1")], true)),
            concerns: &|name, _| name == "a",
            renewed: None,
            title: &html! { "T" },
            message: &html! { "No!" },
            file_again: &html! {},
            files_again: &html! {},
        };
        let page = rejected.fill(page).unwrap();
        for part in [
            "</title><details><input",
            "<details class=\"x\" open><summary>S</summary><input name=\"a\" value=\"1\"",
            "<details><p>",
            "<details open><input name=\"b\"",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert_eq!(page.matches(" open").count(), 2, "{page}");
    }

    #[test]
    fn form_with_the_same_hidden_values_is_chosen() {
        let row = |id| {
            format!(
                "<form method=\"post\" action=\"/rows\"><input type=\"hidden\" name=\"id\" \
                 value=\"{id}\"><input name=\"x\"></form>"
            )
        };
        let page = row(1) + &row(2);
        let sent = typed(&[("id", "2"), ("x", "y")], true);
        let rejected = Rejected {
            action: "/rows",
            page: "/list",
            typed: Some(&sent),
            concerns: &|_, _| false,
            renewed: None,
            title: &html! {},
            message: &html! { "No!" },
            file_again: &html! {},
            files_again: &html! {},
        };
        let filled = rejected.fill(&page).unwrap();
        assert!(filled.starts_with(&row(1)), "{filled}");
        assert!(filled.contains("name=\"x\" value=\"y\""), "{filled}");
        assert!(rejected.fill("<p>no form").is_none());
    }
}
