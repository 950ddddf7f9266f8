//! The description of the interface.

use crate::server::{Server, python_client};
use std::process::Command;

/// For example, two operations with the same id make a description invalid.
#[test]
fn description_is_valid_openapi() {
    let Some(python) = python_client("openapi") else {
        return;
    };
    let server = Server::start("");
    let output = Command::new(python)
        .args(["-I", "-c", include_str!("../clients/openapi.py")])
        .arg(&server.url)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.stdout, b"passed\n", "{errors}");
}

#[test]
fn description_and_pages_are_served_without_foreign_content() {
    let server = Server::start("");
    let document = server.get("/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    assert!(document["paths"]["/v1/runs"]["post"].is_object());
    for path in ["/docs", "/docs/problems"] {
        let page = server.get(path);
        assert_eq!(page.status, 200);
        for foreign in ["`", "<style", "http://", "https://"] {
            assert!(!page.body.contains(foreign), "{path} contains {foreign}");
        }
    }
    let page = server.get("/docs").body;
    assert!(page.contains("/v1/runs/{id}/attach") && page.contains("RunRequest"));
    assert!(
        server
            .get("/docs/problems")
            .body
            .contains("id=\"queue_full\"")
    );
}
