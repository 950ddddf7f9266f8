//! Information about the service.

use super::{C, Judge, MULTI_FILE, PLAIN_TEXT, PYTHON, source, text};
use crate::server::Server;
use serde_json::{Value, json};

/// The keys without which the SDK does not start.
const CONFIG_KEYS: [&str; 39] = [
    "allow_enable_network",
    "allow_enable_per_process_and_thread_memory_limit",
    "allow_enable_per_process_and_thread_time_limit",
    "allowed_languages_for_compile_options",
    "callbacks_max_tries",
    "callbacks_timeout",
    "cpu_extra_time",
    "cpu_time_limit",
    "enable_additional_files",
    "enable_batched_submissions",
    "enable_callbacks",
    "enable_command_line_arguments",
    "enable_compiler_options",
    "enable_network",
    "enable_per_process_and_thread_memory_limit",
    "enable_per_process_and_thread_time_limit",
    "enable_submission_delete",
    "enable_wait_result",
    "maintenance_mode",
    "max_cpu_extra_time",
    "max_cpu_time_limit",
    "max_extract_size",
    "max_file_size",
    "max_max_file_size",
    "max_max_processes_and_or_threads",
    "max_memory_limit",
    "max_number_of_runs",
    "max_processes_and_or_threads",
    "max_queue_size",
    "max_stack_limit",
    "max_submission_batch_size",
    "max_wall_time_limit",
    "memory_limit",
    "number_of_runs",
    "redirect_stderr_to_stdout",
    "stack_limit",
    "submission_cache_duration",
    "use_docs_as_homepage",
    "wall_time_limit",
];

#[test]
fn config_info_has_all_keys_and_the_limits_of_judge0() {
    let (status, config) = Judge::start().get("/config_info");
    assert_eq!(status, 200);
    for key in CONFIG_KEYS {
        assert!(!config[key].is_null(), "{key}");
    }
    assert_eq!(config["cpu_time_limit"], json!(5.0));
    assert_eq!(config["max_wall_time_limit"], json!(20.0));
    assert_eq!(config["max_memory_limit"], json!(512_000));
    assert_eq!(config["allow_enable_network"], json!(false));
    assert_eq!(config["enable_submission_delete"], json!(false));
}

#[test]
fn languages_are_listed_and_described() {
    let judge = Judge::start();
    let (_, languages) = judge.get("/languages");
    let find = |id: u32| {
        let languages = languages.as_array().unwrap();
        languages
            .iter()
            .find(|language| language["id"] == json!(id))
            .cloned()
    };
    assert_eq!(
        find(PLAIN_TEXT),
        Some(json!({ "id": PLAIN_TEXT, "name": "Plain Text" }))
    );
    assert!(find(MULTI_FILE).is_some() && find(70).is_none());
    let python = find(PYTHON).unwrap();
    assert!(
        python["name"].as_str().unwrap().starts_with("Python (3."),
        "{python}"
    );
    let (_, all) = judge.get("/languages/all");
    assert_eq!(
        all.as_array().unwrap().len(),
        languages.as_array().unwrap().len()
    );
    assert!(
        all.as_array()
            .unwrap()
            .iter()
            .all(|language| language["is_archived"] == json!(false))
    );
    let (status, c) = judge.get(&format!("/languages/{C}"));
    assert_eq!(
        (status, &c["source_file"], &c["run_cmd"]),
        (200, &json!("main.c"), &json!("./a.out"))
    );
    assert!(c["compile_cmd"].as_str().unwrap().contains("%s"));
    let not_found = json!({ "status": 404, "error": "Not Found" });
    assert_eq!(judge.get("/languages/4"), (404, not_found.clone()));
    assert_eq!(judge.get("/languages/x"), (404, not_found));
}

#[test]
fn statuses_have_the_numbers_of_judge0() {
    let (_, statuses) = Judge::start().get("/statuses");
    let statuses = statuses.as_array().unwrap();
    assert_eq!(statuses.len(), 14);
    assert_eq!(statuses[0], json!({ "id": 1, "description": "In Queue" }));
    assert_eq!(
        statuses[10],
        json!({ "id": 11, "description": "Runtime Error (NZEC)" })
    );
    assert_eq!(
        statuses[13],
        json!({ "id": 14, "description": "Exec Format Error" })
    );
}

#[test]
fn service_describes_itself_and_the_machine() {
    let judge = Judge::start();
    assert_eq!(judge.get("/about").1["version"], json!("1.13.1"));
    assert_eq!(judge.send("GET", "/version", ""), (200, json!("1.13.1")));
    for path in ["/isolate", "/license"] {
        assert!(judge.get(path).1.as_str().unwrap().contains("millibox"));
    }
    let (_, system) = judge.get("/system_info");
    for key in ["Architecture", "CPU(s)", "Mem", "Swap"] {
        assert!(system[key].is_string(), "{system}");
    }
    let (_, workers) = judge.get("/workers");
    for key in ["size", "available", "idle", "working", "paused", "failed"] {
        assert!(workers[0][key].is_u64(), "{workers}");
    }
    assert_eq!(workers[0]["queue"], json!("1.13.1"));
}

#[test]
fn statistics_count_submissions() {
    let judge = Judge::start();
    judge.run(&text("a"));
    judge.run(&text("b"));
    judge.run(&source(super::BASH, "exit 1"));
    let (_, statistics) = judge.get("/statistics");
    assert_eq!(statistics["submissions"]["total"], json!(3));
    let days = statistics["submissions"]["last_30_days"]
        .as_object()
        .unwrap();
    assert_eq!(days.len(), 30);
    let language = json!({ "language": { "id": 43, "name": "Plain Text" }, "count": 2 });
    assert_eq!(statistics["languages"][0], language);
    let status = json!({ "status": { "id": 3, "name": "Accepted" }, "count": 2 });
    assert_eq!(statistics["statuses"][0], status);
}

const PAGE: (&str, &str) = ("origin", "https://page.test");
const ALLOWED: &str = "access-control-allow-origin";

fn program() -> Value {
    json!({ "language_id": 43, "source_code": "a" })
}

#[test]
fn foreign_page_neither_runs_nor_reads_without_tokens() {
    let mut judge = Judge::start();
    judge.headers.push((PAGE.0, PAGE.1.to_owned()));
    let created = judge.response("POST", "/submissions?wait=true", &program().to_string());
    assert_eq!(created.status(), 403);
    let about = judge.response("GET", "/about", "");
    assert!(!about.headers().contains_key(ALLOWED));
    // The preflight promises nothing that is then rejected.
    let method = ("access-control-request-method", "POST".to_owned());
    judge.headers.push(method);
    let preflight = judge.response("OPTIONS", "/submissions", "");
    assert_eq!(preflight.status(), 403);
    assert!(!preflight.headers().contains_key(ALLOWED));
}

#[test]
fn trusted_page_runs_programs_and_reads_errors() {
    for origins in ["https://page.test", "*"] {
        let config = format!("trusted_origins = [\"{origins}\"]");
        let mut judge = Judge::with_config(&config);
        judge.headers.push((PAGE.0, PAGE.1.to_owned()));
        for (method, path, body, status) in [
            ("POST", "/submissions?wait=true", program().to_string(), 201),
            ("POST", "/submissions", "{".to_owned(), 400),
            ("POST", "/submissions", "{}".to_owned(), 422),
            ("GET", "/submissions", String::new(), 403),
            ("GET", "/submissions/unknown", String::new(), 404),
            ("GET", "/unknown", String::new(), 404),
            ("PUT", "/submissions", String::new(), 404),
            ("GET", "/version", String::new(), 200),
        ] {
            let response = judge.response(method, path, &body);
            assert_eq!(response.status(), status, "{method} {path} {body}");
            assert_eq!(
                response.headers()[ALLOWED],
                PAGE.1,
                "{method} {path} {body}"
            );
        }
        let method = ("access-control-request-method", "POST".to_owned());
        judge.headers.push(method);
        let field = ("access-control-request-headers", "x-auth-token".to_owned());
        judge.headers.push(field);
        let preflight = judge.response("OPTIONS", "/submissions", "");
        assert_eq!(preflight.status(), 200);
        let allowed = &preflight.headers()["access-control-allow-headers"];
        assert_eq!(allowed, "x-auth-token");
    }
}

#[test]
fn version_on_the_shared_address_is_text_only_for_clients_that_prefer_it() {
    let mut judge = Judge::of(Server::everything());
    assert_ne!(judge.get("/version").1, json!("1.13.1"));
    judge.headers.push(("accept", "text/plain".to_owned()));
    assert_eq!(judge.get("/version"), (200, json!("1.13.1")));
    assert_eq!(judge.get("/about").1["version"], json!("1.13.1"));
    assert_eq!(judge.get("/v1/info").0, 200);
}

#[test]
fn paths_may_end_with_a_slash() {
    let judge = Judge::start();
    assert_eq!(judge.get("/languages/").0, 200);
    let (status, result) = judge.post("/submissions/?wait=true", &text("x"));
    assert_eq!((status, &result["stdout"]), (201, &Value::from("x")));
}
