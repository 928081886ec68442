//! The message to an operator about servers that cannot be reached.

use council_client::{Attempt, ConnectFailure, SessionState, Unreachable};

use crate::Problem;

/// Whether waiting longer changes nothing.
pub(crate) fn is_lasting(unreachable: &Unreachable) -> bool {
    let attempts = &unreachable.attempts;
    !attempts.is_empty() && attempts.iter().all(|attempt| attempt.failure.is_lasting())
}

/// Why no server is connected, and what to do about it.
pub fn explain(servers: &str, unreachable: &Unreachable) -> Problem {
    match unreachable.state {
        SessionState::AuthFailed => {
            return Problem::new(format!("`{servers}` does not accept this user")).hint(
                "check name and password; the server must know the user (`Server` section of its JAAS file), \
                 and the scheme",
            );
        }
        SessionState::Expired => {
            return Problem::new("the session has expired").hint("run the command again");
        }
        _ => {}
    }
    let what = match &unreachable.attempts[..] {
        [] => format!("no server answers at `{servers}`"),
        [one] => format!("cannot connect to {one}"),
        several => several.iter().fold(format!("no server answers at `{servers}`"), |text, attempt| {
            format!("{text}\n  {attempt}")
        }),
    };
    Problem::new(what).hint(hint(&unreachable.attempts))
}

/// What to do about the failure that says most: TLS before refusals, as a server with TLS runs.
fn hint(attempts: &[Attempt]) -> &'static str {
    let weight = |failure: &ConnectFailure| match failure {
        ConnectFailure::Refused | ConnectFailure::TimedOut | ConnectFailure::Unreachable(_) => 0,
        ConnectFailure::UnknownHost(_) => 1,
        ConnectFailure::Closed | ConnectFailure::Malformed => 2,
        _ => 3,
    };
    let telling = attempts.iter().map(|attempt| &attempt.failure).max_by_key(|failure| weight(failure));
    match telling {
        Some(ConnectFailure::ExpectsTls) => {
            "name the authority that signed the server's certificate, `--tls-ca FILE`, or a ZooKeeper client's \
             properties, `--client-configuration FILE`"
        }
        Some(ConnectFailure::NotTls | ConnectFailure::ClosedInHandshake) => {
            "name the secure client port, or leave TLS out"
        }
        Some(ConnectFailure::UnknownAuthority) => {
            "`--tls-ca` (`zookeeper.ssl.trustStore.location`) must hold the authority that signed the server's \
             certificate"
        }
        Some(ConnectFailure::NameMismatch) => {
            "connect by a name that stands in the server's certificate, or set \
             `-D zookeeper.ssl.hostnameVerification=false`"
        }
        Some(ConnectFailure::ServerCertificateExpired) => {
            "renew the server's certificate, and look at both clocks"
        }
        Some(ConnectFailure::ClientCertificateRequired) => {
            "name a key with its certificate, `--tls-cert FILE` (`zookeeper.ssl.keyStore.location`)"
        }
        Some(ConnectFailure::ClientCertificateRefused(_)) => {
            "name a certificate that the server's trust store accepts, `--tls-cert FILE`"
        }
        Some(ConnectFailure::UnknownHost(_)) => "check the server's name",
        Some(ConnectFailure::Closed) => {
            "`diwan status` shows whether there is a leader; a secure port may expect `--tls-ca FILE`"
        }
        Some(ConnectFailure::Malformed) => "name the port for clients, `clientPort` of the server's zoo.cfg",
        _ => "start one with `diwan serve`, or name another with `--server HOST:PORT`",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(port: u16, failure: ConnectFailure) -> Attempt {
        Attempt { host: String::from("h"), port, address: None, failure }
    }

    fn unreachable(attempts: Vec<Attempt>) -> Unreachable {
        Unreachable { state: SessionState::Connecting, attempts }
    }

    #[test]
    fn one_server_is_told_in_one_line() {
        let problem = explain("h:1", &unreachable(vec![attempt(1, ConnectFailure::Refused)]));
        assert_eq!(problem.what, "cannot connect to h:1: connection refused");
        assert!(problem.hint.expect("a hint").contains("diwan serve"));
    }

    #[test]
    fn several_servers_are_told_each_with_its_cause() {
        let attempts = vec![attempt(1, ConnectFailure::Refused), attempt(2, ConnectFailure::ExpectsTls)];
        let problem = explain("h:1,h:2", &unreachable(attempts));
        assert!(problem.what.contains("\n  h:1: connection refused\n  h:2: the port expects TLS"));
        assert!(problem.hint.expect("a hint").contains("--tls-ca"), "the hint is about the server that runs");
    }
}
