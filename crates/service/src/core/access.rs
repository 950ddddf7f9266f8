//! The rights of clients to runs, submissions and files. All interfaces ask here, for every verb.

use super::queue::ClientId;
use crate::tokens::Client;

/// What a client wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// See it, read its content, follow it, or refer to it in a request.
    Read,
    /// Cancel it, remove it, or send input to it.
    Change,
}

/// What a client wants to use: a run, a judging, a submission or a stored file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owned {
    /// Whether the client is one of its owners.
    pub is_own: bool,
    /// Whether an owner lets all clients read it.
    pub is_shared: bool,
}

impl Owned {
    /// Something that has only this owner.
    pub fn by(owner: ClientId, client: &Client) -> Owned {
        Owned {
            is_own: owner == client.id,
            is_shared: false,
        }
    }
}

/// Whether the client may do this. If it may not even read something, it must not learn that the
/// thing exists.
pub fn may(client: &Client, verb: Verb, owned: Owned) -> bool {
    match verb {
        _ if client.admin || owned.is_own => true,
        Verb::Read => owned.is_shared,
        Verb::Change => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Tokens;

    #[test]
    fn owners_and_administrators_may_do_everything_and_others_only_read_what_is_shared() {
        for (admin, is_own, is_shared, read, change) in [
            (false, false, false, false, false),
            (false, false, true, true, false),
            (false, true, false, true, true),
            (false, true, true, true, true),
            (true, false, false, true, true),
            (true, false, true, true, true),
            (true, true, false, true, true),
            (true, true, true, true, true),
        ] {
            let anonymous = Tokens::new(&[]).client(None).unwrap();
            let client = Client { admin, ..anonymous };
            let owned = Owned { is_own, is_shared };
            let row = (admin, is_own, is_shared);
            assert_eq!(may(&client, Verb::Read, owned), read, "read {row:?}");
            assert_eq!(may(&client, Verb::Change, owned), change, "change {row:?}");
        }
    }

    #[test]
    fn client_owns_what_has_its_number() {
        let anonymous = Tokens::new(&[]).client(None).unwrap();
        let client = Client { id: 2, ..anonymous };
        assert!(Owned::by(2, &client).is_own && !Owned::by(1, &client).is_own);
    }
}
