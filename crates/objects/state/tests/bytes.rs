//! Methods of users' types that take and give bytes.

mod support;

use objects_state::guest::VersionHash;
use objects_state::{Batch, Call, Command, Invocation, State, bytes_of};
use support::users::{Types, hash};
use support::{Anyone, K, S, Who, load, snapshot};

const DESCRIPTION: &str = r#"{"methods":{
    "flip":{"kind":"command","codec":"raw"},"peek":{"kind":"query","codec":"raw"},
    "give_bytes":{"kind":"command","codec":"raw"},"wait":{"kind":"blocking","codec":"raw"},
    "add":{"kind":"command"},"give":{"kind":"command"},"get":{"kind":"query"},"send_bytes":{"kind":"command"},
    "send":{"kind":"command"}}}"#;

/// With an object `a` of a type some of whose methods take bytes, in a group of that feature level.
fn at(level: u32) -> Types {
    let mut types = Types::new();
    types.world.apply(&Command::FeatureLevel(level));
    types.upload(b"module one");
    assert!(types.type_put("hits", b"module one", DESCRIPTION).contains("preparing"));
    types.ready();
    types.world.open(1, 1);
    types.create("a", "");
    types
}

impl Types {
    fn call_bytes(&mut self, who: Who, method: &str, args: &[u8]) -> String {
        let invocation = Invocation { method: method.into(), args: args.to_vec() };
        let call = Call { invocation, ..self.new_call(who, method, "") };
        self.world.answer(&Command::Call(call))
    }

    fn peek(&self, args: &[u8]) -> Option<Vec<u8>> {
        let told = self.world.state.query(&self.object("a"), None, false, "peek", args);
        bytes_of(&told.expect("it is answered"))
    }
}

#[test]
fn bytes_come_and_go_as_they_are_once() {
    let mut types = at(9);
    let given: Vec<u8> = (0..=255).collect();
    let told = types.call_bytes(K("k"), "flip", &given);
    assert_eq!(bytes_of(&told), Some(given.iter().rev().copied().collect()));
    assert_eq!(types.value(), "{\"value\":256}");
    assert_eq!(types.call_bytes(K("k"), "flip", &given), told, "a repeat is answered the same");
    assert_eq!(types.value(), "{\"value\":256}");
    assert_eq!(types.call_bytes(K("k"), "flip", b"x"), "refused key-reused");
    assert_eq!(
        bytes_of(&types.call_bytes(Anyone, "flip", b"")),
        Some(Vec::new()),
        "nothing is nothing, and no JSON"
    );
    assert_eq!(types.peek(b"\x80"), Some(vec![0x80, 0xff, 0]));
    assert_eq!(types.peek(b""), Some(vec![0xff, 0]));
    // Its neighbours take JSON.
    assert_eq!(types.call(Anyone, "add", "{\"by\":2}"), "{\"value\":258}");
    assert_eq!(types.call_bytes(Anyone, "add", b"\xff"), "refused bad-argument");
    assert!(types.world.state.takes_bytes(&types.object("a"), "flip"));
    assert!(!types.world.state.takes_bytes(&types.object("a"), "add"));
    assert!(!types.world.state.takes_bytes(&types.object("b"), "flip"), "it is not there");
    let object = types.object("b");
    let call = Call { object, ..types.new_call(Anyone, "flip", "no JSON") };
    assert_eq!(types.world.answer(&Command::Call(call)), "refused no-such-object");
}

#[test]
fn bytes_are_bounded() {
    let mut types = at(9);
    let (most, more) = (vec![7; 1 << 20], vec![7; (1 << 20) + 1]);
    assert_eq!(bytes_of(&types.call_bytes(Anyone, "flip", &most)), Some(most));
    assert_eq!(types.call_bytes(Anyone, "flip", &more), "refused too-large");
    assert!(types.world.state.query(&types.object("a"), None, false, "peek", &more).is_err());
}

#[test]
fn calls_of_bytes_are_in_no_batch() {
    let mut types = at(9);
    let invocation = |method: &str| Invocation { method: method.into(), args: Vec::new() };
    let (caller, object, incarnation) = (types.world.caller(Anyone), types.object("a"), None);
    let invocations = vec![invocation("flip"), invocation("add")];
    let batch = Batch { caller, object, incarnation, create: false, invocations };
    let told = types.world.answer(&Command::Batch(batch));
    assert!(told.contains("bad-argument") && told.contains("{\"result\":{\"value\":1}}"), "{told}");
}

#[test]
fn call_of_bytes_that_waits_is_woken_with_bytes_and_ends_with_none() {
    let mut types = at(9);
    let ticket = types.call_bytes(K("k"), "wait", b"\xff")[6..].to_owned();
    types.call_bytes(Anyone, "give_bytes", b"\xfe\x00");
    assert_eq!(types.world.ends(), [format!("{ticket} granted =/gA=")]);
    assert_eq!(types.call_bytes(K("k"), "wait", b"\xff"), "=/gA=", "its copy finds them");
    // What a module says in JSON is bytes to who asked for bytes.
    types.call_bytes(S(1), "wait", b"");
    types.call(Anyone, "give", "{\"value\":3}");
    let ends = types.world.ends();
    let told = ends[0].rsplit(' ').next().and_then(bytes_of);
    assert_eq!(told.as_deref(), Some(&b"{\"got\":3}"[..]), "{ends:?}");
    let ticket: u64 = types.call_bytes(K("l"), "wait", b"")[6..].parse().unwrap();
    types.world.cancel(ticket);
    assert_eq!(types.world.ends(), [format!("{ticket} cancelled =")]);
    // To be told in JSON it is a text.
    let told = types.world.cancel(ticket);
    assert!(told.contains("already-granted"), "{told}");
}

#[test]
fn call_of_bytes_goes_on_beside_the_commands() {
    let mut types = at(9);
    let ticket = types.call_bytes(K("k"), "flip", b"long\xff")[6..].to_owned();
    types.finish();
    assert_eq!(types.world.ends(), [format!("{ticket} granted =/2dub2w=")]);
    let told: u64 = types.call_bytes(K("l"), "flip", b"long\xff")[6..].parse().unwrap();
    types.world.cancel(told);
    assert_eq!(types.world.ends(), [format!("{told} cancelled =")]);
}

#[test]
fn message_carries_bytes_to_a_method_that_takes_them() {
    let mut types = at(9);
    assert_eq!(types.call(Anyone, "send_bytes", ""), "refused guest-trap", "nobody takes bytes there");
    types.create("b", "");
    assert_eq!(types.call(Anyone, "send_bytes", ""), "{}");
    types.world.apply(&Command::Tick);
    let told = types.world.state.query(&types.object("b"), None, false, "get", b"");
    assert_eq!(told.unwrap(), "{\"value\":3}");
    assert_eq!(types.user().failures, 0);
}

#[test]
fn methods_take_bytes_only_when_all_members_know_of_it() {
    let mut types = at(8);
    assert_eq!(types.call_bytes(Anyone, "flip", b"\xff"), "refused bad-argument");
    assert!(!types.world.state.takes_bytes(&types.object("a"), "flip"));
    types.world.apply(&Command::FeatureLevel(9));
    assert_eq!(
        types.call_bytes(Anyone, "flip", b"\xff"),
        "refused bad-argument",
        "the version is what it was"
    );
    // All methods of a type, which earlier builds refuse.
    let all = DESCRIPTION.replacen('{', "{\"codec\":\"raw\",", 1);
    let mut types = at(8);
    types.upload(b"module two");
    assert_eq!(types.type_put("hits", b"module two", &all), "refused bad-argument");
    types.world.apply(&Command::FeatureLevel(9));
    assert!(types.type_put("hits", b"module two", &all).contains("preparing"));
}

#[test]
fn what_takes_bytes_is_in_a_snapshot_and_goes_with_its_version() {
    let mut types = at(9);
    let (bytes, digest) = snapshot(&mut types.world.state, 100);
    let loaded: State = load(&bytes, 7).unwrap();
    assert_eq!(loaded.digest(), digest);
    assert!(loaded.takes_bytes(&types.object("a"), "flip"));
    types.delete("a");
    let version = VersionHash::of(hash(b"module one"), None, DESCRIPTION.as_bytes());
    assert_eq!(types.delete_type("hits", version), "{\"deleted\":true}");
}
