//! Dialects served alongside the service's own interface, at the root or below a prefix.

use super::Dialect;
use serde::Deserialize;
use std::str::FromStr;

/// The first path segments that the service and the dialects at the root use. Errors of a front end
/// have the form of the dialect.
const TAKEN: &[(&str, Option<Dialect>)] = &[
    ("about", Some(Dialect::Judge0)),
    ("api", Some(Dialect::Piston)),
    ("assets", None),
    ("authenticate", Some(Dialect::Judge0)),
    ("authorize", Some(Dialect::Judge0)),
    ("config", Some(Dialect::GoJudge)),
    ("config_info", Some(Dialect::Judge0)),
    ("docs", None),
    ("file", Some(Dialect::GoJudge)),
    ("get_metrics", Some(Dialect::SandboxFusion)),
    ("get_metrics_function", Some(Dialect::SandboxFusion)),
    ("get_prompt_by_id", Some(Dialect::SandboxFusion)),
    ("get_prompts", Some(Dialect::SandboxFusion)),
    ("healthz", None),
    ("isolate", Some(Dialect::Judge0)),
    ("languages", Some(Dialect::Judge0)),
    ("license", Some(Dialect::Judge0)),
    ("list_datasets", Some(Dialect::SandboxFusion)),
    ("list_ids", Some(Dialect::SandboxFusion)),
    ("metrics", None),
    ("openapi.json", None),
    ("readyz", None),
    ("run", Some(Dialect::GoJudge)),
    ("run_code", Some(Dialect::SandboxFusion)),
    ("run_jupyter", Some(Dialect::SandboxFusion)),
    ("statistics", Some(Dialect::Judge0)),
    ("status", None),
    ("statuses", Some(Dialect::Judge0)),
    ("stream", Some(Dialect::GoJudge)),
    ("submissions", Some(Dialect::Judge0)),
    ("submit", Some(Dialect::SandboxFusion)),
    ("system_info", Some(Dialect::Judge0)),
    ("v1", None),
    ("version", Some(Dialect::GoJudge)),
    ("workers", Some(Dialect::Judge0)),
    ("ws", Some(Dialect::GoJudge)),
];

/// A dialect served alongside the service's own interface, as `DIALECT` or `DIALECT=/PREFIX`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ServedDialect {
    /// The dialect.
    pub dialect: Dialect,
    /// The path below which the dialect is served, such as `/judge0`. `None` means the root.
    pub prefix: Option<String>,
}

/// Why an entry of `dialects` is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServedDialectError {
    /// The part before `=` is not a dialect.
    #[error(
        "{0:?} is not a dialect; the dialects are go-judge, go-judge-grpc, piston, sandbox-fusion \
         and judge0"
    )]
    Dialect(String),
    /// The prefix cannot be used.
    #[error("{0:?} is not a prefix; write it as /judge0, with one segment of a-z, 0-9, - and _")]
    Prefix(String),
    /// The prefix is already an address of the service.
    #[error("the prefix {0:?} is an address of the service; choose another one")]
    Taken(String),
    /// gRPC clients do not support prefixes.
    #[error("go-judge-grpc cannot have a prefix, because gRPC clients do not support prefixes")]
    Grpc,
}

impl From<Dialect> for ServedDialect {
    fn from(dialect: Dialect) -> ServedDialect {
        ServedDialect {
            dialect,
            prefix: None,
        }
    }
}

impl FromStr for ServedDialect {
    type Err = ServedDialectError;

    fn from_str(text: &str) -> Result<ServedDialect, ServedDialectError> {
        let (name, prefix) = match text.split_once('=') {
            None => (text, None),
            Some((name, prefix)) => (name, Some(prefix)),
        };
        let dialect = Dialect::ALL.into_iter().find(|known| known.name() == name);
        let dialect = dialect.ok_or_else(|| ServedDialectError::Dialect(name.to_owned()))?;
        if let Some(prefix) = prefix {
            check_prefix(dialect, prefix)?;
        }
        Ok(ServedDialect {
            dialect,
            prefix: prefix.map(str::to_owned),
        })
    }
}

impl TryFrom<String> for ServedDialect {
    type Error = ServedDialectError;

    fn try_from(text: String) -> Result<ServedDialect, ServedDialectError> {
        text.parse()
    }
}

fn check_prefix(dialect: Dialect, prefix: &str) -> Result<(), ServedDialectError> {
    let is_usable =
        |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
    let segment = prefix.strip_prefix('/').unwrap_or_default();
    if segment.is_empty() || !segment.chars().all(is_usable) {
        return Err(ServedDialectError::Prefix(prefix.to_owned()));
    }
    if TAKEN.iter().any(|(taken, _)| *taken == segment) {
        return Err(ServedDialectError::Taken(prefix.to_owned()));
    }
    if dialect == Dialect::GoJudgeGrpc {
        return Err(ServedDialectError::Grpc);
    }
    Ok(())
}

/// The dialect to which a path belongs at an address that serves everything.
pub fn dialect_of(path: &str, served: &[ServedDialect]) -> Option<Dialect> {
    let segment = path.trim_start_matches('/').split('/').next()?;
    let below = |one: &&ServedDialect| {
        let prefix = one.prefix.as_deref();
        prefix.is_some_and(|prefix| prefix.trim_start_matches('/') == segment)
    };
    match served.iter().find(below) {
        Some(served) => Some(served.dialect),
        None => TAKEN.iter().find(|(taken, _)| *taken == segment)?.1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn served_dialect_parses_prefixes_and_names_mistakes() {
        let served: ServedDialect = "judge0=/judge0".parse().unwrap();
        assert_eq!(served.dialect, Dialect::Judge0);
        assert_eq!(served.prefix.as_deref(), Some("/judge0"));
        let served: ServedDialect = "piston".parse().unwrap();
        assert_eq!(served, Dialect::Piston.into());
        let mistake = |text: &str| text.parse::<ServedDialect>().unwrap_err();
        let owned = |text: &str| text.to_owned();
        assert_eq!(mistake("x=/x"), ServedDialectError::Dialect(owned("x")));
        for prefix in ["", "/", "judge0", "/a/b", "/{a}", "/A"] {
            let text = format!("judge0={prefix}");
            assert_eq!(mistake(&text), ServedDialectError::Prefix(owned(prefix)));
        }
        let taken = ServedDialectError::Taken(owned("/v1"));
        assert_eq!(mistake("judge0=/v1"), taken);
        assert_eq!(mistake("go-judge-grpc=/g"), ServedDialectError::Grpc);
    }

    #[test]
    fn paths_belong_to_dialects() {
        let served = ["judge0".parse().unwrap(), "piston=/p".parse().unwrap()];
        for (path, dialect) in [
            ("/run", Some(Dialect::GoJudge)),
            ("/api/v2/execute", Some(Dialect::Piston)),
            ("/p/api/v2/execute", Some(Dialect::Piston)),
            ("/submissions/", Some(Dialect::Judge0)),
            ("/run_code", Some(Dialect::SandboxFusion)),
            ("/v1/runs", None),
            ("/", None),
            ("/unknown", None),
        ] {
            assert_eq!(dialect_of(path, &served), dialect, "{path}");
        }
    }
}
