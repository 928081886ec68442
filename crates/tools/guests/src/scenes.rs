//! What every module of an example must do, whatever its language.

use objects_state::SessionId;
use objects_state::guest::{Act, Engine, Entry, VersionHash};
use serde_json::{Value, json};

use crate::object::{Object, Outcome};

/// A scene: its name, and what it plays; it panics if something is wrong.
pub(crate) type Scene = (&'static str, fn(&dyn Engine, VersionHash));

/// Of the example `hits`.
pub(crate) const HITS: &[Scene] = &[
    ("counts, and is read", counts),
    ("refuses, and is as before", refuses),
    ("names what is wrong with arguments", wrong_arguments),
    ("is the same after its copy was lost", lost_copy),
    ("moves on to a later version", moves_on),
];

/// Of what `diwan object new` writes in a language whose numbers end before 64 bits.
pub(crate) const TEMPLATE: &[Scene] = &[
    ("counts, and is read", counts),
    ("names what is wrong with arguments", wrong_arguments),
    ("is the same after its copy was lost", lost_copy),
    ("moves on to a later version", moves_on),
];

/// Of the example `mutex`.
pub(crate) const MUTEX: &[Scene] = &[
    ("lets callers wait, in order", waits_in_order),
    ("forgets those who waited too long", waited_too_long),
    ("is free when its holder's session ends", session_ends),
];

fn code(outcome: Outcome) -> String {
    outcome.expect_err("it is refused").0
}

fn created<'a>(engine: &'a dyn Engine, version: VersionHash, arguments: &Value) -> Object<'a> {
    let mut object = Object::new(engine, version, 1);
    object.forget();
    object.create(arguments).expect("it is created");
    object
}

fn counts(engine: &dyn Engine, version: VersionHash) {
    let mut hits = created(engine, version, &json!({ "start": 3 }));
    assert_eq!(hits.call("hit", &json!({ "by": 2 })), Ok(json!({ "count": 5 })));
    assert_eq!(hits.call("hit", &json!({ "wait_ms": 0 })), Ok(json!({ "count": 6 })));
    assert_eq!(hits.query("get", &json!({})), Ok(json!({ "count": 6 })));
    let (pages, fuel, took) = (hits.pages, hits.fuel, hits.took);
    let bytes = hits.bytes();
    println!(
        "# a call: {took:?}, {fuel} units of fuel, {pages} pages changed; {bytes} bytes are kept of the object"
    );
}

fn refuses(engine: &dyn Engine, version: VersionHash) {
    let mut hits = created(engine, version, &json!({}));
    assert_eq!(hits.call("hit", &json!({ "by": i64::MAX })), Ok(json!({ "count": i64::MAX })));
    assert_eq!(code(hits.call("hit", &json!({}))), "overflow");
    assert_eq!(hits.pages, 0, "a refusal changes nothing");
    assert_eq!(hits.query("get", &json!({})), Ok(json!({ "count": i64::MAX })));
}

fn wrong_arguments(engine: &dyn Engine, version: VersionHash) {
    let mut hits = created(engine, version, &json!({}));
    for arguments in [json!({ "bye": 1 }), json!({ "by": "x" })] {
        let (code, detail) = hits.call("hit", &arguments).expect_err("it is refused");
        assert_eq!(code, "bad-argument");
        let name = arguments.as_object().and_then(|members| members.keys().next());
        assert!(detail.starts_with(&format!("`{}`: ", name.expect("an argument"))), "{detail}");
    }
    assert_eq!(code(hits.call("miss", &json!({}))), "no-such-method");
    let mut other = Object::new(engine, version, 2);
    assert_eq!(code(other.create(&json!({ "begin": 1 }))), "bad-argument");
}

fn lost_copy(engine: &dyn Engine, version: VersionHash) {
    let mut hits = created(engine, version, &json!({ "start": 1 }));
    for count in 2..20 {
        hits.forget();
        assert_eq!(hits.call("hit", &json!({})), Ok(json!({ "count": count })));
        if count % 3 == 0 {
            hits.forget();
            assert_eq!(hits.query("get", &json!({})), Ok(json!({ "count": count })));
        }
    }
}

fn moves_on(engine: &dyn Engine, version: VersionHash) {
    let mut hits = created(engine, version, &json!({ "start": 7 }));
    hits.migrate(version).expect("it moves on");
    assert_eq!(hits.call("hit", &json!({})), Ok(json!({ "count": 8 })));
}

/// A mutex that the session `aa` holds, and for which `bb` and `cc` wait: its fence and their tickets.
fn contended<'a>(engine: &'a dyn Engine, version: VersionHash) -> (Object<'a>, [u64; 3]) {
    let mut mutex = created(engine, version, &json!({}));
    assert_eq!(code(mutex.call("acquire", &json!({}))), "no-session");
    let mut positions = [0; 3];
    for (place, session) in [AA, BB, CC].into_iter().enumerate() {
        mutex.session = Some(session);
        let outcome = mutex.call("acquire", &json!({}));
        positions[place] = mutex.position;
        if place == 0 {
            assert_eq!(outcome, Ok(json!({ "fence": mutex.position, "session": session })));
        } else {
            assert_eq!(outcome, Ok(Value::Null));
            assert_eq!(mutex.acts, [Act::Park { tag: 0, wait_ms: -1 }]);
        }
    }
    let held = json!({ "holder": { "fence": positions[0], "session": AA }, "waiting": 2 });
    assert_eq!(mutex.query("state", &json!({})), Ok(held));
    (mutex, positions)
}

const AA: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const BB: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const CC: &str = "cccccccccccccccccccccccccccccccc";

fn assert_granted(mutex: &Object<'_>, ticket: u64, session: &str) {
    let [Act::Wake { ticket: woken, result }] = mutex.acts.as_slice() else {
        panic!("one call is woken: {:?}", mutex.acts)
    };
    assert_eq!(*woken, ticket);
    let result: Value = serde_json::from_slice(result).expect("JSON");
    assert_eq!(result, json!({ "fence": mutex.position, "session": session }));
}

fn waits_in_order(engine: &dyn Engine, version: VersionHash) {
    let (mut mutex, [fence, second, third]) = contended(engine, version);
    assert_eq!(code(mutex.call("release", &json!({ "fence": fence - 1 }))), "not-owner");
    assert_eq!(mutex.call("release", &json!({ "fence": fence })), Ok(Value::Null));
    assert_granted(&mutex, second, BB);
    let fence = mutex.position;
    mutex.forget();
    assert_eq!(mutex.call("release", &json!({ "fence": fence })), Ok(Value::Null));
    assert_granted(&mutex, third, CC);
    let fence = mutex.position;
    assert_eq!(mutex.call("release", &json!({ "fence": fence })), Ok(Value::Null));
    assert_eq!(mutex.query("state", &json!({})), Ok(json!({ "holder": null, "waiting": 0 })));
}

fn waited_too_long(engine: &dyn Engine, version: VersionHash) {
    let (mut mutex, [fence, second, third]) = contended(engine, version);
    assert_eq!(mutex.end_ticket(second), Ok(Value::Null));
    assert_eq!(mutex.call("release", &json!({ "fence": fence })), Ok(Value::Null));
    assert_granted(&mutex, third, CC);
}

fn session_ends(engine: &dyn Engine, version: VersionHash) {
    let (mut mutex, [_, _, third]) = contended(engine, version);
    assert_eq!(mutex.command(Entry::SessionExpired(SessionId([0xbb; 16]))), Ok(Value::Null));
    assert_eq!(mutex.acts, []);
    assert_eq!(mutex.command(Entry::SessionExpired(SessionId([0xaa; 16]))), Ok(Value::Null));
    assert_granted(&mutex, third, CC);
}
