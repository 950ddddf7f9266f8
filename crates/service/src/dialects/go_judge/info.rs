//! Information about the service for clients. Hydro does not work without some of these values.

use super::GoJudge;
use super::file_system::FileSystem;
use axum::Json;
use axum::extract::State;
use millibox::Backend;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The version of go-judge whose interface this dialect implements.
const BUILD_VERSION: &str = "v1.9.0";
/// The features of the service.
const FEATURES: [&str; 9] = [
    "copyOutOptional",
    "pipeProxy",
    "symlink",
    "addressSpaceLimit",
    "stream",
    "procPeak",
    "copyOutTruncate",
    "pipeProxyZeroCopy",
    "fixSymlinkEscape",
];

fn features() -> Map<String, Value> {
    FEATURES
        .iter()
        .map(|name| ((*name).to_owned(), Value::Bool(true)))
        .collect()
}

/// `GET /version`.
pub async fn version() -> Json<Value> {
    let mut fields = features();
    let texts = [
        ("buildVersion", BUILD_VERSION),
        ("goVersion", concat!("millibox ", env!("CARGO_PKG_VERSION"))),
        ("platform", std::env::consts::ARCH),
        ("os", std::env::consts::OS),
    ];
    for (name, text) in texts {
        fields.insert(name.to_owned(), json!(text));
    }
    Json(Value::Object(fields))
}

/// `GET /config`.
pub async fn config(State(go_judge): State<Arc<GoJudge>>) -> Json<Value> {
    let mut fields = features();
    fields.insert("fileStorePath".to_owned(), json!(""));
    fields.insert(
        "runnerConfig".to_owned(),
        runner_config(go_judge.service.backend, &go_judge.file_system),
    );
    Json(Value::Object(fields))
}

fn runner_config(backend: Backend, file_system: &FileSystem) -> Value {
    let (uid, gid) = file_system.ids;
    let (kind, controllers): (u8, &[&str]) = match backend {
        Backend::Cgroup2 => (2, &["cpu", "memory", "pids"]),
        Backend::Hybrid => (1, &["cpu", "cpuacct", "memory", "pids"]),
        // Hydro warns about this value, and rightly so.
        _ => (0, &[]),
    };
    json!({
        "cgroupType": kind,
        "cgroupControllers": controllers,
        "mount": [],
        "symbolicLink": [],
        "maskedPaths": [],
        "hostName": "",
        "domainName": "",
        "workDir": file_system.work_directory,
        "uid": uid,
        "gid": gid,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::GoJudgeConfig;

    #[test]
    fn config_names_the_memory_controller_only_with_cgroups() {
        let files = FileSystem::new(&GoJudgeConfig::default()).unwrap();
        let has_memory = |backend| {
            let controllers = &runner_config(backend, &files)["cgroupControllers"];
            controllers.as_array().unwrap().contains(&json!("memory"))
        };
        assert!(has_memory(Backend::Cgroup2) && has_memory(Backend::Hybrid));
        assert!(!has_memory(Backend::Rlimit));
    }
}
