//! SASL DIGEST-MD5 (RFC 2831), the client's side, as Java's client speaks it to ZooKeeper's servers. It makes and checks
//! tokens; it knows no connection, and no random source: the caller draws the random bytes of each exchange.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest, Md5};

/// The name that ZooKeeper's clients and servers use for the host.
const DIGEST_URI: &str = "zookeeper/zk-sasl-md5";
/// Challenges of honest servers have about 120 bytes.
const CHALLENGE_BYTES_MAX: usize = 4096;

/// A user of SASL, with a password.
#[derive(Clone, PartialEq, Eq)]
pub struct SaslUser {
    /// The name of the user.
    pub name: String,
    /// The password; never printed.
    pub password: String,
}

impl std::fmt::Debug for SaslUser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SaslUser").field("name", &self.name).finish_non_exhaustive()
    }
}

/// One exchange on one connection.
pub struct SaslClient {
    user: SaslUser,
    client_nonce: String,
    /// What the server's last token must be, once the response is made.
    expected: Option<String>,
}

/// What a token of the server leads to.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// The next token for the server.
    Send(Vec<u8>),
    /// Both sides have shown that they know the password.
    Done,
    /// The server does not know the password, or does not speak DIGEST-MD5.
    Failed,
}

impl SaslClient {
    /// `entropy` must not be guessable, and different each time.
    #[must_use]
    pub fn new(user: SaslUser, entropy: [u8; 16]) -> Self {
        Self { user, client_nonce: STANDARD.encode(entropy), expected: None }
    }

    /// Takes the server's token. The exchange begins with an empty token of the client's.
    pub fn step(&mut self, token: &[u8]) -> Step {
        let text = match std::str::from_utf8(token) {
            Ok(text) if text.len() <= CHALLENGE_BYTES_MAX => text,
            _ => return Step::Failed,
        };
        match self.expected.take() {
            None => self.respond(text).map_or(Step::Failed, Step::Send),
            Some(expected) if directive(text, "rspauth").as_deref() == Some(&expected) => Step::Done,
            Some(_) => Step::Failed,
        }
    }

    fn respond(&mut self, challenge: &str) -> Option<Vec<u8>> {
        let nonce = directive(challenge, "nonce")?;
        let realm = directive(challenge, "realm").unwrap_or_default();
        let offers_auth =
            directive(challenge, "qop").is_none_or(|qop| qop.split(',').any(|one| one.trim() == "auth"));
        if !offers_auth || directive(challenge, "algorithm")? != "md5-sess" {
            return None;
        }
        let proof = |method| proof(&self.user, &realm, &nonce, &self.client_nonce, method);
        let response = format!(
            "charset=utf-8,username={},realm={},nonce={},nc=00000001,cnonce={},digest-uri=\"{DIGEST_URI}\",\
             maxbuf=65536,response={},qop=auth",
            quoted(&self.user.name),
            quoted(&realm),
            quoted(&nonce),
            quoted(&self.client_nonce),
            proof("AUTHENTICATE"),
        );
        self.expected = Some(proof(""));
        Some(response.into_bytes())
    }
}

/// RFC 2831, 2.1.2.1; the method is `AUTHENTICATE` for the client's proof, and empty for the server's.
fn proof(user: &SaslUser, realm: &str, nonce: &str, client_nonce: &str, method: &str) -> String {
    let mut a1 = Md5::new();
    a1.update(Md5::digest(format!("{}:{realm}:{}", user.name, user.password)));
    a1.update(format!(":{nonce}:{client_nonce}"));
    let a1 = hex(&a1.finalize());
    let a2 = hex(&Md5::digest(format!("{method}:{DIGEST_URI}")));
    hex(&Md5::digest(format!("{a1}:{nonce}:00000001:{client_nonce}:auth:{a2}")))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The first directive of that name: `name=value` or `name="value"`, separated by commas.
fn directive(text: &str, wanted: &str) -> Option<String> {
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, behind) = rest.split_once('=')?;
        let (value, behind) = match behind.strip_prefix('"') {
            Some(behind) => unquoted(behind)?,
            None => {
                let (value, behind) = behind.split_at(behind.find(',').unwrap_or(behind.len()));
                (String::from(value.trim()), behind)
            }
        };
        if name.trim().eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        rest = behind.trim_start().trim_start_matches(',').trim_start();
    }
    None
}

/// A quoted text, and what is behind its closing quote.
fn unquoted(text: &str) -> Option<(String, &str)> {
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

#[cfg(test)]
mod tests {
    use super::*;

    const CHALLENGE: &str = "realm=\"zk-sasl-md5\",nonce=\"a\\\"b\",charset=utf-8,algorithm=md5-sess";

    fn user() -> SaslUser {
        SaslUser { name: String::from("bo\"b"), password: String::from("secret") }
    }

    #[test]
    fn response_repeats_what_the_challenge_says() {
        let mut client = SaslClient::new(user(), [7; 16]);
        let Step::Send(response) = client.step(CHALLENGE.as_bytes()) else { panic!("a response") };
        let response = String::from_utf8(response).expect("text");
        assert_eq!(directive(&response, "username").as_deref(), Some("bo\"b"));
        assert_eq!(directive(&response, "nonce").as_deref(), Some("a\"b"));
        assert_eq!(directive(&response, "digest-uri").as_deref(), Some(DIGEST_URI));
        let proof = proof(&user(), "zk-sasl-md5", "a\"b", &STANDARD.encode([7; 16]), "AUTHENTICATE");
        assert_eq!(directive(&response, "response"), Some(proof));
    }

    #[test]
    fn server_must_prove_that_it_knows_the_password() {
        let answer = |proof: &str| {
            let mut client = SaslClient::new(user(), [7; 16]);
            assert!(matches!(client.step(CHALLENGE.as_bytes()), Step::Send(_)));
            client.step(format!("rspauth={proof}").as_bytes())
        };
        let right = proof(&user(), "zk-sasl-md5", "a\"b", &STANDARD.encode([7; 16]), "");
        assert_eq!(answer(&right), Step::Done);
        assert_eq!(answer("00"), Step::Failed);
    }

    #[test]
    fn challenge_that_is_none_fails() {
        for challenge in
            ["", "nonce", "nonce=\"x", "nonce=\"x\",algorithm=md5", "realm=\"x\",algorithm=md5-sess"]
        {
            let mut client = SaslClient::new(user(), [7; 16]);
            assert_eq!(client.step(challenge.as_bytes()), Step::Failed, "{challenge}");
        }
    }
}
