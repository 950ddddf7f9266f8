//! Sources as they are shown: highlighted, and compared with the author's previous submission.
//!
//! Both take time, so they happen in turns on threads that may block, and the result is kept.

use crate::app::App;
use crate::core::party::Party;
use crate::db::submission::{Source, Submission};
use crate::http::problems::statements::Shown;
use crate::http::web::error::Page;
use crate::text::{self, t};
use maud::{Markup, html};
use millibox_highlight::tokens;
use similar::{ChangeTag, TextDiff};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

/// The number of unchanged lines around a change.
const CONTEXT_LINES: usize = 3;
/// How long a comparison may take. After that, larger parts count as changed.
const DIFF_TIME: Duration = Duration::from_millis(200);
/// The maximum size of a source that is highlighted or compared, in bytes.
const MAX_SHOWN: usize = 64 << 10;

/// The source of a submission, compared with the previous one.
///
/// # Errors
/// Too many other pages are rendered.
pub async fn shown(
    app: &App,
    party: Party,
    one: &Submission,
    source: Source,
    previous: Option<(i64, Source)>,
) -> Page<Arc<Shown>> {
    let reader = text::reader();
    let number = previous.as_ref().map(|(number, _)| *number);
    // A source contains no times, so all time zones share it.
    let key = (one.id, number, reader.locale.tag().to_owned());
    if let Some(kept) = app.sources.get(&key) {
        return Ok(kept);
    }
    let language = one.language.clone();
    let render = move || {
        text::at_once(&reader, || Shown {
            view: view(&source, &language),
            changes: previous.map(|(_, old)| changes(&old, &source)),
        })
    };
    let shown = app.limits.rendering.run(party, render).await?;
    Ok(app.sources.keep(key, shown))
}

/// A source with the numbers of its lines.
fn view(source: &Source, language: &str) -> Markup {
    let text = String::from_utf8_lossy(&source.content);
    let mut numbers = String::new();
    for number in 1..=text.lines().count() {
        // Writing to a String cannot fail.
        let _ = writeln!(numbers, "{number}");
    }
    html! {
        div.listing {
            pre.lines aria-hidden="true" { "\n" (numbers) }
            pre.code tabindex="0" {
                "\n"
                @if text.len() > MAX_SHOWN {
                    (text)
                } @else {
                    @for (kind, text) in tokens(&text, language) {
                        @match kind {
                            Some(kind) => span class=(kind.class()) { (text) },
                            None => (text),
                        }
                    }
                }
            }
        }
    }
}

/// The lines that differ between an older and a newer source, with some lines around them.
fn changes(old: &Source, new: &Source) -> Markup {
    if old.content.len().max(new.content.len()) > MAX_SHOWN {
        return html! { p.muted { (t::SubmissionTooLarge { kib: MAX_SHOWN >> 10 }) } };
    }
    let [old, new] = [old, new].map(|it| String::from_utf8_lossy(&it.content));
    let diff = TextDiff::configure()
        .timeout(DIFF_TIME)
        .diff_lines(&*old, &*new);
    let groups = diff.grouped_ops(CONTEXT_LINES);
    html! {
        @if groups.is_empty() { p.muted { (t::SubmissionSame) } }
        @for group in &groups {
            pre.diff tabindex="0" {
                "\n"
                @for change in group.iter().flat_map(|operation| diff.iter_changes(operation)) {
                    @let line = change.value().trim_end_matches(['\n', '\r']);
                    @match change.tag() {
                        ChangeTag::Insert => ins { "+ " (line) },
                        ChangeTag::Delete => del { "- " (line) },
                        ChangeTag::Equal => span { "  " (line) },
                    }
                    "\n"
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source {
            file_name: "a.py".to_owned(),
            content: text.as_bytes().to_vec(),
        }
    }

    #[test]
    fn source_is_highlighted_and_escaped() {
        let page = view(&source("print('<b>')\n# x\n"), "python3").into_string();
        assert!(
            page.contains("<span class=\"token-string\">'&lt;b&gt;'</span>"),
            "{page}"
        );
        assert!(page.contains("1\n2\n</pre>"), "{page}");
        assert!(!page.contains("<b>"), "{page}");
    }

    #[test]
    fn large_source_is_neither_highlighted_nor_compared() {
        let large = source(&"x = 'y'\n".repeat(MAX_SHOWN / 8 + 1));
        let page = view(&large, "python3").into_string();
        assert!(page.contains("x = 'y'") && !page.contains("<span"));
        let page = changes(&source("x\n"), &large).into_string();
        assert!(page.contains("64 KiB") && !page.contains("<ins>"), "{page}");
    }

    #[test]
    fn changed_lines_are_shown_with_lines_around_them() {
        let lines: Vec<String> = (1..=20).map(|number| format!("line {number}\n")).collect();
        let (old, new) = (lines.concat(), lines.concat().replace("line 10\n", "<i>\n"));
        let page = changes(&source(&old), &source(&new)).into_string();
        assert!(page.contains("<del>- line 10</del>"), "{page}");
        assert!(page.contains("<ins>+ &lt;i&gt;</ins>"), "{page}");
        assert!(
            page.contains("line 7") && !page.contains("line 6"),
            "{page}"
        );
        let same = changes(&source(&old), &source(&old)).into_string();
        assert!(same.contains("the same"), "{same}");
    }
}
