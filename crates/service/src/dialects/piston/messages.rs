//! The messages of the WebSocket `/connect`, and how a connection ends.

use crate::dialects::json;
use axum::extract::ws::CloseFrame;
use serde::Serialize;
use serde_json::{Map, Value};

/// Why a connection is closed, with the codes of Piston.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closing {
    AlreadyInitialized,
    InitializationTimeout,
    NotifiedError,
    NotInitialized,
    NotStdin,
    InvalidSignal,
    JobCompleted,
}

impl Closing {
    pub(super) fn frame(self) -> CloseFrame {
        let (code, reason) = match self {
            Closing::AlreadyInitialized => (4000, "Already Initialized"),
            Closing::InitializationTimeout => (4001, "Initialization Timeout"),
            Closing::NotifiedError => (4002, "Notified Error"),
            Closing::NotInitialized => (4003, "Not yet initialized"),
            Closing::NotStdin => (4004, "Can only write to stdin"),
            Closing::InvalidSignal => (4005, "Invalid signal"),
            Closing::JobCompleted => (4999, "Job Completed"),
        };
        CloseFrame {
            code,
            reason: reason.into(),
        }
    }
}

/// How a connection ends.
#[derive(Debug)]
pub(super) enum End {
    /// The client has disconnected, or no longer receives messages.
    Gone,
    /// The service closes the connection, possibly after an error message.
    Closed(Closing, Option<String>),
}

impl End {
    pub(super) fn error(message: impl ToString) -> End {
        End::Closed(Closing::NotifiedError, Some(message.to_string()))
    }
}

impl From<Closing> for End {
    fn from(closing: Closing) -> End {
        End::Closed(closing, None)
    }
}

/// A message to the client.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Event {
    Runtime {
        language: String,
        version: String,
    },
    Stage {
        stage: &'static str,
    },
    Data {
        stream: &'static str,
        data: String,
    },
    Exit {
        stage: &'static str,
        code: Option<i32>,
        signal: Option<String>,
    },
    Error {
        message: String,
    },
}

/// A message from the client.
#[derive(Debug, PartialEq)]
pub(super) enum Command {
    Init(Map<String, Value>),
    Data {
        is_stdin: bool,
        data: Option<String>,
        is_end: bool,
    },
    Signal(String),
    /// Piston ignores messages of other types.
    Other,
}

impl Command {
    /// Parses a message.
    ///
    /// # Errors
    /// The message is not a JSON object.
    pub(super) fn parse(message: &[u8]) -> Result<Command, serde_json::Error> {
        let message: Map<String, Value> = serde_json::from_value(json::node(message)?)?;
        let text = |name| message.get(name).and_then(Value::as_str);
        Ok(match text("type") {
            Some("init") => Command::Init(message),
            Some("data") => Command::Data {
                is_stdin: text("stream") == Some("stdin"),
                data: text("data").map(str::to_owned),
                is_end: message.get("eof") == Some(&Value::Bool(true)),
            },
            Some("signal") => Command::Signal(text("signal").unwrap_or_default().to_owned()),
            _ => Command::Other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_messages_are_parsed_and_others_are_skipped() {
        let parse = |text: &str| Command::parse(text.as_bytes());
        assert!(matches!(
            parse(r#"{"type":"init","a":1}"#),
            Ok(Command::Init(_))
        ));
        let parsed = |text: &str| parse(text).unwrap();
        assert_eq!(
            parsed(r#"{"type":"data","stream":"stdin","data":"x"}"#),
            Command::Data {
                is_stdin: true,
                data: Some("x".to_owned()),
                is_end: false,
            }
        );
        assert_eq!(
            parsed(r#"{"type":"signal","signal":"SIGTERM"}"#),
            Command::Signal("SIGTERM".to_owned())
        );
        assert_eq!(parsed("{}"), Command::Other);
        assert_eq!(parsed(r#"{"type":"ping"}"#), Command::Other);
        for malformed in ["", "null", "[]", "{", "1"] {
            parse(malformed).unwrap_err();
        }
    }
}
