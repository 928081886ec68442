//! Exchanges as Java's implementation has them, the one of RFC 2831, and clients and servers that do as they like.

use super::directives::{Directives, quoted};
use super::proof::{Prover, Transcript, Verifier};
use super::{ClientExchange, Endpoint, Server, ServerExchange};
use crate::Passwords;
use crate::sasl::{ClientStep, Failure, SaslUser, ServerStep, TOKEN_BYTES_MAX};

const ENDPOINT: Endpoint<'_> = Endpoint { service: "imap", host: "mail.example", realm: "mail.example" };
const URI: &str = "imap/mail.example";

/// User, password, challenge, response and proof of the server, captured between a client and a server of OpenJDK 17.
const CAPTURED: [[&str; 5]; 6] = [
    [
        r#"jürgen"#,
        r#"pässword"#,
        r#"realm="mail.example",nonce="/abXFw//NRy8nYLena7dG2Z2DbGFrm9aVsUcbMjJ",charset=utf-8,algorithm=md5-sess"#,
        r#"charset=utf-8,username="jürgen",realm="mail.example",nonce="/abXFw//NRy8nYLena7dG2Z2DbGFrm9aVsUcbMjJ",nc=00000001,cnonce="4eSV9OaalQvNsBv5tjKOxMt6YE6aCruKggVTrZJ6",digest-uri="imap/mail.example",maxbuf=65536,response=4b03678f6ac410ca43d257fddcecbc43,qop=auth"#,
        r#"rspauth=f4435c6910880ea0a3902ac03a61b028"#,
    ],
    [
        r#"jürgen"#,
        r#"пар"#,
        r#"realm="mail.example",nonce="M1i6HeZatwJfUW7JW9Zv+XkGqAmllvT4qL4R1AiW",charset=utf-8,algorithm=md5-sess"#,
        r#"charset=utf-8,username="jürgen",realm="mail.example",nonce="M1i6HeZatwJfUW7JW9Zv+XkGqAmllvT4qL4R1AiW",nc=00000001,cnonce="Kv0xNozUxt30tapHuwil0LYEyQwxMj06xFUGe/F1",digest-uri="imap/mail.example",maxbuf=65536,response=fcbd1ca37074d7e31f5f03dad38e4855,qop=auth"#,
        r#"rspauth=d6a643d0999a82874f46390fcb1b5aaa"#,
    ],
    [
        r#"bob"#,
        r#"secret"#,
        r#"realm="mail.example",nonce="GOXRMDKSSm5+SzVMizkoGLaZ16H8Cn1RrzDDT0zP",charset=utf-8,algorithm=md5-sess"#,
        r#"charset=utf-8,username="bob",realm="mail.example",nonce="GOXRMDKSSm5+SzVMizkoGLaZ16H8Cn1RrzDDT0zP",nc=00000001,cnonce="cKhtpZteVrW5Yn4YrKECmZJTolIVay3s5mMNa1uH",digest-uri="imap/mail.example",maxbuf=65536,response=d99ef3c1a938e7b2a86ae337831c76d4,qop=auth"#,
        r#"rspauth=307c1f45e995f7e2492009cbe64ddcdc"#,
    ],
    [
        r#"bo"b\"#,
        r#"a"b\c"#,
        r#"realm="mail.example",nonce="crIR44a6E5GnFzMNlzBzrjbmiJj8NYIV0zUBHjOe",charset=utf-8,algorithm=md5-sess"#,
        r#"charset=utf-8,username="bo\"b\\",realm="mail.example",nonce="crIR44a6E5GnFzMNlzBzrjbmiJj8NYIV0zUBHjOe",nc=00000001,cnonce="QlcbpmmTSh1v0s5IjPwyUSO0kvWGUCOVJ88NZMu3",digest-uri="imap/mail.example",maxbuf=65536,response=8d8b7d08f531379a8061c5d0508d32aa,qop=auth"#,
        r#"rspauth=86b186d36b287f7a80f4d39ec2598470"#,
    ],
    [
        r#"юзер"#,
        r#"пароль"#,
        r#"realm="mail.example",nonce="Ny4Sa+ihv+tfAzIMr02jroC9Rpf72QJWxc18ZAaZ",charset=utf-8,algorithm=md5-sess"#,
        r#"charset=utf-8,username="юзер",realm="mail.example",nonce="Ny4Sa+ihv+tfAzIMr02jroC9Rpf72QJWxc18ZAaZ",nc=00000001,cnonce="CXxYw7qIIMUlkEooHbI9cC2JCTp8UGvUnyUiV0X5",digest-uri="imap/mail.example",maxbuf=65536,response=83e186027e9b880bd76b68cff284ee4c,qop=auth"#,
        r#"rspauth=890ca5cc8b95a66ae1b05b81a922e1be"#,
    ],
    [
        r#"bob"#,
        r#"secret"#,
        r#"realm="mail.example",nonce="4TWtjil/9I4rei3d0PDyUjojtlnHf7gbWHHylwB2",charset=utf-8,algorithm=md5-sess"#,
        r#"charset=utf-8,username="bob",realm="mail.example",nonce="4TWtjil/9I4rei3d0PDyUjojtlnHf7gbWHHylwB2",nc=00000001,cnonce="VYin23g9soB1z/eSqYEZ6YDsbppKBVB2hTD6dwrA",digest-uri="imap/mail.example",maxbuf=65536,response=f03bec495144ccc75fabafe745e3000e,qop=auth,authzid="bob""#,
        r#"rspauth=27c10a680107cd6a9765766f36e142c8"#,
    ],
];

fn server(users: &[(&str, &str)]) -> Server {
    let secret = |password: &str| base::Secret(String::from(password));
    let passwords: Passwords = users.iter().map(|(user, password)| (*user, secret(password))).collect();
    Server::new(ENDPOINT, &passwords)
}

/// What a server with user `bob` and password `secret` says to these tokens, of which the first is its own challenge's nonce.
fn judge(response: impl Fn(&str) -> String) -> ServerStep {
    let mut exchange = ServerExchange::new();
    let server = server(&[("bob", "secret")]);
    let ServerStep::Continue(challenge) = exchange.step(&server, b"", &[7; 32]) else {
        panic!("a challenge")
    };
    let directives = Directives::parse(&challenge).unwrap();
    assert_eq!(directives.required("realm"), Ok(ENDPOINT.realm));
    assert_eq!(directives.required("algorithm"), Ok("md5-sess"));
    let response = response(directives.required("nonce").unwrap());
    let step = exchange.step(&server, response.as_bytes(), &[8; 32]);
    assert!(!matches!(step, ServerStep::Continue(_)));
    assert_eq!(exchange.step(&server, b"", &[9; 32]), ServerStep::Failed(Failure::Unexpected), "it is over");
    step
}

/// A client's response, whose parts a test changes.
#[derive(Clone, Copy)]
struct Response<'a> {
    user: &'a str,
    password: &'a str,
    realm: &'a str,
    uri: &'a str,
    nonce_count: &'a str,
    qop: &'a str,
    authorized_as: Option<&'a str>,
    /// What is added behind the directives.
    more: &'a str,
}

const RIGHT: Response<'_> = Response {
    user: "bob",
    password: "secret",
    realm: "mail.example",
    uri: URI,
    nonce_count: "00000001",
    qop: "auth",
    authorized_as: None,
    more: "",
};

impl Response<'_> {
    fn text(&self, nonce: &str) -> String {
        let transcript = Transcript {
            verifier: Verifier::new(self.user, self.realm, self.password),
            nonce,
            client_nonce: "cn\"once",
            authorized_as: self.authorized_as,
            digest_uri: self.uri,
        };
        let authorized_as = self.authorized_as.map(|name| format!(",authzid={}", quoted(name)));
        format!(
            "charset=utf-8,username={},realm={},nonce={},nc={},cnonce=\"cn\\\"once\",digest-uri={},maxbuf=65536,\
             response={},qop={}{}{}",
            quoted(self.user),
            quoted(self.realm),
            quoted(nonce),
            self.nonce_count,
            quoted(self.uri),
            transcript.proof(Prover::Client),
            self.qop,
            authorized_as.unwrap_or_default(),
            self.more,
        )
    }

    fn judged(self) -> Result<String, Failure> {
        match judge(|nonce| self.text(nonce)) {
            ServerStep::Complete { user, .. } => Ok(user),
            ServerStep::Failed(failure) => Err(failure),
            ServerStep::Continue(_) => unreachable!("`judge` has looked"),
        }
    }
}

#[test]
fn exchanges_captured_from_java_complete_on_both_sides() {
    for [user, password, challenge, response, proof] in CAPTURED {
        let nonce = Directives::parse(challenge.as_bytes()).unwrap().required("nonce").unwrap().to_owned();
        let complete = ServerStep::Complete { token: proof.into(), user: user.into() };
        let server = server(&[(user, password)]);
        let mut exchange = ServerExchange::challenged(&nonce);
        assert_eq!(exchange.step(&server, response.as_bytes(), &[0; 32]), complete, "{user} {password}");
        // Our client answers Java's challenge as Java's does, except for the nonce that it draws.
        let client_nonce =
            Directives::parse(response.as_bytes()).unwrap().required("cnonce").unwrap().to_owned();
        let mut client = ClientExchange::new(SaslUser::new(user, password), "imap", "mail.example", [0; 16])
            .with_nonce(&client_nonce);
        let own = client.step(challenge.as_bytes());
        if !response.contains("authzid") {
            assert_eq!(own, ClientStep::Send(response.into()), "{user} {password}");
            assert_eq!(client.step(proof.as_bytes()), ClientStep::Done);
        }
    }
}

#[test]
fn client_and_server_of_ours_agree() {
    for (user, password) in [("bob", "secret"), ("", ""), ("bo\"b\\", "a\\\"b,="), ("jürgen", "pässword")] {
        let server = server(&[("other", "x"), (user, password)]);
        let mut exchange = ServerExchange::new();
        let mut client = ClientExchange::new(SaslUser::new(user, password), "imap", "mail.example", [3; 16]);
        let ServerStep::Continue(challenge) = exchange.step(&server, b"", &[7; 32]) else {
            panic!("a challenge")
        };
        let ClientStep::Send(response) = client.step(&challenge) else { panic!("a response") };
        let ServerStep::Complete { token, user: known } = exchange.step(&server, &response, &[8; 32]) else {
            panic!("`{user}` is let in")
        };
        assert_eq!((known.as_str(), client.step(&token)), (user, ClientStep::Done));
        assert_eq!(client.step(&token), ClientStep::Failed(Failure::Unexpected));
    }
}

#[test]
fn right_response_completes_and_proves_the_server() {
    assert_eq!(RIGHT.judged(), Ok("bob".into()));
    let other_case = Response { uri: "IMAP/Mail.Example", ..RIGHT };
    assert_eq!(other_case.judged(), Ok("bob".into()), "names of hosts have no case");
    for name in ["", "bob"] {
        assert_eq!(Response { authorized_as: Some(name), ..RIGHT }.judged(), Ok("bob".into()));
    }
    assert_eq!(Response { more: ",unknown=1,unknown=2", ..RIGHT }.judged(), Ok("bob".into()));
}

#[test]
fn unknown_user_and_wrong_password_fail_alike() {
    for wrong in [
        Response { password: "wrong", ..RIGHT },
        Response { password: "", ..RIGHT },
        Response { user: "eve", ..RIGHT },
        Response { user: "eve", password: "", ..RIGHT },
        Response { user: "", ..RIGHT },
        Response { user: "Bob", ..RIGHT },
    ] {
        assert_eq!(wrong.judged(), Err(Failure::Credentials));
    }
}

#[test]
fn proof_with_the_verifier_of_nobody_lets_nobody_in() {
    let step = judge(|nonce| {
        let transcript = Transcript {
            verifier: Verifier::OF_NOBODY,
            nonce,
            client_nonce: "c",
            authorized_as: None,
            digest_uri: URI,
        };
        let proof = transcript.proof(Prover::Client);
        format!(
            "username=\"eve\",realm=\"mail.example\",nonce=\"{nonce}\",nc=00000001,cnonce=\"c\",\
             digest-uri=\"{URI}\",response={proof}"
        )
    });
    assert_eq!(step, ServerStep::Failed(Failure::Credentials));
}

#[test]
fn response_for_another_server_or_of_another_kind_is_refused() {
    for (name, wrong) in [
        ("realm", Response { realm: "elsewhere", ..RIGHT }),
        ("realm", Response { realm: "", ..RIGHT }),
        ("digest-uri", Response { uri: "imap/elsewhere", ..RIGHT }),
        ("digest-uri", Response { uri: "smtp/mail.example", ..RIGHT }),
        ("digest-uri", Response { uri: "imap/mail.example/x", ..RIGHT }),
        ("nc", Response { nonce_count: "00000002", ..RIGHT }),
        ("nc", Response { nonce_count: "1", ..RIGHT }),
        ("qop", Response { qop: "auth-int", ..RIGHT }),
        ("qop", Response { qop: "auth-conf", ..RIGHT }),
        ("authzid", Response { authorized_as: Some("admin"), ..RIGHT }),
    ] {
        assert_eq!(wrong.judged(), Err(Failure::Mismatch(name)));
    }
}

#[test]
fn recorded_response_is_refused_in_another_exchange() {
    for nonce in ["another", "", &"x".repeat(1000)] {
        let step = judge(|_| RIGHT.text(nonce));
        assert_eq!(step, ServerStep::Failed(Failure::Mismatch("nonce")));
    }
}

#[test]
fn response_is_looked_at_once() {
    let server = server(&[("bob", "secret")]);
    for first in [RIGHT, Response { password: "wrong", ..RIGHT }] {
        let mut exchange = ServerExchange::challenged("n");
        exchange.step(&server, first.text("n").as_bytes(), &[0; 32]);
        let again = exchange.step(&server, RIGHT.text("n").as_bytes(), &[0; 32]);
        assert_eq!(again, ServerStep::Failed(Failure::Unexpected));
    }
    let mut unasked = ServerExchange::new();
    let step = unasked.step(&server, RIGHT.text("n").as_bytes(), &[0; 32]);
    assert_eq!(step, ServerStep::Failed(Failure::Unexpected), "a response before the challenge");
}

#[test]
fn repeated_directive_is_refused_whichever_it_is() {
    for (name, more) in [
        ("username", ",username=\"eve\""),
        ("realm", ",realm=\"mail.example\""),
        ("nonce", ",nonce=\"n\""),
        ("cnonce", ",cnonce=\"x\""),
        ("nc", ",NC=00000001"),
        ("qop", ",qop=auth"),
        ("digest-uri", ",Digest-URI=\"x\""),
        ("response", ",response=00"),
        ("authzid", ",authzid=\"admin\",authzid=\"admin\""),
    ] {
        assert_eq!(Response { more, ..RIGHT }.judged(), Err(Failure::Repeated(name)));
    }
}

#[test]
fn directive_that_is_missing_is_named() {
    for name in ["username", "nonce", "nc", "cnonce", "digest-uri", "response"] {
        let step = judge(|nonce| RIGHT.text(nonce).replace(&format!("{name}="), "x="));
        let failed = |name| ServerStep::Failed(Failure::Missing(name));
        // `nonce=` also ends `cnonce=`.
        assert!(
            step == failed(name) || step == ServerStep::Failed(Failure::Missing("nonce")),
            "{name}: {step:?}"
        );
    }
    let step = judge(|nonce| RIGHT.text(nonce).replace("realm=", "x="));
    assert_eq!(step, ServerStep::Failed(Failure::Mismatch("realm")));
}

#[test]
fn huge_response_is_not_looked_at() {
    let more = format!(",x=\"{}\"", "y".repeat(TOKEN_BYTES_MAX));
    assert!(matches!(Response { more: &more, ..RIGHT }.judged(), Err(Failure::TooLong { .. })));
    let many = ",x=".repeat(100);
    assert!(matches!(Response { more: &many, ..RIGHT }.judged(), Err(Failure::Malformed(_))));
}

#[test]
fn response_cut_or_changed_anywhere_never_names_another_user() {
    let response = RIGHT.text("n").into_bytes();
    let server = server(&[("bob", "secret"), ("eve", "other")]);
    let step = |token: &[u8]| ServerExchange::challenged("n").step(&server, token, &[0; 32]);
    for at in 0..response.len() {
        // Its last directive may be missing.
        assert!(
            matches!(step(&response[..at]), ServerStep::Failed(_))
                || at >= response.len() - ",qop=auth".len()
        );
        for value in [0, b'"', b',', b'=', b'\\', b'e', 0xff] {
            let mut changed = response.clone();
            changed[at] = value;
            match step(&changed) {
                ServerStep::Complete { user, .. } => assert_eq!(user, "bob"),
                ServerStep::Failed(_) => {}
                ServerStep::Continue(_) => panic!("a second challenge"),
            }
        }
    }
}

#[test]
fn server_must_prove_that_it_knows_the_password() {
    let [user, password, challenge, ..] = CAPTURED[2];
    let answer = |token: &[u8]| {
        let mut client = ClientExchange::new(SaslUser::new(user, password), "imap", "mail.example", [7; 16]);
        assert!(matches!(client.step(challenge.as_bytes()), ClientStep::Send(_)));
        client.step(token)
    };
    assert_eq!(answer(b"rspauth=00"), ClientStep::Failed(Failure::ServerProof));
    assert_eq!(answer(b"rspauth="), ClientStep::Failed(Failure::ServerProof));
    assert_eq!(answer(b""), ClientStep::Failed(Failure::Missing("rspauth")));
    assert_eq!(answer(b"rspauth=0,rspauth=0"), ClientStep::Failed(Failure::Repeated("rspauth")));
    assert_eq!(answer(challenge.as_bytes()), ClientStep::Failed(Failure::Missing("rspauth")));
}

#[test]
fn challenge_that_is_none_fails() {
    for challenge in [
        "",
        "nonce",
        "nonce=\"x",
        "nonce=\"x\",algorithm=md5",
        "realm=\"x\",algorithm=md5-sess",
        "nonce=\"x\",nonce=\"y\",algorithm=md5-sess",
        "nonce=\"x\",algorithm=md5-sess,qop=\"auth-conf,auth-int\"",
        &format!("nonce=\"x\",algorithm=md5-sess,x={}", "y".repeat(TOKEN_BYTES_MAX)),
    ] {
        let mut client = ClientExchange::new(SaslUser::new("bob", "secret"), "imap", "mail.example", [7; 16]);
        assert!(matches!(client.step(challenge.as_bytes()), ClientStep::Failed(_)), "{challenge}");
        assert_eq!(client.step(b""), ClientStep::Failed(Failure::Unexpected));
    }
}

#[test]
fn exchanges_show_no_secret() {
    let server = server(&[("bob", "hush")]);
    let mut client = ClientExchange::new(SaslUser::new("bob", "hush"), "imap", "mail.example", [7; 16]);
    client.step(CAPTURED[2][2].as_bytes());
    let shown = format!("{server:?} {client:?} {:?}", ServerExchange::new());
    assert!(!shown.contains("hush") && !shown.contains("expected"), "{shown}");
}
