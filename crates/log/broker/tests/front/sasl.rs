//! Authentication of connections: what is answered in which order, what ends a connection, and when.

use base::Secret;
use bytes::Bytes;
use kafka_protocol::messages::{
    ApiVersionsRequest, ListGroupsRequest, MetadataRequest, SaslAuthenticateRequest,
    SaslAuthenticateResponse, SaslHandshakeRequest,
};
use log_broker::{
    BadToken, BearerToken, BrokerConfig, BrokerListener, Refusal, SaslConfig, SaslMechanism,
    SecurityProtocol, TokenValidator,
};
use log_metadata::access::{AccessContent, AccessPlace};
use net_auth::AttemptLimits;
use net_auth::sasl::scram::{ClientExchange, ScramCredential, ScramHash};
use net_auth::sasl::{ClientStep, SaslUser, plain};

use crate::world::{World, decode, frame, text};

const GOOD: &[u8] = b"\0bob\0secret";
const WRONG: &[u8] = b"\0bob\0guess";
const DELAY_MS: u64 = 100;

#[derive(Debug)]
struct Tokens;

impl TokenValidator for Tokens {
    fn validate(&self, token: &str, now_ms: i64) -> Result<BearerToken, BadToken> {
        let good = || BearerToken { user: "bob".into(), expires_ms: now_ms + 5_000 };
        if token == "good" { Ok(good()) } else { Err(BadToken("another")) }
    }
}

fn world_with(reauthentication_ms: Option<u64>, attempts: AttemptLimits) -> World {
    let passwords = [("bob", Secret("secret".into())), ("eve", Secret("hers".into()))];
    let sasl = SaslConfig {
        mechanisms: SaslMechanism::ALL.to_vec(),
        plain: plain::Server::new(passwords.into_iter().collect()),
        tokens: Some(std::sync::Arc::new(Tokens)),
        reauthentication_ms,
        ..SaslConfig::default()
    };
    let open = BrokerListener::default();
    let secured = BrokerListener { protocol: SecurityProtocol::SaslPlaintext, sasl, ..open.clone() };
    World::new(BrokerConfig { listeners: vec![open, secured], attempts, ..BrokerConfig::default() })
}

fn world() -> World {
    world_with(None, AttemptLimits { attempts_max: 100, refill_ms: 200 })
}

fn versions(world: &mut World, client: usize) -> Option<i16> {
    let request = ApiVersionsRequest::default()
        .with_client_software_name(text("c"))
        .with_client_software_version(text("1"));
    world.ask(client, 3, &request).map(|answer| answer.error_code)
}

fn handshake(world: &mut World, client: usize, mechanism: &str, version: i16) -> Option<i16> {
    let request = SaslHandshakeRequest::default().with_mechanism(text(mechanism));
    world.ask(client, version, &request).map(|answer| answer.error_code)
}

fn token_frame(token: &[u8]) -> Vec<u8> {
    let request = SaslAuthenticateRequest::default().with_auth_bytes(Bytes::copy_from_slice(token));
    frame(2, &request)
}

fn token(world: &mut World, client: usize, token: &[u8]) -> Option<SaslAuthenticateResponse> {
    world.send(client, &token_frame(token));
    world.turns(3);
    let mut frames = world.frames(client);
    frames.pop().map(|frame| decode::<SaslAuthenticateRequest>(2, &frame))
}

fn authenticate(world: &mut World, client: usize, user: &[u8]) -> Option<i16> {
    assert_eq!(handshake(world, client, "PLAIN", 1), Some(0));
    token(world, client, user).map(|answer| answer.error_code)
}

fn is_served(world: &mut World, client: usize) -> bool {
    world.ask(client, 9, &MetadataRequest::default()).is_some()
}

#[test]
fn client_is_served_once_it_has_authenticated() {
    let mut world = world();
    let client = world.connect(1);
    assert_eq!(versions(&mut world, client), Some(0));
    assert_eq!(authenticate(&mut world, client, GOOD), Some(0));
    assert!(is_served(&mut world, client) && is_served(&mut world, client));
    assert_eq!(world.pipes.authenticated, [client]);
    // What it need not say any more is answered, and changes nothing.
    assert_eq!(handshake(&mut world, client, "PLAIN", 1), Some(34));
    assert_eq!(token(&mut world, client, GOOD).map(|answer| answer.error_code), Some(34));
    assert!(is_served(&mut world, client));
}

#[test]
fn everything_but_authentication_ends_the_connection_of_a_stranger() {
    let mut world = world();
    for (bytes, after) in [
        (frame(9, &MetadataRequest::default()), false),
        (frame(4, &ListGroupsRequest::default()), true),
        (token_frame(GOOD), false),
        (vec![0, 0, 0, 1, 7], false),
        (vec![0, 8, 0, 1], false),
    ] {
        let client = world.connect(1);
        if after {
            versions(&mut world, client);
            assert_eq!(versions(&mut world, client), None, "a second one");
        } else {
            world.send(client, &bytes);
        }
        world.turns(3);
        world.pass_ms(2_000);
        assert!(world.is_closed(client) && world.frames(client).is_empty());
    }
    let expected = [Refusal::Authentication, Refusal::LongRequest];
    assert!(world.pipes.refused.iter().all(|why| expected.contains(why)), "{:?}", world.pipes.refused);
}

#[test]
fn request_between_tokens_is_not_answered_as_if_nothing_was_wrong() {
    let mut world = world();
    let client = world.connect(1);
    handshake(&mut world, client, "PLAIN", 1);
    assert_eq!(handshake(&mut world, client, "PLAIN", 1), None, "it is told later");
    world.pass_ms(DELAY_MS);
    let told = decode::<SaslHandshakeRequest>(1, &world.frames(client)[0]);
    assert_eq!(told.error_code, 34);
    world.pass_ms(2_000);
    assert!(world.is_closed(client));
    let client = world.connect(1);
    handshake(&mut world, client, "PLAIN", 1);
    assert!(!is_served(&mut world, client));
    world.pass_ms(2_000);
    assert!(world.is_closed(client));
}

#[test]
fn failure_is_told_after_a_while_and_nothing_is_read_meanwhile() {
    let mut world = world();
    let client = world.connect(1);
    assert_eq!(handshake(&mut world, client, "PLAIN", 1), Some(0));
    world.send(client, &[token_frame(WRONG), token_frame(GOOD)].concat());
    world.turns(5);
    assert!(world.frames(client).is_empty());
    world.pass_ms(DELAY_MS);
    let frames = world.frames(client);
    assert_eq!(frames.len(), 1, "the right password comes too late");
    let told = decode::<SaslAuthenticateRequest>(2, &frames[0]);
    assert_eq!((told.error_code, told.auth_bytes.is_empty()), (58, true));
    world.pass_ms(2_000);
    assert!(world.is_closed(client) && world.pipes.authenticated.is_empty());
}

#[test]
fn mechanism_that_is_not_served_is_told_with_those_that_are() {
    let mut world = world();
    let client = world.connect(1);
    assert_eq!(handshake(&mut world, client, "GSSAPI", 1), None);
    world.pass_ms(DELAY_MS);
    let told = decode::<SaslHandshakeRequest>(1, &world.frames(client)[0]);
    assert_eq!((told.error_code, told.mechanisms.len()), (33, 4));
    world.pass_ms(2_000);
    assert!(world.is_closed(client));
}

#[test]
fn bare_tokens_follow_the_first_version_of_the_handshake() {
    let mut world = world();
    let bare = |token: &[u8]| [&(token.len() as i32).to_be_bytes()[..], token].concat();
    let client = world.connect(1);
    assert_eq!(handshake(&mut world, client, "PLAIN", 0), Some(0));
    world.send(client, &[bare(GOOD), frame(9, &MetadataRequest::default())].concat());
    world.turns(5);
    let frames = world.frames(client);
    assert!(frames.len() == 2 && frames[0].is_empty() && !frames[1].is_empty());
    let client = world.connect(1);
    handshake(&mut world, client, "PLAIN", 0);
    world.send(client, &bare(WRONG));
    world.pass_ms(2_500);
    assert!(world.is_closed(client) && world.frames(client).is_empty());
}

#[test]
fn scram_knows_the_users_that_the_council_has_committed() {
    let mut world = world();
    let run = |world: &mut World, hash: ScramHash, password: &str| {
        let client = world.connect(1);
        let mut exchange = ClientExchange::new(hash, SaslUser::new("ann", password), [3; 24]);
        assert_eq!(handshake(world, client, hash.mechanism(), 1), Some(0));
        let challenge = token(world, client, &exchange.first()).expect("also for a user that there is not");
        let ClientStep::Send(proof) = exchange.step(&challenge.auth_bytes) else { panic!("no proof") };
        let Some(signature) = token(world, client, &proof) else { return false };
        assert_eq!(exchange.step(&signature.auth_bytes), ClientStep::Done);
        is_served(world, client)
    };
    let commit = |world: &mut World, hashes: &[ScramHash]| {
        let credential = |hash: &ScramHash| ScramCredential::of_password(*hash, "x", vec![1; 8], 4_096);
        let content = AccessContent::User(hashes.iter().map(|hash| (*hash, credential(hash))).collect());
        let (path, now) = (AccessPlace::User("ann".into()).path(), world.now());
        world.pipes.write(&path, Some(content.bytes().expect("it is little")), now);
    };
    assert!(!run(&mut world, ScramHash::Sha256, "x"));
    commit(&mut world, &[ScramHash::Sha256]);
    assert!(run(&mut world, ScramHash::Sha256, "x") && !run(&mut world, ScramHash::Sha256, "y"));
    assert!(!run(&mut world, ScramHash::Sha512, "x"));
    commit(&mut world, &[ScramHash::Sha512]);
    assert!(run(&mut world, ScramHash::Sha512, "x") && !run(&mut world, ScramHash::Sha256, "x"));
    commit(&mut world, &[]);
    assert!(!run(&mut world, ScramHash::Sha512, "x"));
}

#[test]
fn bearer_token_counts_for_as_long_as_it_holds() {
    let mut world = world();
    let message = |token: &str| format!("n,,\u{1}auth=Bearer {token}\u{1}\u{1}").into_bytes();
    let client = world.connect(1);
    handshake(&mut world, client, "OAUTHBEARER", 1);
    let done = token(&mut world, client, &message("good")).expect("it is good");
    assert_eq!((done.error_code, done.session_lifetime_ms), (0, 5_000));
    world.pass_ms(4_900);
    assert!(is_served(&mut world, client));
    world.pass_ms(200);
    assert!(!is_served(&mut world, client));
    assert_eq!(world.pipes.refused, [Refusal::Expired]);
    let client = world.connect(1);
    handshake(&mut world, client, "OAUTHBEARER", 1);
    let told = token(&mut world, client, &message("bad")).expect("what is wrong");
    assert!(told.error_code == 0 && told.auth_bytes.starts_with(b"{"));
    assert_eq!(token(&mut world, client, b"\x01"), None);
    world.pass_ms(DELAY_MS);
    assert_eq!(decode::<SaslAuthenticateRequest>(2, &world.frames(client)[0]).error_code, 58);
}

#[test]
fn client_authenticates_again_as_the_same_or_not_at_all() {
    let limits = AttemptLimits { attempts_max: 100, refill_ms: 200 };
    let mut world = world_with(Some(10_000), limits);
    let client = world.connect(1);
    assert_eq!(authenticate(&mut world, client, GOOD), Some(0));
    world.pass_ms(9_000);
    assert_eq!(authenticate(&mut world, client, GOOD), Some(0));
    assert_eq!(handshake(&mut world, client, "PLAIN", 1), Some(34), "too soon");
    world.pass_ms(9_000);
    assert!(is_served(&mut world, client));
    // After its time it may still authenticate, and ask for nothing else.
    world.pass_ms(5_000);
    assert_eq!(authenticate(&mut world, client, GOOD), Some(0));
    world.pass_ms(2_000);
    assert_eq!(authenticate(&mut world, client, b"\0eve\0hers"), None);
    world.pass_ms(2_000);
    assert!(world.is_closed(client));
    let silent = world.connect(1);
    authenticate(&mut world, silent, GOOD);
    world.pass_ms(60_000);
    assert!(!world.is_closed(silent));
    assert!(!is_served(&mut world, silent));
}

#[test]
fn stranger_that_is_slow_or_says_much_is_closed() {
    let mut world = world();
    let (silent, half, known) = (world.connect(1), world.connect(1), world.connect(1));
    handshake(&mut world, half, "PLAIN", 1);
    authenticate(&mut world, known, GOOD);
    world.pass_ms(9_000);
    assert!(!world.is_closed(silent) && !world.is_closed(half));
    world.pass_ms(2_000);
    assert!(world.is_closed(silent) && world.is_closed(half) && !world.is_closed(known));
    assert_eq!(world.pipes.refused, [Refusal::SlowAuthentication; 2]);
    let long = world.connect(1);
    world.send(long, &600_000_i32.to_be_bytes());
    world.pass_ms(2_000);
    assert!(world.is_closed(long));
    let busy = world.connect(1);
    let bad_name = ApiVersionsRequest::default();
    for _ in 0..30 {
        world.send(busy, &frame(3, &bad_name));
    }
    world.turns(60);
    assert_eq!(world.frames(busy).len(), 20);
    world.pass_ms(2_000);
    assert!(world.is_closed(busy));
}

#[test]
fn guesses_of_an_address_run_out_and_come_back() {
    let mut world = world_with(None, AttemptLimits { attempts_max: 3, refill_ms: 1_000 });
    let guess = |world: &mut World, password: &[u8]| {
        let client = world.connect(1);
        authenticate(world, client, password)
    };
    for _ in 0..10 {
        assert_eq!(guess(&mut world, GOOD), Some(0), "what is right costs nothing");
    }
    for _ in 0..3 {
        assert_eq!(guess(&mut world, WRONG), None);
    }
    assert_eq!(guess(&mut world, GOOD), None, "nothing is looked at");
    world.pass_ms(1_000);
    assert_eq!(guess(&mut world, GOOD), Some(0));
}
