//! Sign-in with a provider of OpenID Connect: the authorization code flow with PKCE.
//!
//! A *flow* is one sign-in of one browser. Its state, its nonce and the verifier of PKCE are random
//! and are kept in memory, by the digest of a cookie. The provider's answer ends the flow, whether
//! the answer is valid or not, so it cannot be used a second time. The site requests the ID token
//! from the provider itself, and verifies the token with keys that it reads from the provider.

use crate::core::back::Back;
use crate::core::id_token::{self, Claims, Expected, IdTokenError, Keys};
use crate::core::shares::Shares;
use crate::core::token::{Token, hex};
use crate::db::credential::Proof;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use form_urlencoded::byte_serialize;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use ureq::Agent;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use url::Url;

/// How long a flow waits for the provider's answer.
pub const FLOW_LASTS: Duration = Duration::from_secs(10 * 60);
/// The maximum number of flows that wait at the same time. The networks of browsers share them, so
/// abandoned sign-ins do not block those of other users.
const MAX_FLOWS: usize = 10_000;
/// How long a request to the provider may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum size of an answer, in bytes.
const MAX_ANSWER: u64 = 1 << 20;
/// How long the description of the provider and its keys are cached.
const KNOWN_LASTS: Duration = Duration::from_secs(60 * 60);
/// The minimum time between two attempts to read them, including attempts that fail.
const MIN_PAUSE: Duration = Duration::from_secs(5);
/// The path to which the provider redirects browsers.
pub const CALLBACK: &str = "/oidc/callback";

/// A password of the site at the provider. It is never printed.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// A secret without the white space around it.
    pub fn new(text: &str) -> Secret {
        Secret(text.trim().to_owned())
    }

    /// Whether there is no secret.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The configuration that an administrator chooses.
#[derive(Debug, Clone)]
pub struct Config {
    /// The display name of the provider.
    pub name: String,
    pub issuer: String,
    pub client_id: String,
    pub secret: Secret,
    /// The address of this site in browsers, without a slash at its end.
    pub site: String,
    /// Whether the site adds a user for a person without one.
    pub adds_users: bool,
}

/// Why a sign-in has failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OidcError {
    /// An address does not use https. Only this machine may be reached without https.
    #[error("{0} is not an https address")]
    Insecure(String),
    /// A file with certificates is unreadable.
    #[error("{file}: {why}")]
    Certificates {
        /// The file.
        file: String,
        /// What is wrong.
        why: CertificateFault,
    },
    /// The browser has no flow, or the answer belongs to another flow.
    #[error("the sign-in does not exist or has ended")]
    Flow,
    /// The provider has refused the sign-in.
    #[error("the provider has refused: {0}")]
    Refused(String),
    /// The provider cannot be reached, or answers with an error.
    #[error("{step}: {error}")]
    Provider {
        /// The purpose of the request.
        step: &'static str,
        /// The failure.
        error: Box<ureq::Error>,
    },
    /// The provider failed a moment ago and is not contacted again yet.
    #[error("the provider failed a moment ago")]
    Unavailable,
    /// An answer from the provider is malformed.
    #[error("{step}: the answer is malformed")]
    Malformed {
        /// The purpose of the request.
        step: &'static str,
    },
    /// The ID token is not accepted.
    #[error(transparent)]
    Token(#[from] IdTokenError),
    /// A thread has panicked.
    #[error("a thread that asks the provider failed")]
    Thread(#[from] tokio::task::JoinError),
}

/// Why a file with certificates cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateFault {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] std::io::Error),
    /// The file is malformed.
    #[error(transparent)]
    Malformed(Box<ureq::Error>),
    /// The file contains other things.
    #[error("the file has no certificate")]
    Missing,
}

/// The purpose of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// Signing in, and the page that follows.
    SignIn(Back),
    /// Linking an identity with a signed-in user.
    Link {
        /// The user.
        user: i64,
        /// The password that the user has shown.
        proof: Proof,
    },
}

/// A sign-in of a browser at the provider.
#[derive(Clone, Serialize, Deserialize)]
pub struct Flow {
    state: String,
    nonce: String,
    verifier: String,
    purpose: Purpose,
}

impl fmt::Debug for Flow {
    // The state and the verifier are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flow")
            .field("purpose", &self.purpose)
            .finish_non_exhaustive()
    }
}

/// The provider's answer, which the browser delivers.
#[derive(Debug, Deserialize)]
pub struct Callback {
    #[serde(default)]
    state: String,
    code: Option<String>,
    error: Option<String>,
    /// The issuer (RFC 9207).
    iss: Option<String>,
}

/// The description of a provider (OpenID Connect Discovery).
#[derive(Debug, Clone, Deserialize)]
struct Description {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

/// The cached description and keys of the provider.
#[derive(Default)]
struct Known {
    description: Option<Description>,
    keys: Arc<Keys>,
    read_at: Option<Instant>,
    asked_at: Option<Instant>,
}

/// A provider.
pub struct Provider {
    pub config: Config,
    agent: Agent,
    /// The flows that have begun.
    pub flows: Shares<IpAddr, Flow>,
    known: tokio::sync::Mutex<Known>,
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// Whether secrets may be sent to an address.
fn check_address(address: &str) -> Result<(), OidcError> {
    let is_secure = Url::parse(address).is_ok_and(|url| {
        let is_local = match url.host() {
            Some(url::Host::Domain(name)) => name == "localhost",
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        url.scheme() == "https" || (url.scheme() == "http" && is_local)
    });
    let insecure = || OidcError::Insecure(address.to_owned());
    is_secure.then_some(()).ok_or_else(insecure)
}

fn certificates(file: &Path) -> Result<RootCerts, OidcError> {
    let failed = |why: CertificateFault| OidcError::Certificates {
        file: file.display().to_string(),
        why,
    };
    let text = std::fs::read(file).map_err(|error| failed(error.into()))?;
    let mut found: Vec<Certificate<'static>> = Vec::new();
    for item in parse_pem(&text) {
        match item {
            Ok(PemItem::Certificate(certificate)) => found.push(certificate),
            Ok(_) => {}
            Err(error) => return Err(failed(CertificateFault::Malformed(Box::new(error)))),
        }
    }
    if found.is_empty() {
        return Err(failed(CertificateFault::Missing));
    }
    Ok(RootCerts::Specific(Arc::new(found)))
}

fn random_text() -> String {
    URL_SAFE_NO_PAD.encode(Token::random().bytes())
}

impl Provider {
    /// A provider that has not been contacted yet. `authorities` is a file with the certificates to
    /// trust; otherwise the public authorities are trusted.
    ///
    /// # Errors
    /// An address does not use https, or the certificates are unreadable.
    pub fn new(config: Config, authorities: Option<&Path>) -> Result<Provider, OidcError> {
        for address in [&config.issuer, &config.site] {
            check_address(address)?;
        }
        let roots = match authorities {
            Some(file) => certificates(file)?,
            None => RootCerts::WebPki,
        };
        let tls = TlsConfig::builder().root_certs(roots).build();
        let agent = Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            // A provider has fixed addresses. A redirect could lead into another network.
            .max_redirects(0)
            .max_redirects_will_error(true)
            .tls_config(tls)
            .build();
        Ok(Provider {
            config,
            agent: agent.into(),
            flows: Shares::new(MAX_FLOWS, FLOW_LASTS),
            known: tokio::sync::Mutex::default(),
        })
    }

    /// The address to which the provider redirects browsers.
    pub fn redirect_uri(&self) -> String {
        format!("{}{CALLBACK}", self.config.site)
    }

    /// Begins a flow of a browser in a network. Returns the token for the browser's cookie, and the
    /// address of the provider to which the browser must go.
    ///
    /// # Errors
    /// The provider cannot be reached.
    pub async fn begin(
        self: &Arc<Self>,
        purpose: Purpose,
        network: IpAddr,
    ) -> Result<(Token, String), OidcError> {
        let (description, _) = self.known(false).await?;
        let malformed = |_| OidcError::Malformed { step: "discovery" };
        let mut url = Url::parse(&description.authorization_endpoint).map_err(malformed)?;
        let flow = Flow {
            state: random_text(),
            nonce: random_text(),
            verifier: random_text(),
            purpose,
        };
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&flow.verifier));
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.config.client_id)
            .append_pair("redirect_uri", &self.redirect_uri())
            .append_pair("scope", "openid profile email")
            .append_pair("state", &flow.state)
            .append_pair("nonce", &flow.nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        let token = self.flows.add(network, flow, Instant::now());
        Ok((token, url.into()))
    }

    /// Ends a flow with the provider's answer. Returns its purpose and the claims about the person.
    ///
    /// # Errors
    /// The answer belongs to no flow of this browser, the provider has refused, or it does not
    /// confirm the answer.
    pub async fn finish(
        self: &Arc<Self>,
        token: &Token,
        callback: Callback,
    ) -> Result<(Purpose, Claims), OidcError> {
        let flow = self.flows.take(token, Instant::now());
        let flow = flow.ok_or(OidcError::Flow)?;
        // The digests are compared, so the time of the comparison reveals nothing about the state.
        let digest = |text: &str| hex(&Sha256::digest(text));
        if digest(&callback.state) != digest(&flow.state) {
            return Err(OidcError::Flow);
        }
        if callback.iss.is_some_and(|iss| iss != self.config.issuer) {
            return Err(IdTokenError::Issuer.into());
        }
        if let Some(error) = callback.error {
            return Err(OidcError::Refused(error.chars().take(100).collect()));
        }
        let code = callback.code.ok_or(OidcError::Flow)?;
        let (description, keys) = self.known(false).await?;
        let id_token = self.exchange(description, code, flow.verifier).await?;
        let expected = Expected {
            issuer: &self.config.issuer,
            client: &self.config.client_id,
            nonce: &flow.nonce,
        };
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = since.unwrap_or_default().as_secs_f64();
        let claims = match id_token::verify(&id_token, &keys, expected, now) {
            // The provider may have new keys.
            Err(IdTokenError::UnknownKey) => {
                let (_, keys) = self.known(true).await?;
                id_token::verify(&id_token, &keys, expected, now)?
            }
            result => result?,
        };
        Ok((flow.purpose, claims))
    }

    /// The provider's description and keys.
    async fn known(self: &Arc<Self>, again: bool) -> Result<(Description, Arc<Keys>), OidcError> {
        let mut known = self.known.lock().await;
        let is_within = |at: Option<Instant>, time| at.is_some_and(|at| at.elapsed() < time);
        let is_fresh = is_within(known.read_at, KNOWN_LASTS) && !again;
        let may_ask = !is_within(known.asked_at, MIN_PAUSE);
        if !is_fresh && may_ask {
            known.asked_at = Some(Instant::now());
            let provider = self.clone();
            let read = tokio::task::spawn_blocking(move || provider.read()).await?;
            let (description, keys) = read?;
            known.description = Some(description);
            known.keys = Arc::new(keys);
            known.read_at = Some(Instant::now());
        }
        let description = known.description.clone().ok_or(OidcError::Unavailable)?;
        Ok((description, known.keys.clone()))
    }

    /// Reads the description and the keys. Blocks the thread.
    fn read(&self) -> Result<(Description, Keys), OidcError> {
        let step = "discovery";
        let base = self.config.issuer.trim_end_matches('/');
        let address = format!("{base}/.well-known/openid-configuration");
        let description = self.get(step, &address)?;
        let description = Description::deserialize(description);
        let description = description.map_err(|_| OidcError::Malformed { step })?;
        if description.issuer != self.config.issuer {
            return Err(IdTokenError::Issuer.into());
        }
        for address in [
            &description.authorization_endpoint,
            &description.token_endpoint,
            &description.jwks_uri,
        ] {
            check_address(address)?;
        }
        let keys = self.get("keys", &description.jwks_uri)?;
        Ok((description, Keys::read(&keys)))
    }

    fn get(&self, step: &'static str, address: &str) -> Result<Value, OidcError> {
        let answer = self.agent.get(address).header("accept", "application/json");
        json(step, answer.call())
    }

    /// Exchanges the code for an ID token.
    async fn exchange(
        self: &Arc<Self>,
        description: Description,
        code: String,
        verifier: String,
    ) -> Result<String, OidcError> {
        let provider = self.clone();
        let ask = move || {
            let step = "token";
            let config = &provider.config;
            let redirect_uri = provider.redirect_uri();
            let mut form = vec![
                ("grant_type", "authorization_code"),
                ("code", &code),
                ("redirect_uri", &redirect_uri),
                ("code_verifier", &verifier),
                ("client_id", &config.client_id),
            ];
            let mut request = provider.agent.post(&description.token_endpoint);
            request = request.header("accept", "application/json");
            if !config.secret.is_empty() {
                let supported = description.token_endpoint_auth_methods_supported;
                let supports = |method: &str| {
                    let supported = supported.as_ref();
                    supported.is_some_and(|all| all.iter().any(|one| one == method))
                };
                if supports("client_secret_post") && !supports("client_secret_basic") {
                    form.push(("client_secret", &config.secret.0));
                } else {
                    // RFC 6749, section 2.3.1.
                    let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
                    let (id, secret) = (encoded(&config.client_id), encoded(&config.secret.0));
                    let credentials = STANDARD.encode(format!("{id}:{secret}"));
                    request = request.header("authorization", format!("Basic {credentials}"));
                }
            }
            let answer = json(step, request.send_form(form))?;
            let id_token = answer["id_token"].as_str().map(str::to_owned);
            id_token.ok_or(OidcError::Malformed { step })
        };
        tokio::task::spawn_blocking(ask).await?
    }
}

type Answer = Result<ureq::http::Response<ureq::Body>, ureq::Error>;

fn json(step: &'static str, answer: Answer) -> Result<Value, OidcError> {
    let failed = |error| OidcError::Provider {
        step,
        error: Box::new(error),
    };
    let mut answer = answer.map_err(failed)?;
    let body = answer.body_mut().with_config().limit(MAX_ANSWER);
    let body = body.read_to_vec().map_err(failed)?;
    serde_json::from_slice(&body).map_err(|_| OidcError::Malformed { step })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    fn provider() -> Provider {
        let config = Config {
            name: "School".to_owned(),
            issuer: "https://id.example.org".to_owned(),
            client_id: "site".to_owned(),
            secret: Secret::new(" swordfish\n"),
            site: "https://contest.example.org".to_owned(),
            adds_users: false,
        };
        Provider::new(config, None).unwrap()
    }

    /// Reads the description of a provider on this machine, with some other fields, and its keys.
    /// `{url}` in a field is the address of the provider.
    fn discovered(changes: &[(&str, &str)]) -> Result<Description, OidcError> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut fields = HashMap::from([
            ("issuer", "{url}"),
            ("authorization_endpoint", "{url}/authorize"),
            ("token_endpoint", "{url}/token"),
            ("jwks_uri", "{url}/keys"),
        ]);
        fields.extend(changes.iter().copied());
        let fields = fields.into_iter();
        let description: HashMap<&str, String> = fields
            .map(|(name, value)| (name, value.replace("{url}", &url)))
            .collect();
        let answer = serde_json::to_string(&description).unwrap();
        // The thread waits for requests until the tests end.
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut request = [0; 4096];
                let _ = stream.read(&mut request);
                let _ = write!(
                    stream,
                    "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
                    answer.len()
                );
            }
        });
        let mut provider = provider();
        provider.config.issuer = url;
        provider.read().map(|(description, _)| description)
    }

    #[test]
    fn description_of_another_issuer_is_refused() {
        assert!(discovered(&[]).is_ok());
        for issuer in ["https://id.example.org", "{url}/", "{url}/realm", ""] {
            let found = discovered(&[("issuer", issuer)]);
            let is_refused = matches!(found, Err(OidcError::Token(IdTokenError::Issuer)));
            assert!(is_refused, "{issuer}: {found:?}");
        }
    }

    #[test]
    fn endpoints_must_be_encrypted_or_on_this_machine() {
        for endpoint in ["authorization_endpoint", "token_endpoint", "jwks_uri"] {
            for address in [
                "http://id.example.org/a",
                "http://192.0.2.1/a",
                "ftp://127.0.0.1/a",
                "/a",
            ] {
                let found = discovered(&[(endpoint, address)]);
                let is_refused = match &found {
                    Err(OidcError::Insecure(refused)) => refused == address,
                    _ => false,
                };
                assert!(is_refused, "{endpoint} {address}: {found:?}");
            }
        }
        let endpoint = "https://id.example.org/token";
        let found = discovered(&[("token_endpoint", endpoint)]).unwrap();
        assert_eq!(found.token_endpoint, endpoint);
    }

    #[test]
    fn secrets_are_sent_encrypted_only_and_never_printed() {
        for address in [
            "https://id.example.org/realm",
            "http://127.0.0.1:8080",
            "http://[::1]/",
            "http://localhost/a",
        ] {
            assert!(check_address(address).is_ok(), "{address}");
        }
        for address in [
            "http://id.example.org",
            "http://localhost.example.org",
            "ftp://127.0.0.1",
            "id.example.org",
            "",
        ] {
            assert!(check_address(address).is_err(), "{address}");
        }
        let provider = provider();
        assert_eq!(provider.config.secret.0, "swordfish");
        assert!(!format!("{provider:?}").contains("swordfish"));
    }
}
