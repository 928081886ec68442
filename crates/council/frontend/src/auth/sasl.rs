//! SASL DIGEST-MD5 as ZooKeeper's clients use it: its names, its users, and which of them may do everything. The
//! exchange itself is `net-auth`'s.

use net_auth::Passwords;
use net_auth::sasl::digest_md5::{Endpoint, Server};

/// Users of SASL DIGEST-MD5.
#[derive(Clone, Debug)]
pub struct SaslConfig {
    /// Users, and what their passwords are checked against.
    pub server: Server,
    /// Users whose exchange also makes them super user (`zookeeper.superUser`).
    pub super_users: Vec<String>,
    /// Whether a client whose exchange fails may go on without an identity (`zookeeper.allowSaslFailedClients`).
    pub allow_failed_clients: bool,
}

impl SaslConfig {
    /// Users without a super user. Every exchange must succeed.
    #[must_use]
    pub fn new(users: &Passwords) -> Self {
        let (service, host) = (council_wire::sasl::SERVICE, council_wire::sasl::HOST);
        let server = Server::new(Endpoint { service, host, realm: host }, users);
        Self { server, super_users: Vec::new(), allow_failed_clients: false }
    }
}

#[cfg(test)]
mod tests {
    use base::Secret;
    use net_auth::sasl::ServerStep;
    use net_auth::sasl::digest_md5::{ClientExchange, ServerExchange};
    use net_auth::sasl::{ClientStep, SaslUser};

    use super::*;

    #[test]
    fn challenge_and_response_are_those_of_zookeeper() {
        let users = [("bob", Secret(String::from("secret")))].into_iter().collect();
        let mut exchange = ServerExchange::new();
        let step = exchange.step(&SaslConfig::new(&users).server, b"", &[0; 32]);
        let nonce = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
        let challenge = format!("realm=\"zk-sasl-md5\",nonce=\"{nonce}\",charset=utf-8,algorithm=md5-sess");
        assert_eq!(step, ServerStep::Continue(challenge.clone().into_bytes()));
        let mut client =
            ClientExchange::new(SaslUser::new("bob", "secret"), "zookeeper", "zk-sasl-md5", [0; 16]);
        let ClientStep::Send(response) = client.step(challenge.as_bytes()) else { panic!("a response") };
        let step = exchange.step(&SaslConfig::new(&users).server, &response, &[0; 32]);
        assert!(matches!(&step, ServerStep::Complete { user, .. } if user == "bob"), "{step:?}");
    }

    #[test]
    fn configuration_shows_no_secret() {
        let users = [("bob", Secret(String::from("hush")))].into_iter().collect();
        assert!(!format!("{:?}", SaslConfig::new(&users)).contains("hush"));
    }
}
