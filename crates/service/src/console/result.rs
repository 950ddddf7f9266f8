//! The result of a run as markup.

use super::text::{size, time, visible};
use super::words::{self, BLAMES, WORDS};
use crate::http::problem::ProblemDetails;
use crate::http::v1::model::{BlameName, OutputAnswer, RunAnswer};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use maud::{Markup, html};

/// The figures of a result: keys and labels.
const FACTS: [(&str, &str); 8] = [
    ("exit", "Exit code"),
    ("signal", "Signal"),
    ("cpu", "CPU time"),
    ("wall", "Real time"),
    ("memory", "Memory"),
    ("compile", "Compiler"),
    ("queued", "In the queue"),
    ("blame", "At fault"),
];

/// What the time of the compiler is.
const COMPILE_HINT: &str =
    "Real time of the compilation before the run. The program's limits do not include it.";

/// The strings of a result: keys and titles.
const STREAMS: [(&str, &str); 4] = [
    ("error", "Reason"),
    ("messages", "Compiler messages"),
    ("stdout", "Standard output"),
    ("stderr", "Standard error"),
];

/// A result, formatted for a page.
#[derive(Debug, Default)]
pub struct View {
    class: &'static str,
    headline: String,
    explanation: String,
    /// The facts by key, in the order of [`FACTS`].
    facts: Vec<(&'static str, String)>,
    /// The streams by key, in the order of [`STREAMS`].
    streams: Vec<(&'static str, Stream)>,
}

#[derive(Debug, Default)]
struct Stream {
    text: String,
    note: String,
}

impl View {
    /// Before the first run.
    pub fn idle() -> View {
        View {
            class: "idle",
            headline: "Nothing has run yet.".to_owned(),
            explanation: "Output and figures appear here.".to_owned(),
            ..View::default()
        }
    }

    /// The result of a run that has ended.
    pub fn of_answer(answer: &RunAnswer) -> View {
        let words = words::of_key(&words::key(answer));
        let mut facts = Vec::new();
        let mut streams = Vec::new();
        let mut text = |key, text: &str| {
            if !text.trim().is_empty() {
                let text = visible(text).into_owned();
                let note = String::new();
                streams.push((key, Stream { text, note }));
            }
        };
        let test = answer.tests.first();
        let compile_error = answer
            .compile
            .as_ref()
            .and_then(|compile| compile.error.as_deref());
        text(
            "error",
            test.and_then(|test| test.error.as_deref())
                .or(compile_error.filter(|_| words.kind == words::Kind::Unknown))
                .unwrap_or_default(),
        );
        if let Some(compile) = &answer.compile {
            text("messages", &compile.messages);
        }
        let mut detail = String::new();
        let mut blame = answer.compile.as_ref().map(|compile| compile.blame);
        if let Some(test) = test {
            blame = Some(test.blame);
            if let Some(code) = test.exit_code {
                detail = code.to_string();
                facts.push(("exit", code.to_string()));
            }
            if let Some(signal) = test.signal {
                detail = words::signal(signal);
                facts.push(("signal", words::signal(signal)));
            }
            facts.push(("cpu", time(test.cpu_ms)));
            facts.push(("wall", time(test.wall_ms)));
            facts.push(("memory", size(test.memory_bytes)));
            streams.push(("stdout", Stream::of(&test.stdout)));
            if test.stderr.bytes > 0 {
                streams.push(("stderr", Stream::of(&test.stderr)));
            }
        }
        if let Some(compile) = &answer.compile
            && (compile.wall_ms > 0.0 || compile.from_cache)
        {
            let took = if compile.from_cache {
                "compiled before".to_owned()
            } else {
                time(compile.wall_ms)
            };
            facts.push(("compile", took));
        }
        facts.push(("queued", time(answer.timing.queued_ms)));
        if let Some(blame) = blame.filter(|_| words.kind != words::Kind::Good) {
            facts.push(("blame", words::blame(blame).to_owned()));
        }
        View {
            class: words.kind.class(),
            headline: words.headline.replace("{}", &detail),
            explanation: words.explanation.to_owned(),
            facts,
            streams,
        }
    }

    /// A request that was not carried out.
    pub fn of_problem(problem: &ProblemDetails) -> View {
        let blame = match problem.status {
            429 | 500.. => BlameName::Service,
            _ => BlameName::Request,
        };
        View {
            class: words::Kind::Unknown.class(),
            headline: format!("{}.", problem.title),
            explanation: visible(&problem.detail).into_owned(),
            facts: vec![("blame", words::blame(blame).to_owned())],
            streams: Vec::new(),
        }
    }

    /// A view with every part that a result can have, for the script to fill in.
    fn template() -> View {
        View {
            facts: FACTS.map(|(key, _)| (key, String::new())).into(),
            streams: STREAMS.map(|(key, _)| (key, Stream::default())).into(),
            ..View::default()
        }
    }

    fn body(&self) -> Markup {
        let fact = |key: &str| self.facts.iter().find(|(known, _)| *known == key);
        let stream = |key: &str| self.streams.iter().find(|(known, _)| *known == key);
        html! {
            div.verdict {
                p.headline data-field="headline" { (self.headline) }
                p.explanation data-field="explanation" { (self.explanation) }
            }
            dl.facts {
                @for (key, label) in FACTS {
                    @if let Some((_, value)) = fact(key) {
                        div data-fact=(key) {
                            dt { (label) }
                            dd { (value) }
                            @if key == "compile" { dd.hint { (COMPILE_HINT) } }
                        }
                    }
                }
            }
            @for (key, title) in STREAMS {
                @if let Some((_, stream)) = stream(key) {
                    div.stream data-stream=(key) {
                        h3 id={ "stream-" (key) } { (title) }
                        // HTML parsers drop a newline directly after `<pre>`, so add one.
                        pre tabindex="0" role="group" aria-labelledby={ "stream-" (key) } {
                            "\n" (stream.text)
                        }
                        p.hint data-field="note" { (stream.note) }
                    }
                }
            }
        }
    }

    /// The section of the page.
    pub fn section(&self) -> Markup {
        html! {
            section #result aria-labelledby="result-heading" data-kind=(self.class) {
                h2 #result-heading { "Result" }
                div #result-body { (self.body()) }
            }
        }
    }
}

impl Stream {
    fn of(output: &OutputAnswer) -> Stream {
        let text = match (&output.text, &output.base64) {
            (Some(text), _) => text.clone(),
            (None, Some(base64)) => {
                let bytes = BASE64.decode(base64).unwrap_or_default();
                String::from_utf8_lossy(&bytes).into_owned()
            }
            (None, None) => String::new(),
        };
        let mut note = String::new();
        if output.bytes == 0 {
            note.push_str("The program wrote nothing.");
        }
        if output.truncated {
            note = format!("Only the beginning of {} is shown.", size(output.bytes));
        }
        if output.base64.is_some() {
            note.push_str(" The output is not valid UTF-8.");
        }
        Stream {
            text: visible(&text).into_owned(),
            note: note.trim().to_owned(),
        }
    }
}

/// The templates of the script: the markup of a result, and all sentences.
pub fn templates() -> Markup {
    html! {
        template #result-template { (View::template().body()) }
        template #words {
            @for words in &WORDS {
                p data-key=(words.key) data-kind=(words.kind.class())
                    data-explanation=(words.explanation) { (words.headline) }
            }
            @for (number, name) in words::signals() {
                p data-key={ "signal_" (number) } { (name) }
            }
            @for (_, key, words) in BLAMES {
                p data-key={ "blame_" (key) } { (words) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::problem;

    fn stream(text: &str) -> String {
        let stream = Stream::of(&OutputAnswer {
            text: Some(text.to_owned()),
            base64: None,
            bytes: text.len() as u64,
            truncated: false,
        });
        let view = View {
            streams: vec![("stdout", stream)],
            ..View::idle()
        };
        view.section().into_string()
    }

    #[test]
    fn hostile_output_stays_text() {
        let shown = stream("</pre><script>alert(1)</script>\x1b[2J\u{202e}");
        assert!(!shown.contains("<script"), "{shown}");
        assert!(shown.contains("&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;␛[2J⟨U+202E⟩"));
    }

    #[test]
    fn first_newline_of_output_is_kept() {
        assert!(stream("\nx").contains(">\n\nx</pre>"));
    }

    #[test]
    fn problems_name_what_is_at_fault() {
        let shown = View::of_problem(&problem::impossible("cpu", "<b>")).section();
        assert!(shown.0.contains("The request, not the program"));
        assert!(shown.0.contains("&lt;b&gt;"));
    }
}
