//! The known submission with which workers on probation show that they judge correctly.

use crate::blobs::{BlobError, Blobs};
use crate::core::verdict::Verdict;
use crate::db::fleet_worker::FleetWorker;
use millibox_fleet::digest::{Digest, DigestError};
use millibox_fleet::queue::{Lease, Task};
use millibox_fleet::result::Outcome;
use millibox_setter::{SetterError, archive};
use std::io;
use std::sync::OnceLock;
use std::time::Duration;

/// The package, whose submissions add two numbers.
const FILES: [(&str, &str); 7] = [
    ("problem.yaml", "name: Check\nlimits:\n  memory: 512\n"),
    (".timelimit", "10\n"),
    ("problem_statement/problem.md", "Add two numbers.\n"),
    ("data/sample/1.in", "1 2\n"),
    ("data/sample/1.ans", "3\n"),
    ("data/secret/1.in", "20 22\n"),
    ("data/secret/1.ans", "42\n"),
];

/// Right programs: the name of the language, of the file, and the source. The first one whose
/// language is installed is judged.
const PROGRAMS: [(&str, &str, &str); 6] = [
    (
        "python3",
        "check.py",
        "a, b = map(int, input().split())\nprint(a + b)\n",
    ),
    (
        "cpp20",
        "check.cpp",
        "#include <iostream>\nint main() { int a, b; std::cin >> a >> b; std::cout << a + b; }\n",
    ),
    (
        "cpp17",
        "check.cpp",
        "#include <iostream>\nint main() { int a, b; std::cin >> a >> b; std::cout << a + b; }\n",
    ),
    (
        "c17",
        "check.c",
        "#include <stdio.h>\nint main(void) { int a, b; scanf(\"%d%d\", &a, &b); \
         printf(\"%d\\n\", a + b); }\n",
    ),
    ("bash", "check.sh", "read -r a b\necho $((a + b))\n"),
    (
        "javascript",
        "check.js",
        "const [a, b] = require('fs').readFileSync(0, 'utf8').split(' ').map(Number);\n\
         console.log(a + b);\n",
    ),
];

/// Why the known submission cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// A file cannot be written.
    #[error("the package of the check: {0}")]
    System(#[from] io::Error),
    /// The package cannot be packed.
    #[error(transparent)]
    Setter(#[from] Box<SetterError>),
    /// The package cannot be stored.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The digest of the package is no digest.
    #[error(transparent)]
    Digest(#[from] DigestError),
}

/// The lease of a check. Judgements have positive numbers.
pub fn lease(worker: &FleetWorker, attempt: i64) -> Lease {
    Lease {
        judgement: -worker.id,
        attempt,
    }
}

/// Whether this worker has the lease for a check.
pub fn is_check(worker: &FleetWorker, lease: Lease) -> bool {
    lease.judgement == -worker.id
}

/// Stores the package. Returns its digest.
///
/// # Errors
/// It cannot be packed or stored.
fn store(blobs: &Blobs) -> Result<String, CheckError> {
    let directory = millibox_package::temporary::directory()?;
    let root = directory.path().join("check");
    for (name, content) in FILES {
        let path = root.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, content)?;
    }
    let problem = millibox_package::read(&root);
    let problem = problem.map_err(|error| Box::new(SetterError::Package(error)))?;
    let to = directory.path().join("check.zip");
    archive::pack(&problem, &root, &to, &|| false).map_err(Box::new)?;
    Ok(blobs.put_file(&to)?)
}

/// The digest of the package. If the package has been removed as unused, it is stored again.
///
/// # Errors
/// It cannot be packed or stored.
pub async fn digest(blobs: &Blobs) -> Result<String, CheckError> {
    static KNOWN: OnceLock<String> = OnceLock::new();
    if let Some(digest) = KNOWN.get()
        && tokio::fs::try_exists(blobs.path(digest)).await?
    {
        return Ok(digest.clone());
    }
    let own = blobs.clone();
    let stored = tokio::task::spawn_blocking(move || store(&own)).await;
    let digest = stored.map_err(io::Error::other)??;
    let _ = KNOWN.set(digest.clone());
    Ok(digest)
}

/// The task of a check; `None` if the worker has none of the languages.
///
/// # Errors
/// The package cannot be stored.
pub async fn task(
    blobs: &Blobs,
    lease: Lease,
    length: Duration,
    languages: &[String],
) -> Result<Option<Task>, CheckError> {
    let known = |(name, _, _): &&(&str, &str, &str)| languages.iter().any(|other| other == name);
    let Some((language, file_name, source)) = PROGRAMS.iter().find(known) else {
        return Ok(None);
    };
    let digest = digest(blobs).await?;
    let metadata = tokio::fs::metadata(blobs.path(&digest)).await?;
    Ok(Some(Task {
        lease,
        lease_ms: u64::try_from(length.as_millis()).unwrap_or(u64::MAX),
        submission: 0,
        makes_way: false,
        measures: false,
        language: (*language).to_owned(),
        model_name: None,
        file_name: (*file_name).to_owned(),
        source: source.as_bytes().to_vec(),
        package: Digest::try_from(digest)?,
        package_bytes: metadata.len(),
    }))
}

/// Why a worker has judged the known submission wrongly; `None` if it has judged it correctly.
pub fn mistake(outcome: &Outcome) -> Option<String> {
    let verdict = outcome.verdict;
    (verdict != Verdict::Accepted).then(|| {
        let verdict = verdict.text().replace('_', " ");
        format!("a known submission was judged as {verdict}")
    })
}
