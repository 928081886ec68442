//! What clients and servers show each other to authenticate: tokens of SASL, certificates, and the text of a JAAS file.

use net_auth::sasl::digest_md5::{ClientExchange, Endpoint, Server, ServerExchange};
use net_auth::sasl::{ClientStep, SaslUser, ServerStep, TOKEN_BYTES_MAX};
use net_auth::{certificate_subject, jaas};

const MODULE: &str = "com.example.LoginModule";
const SERVICE: &str = "imap";
const HOST: &str = "mail.example";
const USERS: [(&str, &str); 3] = [("bob", "secret"), ("jürgen", "pässword"), ("", "")];

/// The first byte says what the others are.
pub(crate) fn run(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else { return };
    match kind % 4 {
        0 => response(rest),
        1 => challenge(rest),
        2 => {
            let subject = certificate_subject(rest).unwrap_or_default();
            assert!(subject.len() <= 4 * rest.len(), "a name of {} bytes", subject.len());
        }
        _ => jaas_text(&String::from_utf8_lossy(rest)),
    }
}

/// A client's second token.
fn response(token: &[u8]) {
    let (mut exchange, server) = (ServerExchange::new(), server());
    assert!(matches!(exchange.step(&server, b"", &[7; 32]), ServerStep::Continue(_)));
    match exchange.step(&server, token, &[8; 32]) {
        ServerStep::Continue(_) => panic!("a second challenge"),
        ServerStep::Complete { user, .. } => {
            assert!(USERS.iter().any(|(known, _)| *known == user), "`{user}` is nobody");
            assert!(token.len() <= TOKEN_BYTES_MAX);
        }
        ServerStep::Failed(_) => {}
    }
    assert!(matches!(exchange.step(&server, token, &[9; 32]), ServerStep::Failed(_)), "it is over");
}

/// Two tokens of a server, of which the first byte says where the second begins.
fn challenge(tokens: &[u8]) {
    let Some((length, rest)) = tokens.split_first() else { return };
    let (first, second) = rest.split_at(usize::from(*length).min(rest.len()));
    let mut client = client(0);
    if matches!(client.step(first), ClientStep::Send(_)) {
        assert!(!matches!(client.step(second), ClientStep::Send(_)), "a second response");
    }
    assert!(matches!(client.step(second), ClientStep::Failed(_)), "it is over");
}

fn jaas_text(text: &str) {
    if let Ok(users) = jaas::users(text, "Server", MODULE) {
        let bytes: usize = users.iter().map(|(name, password)| name.len() + password.0.len()).sum();
        assert!(!users.is_empty() && bytes <= text.len());
    }
    let _ = jaas::user(text, "Client", MODULE);
}

fn server() -> Server {
    let users = USERS.iter().map(|(user, password)| (*user, base::Secret(String::from(*password))));
    Server::new(Endpoint { service: SERVICE, host: HOST, realm: HOST }, &users.collect())
}

fn client(index: usize) -> ClientExchange {
    let (user, password) = USERS[index];
    ClientExchange::new(SaslUser::new(user, password), SERVICE, HOST, [7; 16])
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for index in 0..USERS.len() {
        let (mut exchange, mut client, server) = (ServerExchange::new(), client(index), server());
        let ServerStep::Continue(challenge) = exchange.step(&server, b"", &[7; 32]) else { continue };
        let ClientStep::Send(response) = client.step(&challenge) else { continue };
        let ServerStep::Complete { token, .. } = exchange.step(&server, &response, &[8; 32]) else {
            continue;
        };
        let length = u8::try_from(challenge.len()).unwrap_or(u8::MAX);
        seeds.push([&[1, length][..], &challenge, &token].concat());
        seeds.push([&[0][..], &response].concat());
    }
    seeds.extend(SUBJECTS.iter().map(|subject| [&[2][..], &certificate(subject)].concat()));
    seeds.extend(JAAS.iter().map(|text| [&[3][..], text.as_bytes()].concat()));
    seeds
}

const JAAS: [&str; 3] = [
    "Server { com.example.LoginModule required user_bob=\"b;{}=\" user_eve = \"x\" ; };",
    "/* one */ Other { a.B optional x=y; }; // two\n Server { com.example.LoginModule required # three\n user_a=b; };",
    "Client { com.example.LoginModule required username=\"bob\" password=\"secret\"; };",
];

/// A part of a name: type, tag of the value, value.
type Attribute<'a> = (&'a [u8], u8, &'a [u8]);

/// Names, each component of one attribute.
const SUBJECTS: [&[Attribute<'_>]; 4] = [
    &[],
    &[(&[0x55, 4, 3], 0x0c, b"bob")],
    &[
        (&[0x55, 4, 6], 0x13, b"DE"),
        (&[0x55, 4, 10], 0x0c, b" Foo, Inc. "),
        (&[0x55, 4, 3], 0x1e, &[0, 0x61]),
    ],
    &[(&[0x55, 4, 5], 0x13, b"12"), (&[9, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25], 0x16, b"com")],
];

/// What of a certificate stands around its subject, as short as it may be.
fn certificate(subject: &[Attribute<'_>]) -> Vec<u8> {
    let attribute = |(oid, tag, value): &Attribute<'_>| {
        element(0x31, &element(0x30, &[element(6, oid), element(*tag, value)].concat()))
    };
    let name = element(0x30, &subject.iter().map(attribute).collect::<Vec<_>>().concat());
    let fields = [&[0xa0, 3, 2, 1, 2, 2, 1, 1, 0x30, 0, 0x30, 0, 0x30, 0][..], &name].concat();
    element(0x30, &element(0x30, &fields))
}

fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).expect("short names");
    let header = if length < 0x80 { vec![tag, length] } else { vec![tag, 0x81, length] };
    [&header, content].concat()
}
