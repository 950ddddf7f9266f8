//! Keeps the elements and attributes of MathML that formulas need, and shows everything else of
//! them as text.
//!
//! The renderer of formulas copies some arguments into its output as they are, such as that of
//! `\operatorname`, and writes the relation `<` without escaping it. So its output is not trusted:
//! it is read as a sequence of tags and text, and written again from lists. Tags that are not
//! listed, or would end another element, become text. The result has only listed elements, all of
//! which end in it.

/// Elements. The first is the root, which occurs only once.
const ELEMENTS: [&str; 21] = [
    "math",
    "merror",
    "mfrac",
    "mi",
    "mn",
    "mo",
    "mover",
    "mroot",
    "mrow",
    "mspace",
    "msqrt",
    "msub",
    "msubsup",
    "msup",
    "mtable",
    "mtd",
    "mtext",
    "mtr",
    "munder",
    "munderover",
    "mpadded",
];
/// Elements with text, in which HTML parsers expect HTML. They contain no other element.
const LEAVES: [&str; 5] = ["mi", "mn", "mo", "mspace", "mtext"];
/// Attributes whose values are words and lengths.
const ATTRIBUTES: [&str; 14] = [
    "depth",
    "display",
    "displaystyle",
    "height",
    "largeop",
    "linethickness",
    "mathvariant",
    "maxsize",
    "minsize",
    "movablelimits",
    "scriptlevel",
    "stretchy",
    "symmetric",
    "width",
];
/// Attributes that the renderer writes and that have no use: the policy of the pages forbids styles
/// of elements.
const LEFT_OUT: [&str; 2] = ["style", "xmlns"];
/// How the classes of the renderer begin.
const CLASSES: [&str; 2] = ["menv-", "cell-"];

/// A tag, and the text after it.
struct Tag<'t> {
    name: &'static str,
    attributes: Vec<(&'static str, &'t str)>,
    kind: Kind,
    rest: &'t str,
}

#[derive(PartialEq, Eq)]
enum Kind {
    Start,
    End,
    /// A start tag that is also the end.
    Empty,
}

fn known(list: &[&'static str], name: &str) -> Option<&'static str> {
    list.iter().find(|known| **known == name).copied()
}

/// Splits a text after its leading characters of a kind.
fn split(text: &str, is_part: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|symbol| !is_part(symbol));
    text.split_at(end.unwrap_or(text.len()))
}

fn is_class(value: &str) -> bool {
    value.split(' ').all(|word| {
        CLASSES.iter().any(|begin| word.starts_with(begin))
            && word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
    })
}

fn is_plain(value: &str) -> bool {
    value
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || ".%-".contains(c))
}

impl<'t> Tag<'t> {
    /// Reads a listed tag at the beginning of a text.
    fn read(text: &'t str) -> Option<Tag<'t>> {
        let text = text.strip_prefix('<')?;
        let (text, is_end) = match text.strip_prefix('/') {
            Some(text) => (text, true),
            None => (text, false),
        };
        let (name, mut text) = split(text, |c| c.is_ascii_alphanumeric());
        let name = known(&ELEMENTS, name)?;
        let mut attributes = Vec::new();
        let kind = loop {
            text = text.trim_start_matches(' ');
            if let Some(rest) = text.strip_prefix("/>") {
                text = rest;
                break Kind::Empty;
            }
            if let Some(rest) = text.strip_prefix('>') {
                text = rest;
                break if is_end { Kind::End } else { Kind::Start };
            }
            let (attribute, rest) = split(text, |c| c.is_ascii_alphanumeric());
            let (value, rest) = rest.strip_prefix("=\"")?.split_once('"')?;
            text = rest;
            if known(&LEFT_OUT, attribute).is_some() {
                continue;
            }
            let listed = match attribute {
                "class" => is_class(value).then_some("class"),
                name => known(&ATTRIBUTES, name).filter(|_| is_plain(value)),
            };
            attributes.push((listed?, value));
        };
        let is_plain_end = kind != Kind::Start && attributes.is_empty();
        (!is_end || (kind == Kind::End && is_plain_end)).then_some(Tag {
            name,
            attributes,
            kind,
            rest: text,
        })
    }

    /// Whether the tag may follow within these elements.
    fn fits(&self, open: &[&str]) -> bool {
        let parent = open.last().copied();
        match (&self.kind, parent) {
            (Kind::End, parent) => parent == Some(self.name),
            (_, None) => self.name == ELEMENTS[0],
            (_, Some(parent)) => self.name != ELEMENTS[0] && !LEAVES.contains(&parent),
        }
    }

    fn write(&self, to: &mut String) {
        to.push('<');
        if self.kind == Kind::End {
            to.push('/');
        }
        to.push_str(self.name);
        for (name, value) in &self.attributes {
            to.push(' ');
            to.push_str(name);
            to.push_str("=\"");
            to.push_str(value);
            to.push('"');
        }
        to.push('>');
        if self.kind == Kind::Empty {
            end(self.name, to);
        }
    }
}

fn end(name: &str, to: &mut String) {
    to.push_str("</");
    to.push_str(name);
    to.push('>');
}

/// A rendered formula with only listed elements and attributes.
pub fn listed(mut text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut open = Vec::new();
    while !text.is_empty() {
        let (plain, rest) = split(text, |c| c != '<');
        // The renderer escapes `&` where it is not part of a name.
        safe.push_str(&plain.replace('>', "&gt;"));
        text = rest;
        let tag = Tag::read(text).filter(|tag| tag.fits(&open));
        if let Some(tag) = tag {
            tag.write(&mut safe);
            match tag.kind {
                Kind::Start => open.push(tag.name),
                Kind::End => drop(open.pop()),
                Kind::Empty => {}
            }
            text = tag.rest;
        } else if let Some(rest) = text.strip_prefix('<') {
            safe.push_str("&lt;");
            text = rest;
        }
    }
    for name in open.into_iter().rev() {
        end(name, &mut safe);
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that an HTML parser finds only listed elements and attributes.
    fn assert_listed(page: &str) {
        let document = scraper::Html::parse_fragment(page);
        for node in document.tree.nodes() {
            let Some(element) = node.value().as_element() else {
                continue;
            };
            let (name, space) = (element.name(), &*element.name.ns);
            if space == "http://www.w3.org/1999/xhtml" {
                let is_frame = ["html", "head", "body"].contains(&name);
                assert!(is_frame && element.attrs().count() == 0, "{name}: {page}");
                continue;
            }
            assert!(known(&ELEMENTS, name).is_some(), "{name}: {page}");
            for (name, _) in element.attrs() {
                let is_listed = name == "class" || known(&ATTRIBUTES, name).is_some();
                assert!(is_listed, "{name}: {page}");
            }
        }
    }

    #[test]
    fn rendered_formula_stays_as_it_is() {
        for formula in [
            "<math display=\"inline\"><mi>x</mi><mo stretchy=\"false\">=</mo></math>",
            "<math><mtable class=\"menv-alignlike menv-align\"><mtr><mtd><mn>1</mn></mtd></mtr>\
             </mtable></math>",
        ] {
            assert_eq!(listed(formula), formula);
            assert_listed(formula);
        }
        assert_eq!(
            listed("<math><mspace width=\"0.1em\" /></math>"),
            "<math><mspace width=\"0.1em\"></mspace></math>"
        );
    }

    #[test]
    fn relations_become_text() {
        assert_eq!(
            listed("<math><mi>a</mi><mo><</mo><mi>b</mi><mo>></mo></math>"),
            "<math><mi>a</mi><mo>&lt;</mo><mi>b</mi><mo>&gt;</mo></math>"
        );
    }

    #[test]
    fn everything_that_is_not_listed_becomes_text() {
        for hostile in [
            "<meta http-equiv=\"refresh\" content=\"0;url=https://example.org\">",
            "<mi onclick=\"alert(1)\">x",
            "<mi href=\"javascript:alert(1)\">x",
            "<mi xlink:href=\"javascript:alert(1)\">x",
            "<mi class=\"notice\">x",
            "<mi id=\"a\">x",
            "<mi mathvariant=\"a b;c\">x",
            "<maction actiontype=\"statusline\">x",
            "<marquee>x",
            "<menu>x",
            "<main>x",
            "<map name=x>",
            "<mark>x",
            "<meter>x",
            "<mglyph src=\"x\">",
            "<malignmark>",
            "<MI>x",
            "<mi/onclick=alert(1)>",
            "<mi\nonclick=alert(1)>",
            "</mi><script>alert(1)</script>",
            "</mi></math><img src=x onerror=alert(1)>",
            "</mi></math><math><mi>",
            "</math>",
            "<annotation-xml encoding=\"text/html\"><b>x",
            "<!--",
            "--><b>",
            "<![CDATA[<b>]]>",
            "<?x>",
            "<svg><style><b>",
            "<mtext><table><mi>",
            "<mi",
            "<mi width=\"",
        ] {
            let page = listed(&format!(
                "<math display=\"block\"><mrow><mi>{hostile}</mi></mrow></math>"
            ));
            assert_listed(&page);
        }
    }

    #[test]
    fn unbalanced_text_leaves_no_element_open() {
        let page = listed("<math><mrow><mi>x") + "<p id=after>y</p>";
        let document = scraper::Html::parse_fragment(&page);
        let selector = scraper::Selector::parse("math #after").unwrap();
        assert_eq!(document.select(&selector).count(), 0, "{page}");
    }
}
