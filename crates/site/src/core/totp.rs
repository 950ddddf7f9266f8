//! Time-based one-time passwords (RFC 6238), and the codes that replace a lost generator.

use super::time::Time;
use super::token::{Token, readable_password};
use sha2::{Digest, Sha256};
use totp_rs::{Builder, Totp};

/// The length of a secret in bytes, as RFC 4226 recommends.
const SECRET_BYTES: usize = 20;
/// The number of recovery codes of a user.
pub const RECOVERY_CODES: usize = 10;
/// The name of the site in generators.
const ISSUER: &str = "millibox";

/// A new secret.
pub fn new_secret() -> Vec<u8> {
    Token::random().bytes()[..SECRET_BYTES].to_vec()
}

fn generator(secret: &[u8]) -> Option<Totp> {
    Builder::new().with_secret(secret).build().ok()
}

/// The secret as people type it into a generator.
pub fn text(secret: &[u8]) -> String {
    generator(secret).map_or_else(String::new, |totp| totp.secret().to_base32())
}

/// The address that generators read from a QR code. Logins have no characters that need escaping.
pub fn address(secret: &[u8], login: &str) -> String {
    let secret = text(secret);
    format!("otpauth://totp/{ISSUER}:{login}?secret={secret}&issuer={ISSUER}")
}

/// The period of a code: the current period or one of its neighbours. It must be later than the
/// last period that was used.
pub fn period(secret: &[u8], code: &str, last: Option<i64>, now: Time) -> Option<i64> {
    let seconds = u64::try_from(now.0 / 1_000_000).ok()?;
    let period = generator(secret)?.check(code.trim(), seconds)?;
    let period = i64::try_from(period).ok()?;
    (last.is_none_or(|last| last < period)).then_some(period)
}

/// New recovery codes.
pub fn recovery_codes() -> Vec<String> {
    (0..RECOVERY_CODES).map(|_| readable_password()).collect()
}

/// The digest of a recovery code, which is stored. Case and spaces do not matter.
pub fn recovery_digest(code: &str) -> [u8; 32] {
    let code = code.trim().to_lowercase();
    Sha256::digest(code.as_bytes()).into()
}

/// The QR code of an address as an SVG path in a square of the returned width.
pub fn qr_path(address: &str) -> Option<(String, i32)> {
    use qrcodegen::{QrCode, QrCodeEcc};
    const BORDER: i32 = 4;
    let code = QrCode::encode_text(address, QrCodeEcc::Medium).ok()?;
    let mut path = String::new();
    for y in 0..code.size() {
        for x in 0..code.size() {
            if code.get_module(x, y) {
                path += &format!("M{},{}h1v1h-1z", x + BORDER, y + BORDER);
            }
        }
    }
    Some((path, code.size() + 2 * BORDER))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of RFC 6238, appendix B, cut to six digits.
    #[test]
    fn codes_are_those_of_the_standard() {
        let secret = b"12345678901234567890";
        for (seconds, code) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_234_567_890, "005924"),
            (20_000_000_000, "353130"),
        ] {
            let now = Time(seconds * 1_000_000);
            let found = period(secret, code, None, now);
            assert_eq!(found, Some(seconds / 30), "{code}");
            assert_eq!(period(secret, code, found, now), None, "a code works once");
            let later = Time((seconds + 61) * 1_000_000);
            assert_eq!(period(secret, code, None, later), None, "a code expires");
        }
        for wrong in ["", "28708", "+87082", "287083", "2870822"] {
            assert_eq!(
                period(secret, wrong, None, Time(59_000_000)),
                None,
                "{wrong}"
            );
        }
    }

    #[test]
    fn address_has_the_secret_and_fits_a_qr_code() {
        let secret = new_secret();
        assert_ne!(secret, new_secret());
        let address = address(&secret, "ada");
        assert!(address.contains(&text(&secret)) && text(&secret).len() == 32);
        assert!(qr_path(&address).is_some_and(|(path, width)| path.len() > 1000 && width > 30));
    }

    #[test]
    fn recovery_codes_ignore_case_and_spaces() {
        let codes = recovery_codes();
        assert_eq!(codes.len(), RECOVERY_CODES);
        let typed = format!(" {} ", codes[0].to_uppercase());
        assert_eq!(recovery_digest(&typed), recovery_digest(&codes[0]));
        assert_ne!(recovery_digest(&codes[0]), recovery_digest(&codes[1]));
    }
}
