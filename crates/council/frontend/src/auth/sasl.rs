//! SASL DIGEST-MD5 (RFC 2831), the server's side of it, as Java's implementation speaks it to ZooKeeper's clients:
//! realm and host `zk-sasl-md5`, service `zookeeper`, protection `auth` only.
//!
//! Two steps: an empty token is answered with a challenge, the client's response with the proof that the server
//! knows the password too. Knows users and passwords, and nothing of connections or ACLs.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest, Md5};
use subtle::ConstantTimeEq;

/// The realm and the host name that ZooKeeper's clients and servers agree on.
const REALM: &str = "zk-sasl-md5";
const DIGEST_URI: &str = "zookeeper/zk-sasl-md5";
/// A response of honest clients has about 250 bytes.
const RESPONSE_BYTES_MAX: usize = 4096;

/// Users of SASL DIGEST-MD5.
#[derive(Clone, Default)]
pub struct SaslConfig {
    /// Users and their passwords, as the `Server` section of a JAAS file gives them.
    pub users: Vec<(String, String)>,
    /// Users whose exchange also makes them super user (`zookeeper.superUser`).
    pub super_users: Vec<String>,
    /// Whether a client whose exchange fails may go on without an identity (`zookeeper.allowSaslFailedClients`).
    pub allow_failed_clients: bool,
}

impl core::fmt::Debug for SaslConfig {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SaslConfig").field("users", &self.users.len()).finish_non_exhaustive()
    }
}

impl SaslConfig {
    fn password_of(&self, user: &str) -> Option<&str> {
        self.users.iter().find(|(name, _)| name == user).map(|(_, password)| password.as_str())
    }
}

/// Where an exchange stands.
#[derive(Debug, PartialEq, Eq)]
enum Stage {
    Start,
    Challenged { nonce: String },
    Over,
}

/// One exchange.
#[derive(Debug)]
pub(crate) struct SaslServer {
    stage: Stage,
}

/// What a step led to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A token for the client; it will come back.
    Continue(Vec<u8>),
    /// The last token for the client, and who it is.
    Complete(Vec<u8>, String),
    /// The client is not who it says it is, or speaks nonsense.
    Failed,
}

impl SaslServer {
    pub(crate) const fn new() -> Self {
        Self { stage: Stage::Start }
    }

    /// Takes the client's token. `entropy` makes the nonce, and must not be guessable.
    pub(crate) fn step(&mut self, config: &SaslConfig, token: &[u8], entropy: &[u8; 32]) -> Step {
        match core::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Start if token.is_empty() => {
                let nonce = STANDARD.encode(entropy);
                let challenge =
                    format!("realm=\"{REALM}\",nonce=\"{nonce}\",charset=utf-8,algorithm=md5-sess");
                self.stage = Stage::Challenged { nonce };
                Step::Continue(challenge.into_bytes())
            }
            Stage::Challenged { nonce } if token.len() <= RESPONSE_BYTES_MAX => {
                match core::str::from_utf8(token).ok().and_then(|text| verify(config, &nonce, text)) {
                    Some((proof, user)) => Step::Complete(format!("rspauth={proof}").into_bytes(), user),
                    None => Step::Failed,
                }
            }
            _ => Step::Failed,
        }
    }
}

/// Checks a response; gives the proof for the client and the user's name.
fn verify(config: &SaslConfig, nonce: &str, response: &str) -> Option<(String, String)> {
    let directives = Directives::parse(response)?;
    let user = directives.one("username")?;
    let realm = directives.one("realm").unwrap_or_default();
    let authorized_as = directives.one("authzid");
    let qop = directives.one("qop").unwrap_or("auth");
    let uri = directives.one("digest-uri")?;
    if directives.one("nonce")? != nonce
        || directives.one("nc")? != "00000001"
        || qop != "auth"
        || realm != REALM
        || !uri.eq_ignore_ascii_case(DIGEST_URI)
        || authorized_as.is_some_and(|name| !name.is_empty() && name != user)
    {
        return None;
    }
    let password = config.password_of(user)?;
    let cnonce = directives.one("cnonce")?;
    let secret = Secret { user, realm, password, nonce, cnonce, authorized_as };
    let expected = secret.proof("AUTHENTICATE", uri);
    let shown = directives.one("response")?;
    let same: bool = expected.as_bytes().ct_eq(shown.as_bytes()).into();
    same.then(|| (secret.proof("", uri), user.to_owned()))
}

/// What both sides know of an exchange.
struct Secret<'a> {
    user: &'a str,
    realm: &'a str,
    password: &'a str,
    nonce: &'a str,
    cnonce: &'a str,
    authorized_as: Option<&'a str>,
}

impl Secret<'_> {
    /// RFC 2831, 2.1.2.1: the response of one side, whose method is `AUTHENTICATE` for the client, empty for the server.
    fn proof(&self, method: &str, uri: &str) -> String {
        let mut a1 = Md5::new();
        a1.update(Md5::digest(format!("{}:{}:{}", self.user, self.realm, self.password)));
        a1.update(format!(":{}:{}", self.nonce, self.cnonce));
        if let Some(name) = self.authorized_as {
            a1.update(format!(":{name}"));
        }
        let a1 = hex(&a1.finalize());
        let a2 = hex(&Md5::digest(format!("{method}:{uri}")));
        hex(&Md5::digest(format!("{a1}:{}:00000001:{}:auth:{a2}", self.nonce, self.cnonce)))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|half| char::from_digit(half.into(), 16))
        .collect()
}

/// The directives of a response: `name=value` or `name="value"`, with commas between them.
struct Directives(Vec<(String, String)>);

impl Directives {
    fn parse(text: &str) -> Option<Self> {
        let mut found = Vec::new();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let (name, behind) = rest.split_once('=')?;
            let (value, behind) = match behind.strip_prefix('"') {
                Some(quoted) => Self::quoted(quoted)?,
                None => {
                    let end = behind.find(',').unwrap_or(behind.len());
                    let (value, behind) = behind.split_at(end);
                    (value.trim().to_owned(), behind)
                }
            };
            found.push((name.trim().to_ascii_lowercase(), value));
            let behind = behind.trim_start();
            rest = match behind.strip_prefix(',') {
                Some(next) => next.trim_start(),
                None if behind.is_empty() => behind,
                None => return None,
            };
        }
        Some(Self(found))
    }

    /// A quoted string, in which a backslash makes the next character an ordinary one.
    fn quoted(text: &str) -> Option<(String, &str)> {
        let mut value = String::new();
        let mut characters = text.char_indices();
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => return Some((value, text.get(at + 1..)?)),
                '\\' => value.push(characters.next()?.1),
                other => value.push(other),
            }
        }
        None
    }

    /// A directive that must not be there twice.
    fn one(&self, name: &str) -> Option<&str> {
        let mut matching = self.0.iter().filter(|(other, _)| other == name);
        let value = matching.next()?;
        matching.next().is_none().then_some(value.1.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> SaslConfig {
        SaslConfig { users: vec![("bob".into(), "secret".into())], ..SaslConfig::default() }
    }

    fn respond(nonce: &str, user: &str, password: &str) -> (String, Secret<'static>) {
        let leak = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
        let secret = Secret {
            user: leak(user),
            realm: REALM,
            password: leak(password),
            nonce: leak(nonce),
            cnonce: "cn\"once",
            authorized_as: None,
        };
        let response = format!(
            "charset=utf-8,username=\"{user}\",realm=\"{REALM}\",nonce=\"{nonce}\",nc=00000001,\
             cnonce=\"cn\\\"once\",digest-uri=\"{DIGEST_URI}\",maxbuf=65536,response={},qop=auth",
            secret.proof("AUTHENTICATE", DIGEST_URI)
        );
        (response, secret)
    }

    fn challenge(server: &mut SaslServer) -> String {
        let Step::Continue(challenge) = server.step(&config(), b"", &[7; 32]) else { panic!() };
        let directives = Directives::parse(core::str::from_utf8(&challenge).unwrap()).unwrap();
        assert_eq!(directives.one("realm"), Some(REALM));
        assert_eq!(directives.one("algorithm"), Some("md5-sess"));
        directives.one("nonce").unwrap().to_owned()
    }

    #[test]
    fn rfc_2831_section_4_example() {
        let secret = Secret {
            user: "chris",
            realm: "elwood.innosoft.com",
            password: "secret",
            nonce: "OA6MG9tEQGm2hh",
            cnonce: "OA6MHXh6VqTrRk",
            authorized_as: None,
        };
        assert_eq!(
            secret.proof("AUTHENTICATE", "imap/elwood.innosoft.com"),
            "d388dad90d4bbd760a152321f2143af7"
        );
        assert_eq!(secret.proof("", "imap/elwood.innosoft.com"), "ea40f60335c427b5527b84dbabcdfffd");
    }

    #[test]
    fn the_right_password_completes_and_proves_the_server() {
        let mut server = SaslServer::new();
        let nonce = challenge(&mut server);
        let (response, secret) = respond(&nonce, "bob", "secret");
        let proof = format!("rspauth={}", secret.proof("", DIGEST_URI)).into_bytes();
        assert_eq!(
            server.step(&config(), response.as_bytes(), &[0; 32]),
            Step::Complete(proof, "bob".into())
        );
        assert_eq!(server.step(&config(), b"", &[0; 32]), Step::Failed);
    }

    #[test]
    fn a_wrong_password_user_or_nonce_fails() {
        for (user, password, stale) in
            [("bob", "wrong", false), ("eve", "secret", false), ("bob", "secret", true)]
        {
            let mut server = SaslServer::new();
            let nonce = challenge(&mut server);
            let nonce = if stale { "another" } else { &nonce };
            let (response, _) = respond(nonce, user, password);
            assert_eq!(server.step(&config(), response.as_bytes(), &[0; 32]), Step::Failed);
        }
    }

    #[test]
    fn a_response_cut_anywhere_fails_without_panic() {
        let (response, _) = respond("n", "bob", "secret");
        for cut in 0..response.len() {
            let mut server = SaslServer { stage: Stage::Challenged { nonce: "n".into() } };
            let cut = &response.as_bytes()[..cut];
            assert!(!matches!(server.step(&config(), cut, &[0; 32]), Step::Continue(_)));
        }
    }
}
