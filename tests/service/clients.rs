//! Clients with tokens, and the memory and descriptors of a service.

use crate::server::{Answer, Server};
use crate::v1::sha256;
use serde_json::Value;
use std::collections::HashSet;
use std::fmt::Write;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The configuration of clients whose tokens are their names. The client `admin` is an
/// administrator.
pub fn tokens(names: &[&str]) -> String {
    names.iter().fold(String::new(), |mut text, name| {
        let digest = sha256(name);
        let admin = *name == "admin";
        let _ = write!(
            text,
            "[[token]]\nname = '{name}'\nsha256 = '{digest}'\nadmin = {admin}\n"
        );
        text
    })
}

impl Server {
    /// Sends a request with the token of a client.
    pub fn request_of(
        &self,
        client: &str,
        method: &str,
        path: &str,
        body: impl Into<Vec<u8>>,
    ) -> Answer {
        let authorization = format!("Bearer {client}");
        let headers = [
            ("authorization", &authorization[..]),
            ("content-type", "application/json"),
        ];
        self.request(method, path, &headers, body)
    }

    /// Sends a body of JSON with the token of a client.
    pub fn post_of(&self, client: &str, path: &str, body: &Value) -> Answer {
        self.request_of(client, "POST", path, body.to_string())
    }

    /// Stores content for a client under `/v1/files`. Returns its digest.
    pub fn store_of(&self, client: &str, content: &[u8]) -> String {
        let digest = sha256(content);
        let answer = self.request_of(client, "PUT", &format!("/v1/files/{digest}"), content);
        assert!(matches!(answer.status, 200 | 201), "{answer:?}");
        digest
    }

    /// Stores content for a client under `/file`. Returns its id.
    pub fn upload_of(&self, client: &str, content: &[u8]) -> String {
        let head =
            "--limit\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n";
        let body = [head.as_bytes(), content, b"\r\n--limit--\r\n"].concat();
        let authorization = format!("Bearer {client}");
        let headers = [
            ("authorization", &authorization[..]),
            ("content-type", "multipart/form-data; boundary=limit"),
        ];
        let answer = self.request("POST", "/file", &headers, body);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json().as_str().expect("an id").to_owned()
    }

    /// The resident memory of the service and the files that it keeps in memory, in bytes, and the
    /// number of its descriptors.
    pub fn usage(&self) -> (u64, u64) {
        let process = format!("/proc/{}", self.service_pid());
        let pages = std::fs::read_to_string(format!("{process}/statm")).unwrap_or_default();
        let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse().ok());
        let mut memory = pages.unwrap_or(0_u64) * 4096;
        let mut descriptors = 0;
        // Several descriptors can refer to one file.
        let mut counted = HashSet::new();
        for entry in std::fs::read_dir(format!("{process}/fd"))
            .into_iter()
            .flatten()
        {
            let Ok(entry) = entry else { continue };
            descriptors += 1;
            let target = std::fs::read_link(entry.path()).unwrap_or_default();
            if target.to_string_lossy().starts_with("/memfd:")
                && let Ok(file) = std::fs::metadata(entry.path())
                && counted.insert(file.ino())
            {
                memory += file.len();
            }
        }
        (memory, descriptors)
    }

    /// Does something, and returns the largest usage in the meantime.
    pub fn peak_usage(&self, work: impl FnOnce()) -> (u64, u64) {
        let (memory, descriptors) = (AtomicU64::new(0), AtomicU64::new(0));
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    let (bytes, count) = self.usage();
                    memory.fetch_max(bytes, Ordering::Relaxed);
                    descriptors.fetch_max(count, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(3));
                }
            });
            // The other thread must also end after a failure.
            let done = SetOnDrop(&is_done);
            work();
            drop(done);
        });
        (memory.into_inner(), descriptors.into_inner())
    }
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
