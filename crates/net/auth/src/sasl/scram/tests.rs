//! Exchanges of the standard and of another implementation, and exchanges cut and changed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::*;
use crate::sasl::{ClientStep, Failure, SaslUser, ServerStep, TOKEN_BYTES_MAX};

/// An exchange as it was seen: of a user `a,b=c` with SHA-512, computed by Python; and that of RFC 7677.
struct Seen {
    hash: ScramHash,
    user: &'static str,
    client_nonce: &'static str,
    server_nonce: &'static str,
    salt: &'static str,
    tokens: [&'static str; 4],
}

const SEEN: [Seen; 2] = [
    Seen {
        hash: ScramHash::Sha256,
        user: "user",
        client_nonce: "rOprNGfwEbeRWgbNEkqO",
        server_nonce: "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
        salt: "W22ZaJ0SNY7soEsUEjb6gQ==",
        tokens: [
            "n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
            "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
            "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
        ],
    },
    Seen {
        hash: ScramHash::Sha512,
        user: "a,b=c",
        client_nonce: "abcdef",
        server_nonce: "%ghi",
        salt: "AAECA3NhbHRzYWx0",
        tokens: [
            "n,,n=a=2Cb=3Dc,r=abcdef",
            "r=abcdef%ghi,s=AAECA3NhbHRzYWx0,i=4096",
            "c=biws,r=abcdef%ghi,p=ZUgGLCET9fkAdCd8pODhTAONYQ4iClYNWF4iOtWFTC/JU+pFykQwNj3uNsZwKYZ/MRjo40DYT3s+tK4+NAsSXA==",
            "v=q4rs21NOyw3yPJ2q/IRZ7Wl0sFU2xFwqLLQncau498EcLmmWMYasDZxnCqRJsY+zZovmZa8PHPEk307CP6+mew==",
        ],
    },
];

const PASSWORD: &str = "pencil";

impl Seen {
    fn server(&self) -> Server {
        let salt = STANDARD.decode(self.salt).expect("base64");
        let mut server = Server::new(self.hash, [7; 32]);
        server.set(self.user, Some(ScramCredential::of_password(self.hash, PASSWORD, salt, 4_096)));
        server
    }

    fn challenged(&self, first: &str) -> ServerExchange {
        let mut exchange = ServerExchange::new();
        let told = exchange.challenge(&self.server(), first.as_bytes(), self.server_nonce);
        assert_eq!(told, Ok(ServerStep::Continue(self.tokens[1].into())));
        exchange
    }

    fn client(&self) -> ClientExchange {
        ClientExchange::new(self.hash, SaslUser::new(self.user, PASSWORD), [0; 24])
            .with_nonce(self.client_nonce)
    }
}

fn failure(step: ServerStep) -> Failure {
    match step {
        ServerStep::Failed(failure) => failure,
        other => panic!("{other:?}"),
    }
}

#[test]
fn exchanges_of_others_are_ours() {
    for seen in &SEEN {
        let mut server = seen.challenged(seen.tokens[0]);
        let done = server.step(&seen.server(), seen.tokens[2].as_bytes(), &[0; 32]);
        assert_eq!(done, ServerStep::Complete { token: seen.tokens[3].into(), user: seen.user.into() });
        assert_eq!(
            failure(server.step(&seen.server(), seen.tokens[2].as_bytes(), &[0; 32])),
            Failure::Unexpected
        );
        let mut client = seen.client();
        assert_eq!(client.first(), seen.tokens[0].as_bytes());
        assert_eq!(client.step(seen.tokens[1].as_bytes()), ClientStep::Send(seen.tokens[2].into()));
        assert_eq!(client.step(seen.tokens[3].as_bytes()), ClientStep::Done);
    }
}

fn exchange(server: &Server, user: SaslUser, entropy: u8) -> Result<String, Failure> {
    let mut client = ClientExchange::new(server.hash(), user, [entropy; 24]);
    let mut exchange = ServerExchange::new();
    let challenge = match exchange.step(server, &client.first(), &[entropy; 32]) {
        ServerStep::Continue(challenge) => challenge,
        other => return Err(failure(other)),
    };
    let ClientStep::Send(response) = client.step(&challenge) else { panic!("the client does not go on") };
    match exchange.step(server, &response, &[entropy; 32]) {
        ServerStep::Complete { token, user } => {
            assert_eq!(client.step(&token), ClientStep::Done);
            Ok(user)
        }
        other => Err(failure(other)),
    }
}

#[test]
fn unknown_user_looks_like_a_wrong_password() {
    let server = SEEN[0].server();
    let challenge = |user: &str, nonce: u8| {
        let client = ClientExchange::new(server.hash(), SaslUser::new(user, "x"), [1; 24]);
        match ServerExchange::new().step(&server, &client.first(), &[nonce; 32]) {
            ServerStep::Continue(challenge) => String::from_utf8(challenge).expect("text"),
            other => panic!("{other:?}"),
        }
    };
    let salt = |user: &str, nonce: u8| challenge(user, nonce).split(',').nth(1).map(String::from);
    assert_eq!(salt("eve", 1), salt("eve", 2), "always the same");
    assert_ne!(salt("eve", 1), salt("bob", 1));
    assert!(challenge("eve", 1).ends_with(",i=4096"));
    for (user, password) in [("user", "Pencil"), ("eve", PASSWORD), ("eve", "")] {
        assert_eq!(exchange(&server, SaslUser::new(user, password), 3), Err(Failure::Credentials));
    }
    assert_eq!(exchange(&server, SaslUser::new("user", PASSWORD), 3), Ok("user".into()));
}

#[test]
fn user_is_known_as_long_as_it_is_set() {
    let mut server = SEEN[1].server();
    let user = || SaslUser::new("a,b=c", PASSWORD);
    assert_eq!(exchange(&server, user(), 1), Ok("a,b=c".into()));
    let other = ScramCredential::of_password(ScramHash::Sha512, "other", vec![1], 5_000);
    server.set("a,b=c", Some(other));
    assert_eq!(exchange(&server, user(), 1), Err(Failure::Credentials));
    assert_eq!(exchange(&server, SaslUser::new("a,b=c", "other"), 1), Ok("a,b=c".into()));
    server.set("a,b=c", None);
    assert!(exchange(&server, SaslUser::new("a,b=c", "other"), 1).is_err() && server.users().count() == 0);
}

#[test]
fn first_message_that_is_none_fails() {
    let seen = &SEEN[0];
    for (first, wanted) in [
        ("", Failure::Malformed("it does not begin with a channel binding")),
        ("p=tls-unique,,n=user,r=x", Failure::Mismatch("channel binding")),
        ("n,", Failure::Malformed("it ends within its header")),
        ("n,b,n=user,r=x", Failure::Malformed("its header has no `a`")),
        ("n,,m=x,n=user,r=x", Failure::Malformed("it has an extension that it demands")),
        ("n,,r=x,n=user", Failure::Missing("n")),
        ("n,,n=user", Failure::Missing("r")),
        ("n,,n=,r=x", Failure::Malformed("a name or a nonce is empty")),
        ("n,,n=user,r=", Failure::Malformed("a name or a nonce is empty")),
        ("n,,n=us=er,r=x", Failure::Malformed("a name has `=` that stands for nothing")),
        ("n,a=eve,n=user,r=x", Failure::Mismatch("a")),
        ("n,,n=user,r=x,tokenauth=true", Failure::Malformed("delegation tokens are not served")),
        ("n,,n=us\0er,r=x", Failure::Malformed("it has a zero byte")),
    ] {
        let step = ServerExchange::new().step(&seen.server(), first.as_bytes(), &[0; 32]);
        assert_eq!(failure(step), wanted, "{first}");
    }
    let long = format!("n,,n={},r=x", "u".repeat(TOKEN_BYTES_MAX));
    let step = ServerExchange::new().step(&seen.server(), long.as_bytes(), &[0; 32]);
    assert!(matches!(failure(step), Failure::TooLong { .. }));
}

#[test]
fn last_message_counts_only_whole_and_for_its_own_exchange() {
    let seen = &SEEN[0];
    let good = seen.tokens[2];
    let step = |last: &str| seen.challenged(seen.tokens[0]).step(&seen.server(), last.as_bytes(), &[0; 32]);
    for cut in 0..good.len() {
        assert!(matches!(step(&good[..cut]), ServerStep::Failed(_)), "{cut}");
    }
    for (from, to, wanted) in [
        ("c=biws", "c=eSws", Failure::Mismatch("c")),
        ("r=rOpr", "r=sOpr", Failure::Mismatch("r")),
        ("p=dHz", "p=eHz", Failure::Credentials),
        ("p=dHz", "p=-Hz", Failure::Malformed("its proof is not base64")),
        (",p=", ",q=", Failure::Missing("p")),
    ] {
        assert_eq!(failure(step(&good.replace(from, to))), wanted);
    }
    let (body, _) = good.rsplit_once(",p=").expect("a proof");
    assert_eq!(failure(step(&format!("{body},p="))), Failure::Credentials, "an empty proof is none");
    let longer = STANDARD.encode([0; 64]);
    assert_eq!(failure(step(&format!("{body},p={longer}"))), Failure::Credentials);
    // What is signed has the client's own words in it.
    let mut other = seen.challenged("n,,n=user,r=rOprNGfwEbeRWgbNEkqO,x=y");
    assert_eq!(failure(other.step(&seen.server(), good.as_bytes(), &[0; 32])), Failure::Credentials);
}

#[test]
fn client_refuses_a_server_that_does_not_know_the_user_or_keeps_it_busy() {
    let seen = &SEEN[0];
    let failed = |challenge: &str| match seen.client().step(challenge.as_bytes()) {
        ClientStep::Failed(failure) => failure,
        other => panic!("{other:?}"),
    };
    assert_eq!(failed(&seen.tokens[1].replace("r=rOpr", "r=sOpr")), Failure::Mismatch("r"));
    assert_eq!(failed("r=rOprNGfwEbeRWgbNEkqO,s=AAAA,i=4096"), Failure::Mismatch("r"));
    for iterations in ["0", "-1", "1000001", "x", ""] {
        let challenge = seen.tokens[1].replace("i=4096", &format!("i={iterations}"));
        assert!(matches!(failed(&challenge), Failure::Malformed(_)), "{iterations}");
    }
    let mut client = seen.client();
    client.step(seen.tokens[1].as_bytes());
    let forged = seen.tokens[3].replace("6rri", "7rri");
    assert_eq!(client.step(forged.as_bytes()), ClientStep::Failed(Failure::ServerProof));
}

#[test]
fn nothing_shows_a_key() {
    let server = SEEN[0].server();
    let shown = format!("{server:?} {:?} {:?}", server.get("user"), SEEN[0].challenged(SEEN[0].tokens[0]));
    assert!(!shown.contains("key") && shown.len() < 200, "{shown}");
}
