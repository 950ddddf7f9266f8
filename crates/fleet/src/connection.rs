//! The connection to a NATS server, and files with keys.
//!
//! A key is an nkey: an Ed25519 key pair. Its owner signs a nonce of the server with the secret
//! part, the seed, which never leaves the machine. No error and no `Debug` output contains a seed.

use crate::name::WorkerName;
use crate::subject;
use async_nats::{Client, ConnectOptions, Event};
use nkeys::KeyPair;
use std::fmt::{self, Debug};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::watch;

/// How long a request waits for its reply. A request for a task also waits for a task.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(8);
/// How often the server must show that the connection works.
const PING_INTERVAL: Duration = Duration::from_secs(5);
/// The number of received messages that an execution service keeps until it handles them. Further
/// messages are lost, which ends the open requests.
const SERVICE_MESSAGES: usize = 16 << 10;
/// The first line of a certificate.
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----";
/// The rights on a file of users other than its owner.
const OTHERS: u32 = 0o077;
/// The maximum length of a file with a key.
const MAX_FILE_BYTES: u64 = 4096;

/// The name and the key of a worker, of the site, or of an execution service.
#[derive(Clone)]
pub struct Credentials {
    name: WorkerName,
    seed: String,
}

impl Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Why a file with a key cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialsError {
    /// It cannot be read.
    #[error("cannot read {}: {error}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: std::io::Error,
    },
    /// Other users can read it.
    #[error("other users can read {0}, which contains a key; run chmod 600 {0}", .path.display())]
    Open {
        /// The file.
        path: PathBuf,
    },
    /// It has a different form.
    #[error(
        "{} does not have the form that `millibox site fleet` and `millibox serve fleet` print: a \
         line `name: NAME` and a line `seed: SEED`", .path.display()
    )]
    Form {
        /// The file.
        path: PathBuf,
    },
    /// The random generator of the system failed.
    #[error("cannot create a key")]
    Create,
}

impl Credentials {
    /// A new key.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn new(name: WorkerName) -> Result<Credentials, CredentialsError> {
        // The cause is left out, so that it cannot contain a part of the key.
        let seed = KeyPair::new_user().seed();
        let seed = seed.map_err(|_| CredentialsError::Create)?;
        Ok(Credentials { name, seed })
    }

    /// Reads the file that `millibox site fleet` or `millibox serve fleet` has printed.
    ///
    /// # Errors
    /// The file cannot be read, can be read by other users, or has a different form.
    pub fn read(path: &Path) -> Result<Credentials, CredentialsError> {
        let failed = |error| CredentialsError::Read {
            path: path.to_owned(),
            error,
        };
        let metadata = path.metadata().map_err(failed)?;
        if metadata.mode() & OTHERS != 0 {
            return Err(CredentialsError::Open {
                path: path.to_owned(),
            });
        }
        let form = || CredentialsError::Form {
            path: path.to_owned(),
        };
        if metadata.len() > MAX_FILE_BYTES {
            return Err(form());
        }
        let text = std::fs::read_to_string(path).map_err(failed)?;
        Credentials::of_text(&text).ok_or_else(form)
    }

    fn of_text(text: &str) -> Option<Credentials> {
        let value = |key: &str| {
            let mut lines = text.lines();
            let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
            value.map(str::trim)
        };
        let name = value("name")?.parse().ok()?;
        let seed = value("seed")?.to_owned();
        let pair = KeyPair::from_seed(&seed).ok()?;
        let is_user = pair.public_key().starts_with('U');
        is_user.then_some(Credentials { name, seed })
    }

    /// The content of the file, with the secret.
    pub fn file(&self) -> String {
        format!(
            "# A key of millibox. Keep it secret: chmod 600.\nname: {}\nseed: {}\n",
            self.name, self.seed
        )
    }

    /// The name.
    pub fn name(&self) -> &WorkerName {
        &self.name
    }

    /// The part of the key that the server needs.
    ///
    /// # Errors
    /// The key is invalid.
    pub fn public_key(&self) -> Result<String, CredentialsError> {
        let pair = KeyPair::from_seed(&self.seed).map_err(|_| CredentialsError::Create)?;
        Ok(pair.public_key())
    }
}

/// A server, and how to reach it.
#[derive(Debug, Clone)]
pub struct Server {
    /// The address, such as `tls://nats.example.org:4222`.
    pub url: String,
    /// A file with the certificates to trust in addition to those of the system.
    pub ca: Option<PathBuf>,
}

/// Why the connection cannot be prepared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The address has no form that is known.
    #[error("{url} is not the address of a NATS server; use tls://HOST:PORT or nats://HOST:PORT")]
    Address {
        /// The address.
        url: String,
    },
    /// The file with certificates cannot be read.
    #[error("cannot read {}: {error}", .path.display())]
    ReadCertificates {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: std::io::Error,
    },
    /// The file has no certificate.
    #[error("{} has no certificate in PEM, which begins with {CERTIFICATE}", .path.display())]
    NoCertificates {
        /// The file.
        path: PathBuf,
    },
    /// The connection cannot be prepared.
    #[error("cannot connect to {url}: {error}")]
    Connect {
        /// The address.
        url: String,
        /// The cause.
        error: Box<async_nats::ConnectError>,
    },
}

impl Server {
    /// Connects as a worker.
    ///
    /// # Errors
    /// See [`Server::connect_site`].
    pub async fn connect_worker(&self, own: &Credentials) -> Result<Client, ConnectionError> {
        let options = ConnectOptions::new()
            .nkey(own.seed.clone())
            .name(format!("millibox worker {}", own.name))
            .custom_inbox_prefix(subject::reply_prefix(&own.name));
        self.connect(options, || {}).await
    }

    /// Connects as the site, and calls `connected` for each connection. Returns at once: the client
    /// connects in the background, and connects again after each interruption.
    ///
    /// # Errors
    /// The address or the file with certificates is wrong.
    pub async fn connect_site(
        &self,
        own: Option<&Credentials>,
        connected: impl Fn() + Send + Sync + 'static,
    ) -> Result<Client, ConnectionError> {
        let mut options = ConnectOptions::new().name("millibox site");
        if let Some(own) = own {
            options = options.nkey(own.seed.clone());
        }
        self.connect(options, connected).await
    }

    /// Connects as an execution service. Returns at once, like [`Server::connect_site`]. The number
    /// changes whenever messages may have been lost.
    ///
    /// # Errors
    /// See [`Server::connect_site`].
    pub async fn connect_service(
        &self,
        own: &Credentials,
    ) -> Result<(Client, watch::Receiver<u64>), ConnectionError> {
        let (losses, watched) = watch::channel(0);
        let options = ConnectOptions::new()
            .nkey(own.seed.clone())
            .name(format!("millibox serve {}", own.name))
            .subscription_capacity(SERVICE_MESSAGES);
        let observer = move |event: &Event| {
            if matches!(event, Event::Disconnected | Event::SlowConsumer(_)) {
                losses.send_modify(|number| *number += 1);
            }
        };
        Ok((self.connect_with(options, observer).await?, watched))
    }

    async fn connect(
        &self,
        options: ConnectOptions,
        connected: impl Fn() + Send + Sync + 'static,
    ) -> Result<Client, ConnectionError> {
        let observer = move |event: &Event| {
            if matches!(event, Event::Connected) {
                connected();
            }
        };
        self.connect_with(options, observer).await
    }

    async fn connect_with(
        &self,
        options: ConnectOptions,
        observer: impl Fn(&Event) + Send + Sync + 'static,
    ) -> Result<Client, ConnectionError> {
        let is_tls = self.url.starts_with("tls://");
        // An address with a password would show the password in messages.
        if !(is_tls || self.url.starts_with("nats://")) || self.url.contains('@') {
            return Err(ConnectionError::Address {
                url: self
                    .url
                    .split('@')
                    .next_back()
                    .unwrap_or_default()
                    .to_owned(),
            });
        }
        let mut options = options
            .require_tls(is_tls)
            .request_timeout(Some(REQUEST_TIMEOUT))
            .ping_interval(PING_INTERVAL);
        if let Some(ca) = &self.ca {
            check_certificates(ca)?;
            options = options.add_root_certificates(ca.clone());
        }
        let reporter = Reporter {
            url: self.url.clone(),
            options: options.clone(),
            is_reported: AtomicBool::new(false),
        };
        let reporter = Arc::new(reporter);
        let options = options
            .retry_on_initial_connect()
            .event_callback(move |event| {
                observer(&event);
                reporter.report(&event);
                std::future::ready(())
            });
        let connected = options.connect(&self.url).await;
        connected.map_err(|error| ConnectionError::Connect {
            url: self.url.clone(),
            error: Box::new(error),
        })
    }
}

/// Checks a file with certificates, because the client would try again forever.
fn check_certificates(path: &Path) -> Result<(), ConnectionError> {
    let read = std::fs::read_to_string(path);
    let text = read.map_err(|error| ConnectionError::ReadCertificates {
        path: path.to_owned(),
        error,
    })?;
    match text.contains(CERTIFICATE) {
        true => Ok(()),
        false => Err(ConnectionError::NoCertificates {
            path: path.to_owned(),
        }),
    }
}

/// Writes events of a connection to the log.
struct Reporter {
    url: String,
    options: ConnectOptions,
    /// Whether the log contains that the server cannot be reached.
    is_reported: AtomicBool,
}

impl Reporter {
    fn report(self: &Arc<Reporter>, event: &Event) {
        match event {
            Event::Connected => {
                self.is_reported.store(false, Ordering::SeqCst);
                tracing::info!("connected to the NATS server");
            }
            Event::ClientError(_) => {
                if !self.is_reported.swap(true, Ordering::SeqCst) {
                    let reporter = self.clone();
                    tokio::spawn(async move { reporter.report_cause().await });
                }
            }
            Event::ServerError(_) | Event::SlowConsumer(_) => {
                tracing::warn!(%event, "the NATS server reports an error");
            }
            event => tracing::warn!(%event, "the connection to the NATS server has changed"),
        }
    }

    /// Connects once more to learn the cause of a failure, of which an event names only the kind.
    async fn report_cause(&self) {
        let url = &self.url;
        match self.options.clone().connect(url).await {
            Ok(_) => self.is_reported.store(false, Ordering::SeqCst),
            Err(error) => tracing::warn!(%error, "cannot connect to {url}; trying again"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn created() -> Credentials {
        Credentials::new("box-1".parse().unwrap()).unwrap()
    }

    #[test]
    fn file_is_read_only_if_no_other_user_can_read_it() {
        let credentials = created();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("box-1.key");
        std::fs::write(&path, credentials.file()).unwrap();
        for (mode, is_closed) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            match Credentials::read(&path) {
                Ok(found) => {
                    assert!(is_closed, "{mode:o}");
                    assert_eq!(found.name(), credentials.name());
                    let key = found.public_key().unwrap();
                    assert_eq!(key, credentials.public_key().unwrap());
                }
                Err(error) => {
                    assert!(!is_closed, "{mode:o}: {error}");
                    assert!(matches!(error, CredentialsError::Open { .. }));
                }
            }
        }
    }

    #[test]
    fn key_appears_in_no_error_and_no_debug_output() {
        let credentials = created();
        let seed = credentials.seed.clone();
        assert!(!format!("{credentials:?}").contains(&seed));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        let secret = &seed[4..];
        for text in [
            seed.clone(),
            format!("name: box-1\nseed: {seed}x\n"),
            format!("name: box-1\nseed: {secret}\n"),
            format!("name: BOX\nseed: {seed}\n"),
            format!("seed: {seed}\n"),
        ] {
            std::fs::write(&path, &text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
            let error = Credentials::read(&path).unwrap_err();
            assert!(matches!(error, CredentialsError::Form { .. }), "{error}");
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains(secret), "{shown}");
        }
    }

    #[tokio::test]
    async fn file_without_certificates_is_rejected() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ca.pem");
        let connect = async || {
            let server = Server {
                url: "tls://localhost:1".to_owned(),
                ca: Some(path.clone()),
            };
            server.connect_site(None, || {}).await.unwrap_err()
        };
        let error = connect().await;
        assert!(
            matches!(error, ConnectionError::ReadCertificates { .. }),
            "{error}"
        );
        std::fs::write(&path, created().file()).unwrap();
        let error = connect().await;
        assert!(
            matches!(error, ConnectionError::NoCertificates { .. }),
            "{error}"
        );
        assert!(!error.to_string().contains("seed"), "{error}");
    }

    #[tokio::test]
    async fn address_with_a_password_is_rejected_without_it() {
        for url in ["tls://user:secret@host", "host:4222", "http://host"] {
            let server = Server {
                url: url.to_owned(),
                ca: None,
            };
            let error = server.connect_site(None, || {}).await.unwrap_err();
            assert!(matches!(error, ConnectionError::Address { .. }), "{error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
