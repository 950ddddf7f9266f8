//! ID tokens of OpenID Connect: signed claims about a person's sign-in at another service.
//!
//! Only signatures with public keys are accepted. A token itself names its algorithm. So an
//! algorithm that is not in [`Algorithm`], such as `none` or one with a shared secret, is rejected,
//! and a key is used only with the algorithms of its own type.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::Value;

/// How much the clocks of provider and site may differ, in seconds.
const MAX_SKEW: f64 = 60.0;
/// The maximum length of a subject, in characters (OpenID Connect Core, section 2).
const MAX_SUBJECT: usize = 255;
/// The maximum length of a token, in bytes.
const MAX_TOKEN: usize = 64 << 10;

/// Why a token is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdTokenError {
    /// The text is not a signed token in the compact form, or its claims are malformed.
    #[error("the token is malformed")]
    Malformed,
    /// The token names an algorithm without a public key, or an unknown one.
    #[error("the token names an algorithm that is not accepted")]
    Algorithm,
    /// No key of the provider matches.
    #[error("no key of the provider matches the token")]
    UnknownKey,
    /// The signature does not match the content.
    #[error("the signature of the token is wrong")]
    Signature,
    /// Another provider has issued it.
    #[error("the token is from another issuer")]
    Issuer,
    /// It is for another client.
    #[error("the token is for another client")]
    Audience,
    /// The token is no longer valid, or not yet valid.
    #[error("the token is not valid at this time")]
    Time,
    /// It belongs to another sign-in.
    #[error("the token belongs to another sign-in")]
    Nonce,
}

/// Algorithms of signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Algorithm {
    Rs256,
    Ps256,
    Es256,
}

impl Algorithm {
    fn named(name: &str) -> Option<Algorithm> {
        match name {
            "RS256" => Some(Algorithm::Rs256),
            "PS256" => Some(Algorithm::Ps256),
            "ES256" => Some(Algorithm::Es256),
            _ => None,
        }
    }
}

/// The first part of a token.
#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    /// Extensions that must be understood. This program understands none.
    crit: Option<Value>,
}

/// A public key (RFC 7517).
#[derive(Debug, Deserialize)]
struct Key {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    n: Option<String>,
    e: Option<String>,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// The keys of a provider.
#[derive(Debug, Default)]
pub struct Keys(Vec<Key>);

impl Keys {
    /// Reads a set of keys. Keys of unknown forms are left out.
    pub fn read(set: &Value) -> Keys {
        let keys = set["keys"].as_array().into_iter().flatten();
        Keys(keys.filter_map(|key| Key::deserialize(key).ok()).collect())
    }
}

/// The clients to which a token is addressed.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

/// The claims that the site uses.
#[derive(Debug, Deserialize)]
pub struct Claims {
    iss: String,
    /// The person, unique and permanent at the issuer.
    pub sub: String,
    aud: Audience,
    azp: Option<String>,
    exp: f64,
    iat: f64,
    nbf: Option<f64>,
    nonce: Option<String>,
    pub name: Option<String>,
    pub preferred_username: Option<String>,
    email: Option<String>,
    email_verified: Option<Value>,
}

impl Claims {
    /// The e-mail address, if the provider has verified it.
    pub fn verified_email(&self) -> Option<&str> {
        let is_verified = match &self.email_verified {
            Some(Value::Bool(is_verified)) => *is_verified,
            // Some providers send a string.
            Some(Value::String(text)) => text == "true",
            _ => false,
        };
        self.email.as_deref().filter(|_| is_verified)
    }
}

/// The values that a token must contain.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    pub issuer: &'a str,
    pub client: &'a str,
    pub nonce: &'a str,
}

/// Verifies a token, and returns its claims. `now` is in seconds since 1970.
///
/// # Errors
/// The token is not accepted.
pub fn verify(
    token: &str,
    keys: &Keys,
    expected: Expected<'_>,
    now: f64,
) -> Result<Claims, IdTokenError> {
    if token.len() > MAX_TOKEN {
        return Err(IdTokenError::Malformed);
    }
    let (message, signature) = token.rsplit_once('.').ok_or(IdTokenError::Malformed)?;
    let (header, content) = message.split_once('.').ok_or(IdTokenError::Malformed)?;
    let header: Header = part(header)?;
    let algorithm = Algorithm::named(&header.alg).ok_or(IdTokenError::Algorithm)?;
    if header.crit.is_some() {
        return Err(IdTokenError::Malformed);
    }
    let signature = decode(signature).ok_or(IdTokenError::Malformed)?;
    let fitting = |key: &&Key| key.fits(algorithm, &header);
    let mut fitting = keys.0.iter().filter(fitting).peekable();
    fitting.peek().ok_or(IdTokenError::UnknownKey)?;
    if !fitting.any(|key| key.verifies(algorithm, message.as_bytes(), &signature)) {
        return Err(IdTokenError::Signature);
    }
    let claims: Claims = part(content)?;
    check(&claims, expected, now)?;
    Ok(claims)
}

fn check(claims: &Claims, expected: Expected<'_>, now: f64) -> Result<(), IdTokenError> {
    if claims.iss != expected.issuer {
        return Err(IdTokenError::Issuer);
    }
    let is_addressed = match &claims.aud {
        Audience::One(one) => one == expected.client,
        // With several audiences, the token may have been issued to another client, so only the
        // authorized party counts.
        Audience::Many(many) => match &many[..] {
            [one] => one == expected.client,
            many => {
                many.iter().any(|one| one == expected.client)
                    && claims.azp.as_deref() == Some(expected.client)
            }
        },
    };
    let is_party = claims
        .azp
        .as_deref()
        .is_none_or(|azp| azp == expected.client);
    if !is_addressed || !is_party {
        return Err(IdTokenError::Audience);
    }
    let is_valid = now < claims.exp + MAX_SKEW
        && claims.iat <= now + MAX_SKEW
        && claims.nbf.is_none_or(|begin| begin <= now + MAX_SKEW);
    if !is_valid {
        return Err(IdTokenError::Time);
    }
    if claims.nonce.as_deref() != Some(expected.nonce) {
        return Err(IdTokenError::Nonce);
    }
    let is_plain = claims
        .sub
        .chars()
        .all(|c| c.is_ascii() && !c.is_ascii_control());
    if claims.sub.is_empty() || claims.sub.len() > MAX_SUBJECT || !is_plain {
        return Err(IdTokenError::Malformed);
    }
    Ok(())
}

fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

fn part<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, IdTokenError> {
    let bytes = decode(text).ok_or(IdTokenError::Malformed)?;
    serde_json::from_slice(&bytes).map_err(|_| IdTokenError::Malformed)
}

impl Key {
    /// Whether the key is for signatures of this kind, and the one that the token names.
    fn fits(&self, algorithm: Algorithm, header: &Header) -> bool {
        let is_type = match algorithm {
            Algorithm::Rs256 | Algorithm::Ps256 => self.kty == "RSA",
            Algorithm::Es256 => self.kty == "EC" && self.crv.as_deref() == Some("P-256"),
        };
        let is_for_it = self.alg.as_deref().is_none_or(|alg| alg == header.alg)
            && self.usage.as_deref().is_none_or(|usage| usage == "sig");
        let is_named = header.kid.is_none() || self.kid == header.kid;
        is_type && is_for_it && is_named
    }

    fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let field = |field: &Option<String>| field.as_deref().and_then(decode);
        match algorithm {
            Algorithm::Rs256 | Algorithm::Ps256 => {
                let (Some(n), Some(e)) = (field(&self.n), field(&self.e)) else {
                    return false;
                };
                let parameters = match algorithm {
                    Algorithm::Ps256 => &RSA_PSS_2048_8192_SHA256,
                    _ => &RSA_PKCS1_2048_8192_SHA256,
                };
                let key = RsaPublicKeyComponents {
                    n: without_zeros(&n),
                    e: without_zeros(&e),
                };
                key.verify(parameters, message, signature).is_ok()
            }
            Algorithm::Es256 => {
                let (Some(x), Some(y)) = (field(&self.x), field(&self.y)) else {
                    return false;
                };
                // An uncompressed point.
                let point = [&[4], &x[..], &y[..]].concat();
                let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
                key.verify(message, signature).is_ok()
            }
        }
    }
}

/// Some providers send numbers with leading zeros.
fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
    use serde_json::json;

    const NOW: f64 = 1_800_000_000.0;
    const EXPECTED: Expected<'_> = Expected {
        issuer: "https://id.example.org",
        client: "site",
        nonce: "n1",
    };

    struct Signer {
        pair: EcdsaKeyPair,
        random: SystemRandom,
    }

    impl Signer {
        fn new() -> Signer {
            let random = SystemRandom::new();
            let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
            let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
            let pair = EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).unwrap();
            Signer { pair, random }
        }

        fn key(&self) -> Value {
            let point = self.pair.public_key().as_ref();
            let encode = |bytes| URL_SAFE_NO_PAD.encode(bytes);
            json!({
                "kty": "EC", "crv": "P-256", "kid": "k", "use": "sig",
                "x": encode(&point[1..33]), "y": encode(&point[33..]),
            })
        }

        fn sign(&self, header: &Value, claims: &Value) -> String {
            let encode = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
            let message = format!("{}.{}", encode(header), encode(claims));
            let signature = self.pair.sign(&self.random, message.as_bytes()).unwrap();
            format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
        }
    }

    fn claims() -> Value {
        json!({
            "iss": "https://id.example.org", "sub": "42", "aud": "site", "nonce": "n1",
            "exp": NOW + 300.0, "iat": NOW, "email": "a@example.org", "email_verified": false,
        })
    }

    #[test]
    fn only_right_claims_are_accepted() {
        let signer = Signer::new();
        let keys = Keys::read(&json!({ "keys": ["junk", { "kty": 3 }, signer.key()] }));
        let header = json!({ "alg": "ES256", "kid": "k" });
        let verified = |changes: Value| {
            let mut claims = claims();
            for (name, value) in changes.as_object().unwrap() {
                claims[name] = value.clone();
            }
            verify(&signer.sign(&header, &claims), &keys, EXPECTED, NOW)
        };
        let accepted = verified(json!({})).unwrap();
        assert_eq!(
            (accepted.sub.as_str(), accepted.verified_email()),
            ("42", None)
        );
        let with_mail = verified(json!({ "email_verified": true })).unwrap();
        assert_eq!(with_mail.verified_email(), Some("a@example.org"));
        for accepted in [
            json!({ "aud": ["site"] }),
            json!({ "aud": ["site", "other"], "azp": "site" }),
            json!({ "exp": NOW - 30.0 }),
        ] {
            assert!(verified(accepted.clone()).is_ok(), "{accepted}");
        }
        for (changes, error) in [
            (
                json!({ "iss": "https://id.example.org/" }),
                IdTokenError::Issuer,
            ),
            (json!({ "aud": "other" }), IdTokenError::Audience),
            (json!({ "aud": ["site", "other"] }), IdTokenError::Audience),
            (json!({ "aud": [] }), IdTokenError::Audience),
            (json!({ "azp": "other" }), IdTokenError::Audience),
            (json!({ "exp": NOW - 61.0 }), IdTokenError::Time),
            (json!({ "iat": NOW + 61.0 }), IdTokenError::Time),
            (json!({ "nbf": NOW + 61.0 }), IdTokenError::Time),
            (json!({ "exp": null }), IdTokenError::Malformed),
            (json!({ "exp": "never" }), IdTokenError::Malformed),
            (json!({ "nonce": "n2" }), IdTokenError::Nonce),
            (json!({ "nonce": null }), IdTokenError::Nonce),
            (json!({ "sub": "" }), IdTokenError::Malformed),
            (json!({ "sub": "a".repeat(256) }), IdTokenError::Malformed),
            (json!({ "sub": "a\nb" }), IdTokenError::Malformed),
            (json!({ "sub": "ä" }), IdTokenError::Malformed),
            // The signature is right.
            (
                json!({ "name": "a".repeat(MAX_TOKEN) }),
                IdTokenError::Malformed,
            ),
        ] {
            assert_eq!(verified(changes.clone()).unwrap_err(), error, "{changes}");
        }
    }

    #[test]
    fn only_signatures_with_known_keys_are_accepted() {
        let signer = Signer::new();
        let keys = Keys::read(&json!({ "keys": [signer.key()] }));
        let with = |header: Value| {
            let token = signer.sign(&header, &claims());
            verify(&token, &keys, EXPECTED, NOW).map(|claims| claims.sub)
        };
        assert!(with(json!({ "alg": "ES256" })).is_ok());
        for (header, error) in [
            (json!({ "alg": "none" }), IdTokenError::Algorithm),
            (json!({ "alg": "None" }), IdTokenError::Algorithm),
            (
                json!({ "alg": "HS256", "kid": "k" }),
                IdTokenError::Algorithm,
            ),
            (
                json!({ "alg": "RS256", "kid": "k" }),
                IdTokenError::UnknownKey,
            ),
            (
                json!({ "alg": "ES256", "kid": "other" }),
                IdTokenError::UnknownKey,
            ),
            (
                json!({ "alg": "ES256", "crit": ["b64"] }),
                IdTokenError::Malformed,
            ),
            (json!({ "kid": "k" }), IdTokenError::Malformed),
        ] {
            assert_eq!(with(header.clone()).unwrap_err(), error, "{header}");
        }
        let token = signer.sign(&json!({ "alg": "ES256" }), &claims());
        let (message, _) = token.rsplit_once('.').unwrap();
        let other = Signer::new().sign(&json!({ "alg": "ES256" }), &claims());
        let mut changed = claims();
        changed["sub"] = json!("43");
        let mallory = signer.sign(&json!({ "alg": "ES256" }), &changed);
        let (_, right_elsewhere) = mallory.rsplit_once('.').unwrap();
        for (token, error) in [
            (format!("{message}."), IdTokenError::Signature),
            (other, IdTokenError::Signature),
            (
                format!("{message}.{right_elsewhere}"),
                IdTokenError::Signature,
            ),
            (message.to_owned(), IdTokenError::Malformed),
            (String::new(), IdTokenError::Malformed),
            ("a.b.c.d".to_owned(), IdTokenError::Malformed),
        ] {
            let result = verify(&token, &keys, EXPECTED, NOW);
            assert_eq!(result.unwrap_err(), error, "{token}");
        }
        for (name, value) in [("use", "enc"), ("alg", "ES384"), ("crv", "P-384")] {
            let mut key = signer.key();
            key[name] = json!(value);
            let keys = Keys::read(&json!({ "keys": [key] }));
            let result = verify(&token, &keys, EXPECTED, NOW);
            assert_eq!(result.unwrap_err(), IdTokenError::UnknownKey, "{name}");
        }
    }
}
