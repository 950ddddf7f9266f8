//! Events of runs.

use super::{await_end, begin, shell};
use crate::server::Server;
use serde_json::{Value, json};

/// Name, id and data of each event.
fn events(body: &str) -> Vec<(String, Option<u64>, Value)> {
    body.split("\n\n")
        .filter(|event| !event.trim().is_empty() && !event.starts_with(':'))
        .map(|event| {
            let field = |name: &str| {
                event
                    .lines()
                    .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
            };
            (
                field("event").unwrap().to_owned(),
                field("id").map(|id| id.parse().unwrap()),
                serde_json::from_str(field("data").unwrap()).unwrap(),
            )
        })
        .collect()
}

#[test]
fn events_describe_the_run_and_resume_after_an_event() {
    let server = Server::start("");
    let id = begin(&server, &shell("echo out; echo err >&2; exit 3"));
    let path = format!("/v1/runs/{id}/events");
    let all = events(&server.get(&path).body);
    let names: Vec<&str> = all.iter().map(|(name, ..)| &name[..]).collect();
    assert_eq!(names[0], "state");
    assert_eq!(names[1..4], ["queued", "started", "test_started"]);
    assert!(
        names.contains(&"stdout") && names.contains(&"stderr"),
        "{names:?}"
    );
    assert_eq!(names[names.len() - 2..], ["test", "ended"]);
    let test = &all[all.len() - 2].2;
    assert_eq!(
        (&test["outcome"], &test["exit_code"]),
        (&json!("exited"), &json!(3))
    );

    await_end(&server, &format!("/v1/runs/{id}"));
    let before_last = all[all.len() - 2].1.unwrap().to_string();
    let answer = server.request("GET", &path, &[("last-event-id", &before_last)], "");
    let rest = events(&answer.body);
    assert_eq!(rest.len(), 2, "{rest:?}");
    assert_eq!(
        (&rest[0].0[..], &rest[0].2["state"]),
        ("state", &json!("ended"))
    );
    assert_eq!(rest[1], all[all.len() - 1]);
}

#[test]
fn log_above_its_bound_has_a_gap() {
    let server = Server::with_config("", "[results]\nmax_event_bytes = 20000");
    let id = begin(&server, &shell("head -c 300000 /dev/zero"));
    await_end(&server, &format!("/v1/runs/{id}"));
    let all = events(&server.get(&format!("/v1/runs/{id}/events")).body);
    assert_eq!(all[1].0, "gap");
    assert_eq!(all[all.len() - 1].0, "ended");
}
