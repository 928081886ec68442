//! How a server lets a client in: TLS, the SASL user, identities. A [`Client`](crate::Client) and a load use the same
//! type.

use std::fmt;
use std::sync::Arc;

use council_client_core::sasl::SaslUser;
use rustls::ClientConfig;

/// See the module. The default is plain text without any user.
#[derive(Clone, Default)]
pub struct Access {
    pub(crate) tls: Option<Arc<ClientConfig>>,
    pub(crate) sasl: Option<SaslUser>,
    pub(crate) identities: Vec<(String, Vec<u8>)>,
}

impl Access {
    /// Encrypts each connection. The configuration says which authorities are trusted and which certificate is shown;
    /// the server's certificate must have the name by which the server is addressed.
    #[must_use]
    pub fn tls(mut self, config: Arc<ClientConfig>) -> Self {
        self.tls = Some(config);
        self
    }

    /// Authenticates each connection by SASL DIGEST-MD5 before anything else is sent.
    #[must_use]
    pub fn sasl(mut self, user: &str, password: &str) -> Self {
        self.sasl = Some(SaslUser::new(user, password));
        self
    }

    /// Adds an identity to each connection before anything else is sent.
    #[must_use]
    pub fn identity(mut self, scheme: &str, credentials: &[u8]) -> Self {
        self.identities.push((String::from(scheme), credentials.to_vec()));
        self
    }

    /// Whether connections are encrypted.
    #[must_use]
    pub const fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// The SASL user, if there is one.
    #[must_use]
    pub fn sasl_user(&self) -> Option<&str> {
        self.sasl.as_ref().map(|user| user.name.as_str())
    }
}

impl fmt::Debug for Access {
    /// Without passwords and credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schemes: Vec<_> = self.identities.iter().map(|(scheme, _)| scheme).collect();
        f.debug_struct("Access")
            .field("tls", &self.is_encrypted())
            .field("sasl", &self.sasl)
            .field("identities", &schemes)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_shows_no_secret() {
        let access = Access::default().sasl("bob", "hidden").identity("digest", b"alice:hidden");
        let text = format!("{access:?}");
        assert!(text.contains("bob") && text.contains("digest") && !text.contains("hidden"), "{text}");
        assert!(!text.contains(&format!("{:?}", b"alice:hidden")), "{text}");
    }
}
