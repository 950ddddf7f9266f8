//! Statements in Markdown with formulas in LaTeX, as HTML with MathML.
//!
//! Statements come from problem authors, so they must not contain active content. HTML in them is
//! shown as text, links lead only to web pages and e-mail addresses, and images are files of the
//! package.

use super::mathml;
use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd, html};
use pulldown_latex::config::{DisplayMode, RenderConfig};
use pulldown_latex::{Storage, push_mathml};

/// The prefixes that the address of a link may have.
const SCHEMES: [&str; 3] = ["https://", "http://", "mailto:"];

/// Bytes of the longest statement.
pub const MAX_STATEMENT: usize = 256 << 10;
/// Bytes of the longest formula that is rendered. For nested groups, the time grows with the square
/// of the length.
const MAX_FORMULA: usize = 4 << 10;
/// Commands that define others. Formulas with them may grow, and are not rendered.
const DEFINITIONS: [&str; 6] = [
    "def",
    "let",
    "futurelet",
    "newcommand",
    "renewcommand",
    "providecommand",
];
/// Bytes of the stack for the longest formula. The renderer calls itself for each command that is
/// the argument of another one, and an overflow would end the site.
const STACK_BYTES: usize = 64 << 20;

/// The HTML of a statement. `image` returns the address of an image of the package.
///
/// # Errors
/// The thread that renders cannot be started.
pub fn render(
    text: &str,
    image: impl Fn(&str) -> Option<String> + Sync,
) -> std::io::Result<String> {
    let image = &image;
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        let rendered = thread
            .spawn_scoped(scope, move || page(text, image))?
            .join();
        // A panic concerns this statement only, which is then shown as it is.
        Ok(rendered.unwrap_or_else(|_| maud::html! { pre { "\n" (text) } }.into_string()))
    })
}

fn page(text: &str, image: &impl Fn(&str) -> Option<String>) -> String {
    let options = Options::ENABLE_MATH | Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let events = Parser::new_ext(text, options).map(|event| safe(event, image));
    let mut page = String::new();
    html::push_html(&mut page, events);
    page
}

fn safe<'a>(event: Event<'a>, image: &impl Fn(&str) -> Option<String>) -> Event<'a> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::InlineMath(formula) => Event::InlineHtml(math(&formula, DisplayMode::Inline)),
        Event::DisplayMath(formula) => Event::InlineHtml(math(&formula, DisplayMode::Block)),
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        // The page has headings above those of the statement.
        Event::Start(Tag::Heading {
            level,
            id: _,
            classes: _,
            attrs: _,
        }) => Event::Start(Tag::Heading {
            level: below(level),
            id: None,
            classes: Vec::new(),
            attrs: Vec::new(),
        }),
        Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(below(level))),
        Event::Start(Tag::Link {
            link_type,
            dest_url,
            title,
            id,
        }) => Event::Start(Tag::Link {
            link_type,
            dest_url: link(dest_url),
            title,
            id,
        }),
        Event::Start(Tag::Image {
            link_type,
            dest_url,
            title,
            id,
        }) => Event::Start(Tag::Image {
            link_type,
            dest_url: image(&dest_url).unwrap_or_default().into(),
            title,
            id,
        }),
        // The first word becomes part of a class.
        Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Indented))
        }
        Event::Start(
            Tag::Paragraph
            | Tag::BlockQuote(_)
            | Tag::CodeBlock(CodeBlockKind::Indented)
            | Tag::List(_)
            | Tag::Item
            | Tag::Table(_)
            | Tag::TableHead
            | Tag::TableRow
            | Tag::TableCell
            | Tag::Emphasis
            | Tag::Strong
            | Tag::Strikethrough,
        )
        | Event::End(_)
        | Event::Text(_)
        | Event::Code(_)
        | Event::SoftBreak
        | Event::HardBreak
        | Event::Rule => event,
        // The options exclude everything else.
        Event::Start(_) => Event::Start(Tag::Paragraph),
        Event::FootnoteReference(text) => Event::Text(text),
        Event::TaskListMarker(_) => Event::Text("".into()),
    }
}

fn below(level: pulldown_cmark::HeadingLevel) -> pulldown_cmark::HeadingLevel {
    use pulldown_cmark::HeadingLevel::{H1, H2, H3, H4, H5, H6};
    match level {
        H1 => H2,
        H2 => H3,
        H3 => H4,
        H4 => H5,
        H5 | H6 => H6,
    }
}

fn link(address: CowStr<'_>) -> CowStr<'_> {
    let lower = address.to_lowercase();
    if SCHEMES.iter().any(|scheme| lower.starts_with(scheme)) {
        address
    } else {
        "".into()
    }
}

/// Whether the time and the memory for a formula are bounded.
fn is_bounded(formula: &str) -> bool {
    let commands = formula.split('\\').skip(1);
    let mut names = commands.map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphabetic());
        &rest[..end.unwrap_or(rest.len())]
    });
    formula.len() <= MAX_FORMULA && !names.any(|name| DEFINITIONS.contains(&name))
}

/// A formula as MathML, or as text if it cannot be rendered.
fn math(formula: &str, display_mode: DisplayMode) -> CowStr<'static> {
    let rendered = is_bounded(formula).then(|| mathml(formula, display_mode));
    rendered.flatten().map_or_else(
        || {
            maud::html! { code.formula { (formula) } }
                .into_string()
                .into()
        },
        CowStr::from,
    )
}

fn mathml(formula: &str, display_mode: DisplayMode) -> Option<String> {
    let config = RenderConfig {
        display_mode,
        ..RenderConfig::default()
    };
    // The renderer would write a backslash before a space as the name of a character.
    let formula_for_renderer = formula.replace("\\ ", "\\; ");
    let storage = Storage::new();
    let parser = pulldown_latex::Parser::new(&formula_for_renderer, &storage);
    let parsed: Result<Vec<_>, _> = parser.collect();
    let mut rendered = String::new();
    let is_rendered = parsed.is_ok_and(|events| {
        let events = events.into_iter().map(Ok::<_, std::convert::Infallible>);
        push_mathml(&mut rendered, events, config).is_ok()
    });
    is_rendered.then(|| mathml::listed(&rendered))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        render(text, |name| Some(format!("/files/{name}"))).unwrap()
    }

    #[test]
    fn formulas_become_mathml() {
        let page = plain("Let $n \\le 10^5$ and $$\\sum_{i=1}^n a_i$$");
        assert_eq!(page.matches("<math").count(), 2, "{page}");
        assert!(page.contains("<msup>"), "{page}");
        assert!(!page.contains('$'), "{page}");
        let page = plain("$a < b > c$");
        assert!(page.contains("<mo>&lt;</mo>"), "{page}");
    }

    #[test]
    fn unknown_formula_is_shown_as_text() {
        let page = plain("$\\unknowncommand{<b>}$");
        assert!(page.contains("<code class=\"formula\">"), "{page}");
        assert!(page.contains("&lt;b&gt;"), "{page}");
    }

    #[test]
    fn hostile_statement_adds_no_elements() {
        let hostile = "<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n\
            a <b onclick=alert(1)>b</b> [link](javascript:alert(1)) [l](JAVASCRIPT:x) \
            $\\text{<script>alert(1)</script>}$ $\\color{\"><script>}x$ \
            $\\operatorname{<meta http-equiv=\"refresh\" content=\"0;url=x\">}$ \
            $\\operatorname{</mi></math><meta name=x>}$ $\\mathop{<meta name=x>}$ \
            $\\href{javascript:alert(1)}{x}$ $\\class{notice}{x}$ $\\style{color:red}{x}$ \
            $\\mathrm{<mi onclick=alert(1)>}$ $\\operatorname{<mi onclick=\"alert(1)\">}$ \
            $\\unicode{<meta>}$ $\\text{<meta>}$ $\\mbox{<meta>}$ $\\textbf{<meta>}$ \
            $\\htmlId{a}{x}$ $\\data{a=b}{x}$ $\\tag{<meta>}$ $\\label{<meta>}$ \
            $$\\begin{matrix}[<meta>]x\\end{matrix}$$ $$x\\\\[<meta>]y$$ $\\hspace{<meta>}$\n\n\
            ```js\tnotice <meta>\n```\n\n\
            ![i](https://example.org/tracker.png)\n\n# <i>head</i>";
        let page = render(hostile, |_| None).unwrap();
        let document = scraper::Html::parse_fragment(&page);
        let selector = scraper::Selector::parse(
            "script, b, i, meta, [onerror], [onclick], [id], [style], \
             [class]:not(.formula, [class^='menv-'])",
        );
        let selector = selector.unwrap();
        assert_eq!(document.select(&selector).count(), 0, "{page}");
        let links = scraper::Selector::parse("[href*='script:' i], [src*='script:' i]").unwrap();
        assert_eq!(document.select(&links).count(), 0, "{page}");
        assert!(!page.contains("example.org"), "{page}");
    }

    #[test]
    fn hostile_formulas_end_no_thread_and_take_no_time() {
        let deep = |begin: &str, end: &str| {
            let times = MAX_FORMULA / (begin.len() + end.len());
            format!("${}{}$", begin.repeat(times), end.repeat(times))
        };
        let long = |begin: &str| format!("${}$", begin.repeat(100_000));
        let laughs = "$\\def\\a#1{#1#1#1#1#1#1#1#1}\\a{\\a{\\a{\\a{\\a{\\sqrt}}}}}x$";
        let formulas = [
            deep("\\hat", ""),
            deep("\\sqrt[3]", ""),
            deep("\\frac1", ""),
            deep("\\sqrt{", "}"),
            deep("{", "}"),
            deep("x^{", "}"),
            deep("\\left(", "\\right)"),
            deep("\\begin{matrix}", "\\end{matrix}"),
            long("\\sqrt"),
            long("{"),
            long("\\frac{1}"),
            laughs.to_owned(),
        ];
        let begin = std::time::Instant::now();
        for formula in &formulas {
            let page = plain(formula);
            let bound = 100 * formula.len();
            assert!(page.len() < bound, "{} of {}", page.len(), formula.len());
        }
        assert!(begin.elapsed().as_secs() < 60);
    }

    #[test]
    fn image_leads_to_a_file_of_the_package() {
        let page = plain("![plan](plan.png)");
        assert!(page.contains("src=\"/files/plan.png\""), "{page}");
    }

    #[test]
    fn headings_are_below_those_of_the_page() {
        assert!(plain("# Input").contains("<h2>Input</h2>"));
    }
}
