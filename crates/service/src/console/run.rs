//! `/`: the form that runs a program, and its result.

use super::Console;
use super::form::Fields;
use super::layout::{self, Page};
use super::result::{self, View};
use crate::core::catalog::Runtime;
use crate::http::problem::{self, ProblemDetails};
use crate::http::v1::auth;
use crate::http::v1::model::{OutputForm, RunAnswer};
use crate::http::v1::runs;
use crate::service::Service;
use crate::tokens::Client;
use axum::Form;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use maud::{Markup, html};
use std::sync::Arc;

/// The name of the console in metrics.
const INTERFACE: &str = "console";
/// The maximum size of the form without JavaScript, in its encoding for the transfer. The script
/// sends programs to `/v1/runs` instead, which has a larger bound.
pub const MAX_FORM_BYTES: usize = 1 << 20;
/// The language of the first program that a visitor sees.
const FIRST_RUNTIME: &str = "python3";

/// `GET /`: the form, filled in from the query, if any.
pub async fn show(
    State(console): State<Arc<Console>>,
    query: Result<Query<Fields>, QueryRejection>,
) -> Html<String> {
    let service = &console.service;
    let fields = query.map(|Query(fields)| fields).unwrap_or_default();
    let fields = fields.normalized();
    let fields = if fields.runtime.is_empty() && fields.code.is_empty() {
        match first_runtime(service) {
            Some(runtime) => fields.with_example(runtime),
            None => fields,
        }
    } else {
        fields
    };
    page(service, &fields, &View::idle(), None)
}

/// `POST /`: runs the program of the form, or shows the example of its language.
pub async fn submit(
    State(console): State<Arc<Console>>,
    headers: HeaderMap,
    form: Result<Form<Fields>, FormRejection>,
) -> Response {
    let service = &console.service;
    if is_cross_site(&headers) {
        let problem = problem::forbidden("the form was sent by a page of another site");
        return answer(service, &Fields::default(), &Err(problem));
    }
    let fields = match form {
        Ok(Form(fields)) => fields.normalized(),
        Err(rejection) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            let detail = format!(
                "without JavaScript, the program and its input may have at most \
                 {MAX_FORM_BYTES} bytes together in the encoding of the form"
            );
            let problem = problem::body_too_large(detail, MAX_FORM_BYTES as u64);
            return answer(service, &Fields::default(), &Err(problem));
        }
        Err(rejection) => {
            let problem = ProblemDetails {
                status: rejection.status().as_u16(),
                ..problem::malformed(rejection)
            };
            return answer(service, &Fields::default(), &Err(problem));
        }
    };
    if fields.action == "example" {
        return match service.programs.catalog.runtime(&fields.runtime) {
            Ok(runtime) => {
                let fields = fields.with_example(&runtime);
                page(service, &fields, &View::idle(), None).into_response()
            }
            Err(error) => {
                let problem = problem::impossible("runtime", error);
                answer(service, &fields, &Err(problem))
            }
        };
    }
    let ended = run(service, &fields).await;
    answer(service, &fields, &ended)
}

async fn run(service: &Service, fields: &Fields) -> Result<RunAnswer, ProblemDetails> {
    let client = client(service, &fields.token)?;
    let runtime = service.programs.catalog.runtime(&fields.runtime);
    let runtime = runtime.map_err(|error| problem::impossible("runtime", error))?;
    let request = fields.request(&runtime, &service.config.limits)?;
    let size = fields.code.len() + fields.stdin.len();
    let run = runs::program_run(service, &client, request, size)?;
    let report = service.run(INTERFACE, run).await?;
    let name = Some(runtime.name.clone());
    let form = OutputForm::Text;
    Ok(RunAnswer::ended(runs::new_id(), None, name, &report, form))
}

/// The client of a token. The console is a view of `/v1`, so it needs the same right.
pub fn client(service: &Service, token: &str) -> Result<Client, ProblemDetails> {
    let token = Some(token.trim()).filter(|token| !token.is_empty());
    let client = service
        .tokens
        .client(token)
        .map_err(|error| ProblemDetails {
            detail: "Enter a token that the operator of this service gave you.".to_owned(),
            ..problem::new(
                StatusCode::UNAUTHORIZED,
                "unauthorized",
                "The token is missing or unknown",
                error,
            )
        })?;
    if client.may_use(auth::INTERFACE) {
        Ok(client)
    } else {
        Err(problem::forbidden("this token is not for the interface v1"))
    }
}

/// Whether a page of another site sent the request. Old browsers do not send this information.
pub fn is_cross_site(headers: &HeaderMap) -> bool {
    headers
        .get("sec-fetch-site")
        .is_some_and(|site| site != "same-origin" && site != "none")
}

fn answer(
    service: &Service,
    fields: &Fields,
    ended: &Result<RunAnswer, ProblemDetails>,
) -> Response {
    let (status, view) = match ended {
        Ok(answer) => (StatusCode::OK, View::of_answer(answer)),
        Err(problem) => (
            StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            View::of_problem(problem),
        ),
    };
    (status, page(service, fields, &view, Some(fields.link()))).into_response()
}

fn first_runtime(service: &Service) -> Option<&Runtime> {
    let runtimes = service.programs.catalog.runtimes().iter();
    let mut available = runtimes.filter(|runtime| runtime.is_available());
    let first = available
        .clone()
        .find(|runtime| runtime.name == FIRST_RUNTIME);
    first.or_else(|| available.next()).map(|runtime| &**runtime)
}

/// The page. `link` is the link to the program, if the form was sent. An inner `None` means that
/// the program is too long for a link.
fn page(
    service: &Service,
    fields: &Fields,
    view: &View,
    link: Option<Option<String>>,
) -> Html<String> {
    let main = html! {
        h1 { "Run a program" }
        div.workbench {
            (form(service, fields))
            div.outcome {
                // The script writes text here for screen readers to announce.
                p #announcement .visually-hidden role="status" {}
                (view.section())
                (share(link))
            }
        }
        (result::templates())
    };
    layout::page(Page::Run, "Run a program", html! {}, main)
}

fn form(service: &Service, fields: &Fields) -> Markup {
    let limits = &service.config.limits;
    let runtimes = service.programs.catalog.runtimes().iter();
    let available: Vec<_> = runtimes.filter(|runtime| runtime.is_available()).collect();
    let chosen = service.programs.catalog.runtime(&fields.runtime).ok();
    let chosen = chosen.as_ref().map(|runtime| &runtime.name[..]);
    let default_cpu_ms = limits.default.cpu_ms.min(limits.max.cpu_ms);
    let default_memory = limits.default.memory_bytes.min(limits.max.memory_bytes);
    let has_tokens = service.tokens.are_required();
    html! {
        form #run method="post" action="/#result" autocomplete="off" {
            div.bar {
                div.field {
                    label for="runtime" { "Language" }
                    select #runtime name="runtime" required {
                        @if available.is_empty() {
                            option value="" { "No language is installed" }
                        }
                        @for runtime in &available {
                            option value=(runtime.name) selected[chosen == Some(&runtime.name[..])]
                                data-language=(runtime.language) data-file=(runtime.file_name)
                                data-example=(runtime.example) {
                                (title(runtime, has_tokens))
                            }
                        }
                    }
                }
                button.quiet #example type="submit" name="action" value="example" formnovalidate {
                    "Show the example"
                }
            }
            div.field.grow {
                label for="code" { "Program" }
                div.editor #editor {
                    textarea #code name="code" rows="18" spellcheck="false" autocapitalize="off"
                        autocorrect="off" wrap="off" aria-describedby="code-hint" required {
                        "\n" (fields.code)
                    }
                }
                p.hint #code-hint {
                    span.with-script {
                        kbd { "Ctrl" } "+" kbd { "Enter" } " runs the program. "
                        kbd { "Tab" } " indents; " kbd { "Esc" } ", then " kbd { "Tab" }
                        " leaves the editor."
                    }
                }
            }
            div.inputs {
                div.field {
                    label for="stdin" { "Standard input" }
                    textarea #stdin name="stdin" rows="4" spellcheck="false" autocapitalize="off" {
                        "\n" (fields.stdin)
                    }
                }
                fieldset {
                    legend { "Limits" }
                    div.field {
                        label for="cpu" { "CPU time in seconds" }
                        input #cpu name="cpu" type="number" inputmode="decimal" min="0.1" step="any"
                            max=(seconds(limits.max.cpu_ms)) value=(fields.cpu)
                            placeholder=(seconds(default_cpu_ms));
                    }
                    div.field {
                        label for="memory" { "Memory in MiB" }
                        input #memory name="memory" type="number" inputmode="numeric" min="1"
                            step="any"
                            max=(limits.max.memory_bytes >> 20) value=(fields.memory)
                            placeholder=(default_memory >> 20);
                    }
                }
            }
            @if has_tokens { (layout::token_field()) }
            div.actions {
                button.primary #start type="submit" name="action" value="run" { "Run" }
                button #stop type="button" hidden { "Stop" }
                button #share type="button" hidden { "Copy a link" }
            }
        }
    }
}

fn share(link: Option<Option<String>>) -> Markup {
    html! {
        div #share-box {
            @match link {
                None => {}
                Some(Some(link)) => {
                    p {
                        a href=(link) { "Link to this program" }
                        " for sharing. It opens the form without running anything."
                    }
                }
                Some(None) => {
                    p.hint { "This program is too long for a link without JavaScript." }
                }
            }
        }
    }
}

/// The name of a runtime with its version, unless the service is not public.
fn title(runtime: &Runtime, has_tokens: bool) -> String {
    match runtime.version_number() {
        version if !version.is_empty() && !has_tokens => format!("{} ({version})", runtime.title),
        _ => runtime.title.clone(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "limits are small")]
fn seconds(milliseconds: u64) -> f64 {
    milliseconds as f64 / 1000.0
}
