//! Describes the service: its version, its features and its state.

use super::Judge0;
use super::auth::{Authenticated, Authorized};
use super::callbacks;
use super::encoding::date;
use super::error::RequestError;
use super::languages::Language;
use super::model::{
    CPU_EXTRA_TIME, CPU_TIME, FILE_SIZE, LimitRule, MEMORY, PROCESSES, RUNS, STACK, WALL_TIME,
};
use super::status::Status;
use super::store::day;
use super::submissions::MAX_BATCH;
use super::{VERSION, archive};
use crate::core::engine::Lane;
use axum::Json;
use axum::extract::{Path, State};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const STATISTICS_DAYS: u32 = 30;

/// Lists the languages.
pub async fn languages(State(judge0): State<Arc<Judge0>>, _: Authenticated) -> Json<Value> {
    let languages = judge0.languages.iter();
    Json(languages.map(Language::summary).collect())
}

/// Lists the languages, and whether they are archived.
pub async fn all_languages(State(judge0): State<Arc<Judge0>>, _: Authenticated) -> Json<Value> {
    let mut languages: Vec<&Language> = judge0.languages.iter().collect();
    languages.sort_by(|a, b| a.name.cmp(&b.name));
    let documents = languages.into_iter().map(|language| {
        let mut document = language.summary();
        document["is_archived"] = false.into();
        document
    });
    Json(documents.collect())
}

/// Shows a language.
pub async fn language(
    State(judge0): State<Arc<Judge0>>,
    _: Authenticated,
    Path(id): Path<String>,
) -> Result<Json<Value>, RequestError> {
    let id = id.parse().map_err(|_| RequestError::NotFound)?;
    let language = judge0.languages.get(id);
    language
        .map(|language| Json(language.details()))
        .ok_or(RequestError::NotFound)
}

/// Lists the states of submissions.
pub async fn statuses(_: Authenticated) -> Json<Value> {
    Json(Status::ALL.into_iter().map(Status::to_json).collect())
}

/// Reports the version and the origin of the service.
pub async fn about(_: Authenticated) -> Json<Value> {
    Json(json!({
        "version": VERSION,
        "homepage": env!("CARGO_PKG_HOMEPAGE"),
        "source_code": env!("CARGO_PKG_REPOSITORY"),
        "maintainer": concat!("millibox ", env!("CARGO_PKG_VERSION")),
    }))
}

/// The version of Judge0 that this interface implements.
pub async fn version(_: Authenticated) -> &'static str {
    VERSION
}

/// Names the sandbox.
pub async fn isolate(State(judge0): State<Arc<Judge0>>, _: Authenticated) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "millibox {version} in place of isolate\n\nBackend: {}\n",
        judge0.service.backend
    )
}

/// Names the licence.
pub async fn license(_: Authenticated) -> &'static str {
    "millibox is licensed under the MIT License or the Apache License 2.0, at your option.\n"
}

/// Describes the machine with the keys of `lscpu` and `free`.
pub async fn system_info(_: Authenticated) -> Json<Value> {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let value = |text: &str, name: &str| {
        text.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        })
    };
    let (cpu, memory) = (read("/proc/cpuinfo"), read("/proc/meminfo"));
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let mut info = Map::new();
    info.insert("Architecture".to_owned(), std::env::consts::ARCH.into());
    info.insert("CPU(s)".to_owned(), cpus.to_string().into());
    for (name, key) in [
        ("Vendor ID", "vendor_id"),
        ("Model name", "model name"),
        ("CPU family", "cpu family"),
        ("Model", "model"),
        ("CPU MHz", "cpu MHz"),
        ("BogoMIPS", "bogomips"),
        ("Flags", "flags"),
    ] {
        if let Some(value) = value(&cpu, key) {
            info.insert(name.to_owned(), value.into());
        }
    }
    for (name, key) in [("Mem", "MemTotal"), ("Swap", "SwapTotal")] {
        let kib = value(&memory, key)
            .and_then(|value| value.split(' ').next()?.parse::<u64>().ok())
            .unwrap_or_default();
        info.insert(name.to_owned(), gibibytes(kib).into());
    }
    Json(info.into())
}

fn gibibytes(kib: u64) -> String {
    format!("{:.1}Gi", kib as f64 / f64::from(1 << 20))
}

/// Lists limits and permissions.
pub async fn config_info(State(judge0): State<Arc<Judge0>>, _: Authenticated) -> Json<Value> {
    let mut info = json!({
        "maintenance_mode": false,
        "enable_wait_result": true,
        "enable_compiler_options": true,
        "allowed_languages_for_compile_options": judge0.languages.with_compiler_options(),
        "enable_command_line_arguments": true,
        "enable_submission_delete": judge0.service.config.judge0.delete,
        "enable_callbacks": !judge0.receivers.is_empty(),
        "callbacks_max_tries": callbacks::MAX_TRIES,
        "callbacks_timeout": callbacks::TIMEOUT.as_secs_f64(),
        "enable_additional_files": true,
        "max_queue_size": judge0.store.max_queued(),
        "enable_per_process_and_thread_time_limit": false,
        "allow_enable_per_process_and_thread_time_limit": false,
        "enable_per_process_and_thread_memory_limit": false,
        "allow_enable_per_process_and_thread_memory_limit": false,
        "redirect_stderr_to_stdout": false,
        "max_extract_size": archive::MAX_EXTRACT_KIB,
        "enable_batched_submissions": true,
        "max_submission_batch_size": MAX_BATCH,
        "submission_cache_duration": 0.0,
        "use_docs_as_homepage": false,
        "allow_enable_network": false,
        "enable_network": false,
        "disable_implicit_base64_encoding": true,
    });
    let value = |rule: &LimitRule, value: f64| match rule.decimal {
        true => Value::from(value),
        false => Value::from(value as u64),
    };
    for rule in &[
        CPU_TIME,
        CPU_EXTRA_TIME,
        WALL_TIME,
        MEMORY,
        STACK,
        PROCESSES,
        FILE_SIZE,
        RUNS,
    ] {
        info[rule.name] = value(rule, rule.default);
        info[format!("max_{}", rule.name)] = value(rule, rule.max);
    }
    Json(info)
}

/// Shows the queue.
pub async fn workers(State(judge0): State<Arc<Judge0>>, _: Authenticated) -> Json<Value> {
    let load = judge0.store.load();
    let bounds = judge0.service.programs.queue.bounds();
    let available = bounds.running(Lane::CpuTime);
    Json(json!([{
        "queue": VERSION,
        "size": load.queued,
        "available": available,
        "idle": available.saturating_sub(load.running),
        "working": load.running,
        "paused": 0,
        "failed": 0,
    }]))
}

/// Counts submissions since the start.
pub async fn statistics(State(judge0): State<Arc<Judge0>>, _: Authenticated) -> Json<Value> {
    let (counts, load) = (judge0.store.counts(), judge0.store.load());
    let now = SystemTime::now();
    let days = (1..=STATISTICS_DAYS).rev().filter_map(|ago| {
        let time = now.checked_sub(DAY * ago)?;
        let count = counts.days.get(&day(time)).copied().unwrap_or_default();
        let date = date(time);
        Some((date.split('T').next()?.to_owned(), Value::from(count)))
    });
    let mut languages: Vec<_> = counts.languages.iter().collect();
    languages.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let languages = languages.into_iter().map(|(id, count)| {
        let name = judge0.languages.get(*id).map(|language| &language.name);
        json!({ "language": { "id": id, "name": name }, "count": count })
    });
    let mut statuses: Vec<_> = counts.statuses.iter().collect();
    statuses.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let statuses = statuses.into_iter().map(|(status, count)| {
        let status = json!({ "id": status.id(), "name": status.description() });
        json!({ "status": status, "count": count })
    });
    Json(json!({
        "created_at": date(now),
        "cached_until": date(now),
        "submissions": {
            "total": counts.total,
            "today": counts.days.get(&day(now)).copied().unwrap_or_default(),
            "last_30_days": days.collect::<Map<String, Value>>(),
        },
        "languages": languages.collect::<Vec<Value>>(),
        "statuses": statuses.collect::<Vec<Value>>(),
        "database": {
            "size_pretty": format!("{} kB", load.bytes >> 10),
            "size_in_bytes": load.bytes,
        },
    }))
}

/// Checks the token.
pub async fn authenticate(_: Authenticated) {}

/// Checks the token for calls that show or delete all submissions.
pub async fn authorize(_: Authorized) {}
