//! The requests that change something: their routes, which the router names, and their fields.

use super::{PASSWORD, Random};
use crate::core::time::Time;
use crate::db::{Db, Executor, values};
use axum::Router;
use axum::body::Body;
use axum::extract::MatchedPath;
use axum::http::header::{ALLOW, CONTENT_TYPE};
use axum::http::{Method, Request};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, Write};
use std::path::Path;
use tower::ServiceExt;

/// Requests that change nothing in the database, although their method is POST.
const WITHOUT_CHANGES: [&str; 2] = ["/problems/{id}/try", "/round-problems/{id}/try"];
const BOUNDARY: &str = "a-boundary-of-the-tests";
const SOURCE: &str = "print(3)\n";

/// The latest ids of each kind of object, by the word that names the kind in routes.
const OBJECTS: [(&str, &str); 18] = [
    (
        "problems",
        "SELECT id FROM problem ORDER BY id DESC LIMIT 3",
    ),
    ("classes", "SELECT id FROM class ORDER BY id DESC LIMIT 3"),
    (
        "contests",
        "SELECT id FROM contest ORDER BY id DESC LIMIT 2",
    ),
    ("rounds", "SELECT id FROM round ORDER BY id DESC LIMIT 2"),
    (
        "round-problems",
        "SELECT id FROM round_problem ORDER BY id DESC LIMIT 3",
    ),
    (
        "participants",
        "SELECT id FROM participant ORDER BY id DESC LIMIT 4",
    ),
    ("users", "SELECT id FROM users ORDER BY id DESC LIMIT 8"),
    (
        "submissions",
        "SELECT id FROM submission ORDER BY id DESC LIMIT 4",
    ),
    (
        "clarifications",
        "SELECT id FROM clarification ORDER BY id DESC LIMIT 3",
    ),
    (
        "contest-files",
        "SELECT id FROM contest_file ORDER BY id DESC LIMIT 3",
    ),
    (
        "prints",
        "SELECT id FROM print_request ORDER BY id DESC LIMIT 2",
    ),
    ("faults", "SELECT id FROM fault ORDER BY id DESC LIMIT 2"),
    (
        "rejudgings",
        "SELECT id FROM rejudging ORDER BY id DESC LIMIT 2",
    ),
    ("jobs", "SELECT id FROM job ORDER BY id DESC LIMIT 3"),
    (
        "tokens",
        "SELECT id FROM api_token ORDER BY id DESC LIMIT 4",
    ),
    (
        "versions",
        "SELECT id FROM package_version ORDER BY id DESC LIMIT 3",
    ),
    (
        "canned",
        "SELECT id FROM canned_answer ORDER BY id DESC LIMIT 2",
    ),
    (
        "workers",
        "SELECT id FROM fleet_worker ORDER BY id DESC LIMIT 1",
    ),
];

/// What the database contains before a pair.
#[derive(Debug, Default)]
pub struct Objects {
    ids: BTreeMap<&'static str, Vec<i64>>,
    /// The logins of the latest users.
    logins: Vec<String>,
    /// A number that no earlier group has used.
    pub group: usize,
    /// Tokens in addresses of links, by the first word of the address.
    pub links: BTreeMap<&'static str, String>,
}

impl Objects {
    pub async fn read(&mut self, db: &Db) {
        for (name, sql) in OBJECTS {
            let rows = db.rows(sql, values![]).await.expect("rows");
            let ids = rows.iter().map(|row| row.get("id").expect("an id"));
            self.ids.insert(name, ids.collect());
        }
        let sql = "SELECT login FROM users ORDER BY id DESC LIMIT 8";
        let rows = db.rows(sql, values![]).await.expect("rows");
        let logins = rows.iter().map(|row| row.get("login").expect("a login"));
        self.logins = logins.collect();
    }

    /// An id of a kind, more often a late one.
    pub fn id(&self, kind: &str, random: &mut Random) -> i64 {
        let ids = self.ids.get(kind).map_or(&[][..], Vec::as_slice);
        if ids.is_empty() {
            return 1;
        }
        let index = random.below(ids.len()).min(random.below(ids.len()));
        ids[index]
    }

    fn login(&self, random: &mut Random) -> String {
        self.logins[random.below(self.logins.len())].clone()
    }
}

/// The body of a request.
#[derive(Debug, Clone)]
enum Fields {
    Form(Vec<(&'static str, String)>),
    Parts(Vec<(&'static str, String)>, Option<(&'static str, Vec<u8>)>),
    Json(serde_json::Value),
}

macro_rules! form {
    ($($name:literal: $value:expr),* $(,)?) => {
        Fields::Form(vec![$(($name, $value.to_string())),*])
    };
}

/// A request without its sender.
#[derive(Debug, Clone)]
pub struct Change {
    pub route: String,
    pub path: String,
    fields: Fields,
}

impl Change {
    /// A request for a route, with random objects and values.
    ///
    /// # Panics
    /// The route is unknown: add its fields to `fields`.
    pub fn of(route: &str, objects: &Objects, random: &mut Random) -> Change {
        let fields = fields(route, objects, random);
        let fields = fields.unwrap_or_else(|| panic!("add the fields of {route} to this list"));
        Change {
            route: route.to_owned(),
            path: fill(route, objects, random),
            fields,
        }
    }

    /// The loss of a role of a user: in a contest, or on the site.
    pub fn demotion(contest: Option<i64>, user: i64, login: &str) -> Change {
        let (route, path, fields) = match contest {
            Some(id) => (
                "/contests/{id}/members",
                format!("/contests/{id}/members"),
                form! {"login": login, "role": ""},
            ),
            None => (
                "/users/{id}",
                format!("/users/{user}"),
                form! {"role": "user"},
            ),
        };
        Change {
            route: route.to_owned(),
            path,
            fields,
        }
    }

    pub fn request(&self, cookie: &str, token: &str) -> Request<Body> {
        let (media, body) = match &self.fields {
            Fields::Form(fields) => {
                let mut text = form_urlencoded::Serializer::new(String::new());
                text.extend_pairs(fields);
                let media = "application/x-www-form-urlencoded".to_owned();
                (media, text.finish().into_bytes())
            }
            Fields::Parts(fields, file) => {
                let media = format!("multipart/form-data; boundary={BOUNDARY}");
                (media, parts(fields, file.as_ref()))
            }
            Fields::Json(value) => ("application/json".to_owned(), value.to_string().into()),
        };
        let request = Request::post(&self.path)
            .header(CONTENT_TYPE, media)
            .header("sec-fetch-site", "same-origin")
            .header("cookie", format!("session={cookie}"));
        let request = match self.route.starts_with("/api/") {
            true => request
                .header("authorization", format!("Bearer {token}"))
                .header("idempotency-key", "key"),
            false => request,
        };
        request.body(body.into()).expect("a request")
    }
}

fn parts(fields: &[(&str, String)], file: Option<&(&str, Vec<u8>)>) -> Vec<u8> {
    let mut body = Vec::new();
    let head = format!("--{BOUNDARY}\r\nContent-Disposition: form-data");
    for (name, value) in fields {
        let part = format!("{head}; name=\"{name}\"\r\n\r\n{value}\r\n");
        body.extend_from_slice(part.as_bytes());
    }
    if let Some((name, content)) = file {
        let part = format!("{head}; name=\"file\"; filename=\"{name}\"\r\n\r\n");
        body.extend_from_slice(part.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    body
}

fn fill(route: &str, objects: &Objects, random: &mut Random) -> String {
    let mut filled = String::new();
    let mut kind = "";
    for part in route.split('/').skip(1) {
        filled.push('/');
        match part {
            "{id}" => filled.push_str(&objects.id(kind, random).to_string()),
            "{token}" => {
                let unknown = "0".repeat(64);
                filled.push_str(objects.links.get(kind).unwrap_or(&unknown));
            }
            part => {
                filled.push_str(part);
                kind = part;
            }
        }
    }
    filled
}

/// Adds the route of a request to its response.
async fn name(request: Request<Body>, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut response = next.run(request).await;
    if let Some(route) = route {
        response.extensions_mut().insert(route);
    }
    response
}

/// The routes of the router that accept POST. The router does not list its routes, so texts of the
/// sources that look like paths are sent to it. It states to which route each of them leads, and
/// which methods that route has.
pub async fn routes(router: &Router) -> Vec<String> {
    let mut quoted = BTreeSet::new();
    let mut directories = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).expect("sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                directories.push(path);
            } else {
                let text = std::fs::read_to_string(&path).expect("a source");
                let strings = text.split('"').filter(|text| text.starts_with('/'));
                let is_route = |text: &&str| !text.contains([' ', '\n', '?', '#']);
                quoted.extend(strings.filter(is_route).map(str::to_owned));
            }
        }
    }
    let router = router.clone().layer(from_fn(name));
    let mut routes = BTreeSet::new();
    for route in quoted {
        let path = route.replace("{id}", "1").replace("{number}", "1");
        let path = path.replace("{token}", "0").replace("{name}", "a");
        if path.contains(['{', '}']) || path.starts_with("/api/v1") {
            continue;
        }
        let request = Request::builder()
            .method(Method::PATCH)
            .uri(path)
            .header("sec-fetch-site", "same-origin")
            .body(Body::empty());
        let request = request.expect("a request");
        let answer = router.clone().oneshot(request).await.expect("an answer");
        let Some(route) = answer.extensions().get::<MatchedPath>() else {
            continue;
        };
        let allowed = answer.headers().get(ALLOW);
        let allowed = allowed.map_or("", |value| value.to_str().expect("text"));
        let known = ["", "GET", "HEAD", "POST"];
        assert!(
            allowed.split(',').all(|method| known.contains(&method)),
            "this test sends only POST: {route:?} {allowed}"
        );
        if allowed.contains("POST") {
            routes.insert(route.as_str().to_owned());
        }
    }
    routes.extend(api_routes());
    let mut routes: Vec<String> = routes.into_iter().collect();
    routes.retain(|route| !WITHOUT_CHANGES.contains(&route.as_str()));
    for known in [
        "/contests/{id}/members",
        "/api/v1/submissions",
        "/users/{id}/merge",
    ] {
        assert!(
            routes.iter().any(|route| route == known),
            "{known} {routes:?}"
        );
    }
    routes
}

/// The operations of programs that change something.
fn api_routes() -> Vec<String> {
    let document = crate::http::api::description();
    let document: serde_json::Value = serde_json::from_str(&document).expect("JSON");
    let paths = document["paths"].as_object().expect("paths");
    let mut routes = Vec::new();
    for (path, operations) in paths {
        for method in operations.as_object().expect("operations").keys() {
            match method.as_str() {
                "get" | "parameters" => {}
                "post" => routes.push(path.clone()),
                other => panic!("this test sends only POST: {other} {path}"),
            }
        }
    }
    routes
}

/// A package whose submissions add two numbers.
fn package(name: &str) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let header = format!("name: {name}\nlimits:\n  memory: 256\n");
    for (file, content) in [
        ("problem.yaml", header.as_str()),
        (".timelimit", "5\n"),
        ("problem_statement/problem.md", "Add $a$ and $b$.\n"),
        ("submissions/accepted/a.py", SOURCE),
        ("data/sample/1.in", "1 2\n"),
        ("data/sample/1.ans", "3\n"),
        ("data/secret/1.in", "20 22\n"),
        ("data/secret/1.ans", "42\n"),
    ] {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(file, options).expect("an entry");
        archive.write_all(content.as_bytes()).expect("memory");
    }
    archive.finish().expect("an archive").into_inner()
}

#[allow(clippy::too_many_lines, reason = "one list")]
fn fields(route: &str, objects: &Objects, random: &mut Random) -> Option<Fields> {
    let group = objects.group;
    let id = |kind: &str, random: &mut Random| objects.id(kind, random);
    let coin = |random: &mut Random| random.below(2) == 0;
    let word = format!("x{group}-{}", random.below(3));
    let optional = |is_set: bool, name: &'static str| {
        let field = is_set.then(|| (name, "1".to_owned()));
        field.into_iter().collect::<Vec<_>>()
    };
    Some(match route {
        "/account" => form! {"name": word, "email": "", "time_zone": "Europe/Berlin"},
        "/account/tokens" => form! {"name": word, "scope": "read", "days": 1},
        "/account/totp/confirm" | "/sign-in/code" => form! {"code": "000000"},
        "/account/totp/new" => form! {"password": PASSWORD},
        "/account/totp/off" => form! {"password": PASSWORD, "code": "000000"},
        "/account/oidc/link"
        | "/account/oidc/unlink"
        | "/account/sessions/end"
        | "/account/tokens/{id}/delete"
        | "/classes/{id}/delete"
        | "/contest-files/{id}/delete"
        | "/contests/{id}/copy"
        | "/contests/{id}/link"
        | "/contests/{id}/link/delete"
        | "/contests/{id}/similar"
        | "/enter/{token}"
        | "/faults/{id}/close"
        | "/jobs/{id}/cancel"
        | "/jobs/{id}/restart"
        | "/participants/{id}/delete"
        | "/participants/{id}/reinstate"
        | "/prints/{id}/done"
        | "/problems/{id}/compile"
        | "/problems/{id}/limits"
        | "/rejudgings/{id}/apply"
        | "/rejudgings/{id}/drop"
        | "/rejudgings/{id}/repeat"
        | "/rounds/{id}/copy"
        | "/rounds/{id}/start"
        | "/rounds/{id}/thaw"
        | "/rounds/{id}/virtual"
        | "/rounds/{id}/virtual/end"
        | "/sign-out"
        | "/submissions/{id}/cancel"
        | "/submissions/{id}/delete"
        | "/submissions/{id}/judge"
        | "/users/{id}/reset"
        | "/users/{id}/sessions/end"
        | "/users/{id}/totp/off" => form! {"password": PASSWORD},
        "/workers/{id}" => Fields::Form(optional(coin(random), "enabled")),
        "/clarifications/{id}" => form! {"answer": word, "audience": "all"},
        "/contest-files/{id}/edit" | "/contests/{id}/files" => Fields::Parts(
            vec![("audience", "all".to_owned()), ("name", word)],
            Some(("a.txt", SOURCE.into())),
        ),
        "/contests/new" | "/contests/{id}/edit" => {
            form! {
                "name": word, "visibility": if coin(random) { "private" } else { "public" },
                "time_zone": if coin(random) { "" } else { "Europe/Berlin" },
            }
        }
        "/contests/{id}/announcements" | "/contests/{id}/clarifications" => {
            form! {"text": word, "problem": ""}
        }
        "/contests/{id}/balloons" => form! {
            "problem": id("round-problems", random),
            "participant": id("participants", random),
            "undo": if coin(random) { "1" } else { "" },
        },
        "/contests/{id}/balloons/freeze" => Fields::Form(optional(coin(random), "in_freeze")),
        "/contests/{id}/canned-answers" => form! {"list": format!("{word}\nb")},
        "/contests/{id}/clarifications/read" => form! {"until": Time::now().0},
        "/classes" => form! {"name": word},
        "/classes/{id}" => form! {"name": word, "owner": objects.login(random)},
        "/classes/{id}/members" => form! {"login": objects.login(random)},
        "/classes/{id}/members/change" => form! {
            "act": ["remove", "all", "passwords"][random.below(3)],
            "user": id("users", random),
        },
        "/classes/{id}/problems" | "/classes/{id}/problems/remove" => {
            form! {"problem": id("problems", random)}
        }
        "/contests/{id}/classes" => form! {"class": id("classes", random)},
        "/classes/{id}/import" | "/contests/{id}/import" | "/users/import" => {
            Fields::Parts(vec![("list", format!("login,name\n{word},A name\n"))], None)
        }
        "/classes/{id}/import/apply" | "/contests/{id}/import/apply" | "/users/import/apply" => {
            Fields::Parts(
                vec![
                    ("list", format!("login,name\n{word},A name\n")),
                    ("accounts", format!("login,name\n{word},A name\n")),
                    (
                        "plan",
                        objects.links.get("plan").cloned().unwrap_or_default(),
                    ),
                ],
                None,
            )
        }
        "/contests/{id}/members" => form! {
            "login": objects.login(random),
            "role": ["", "owner", "moderator", "contestant"][random.below(4)],
        },
        "/contests/{id}/participants" => form! {"name": word},
        "/contests/{id}/print" => Fields::Parts(vec![("text", word)], None),
        "/contests/{id}/printing" => Fields::Form(optional(coin(random), "printing")),
        "/contests/{id}/rounds" => form! {
            "name": word, "begins": "", "ends": "", "full_results": "2999-01-01T00:00",
            "ranking_from": "",
        },
        "/rounds/{id}" => form! {
            "name": word, "begins": "", "ends": "", "full_results": "2999-01-01T00:00",
            "ranking_from": "", "mode": "points", "penalty_minutes": 20, "window_minutes": "",
            "freeze_at": if coin(random) { "2002-01-01T00:00" } else { "" }, "thaw_at": "",
        },
        "/language" => form! {"language": "de"},
        "/participants/{id}/hand-in" => Fields::Parts(
            vec![
                ("problem", id("round-problems", random).to_string()),
                ("language", String::new()),
                ("submitted_at", String::new()),
                ("reason", word),
            ],
            Some(("a.py", SOURCE.into())),
        ),
        "/participants/{id}/disqualify" => form! { "reason": word },
        "/participants/{id}" => form! {
            "name": word, "organization": "", "group_name": "", "delay": 0, "extra": 1,
            "penalty": 0,
        },
        "/participants/{id}/members" | "/participants/{id}/remove" => {
            form! {"login": objects.login(random)}
        }
        "/password" => form! {"old": PASSWORD, "new": PASSWORD},
        "/reset/{token}" => form! {"new": PASSWORD},
        "/problems/new" => Fields::Parts(
            vec![("visibility", "private".to_owned())],
            Some(("a.zip", package(&word))),
        ),
        "/problems/{id}/versions" => Fields::Parts(vec![], Some(("a.zip", package(&word)))),
        "/problems/{id}/statement" => {
            let content = format!("# Another one\n\n{word}\n");
            Fields::Parts(vec![], Some(("problem.md", content.into_bytes())))
        }
        "/problems/{id}/edit" => form! {"name": word, "visibility": "private"},
        "/problems/{id}/tags" => form! {"label": word, "tags": "a, b", "hidden_tags": word},
        "/problems/{id}/merge" => {
            form! {"into": id("problems", random), "rejudge": "1", "password": PASSWORD}
        }
        "/problems/{id}/delete"
        | "/contests/{id}/delete"
        | "/rounds/{id}/delete"
        | "/round-problems/{id}/delete" => form! {"password": PASSWORD},
        "/problems/{id}/submit" | "/round-problems/{id}/submit" => Fields::Parts(
            vec![("language", String::new())],
            Some(("a.py", SOURCE.into())),
        ),
        "/rejudgings/new" => form! {
            "reason": word,
            "contest": if coin(random) { "" } else { "1" },
            "problem": id("problems", random),
        },
        "/rounds/{id}/problems" => form! {
            "problem": id("problems", random), "label": word, "final_method": "best",
            "reveal": "nothing",
        },
        "/rounds/{id}/extend" => form! {
            "more_minutes": 5, "reason": word, "ends": Time::NEVER.0,
        },
        "/round-problems/{id}/colour" => form! {"colour": "#00ff00"},
        "/round-problems/{id}/edit" => form! {
            "label": word, "name": word, "version": id("versions", random),
            "final_method": "last_compiling", "reveal": "score",
        },
        "/round-problems/{id}/move" => {
            form! {"direction": if coin(random) { "up" } else { "down" }}
        }
        "/round-problems/{id}/pause" => form! {"pause": if coin(random) { "1" } else { "" }},
        "/settings/relax" => form! {"hours": random.below(2)},
        "/settings" => form! {"sign_up": ["open", "closed", "link"][random.below(3)]},
        "/setup/{token}" | "/sign-up" | "/sign-up/{token}" => {
            form! {"login": word, "name": word, "password": PASSWORD}
        }
        "/sign-in" => form! {"login": objects.login(random), "password": PASSWORD},
        "/submissions/{id}/kind" => {
            form! {"kind": if coin(random) { "ignored" } else { "normal" }}
        }
        "/users/{id}" => {
            let mut fields = optional(random.below(4) == 0, "disabled");
            let role = ["user", "teacher", "admin", "admin", "admin"][random.below(5)];
            fields.push(("role", role.to_owned()));
            Fields::Form(fields)
        }
        "/users/{id}/profile" => form! {"name": word, "email": ""},
        "/users/{id}/delete" => form! {"confirm": objects.login(random)},
        "/users/{id}/merge" => {
            form! {"into": objects.login(random), "confirm": objects.login(random)}
        }
        "/api/v1/clarifications/{id}/answer" => {
            Fields::Json(serde_json::json!({"text": word, "audience": "quoted"}))
        }
        "/api/v1/contests/{id}/announcements" | "/api/v1/contests/{id}/clarifications" => {
            Fields::Json(serde_json::json!({"text": word}))
        }
        "/api/v1/submissions" => Fields::Json(serde_json::json!({
            "round_problem": id("round-problems", random), "file_name": "a.py", "source": SOURCE,
        })),
        "/api/v1/users" => Fields::Json(serde_json::json!({"login": word, "password": PASSWORD})),
        _ => return None,
    })
}
