//! What all brokers of a cluster know and nobody else: every broker then tells the same of users that there are not.

use log_metadata::access::ClusterSecret;
use log_metadata::{Decision, Found, paths};

use crate::authentication::Authentication;
use crate::council::Purpose;
use crate::node::Node;

impl Node {
    /// Gives the cluster a secret, if it has none.
    pub(crate) fn claim_secret(&mut self) {
        if self.access.authentication.is_secret_known {
            return;
        }
        let secret = ClusterSecret(self.config.secrets.cluster).bytes();
        self.council.ask(paths::SECRET.into(), Purpose::Secret, move |found: Found<'_>| {
            found.data.map_or_else(|| Decision::Write(secret.clone()), |_| Decision::Keep)
        });
    }
}

impl Authentication {
    /// The council holds this as the secret of the cluster.
    pub(crate) fn secret_changed(&mut self, data: Option<&[u8]>) {
        if let Some(ClusterSecret(secret)) = data.and_then(ClusterSecret::read) {
            self.users.set_secret(secret);
            self.is_secret_known = true;
        }
    }
}
