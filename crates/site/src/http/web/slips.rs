//! Secrets that users receive on paper: slips to print and to cut, and the same as CSV.

use super::parts::address;
use crate::core::roster;
use crate::text::t;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};

/// What users without a password receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Issue {
    /// A link for choosing a password.
    Links,
    /// A password.
    Passwords,
}

impl Issue {
    /// The page whose URL the user receives.
    fn path(self) -> &'static str {
        match self {
            Issue::Links => "/",
            Issue::Passwords => "/sign-in",
        }
    }
}

/// A user, with the path for choosing a password or with a password.
pub struct Made {
    pub login: String,
    pub name: String,
    pub secret: String,
}

/// The secrets of users as CSV, with whole addresses.
pub fn secrets_file(made: &[Made], issue: Issue) -> Response {
    let site = address(issue.path());
    let (name, head) = match issue {
        Issue::Links => ("links.csv", vec!["login", "name", "link"]),
        Issue::Passwords => ("passwords.csv", vec!["login", "name", "password", "site"]),
    };
    let links: Vec<String> = made.iter().map(|one| address(&one.secret)).collect();
    let rows = made.iter().zip(&links).map(|(one, link)| match issue {
        Issue::Links => vec![one.login.as_str(), &one.name, link],
        Issue::Passwords => vec![one.login.as_str(), &one.name, &one.secret, &site],
    });
    let text = roster::csv(std::iter::once(head).chain(rows));
    file(name, "text/csv; charset=utf-8", text)
}

/// A slip of paper for each user.
pub fn slips(made: &[Made], issue: Issue) -> Markup {
    html! {
        div.slips #slips { @for one in made {
            section.slip {
                h2 { (one.name) }
                dl.facts {
                    dt { (t::RosterSite) } dd { (address(issue.path())) }
                    dt { (t::Login) } dd { code { (one.login) } }
                    @match issue {
                        Issue::Passwords => {
                            dt { (t::Password) } dd { code { (one.secret) } }
                        }
                        Issue::Links => {
                            dt { (t::RosterLink) }
                            dd { a href=(one.secret) { (address(&one.secret)) } }
                        }
                    }
                }
            }
        } }
    }
}

/// A file for the browser to save.
pub fn file(name: &str, media: &'static str, content: String) -> Response {
    let disposition = format!("attachment; filename=\"{name}\"");
    let headers = [
        (CONTENT_TYPE, media.to_owned()),
        (CONTENT_DISPOSITION, disposition),
    ];
    (headers, content).into_response()
}
