//! The description of the interface.

use crate::server::Server;

#[test]
fn description_and_pages_are_served_without_foreign_content() {
    let server = Server::start("");
    let document = server.get("/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    assert!(document["paths"]["/v1/runs"]["post"].is_object());
    for path in ["/docs", "/docs/problems"] {
        let page = server.get(path);
        assert_eq!(page.status, 200);
        for foreign in ["<script", "http://", "https://", "src="] {
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
