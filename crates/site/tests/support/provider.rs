//! A small provider of OpenID Connect with real signatures. It can also issue invalid tokens.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};
use url::Url;

/// The name of the site at the provider.
pub const CLIENT: &str = "the site";
/// Its password, with characters that must be encoded.
pub const SECRET: &str = "a secret/+:%";

/// How the next tokens are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signed {
    /// With RSA, as most providers do.
    Rsa,
    /// With an elliptic curve.
    Curve,
    /// With a new RSA key that replaces the old one.
    NewRsa,
    /// With an RSA key that the provider does not publish, under the name of a published key.
    WithForeignKey,
    /// Not at all: `alg` is `none`.
    NotAtAll,
    /// With the public key as a shared secret: `alg` is `HS256`.
    WithPublicKeyAsSecret,
}

#[derive(Debug)]
struct Code {
    nonce: String,
    challenge: String,
    redirect_uri: String,
}

/// The state that tests change.
#[derive(Debug)]
struct State {
    url: String,
    signed: Signed,
    /// Claims that replace those of the token; `null` removes one.
    claims: Value,
    /// Fields that replace those of the description.
    description: Value,
    codes: HashMap<String, Code>,
    /// The last ID token, for replays.
    last: Option<String>,
    replays: bool,
    is_down: bool,
    issued: u32,
}

/// The provider. It serves until the process ends.
#[derive(Clone)]
pub struct Provider {
    state: Arc<Mutex<State>>,
    keys: Arc<Keys>,
    pub url: String,
}

struct Keys {
    rsa: [RsaKeyPair; 2],
    curve: EcdsaKeyPair,
    random: SystemRandom,
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl Keys {
    fn new() -> Keys {
        let rsa = |text: &str| {
            let text: String = text.split_whitespace().collect();
            let key = STANDARD.decode(text).expect("base64");
            RsaKeyPair::from_pkcs8(&key).expect("a key")
        };
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
        Keys {
            rsa: [
                rsa(include_str!("keys/rsa-1.txt")),
                rsa(include_str!("keys/rsa-2.txt")),
            ],
            curve: EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).expect("a key"),
            random,
        }
    }

    fn rsa_signature(&self, index: usize, message: &[u8]) -> Vec<u8> {
        let key = &self.rsa[index];
        let mut signature = vec![0; key.public().modulus_len()];
        key.sign(&RSA_PKCS1_SHA256, &self.random, message, &mut signature)
            .expect("a signature");
        signature
    }

    fn published(&self, signed: Signed) -> Value {
        let rsa = |index: usize, name: &str| {
            let parts = PublicKeyComponents::<Vec<u8>>::from(self.rsa[index].public());
            json!({
                "kty": "RSA", "kid": name, "use": "sig", "alg": "RS256",
                "n": encode(&parts.n), "e": encode(&parts.e),
            })
        };
        let point = self.curve.public_key().as_ref();
        let curve = json!({
            "kty": "EC", "kid": "curve", "crv": "P-256", "use": "sig",
            "x": encode(&point[1..33]), "y": encode(&point[33..]),
        });
        let first = match signed {
            Signed::NewRsa => rsa(1, "new"),
            _ => rsa(0, "old"),
        };
        json!({ "keys": [curve, first, { "kty": "oct", "kid": "secret", "k": "AAAA" }] })
    }

    fn token(&self, signed: Signed, claims: &Value) -> String {
        let (algorithm, name) = match signed {
            Signed::Rsa | Signed::WithForeignKey => ("RS256", "old"),
            Signed::NewRsa => ("RS256", "new"),
            Signed::Curve => ("ES256", "curve"),
            Signed::NotAtAll => ("none", "old"),
            Signed::WithPublicKeyAsSecret => ("HS256", "old"),
        };
        let header = json!({ "typ": "JWT", "alg": algorithm, "kid": name }).to_string();
        let message = format!("{}.{}", encode(header), encode(claims.to_string()));
        let bytes = message.as_bytes();
        let signature = match signed {
            Signed::Rsa => self.rsa_signature(0, bytes),
            Signed::NewRsa | Signed::WithForeignKey => self.rsa_signature(1, bytes),
            Signed::Curve => {
                let signature = self.curve.sign(&self.random, bytes).expect("a signature");
                signature.as_ref().to_vec()
            }
            Signed::NotAtAll => Vec::new(),
            Signed::WithPublicKeyAsSecret => {
                let public = self.rsa[0].public().as_ref();
                let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, public);
                ring::hmac::sign(&key, bytes).as_ref().to_vec()
            }
        };
        format!("{message}.{}", encode(signature))
    }
}

impl Provider {
    /// Starts a provider.
    pub fn start() -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let state = State {
            url: url.clone(),
            signed: Signed::Rsa,
            claims: json!({}),
            description: json!({}),
            codes: HashMap::new(),
            last: None,
            replays: false,
            is_down: false,
            issued: 0,
        };
        let provider = Provider {
            state: Arc::new(Mutex::new(state)),
            keys: Arc::new(Keys::new()),
            url,
        };
        let served = provider.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let one = served.clone();
                std::thread::spawn(move || one.serve(stream));
            }
        });
        provider
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("a state")
    }

    /// Chooses how the next tokens are signed.
    pub fn sign(&self, signed: Signed) {
        self.state().signed = signed;
    }

    /// Changes the claims of the next tokens.
    pub fn claim(&self, claims: Value) {
        self.state().claims = claims;
    }

    /// Changes the description of the provider.
    pub fn describe(&self, description: Value) {
        self.state().description = description;
    }

    /// Answers with the last ID token again.
    pub fn replay(&self, replays: bool) {
        self.state().replays = replays;
    }

    /// Makes the provider answer all requests with an error, or as usual again.
    pub fn set_down(&self, is_down: bool) {
        self.state().is_down = is_down;
    }

    /// Acts as if a person had signed in and agreed: checks the request of the site, and returns
    /// the address to which the provider redirects the browser.
    pub fn agree(&self, address: &str) -> String {
        let request = Url::parse(address).expect("an address");
        assert!(
            address.starts_with(&format!("{}/authorize?", self.url)),
            "{address}"
        );
        let query: HashMap<String, String> = request.query_pairs().into_owned().collect();
        assert_eq!(query["response_type"], "code");
        assert_eq!(query["client_id"], CLIENT);
        assert_eq!(query["code_challenge_method"], "S256");
        assert!(query["scope"].split(' ').any(|scope| scope == "openid"));
        assert!(query["state"].len() >= 43 && query["nonce"].len() >= 43);
        let mut state = self.state();
        state.issued += 1;
        let code = format!("code-{}", state.issued);
        state.codes.insert(
            code.clone(),
            Code {
                nonce: query["nonce"].clone(),
                challenge: query["code_challenge"].clone(),
                redirect_uri: query["redirect_uri"].clone(),
            },
        );
        let mut back = Url::parse(&query["redirect_uri"]).expect("an address");
        back.query_pairs_mut()
            .append_pair("code", &code)
            .append_pair("state", &query["state"])
            .append_pair("iss", &self.url);
        format!("{}?{}", back.path(), back.query().expect("a query"))
    }

    fn serve(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().expect("a connection"));
        let mut first = String::new();
        reader.read_line(&mut first).expect("a request");
        let (mut length, mut credentials) = (0, String::new());
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).expect("a header");
            let Some((name, value)) = line.trim().split_once(": ") else {
                break;
            };
            match name.to_lowercase().as_str() {
                "content-length" => length = value.parse().expect("a number"),
                "authorization" => credentials = value.to_owned(),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("a body");
        let path = first.split(' ').nth(1).unwrap_or_default();
        let (status, answer) = self.answer(path, &credentials, &body);
        let answer = answer.to_string();
        let _ = write!(
            stream,
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n{answer}",
            answer.len()
        );
    }

    fn answer(&self, path: &str, credentials: &str, body: &[u8]) -> (&'static str, Value) {
        let mut state = self.state();
        let failed = |why: &str| ("400 Bad Request", json!({ "error": why }));
        if state.is_down {
            return ("503 Service Unavailable", json!({}));
        }
        let url = &state.url;
        match path {
            "/.well-known/openid-configuration" => {
                let mut description = json!({
                    "issuer": url, "authorization_endpoint": format!("{url}/authorize"),
                    "token_endpoint": format!("{url}/token"), "jwks_uri": format!("{url}/keys"),
                    "response_types_supported": ["code"],
                });
                for (name, value) in state.description.as_object().expect("an object") {
                    description[name] = value.clone();
                }
                ("200 OK", description)
            }
            "/keys" => ("200 OK", self.keys.published(state.signed)),
            "/token" => {
                let encoded = |text: &str| -> String {
                    form_urlencoded::byte_serialize(text.as_bytes()).collect()
                };
                let expected = format!("{}:{}", encoded(CLIENT), encoded(SECRET));
                if credentials != format!("Basic {}", STANDARD.encode(expected)) {
                    return failed("invalid_client");
                }
                let form: HashMap<String, String> =
                    form_urlencoded::parse(body).into_owned().collect();
                // A code works once.
                let Some(code) = form.get("code").and_then(|code| state.codes.remove(code)) else {
                    return failed("invalid_grant");
                };
                let verifier = form.get("code_verifier").cloned().unwrap_or_default();
                let is_right = encode(Sha256::digest(&verifier)) == code.challenge
                    && form.get("redirect_uri") == Some(&code.redirect_uri)
                    && form
                        .get("grant_type")
                        .is_some_and(|it| it == "authorization_code");
                if !is_right {
                    return failed("invalid_grant");
                }
                let token = match &state.last {
                    Some(last) if state.replays => last.clone(),
                    _ => self.keys.token(state.signed, &claims(&state, &code.nonce)),
                };
                state.last = Some(token.clone());
                let answer = json!({
                    "access_token": "unused", "token_type": "Bearer", "id_token": token,
                });
                ("200 OK", answer)
            }
            _ => ("404 Not Found", json!({})),
        }
    }
}

fn claims(state: &State, nonce: &str) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.expect("a time").as_secs();
    let mut claims = json!({
        "iss": state.url, "sub": "person-1", "aud": CLIENT, "nonce": nonce,
        "iat": now, "exp": now + 300,
        "name": "Olga Other", "preferred_username": "olga@example.org",
        "email": "olga@example.org", "email_verified": true,
    });
    for (name, value) in state.claims.as_object().expect("an object") {
        if value.is_null() {
            claims.as_object_mut().expect("an object").remove(name);
        } else {
            claims[name] = value.clone();
        }
    }
    claims
}
