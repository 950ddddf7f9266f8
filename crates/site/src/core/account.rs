//! The rules for the fields of an account.

use super::password;

/// The maximum length of a login and of a name, in characters.
pub const MAX_NAME: usize = 64;
/// The maximum length of an e-mail address, in characters.
const MAX_EMAIL: usize = 254;

/// Why a field of an account is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AccountError {
    /// The login is empty or too long, or contains a character that is not allowed.
    #[error("A login must consist of 1 to 64 letters, digits, dots, hyphens and underscores.")]
    Login,
    /// The name is empty or too long.
    #[error("A name must have 1 to 64 characters.")]
    Name,
    /// The e-mail address is malformed.
    #[error("An e-mail address must have a name, an @ and a host, and no spaces.")]
    Email,
    /// The password is too short or too long.
    #[error("A password must have at least 8 characters, and at most 256 bytes.")]
    Password,
}

/// Checks a login.
///
/// # Errors
/// The login is empty or too long, or contains characters other than letters, digits and `_.-`.
pub fn check_login(login: &str) -> Result<(), AccountError> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let fits = (1..=MAX_NAME).contains(&login.len()) && login.chars().all(is_allowed);
    fits.then_some(()).ok_or(AccountError::Login)
}

/// Checks the name of a person.
///
/// # Errors
/// The name is empty or too long.
pub fn check_name(name: &str) -> Result<(), AccountError> {
    let length = name.trim().chars().count();
    let fits = (1..=MAX_NAME).contains(&length) && !name.chars().any(char::is_control);
    fits.then_some(()).ok_or(AccountError::Name)
}

/// Checks an e-mail address.
///
/// # Errors
/// It is malformed.
pub fn check_email(email: &str) -> Result<(), AccountError> {
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
    let fits = email.chars().count() <= MAX_EMAIL
        && email.chars().all(is_plain)
        && email
            .rsplit_once('@')
            .is_some_and(|(name, host)| !name.is_empty() && !host.is_empty());
    fits.then_some(()).ok_or(AccountError::Email)
}

/// Checks a new password.
///
/// # Errors
/// The password is too short or too long.
pub fn check_password(password: &str) -> Result<(), AccountError> {
    let fits = password::LENGTHS.contains(&password.len());
    fits.then_some(()).ok_or(AccountError::Password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_accounts_are_checked() {
        for login in ["ada", "a.b-c_9", &"x".repeat(64)] {
            assert_eq!(check_login(login), Ok(()), "{login}");
        }
        for login in ["", "a b", "ä", "a/b", &"x".repeat(65)] {
            assert_eq!(check_login(login), Err(AccountError::Login), "{login}");
        }
        assert_eq!(check_name("Łucja Ż."), Ok(()));
        for name in ["", "  ", "a\nb", &"ż".repeat(65)] {
            assert_eq!(check_name(name), Err(AccountError::Name), "{name}");
        }
        assert_eq!(check_email("ada@example.org"), Ok(()));
        for email in ["", "ada", "@example.org", "ada@", "a b@c", "a@b\n"] {
            assert_eq!(check_email(email), Err(AccountError::Email), "{email}");
        }
        assert_eq!(check_password("12345678"), Ok(()));
        for password in ["1234567", &"x".repeat(257)] {
            assert_eq!(check_password(password), Err(AccountError::Password));
        }
    }
}
