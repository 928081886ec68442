//! The users of SCRAM, as the council has committed them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use net_auth::sasl::scram::{ScramCredential, ScramHash, Server};

/// How many users there are at the most.
pub(crate) const USERS_MAX: usize = 100_000;

/// See the module.
#[derive(Debug)]
pub(crate) struct ScramUsers {
    sha256: Server,
    sha512: Server,
}

impl ScramUsers {
    /// None yet. `secret` makes the salts of users that there are not.
    pub(crate) const fn new(secret: [u8; 32]) -> Self {
        Self {
            sha256: Server::new(ScramHash::Sha256, secret),
            sha512: Server::new(ScramHash::Sha512, secret),
        }
    }

    /// Another `secret` from now on.
    pub(crate) const fn set_secret(&mut self, secret: [u8; 32]) {
        self.sha256.set_decoy_key(secret);
        self.sha512.set_decoy_key(secret);
    }

    pub(crate) const fn server(&self, hash: ScramHash) -> &Server {
        match hash {
            ScramHash::Sha256 => &self.sha256,
            ScramHash::Sha512 => &self.sha512,
        }
    }

    /// The user has these credentials from now on, and no other.
    pub(crate) fn set(&mut self, user: &str, credentials: BTreeMap<ScramHash, ScramCredential>) {
        self.sha256.set(user, None);
        self.sha512.set(user, None);
        for (hash, credential) in credentials {
            let server = match hash {
                ScramHash::Sha256 => &mut self.sha256,
                ScramHash::Sha512 => &mut self.sha512,
            };
            server.set(user, Some(credential));
        }
    }

    /// All users, each once, sorted by name.
    pub(crate) fn names(&self) -> Vec<Arc<str>> {
        let names = self.sha256.users().chain(self.sha512.users()).map(|(user, _)| user);
        names.collect::<BTreeSet<_>>().into_iter().map(Arc::from).collect()
    }

    /// What is to be seen of a user: its hashes with their iterations.
    pub(crate) fn shown(&self, user: &str) -> Vec<(ScramHash, u32)> {
        let of = |server: &Server| Some((server.hash(), server.get(user)?.iterations));
        [&self.sha256, &self.sha512].into_iter().filter_map(of).collect()
    }

    /// How many there are, about: one with both hashes counts twice.
    pub(crate) fn len(&self) -> usize {
        self.sha256.len() + self.sha512.len()
    }
}
