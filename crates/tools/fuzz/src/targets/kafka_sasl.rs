//! Tokens of clients that prove to a broker who they are: PLAIN, SCRAM and OAUTHBEARER.

use base::Secret;
use net_auth::sasl::oauthbearer::{self, BadToken, BearerToken, TokenValidator};
use net_auth::sasl::scram::{self, ClientExchange, ScramCredential, ScramHash};
use net_auth::sasl::{ClientStep, SaslUser, ServerStep, plain};

use crate::input::{Input, put_piece};

const USER: &str = "jürgen";
const PASSWORD: &str = "pässword";
/// Few, so that inputs are quick.
const ITERATIONS: u32 = 4;

/// The first byte chooses the mechanism; then come the tokens.
pub(crate) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let Some(mechanism) = input.byte() else { return };
    let mut tokens = Vec::new();
    while let Some(token) = input.piece() {
        tokens.push(token);
    }
    match mechanism % 4 {
        0 => plain(&tokens),
        1 => scram(ScramHash::Sha256, &tokens),
        2 => scram(ScramHash::Sha512, &tokens),
        _ => bearer(&tokens),
    }
}

fn plain(tokens: &[&[u8]]) {
    let passwords = [(USER, Secret(PASSWORD.into()))];
    let server = plain::Server::new(passwords.into_iter().collect());
    for token in tokens {
        judge(&server.step(token));
    }
}

fn scram(hash: ScramHash, tokens: &[&[u8]]) {
    let mut server = scram::Server::new(hash, [5; 32]);
    server.set(USER, Some(ScramCredential::of_password(hash, PASSWORD, b"salt".to_vec(), ITERATIONS)));
    let mut exchange = scram::ServerExchange::new();
    let mut is_over = false;
    for token in tokens {
        let step = exchange.step(&server, token, &[8; 32]);
        judge(&step);
        assert!(!is_over || matches!(step, ServerStep::Failed(_)), "it goes on after its end");
        is_over |= !matches!(step, ServerStep::Continue(_));
    }
    client(hash, tokens);
}

/// What a server answers is hostile, too.
fn client(hash: ScramHash, tokens: &[&[u8]]) {
    let mut client = ClientExchange::new(hash, user(), [1; 24]);
    let _ = client.first();
    for token in tokens.iter().take(3) {
        if !matches!(client.step(token), ClientStep::Send(_)) {
            break;
        }
    }
}

#[derive(Debug)]
struct Tokens;

impl TokenValidator for Tokens {
    fn validate(&self, token: &str, now_ms: i64) -> Result<BearerToken, BadToken> {
        match token {
            "good" => Ok(BearerToken { user: USER.into(), expires_ms: now_ms + 1_000 }),
            _ => Err(BadToken("another")),
        }
    }
}

fn bearer(tokens: &[&[u8]]) {
    let mut exchange = oauthbearer::ServerExchange::new();
    for token in tokens {
        judge(&exchange.step(&Tokens, token, 1_000));
    }
}

fn judge(step: &ServerStep) {
    if let ServerStep::Complete { user, .. } = step {
        assert_eq!(*user, USER, "nobody is let in");
    }
}

fn user() -> SaslUser {
    SaslUser { name: USER.into(), password: Secret(PASSWORD.into()) }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    let mut add = |mechanism: u8, tokens: &[&[u8]]| {
        let mut seed = vec![mechanism];
        tokens.iter().for_each(|token| put_piece(&mut seed, token));
        seeds.push(seed);
    };
    add(0, &[&plain::client_token(&user())]);
    add(0, &["\0jürgen\0guess".as_bytes()]);
    for (mechanism, hash) in [(1, ScramHash::Sha256), (2, ScramHash::Sha512)] {
        let [first, last] = whole_exchange(hash);
        add(mechanism, &[&first, &last, &last]);
        add(mechanism, &[b"n,a=other,n=nobody,r=nonce,tokenauth=true", b"c=biws,r=nonce,p=AAAA"]);
    }
    for token in ["", "\0", "\0\0", "bob\0jürgen\0pässword", "\0jürgen\0", "\0jürgen\0pässword\0"] {
        add(0, &[token.as_bytes()]);
    }
    for first in [
        "n,,n=jürgen,r=nonce",
        "y,,n=jürgen,r=nonce",
        "p=tls-unique,,n=x,r=y",
        "n,,m=x,n=a,r=b",
        "n,,n==2C=3D,r=b",
    ] {
        add(1, &[first.as_bytes(), b"c=biws,r=nonce,p=AAAA"]);
    }
    add(3, &[b"n,,\x01auth=Bearer good\x01\x01", b"\x01"]);
    add(3, &[b"n,a=somebody,\x01auth=Bearer other\x01host=h\x01port=1\x01\x01", b"\x01"]);
    seeds
}

fn whole_exchange(hash: ScramHash) -> [Vec<u8>; 2] {
    let mut server = scram::Server::new(hash, [5; 32]);
    server.set(USER, Some(ScramCredential::of_password(hash, PASSWORD, b"salt".to_vec(), ITERATIONS)));
    let (mut exchange, mut client) =
        (scram::ServerExchange::new(), ClientExchange::new(hash, user(), [1; 24]));
    let first = client.first();
    let last = match exchange.step(&server, &first, &[8; 32]) {
        ServerStep::Continue(challenge) => match client.step(&challenge) {
            ClientStep::Send(token) => token,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    [first, last]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchange_of_the_seeds_lets_the_user_in() {
        for hash in [ScramHash::Sha256, ScramHash::Sha512] {
            let [first, last] = whole_exchange(hash);
            let mut server = scram::Server::new(hash, [5; 32]);
            let credential = ScramCredential::of_password(hash, PASSWORD, b"salt".to_vec(), ITERATIONS);
            server.set(USER, Some(credential));
            let mut exchange = scram::ServerExchange::new();
            assert!(matches!(exchange.step(&server, &first, &[8; 32]), ServerStep::Continue(_)));
            assert!(matches!(exchange.step(&server, &last, &[8; 32]), ServerStep::Complete { .. }));
        }
    }
}
