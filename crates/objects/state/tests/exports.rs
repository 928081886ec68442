//! Exports and imports of objects.

mod support;

use objects_state::{Command, Content, Invocation, Json, State};
use support::users::Types;
use support::{Anyone, K, S, World, object};

/// What an export says, as an edge gives it to the group.
fn content(exported: &str) -> Content {
    let Ok(Json::Object(fields)) = Json::parse(exported.as_bytes()) else { panic!("{exported}") };
    let field = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let text = |name: &str| field(name).expect("it is there").canonical().into_bytes();
    if field("state").is_some() {
        return Content::State { description: text("description"), state: text("state") };
    }
    let Some(Json::List(calls)) = field("calls") else { panic!("{exported}") };
    let call = |call: &Json| match call {
        Json::Object(fields) => match &fields[..] {
            [(_, args), (_, Json::Text(method))] => {
                Invocation { method: method.clone(), args: args.canonical().into_bytes() }
            }
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    Content::Calls { arguments: text("arguments"), calls: calls.iter().map(call).collect() }
}

fn export(state: &State, path: &str) -> String {
    state.export(&object(path), None).unwrap_or_else(|problem| panic!("{path}: {problem:?}"))
}

impl World {
    fn import(&mut self, path: &str, content: Content) -> String {
        let command = Command::Import { caller: self.caller(Anyone), object: object(path), content };
        self.answer(&command)
    }
}

/// Without what is of the place: its name and position.
fn held(exported: &str) -> String {
    let from = exported.find("\"arguments\"").expect("a built-in type");
    exported[from..].into()
}

/// Constructors of all types.
const ARGUMENTS: &[(&str, &str)] = &[
    ("lock/a", r#"{"fair":false,"reentrant":3,"lock_delay_ms":5}"#),
    ("rwlock/a", r#"{"lock_delay_ms":7}"#),
    ("semaphore/a", r#"{"permits":4,"bounded":false}"#),
    ("barrier/a", r#"{"parties":3,"on_loss":"shrink","double":true}"#),
    ("latch/a", r#"{"count":5}"#),
    ("counter/a", r#"{"start":2,"min":-3,"max":9007199254740995}"#),
    ("value/a", r#"{"initial":{"a":[1]}}"#),
    ("map/a", r#"{"max_entries":10,"max_bytes":1000}"#),
    ("set/a", r#"{"max_entries":9}"#),
    ("queue/a", r#"{"capacity":9,"priority":true,"max_attempts":2}"#),
    ("stack/a", r#"{"capacity":8}"#),
    ("log/a", r#"{"max_entries":4,"max_bytes":99,"when_full":"refuse"}"#),
    ("membership/a", r#"{"min_size":2}"#),
    ("election/a", r#"{"lock_delay_ms":3}"#),
    ("ratelimiter/a", r#"{"per_second":5,"burst":6,"key_max":7}"#),
    ("ids/a", r#"{"start":100,"form":"ulid"}"#),
    ("names/a", "{}"),
];

/// What is done to some of them.
const CALLS: &[(&str, &str, &str)] = &[
    ("counter/a", "set", r#"{"value":9007199254740994}"#),
    ("value/a", "set", r#"{"value":"x\n"}"#),
    ("map/a", "put", r#"{"key":"k \" é","value":{"b":null}}"#),
    ("map/a", "put", r#"{"key":"goes","value":1,"ttl_ms":5000}"#),
    ("set/a", "add", r#"{"items":[1,"1",{"a":2}]}"#),
    ("queue/a", "put", r#"{"item":"low","priority":-5}"#),
    ("queue/a", "put", r#"{"item":"high","priority":5}"#),
    ("queue/a", "put", r#"{"item":"later","priority":1,"delay_ms":800}"#),
    ("stack/a", "push", r#"{"item":1}"#),
    ("stack/a", "push", r#"{"item":2}"#),
    ("log/a", "append", r#"{"entry":"first"}"#),
    ("log/a", "append", r#"{"entry":"second"}"#),
    ("latch/a", "count_down", r#"{"n":2}"#),
    ("ratelimiter/a", "configure", r#"{"per_second":50}"#),
    ("names/a", "set", r#"{"name":"www","record":{"type":"A","address":"10.0.0.1"}}"#),
    ("names/a", "add", r#"{"name":"www","record":{"type":"A","address":"10.0.0.2","ttl":60}}"#),
];

/// All types, with what they hold; and each once more, as it was exported.
fn with_copies() -> World {
    let mut world = World::with_sessions(1);
    for (path, arguments) in ARGUMENTS {
        assert!(world.create(path, arguments).starts_with("{\"created\":true"), "{path}");
    }
    for (path, method, args) in CALLS {
        let answer = world.call(Anyone, path, method, args);
        assert!(answer.starts_with('{'), "{path} {method}: {answer}");
    }
    for (path, _) in ARGUMENTS {
        let exported = export(&world.state, path);
        assert!(exported.contains("\"left_out\":[]"), "{exported}");
        let copy = path.replace("/a", "/b");
        let answer = world.import(&copy, content(&exported));
        assert!(answer.starts_with("{\"imported\":true"), "{path}: {answer}");
        assert_eq!(held(&exported), held(&export(&world.state, &copy)), "{path}");
    }
    world
}

#[test]
fn each_constructor_comes_back() {
    assert_eq!(ARGUMENTS.len(), objects_state::TYPES.len());
    let mut world = World::new();
    for (path, arguments) in ARGUMENTS {
        world.create(path, arguments);
        let wanted = Json::parse(arguments.as_bytes()).expect("JSON");
        let exported = held(&export(&world.state, path));
        let Ok(Json::Object(fields)) = Json::parse(format!("{{{exported}").as_bytes()) else { panic!() };
        let shown = fields.iter().find(|(name, _)| name == "arguments").map(|(_, value)| value.clone());
        // What is beyond an exact number is there as text, too.
        let shown = shown.expect("arguments").canonical().replace(",\"max_text\":\"9007199254740995\"", "");
        assert_eq!(shown, wanted.canonical(), "{path}");
    }
}

#[test]
fn each_type_comes_back_as_it_was() {
    let mut world = with_copies();
    assert_eq!(
        world.query("counter/b", "get", ""),
        "{\"value\":9007199254740994,\"value_text\":\"9007199254740994\"}"
    );
    assert!(world.query("map/b", "get", "{\"key\":\"k \\\" é\"}").starts_with("{\"value\":{\"b\":null}"));
    assert!(world.query("queue/b", "peek", "{\"n\":3}").contains("\"high\""));
    assert_eq!(world.query("stack/b", "peek", ""), "{\"items\":[2]}");
    // Times that are left go on.
    world.pass(900);
    assert_eq!(world.query("queue/b", "size", ""), world.query("queue/a", "size", ""));
    world.pass(5_000);
    assert!(world.query("map/b", "get", "{\"key\":\"goes\"}").starts_with("{\"value\":null"));
    // An integer that the source gave is not given again.
    let exported = export(&world.state, "ids/a");
    assert_eq!(content(&exported), content(&export(&world.state, "ids/b")));
}

#[test]
fn what_sessions_hold_and_who_waits_stay_behind() {
    let mut world = World::with_sessions(2);
    assert!(world.call(S(1), "lock/l", "acquire", "").starts_with("{\"acquired\":true"));
    assert!(world.call(S(2), "lock/l", "acquire", "").starts_with("waits"));
    let exported = export(&world.state, "lock/l");
    assert!(
        exported.ends_with(r#""calls":[],"left_out":["calls that wait","what sessions hold"]}"#),
        "{exported}"
    );
    assert!(world.import("lock/m", content(&exported)).starts_with("{\"imported\":true"));
    assert!(world.call(S(2), "lock/m", "acquire", "").starts_with("{\"acquired\":true"), "it is free");
    // An item that is leased is there again.
    world.call(Anyone, "queue/q", "put", r#"{"item":"job"}"#);
    world.call(S(1), "queue/q", "take", r#"{"lease_ms":60000}"#);
    let exported = export(&world.state, "queue/q");
    assert!(world.import("queue/r", content(&exported)).starts_with("{\"imported\":true"));
    assert!(world.call(Anyone, "queue/r", "take", "").contains("\"job\""));
}

#[test]
fn import_is_whole_or_nothing() {
    let mut world = World::with_sessions(1);
    let set =
        |value: &str| Invocation { method: "set".into(), args: format!("{{\"value\":{value}}}").into() };
    let (records, first) = (world.state.records(), world.position());
    for (calls, why) in [
        (vec![set("1"), set("\"no number\"")], "refused bad-argument"),
        (vec![set("1"), set("99")], "refused out-of-range"),
        (vec![Invocation { method: "explode".into(), args: Vec::new() }], "refused bad-argument"),
        (vec![Invocation { method: "increment".into(), args: Vec::new() }], "refused bad-argument"),
        (vec![Invocation { method: "get".into(), args: Vec::new() }], "refused bad-argument"),
        (
            vec![Invocation { method: "await".into(), args: b"{\"at_least\":5,\"wait_ms\":9}".to_vec() }],
            "refused bad-argument",
        ),
    ] {
        let content = Content::Calls { arguments: b"{\"max\":10}".to_vec(), calls };
        assert_eq!(world.import("counter/c", content), why);
        assert_eq!(
            (world.state.records(), world.query("counter/c", "get", "")),
            (records, "{\"value\":0}".into())
        );
    }
    assert_eq!(world.position(), first + 6, "one position each");
    let wrong = Content::Calls { arguments: b"{\"min\":5,\"start\":1}".to_vec(), calls: Vec::new() };
    assert_eq!(world.import("counter/c", wrong), "refused bad-argument");
    let state = Content::State { description: b"{}".to_vec(), state: b"null".to_vec() };
    assert_eq!(world.import("counter/c", state), "refused bad-argument");
}

#[test]
fn import_is_of_an_object_that_is_not_there_and_is_carried_out_once() {
    let mut world = World::new();
    let set =
        |value: &str| Invocation { method: "set".into(), args: format!("{{\"value\":{value}}}").into() };
    let good = Content::Calls { arguments: b"{\"max\":10}".to_vec(), calls: vec![set("7"), set("8")] };
    let answer = world.import("counter/c", good.clone());
    let incarnation = world.position() - 1;
    assert_eq!(answer, format!("{{\"imported\":true,\"incarnation\":{incarnation}}}"));
    assert_eq!(world.import("counter/c", good.clone()), "refused exists");
    world.delete("counter/c");
    assert!(world.import("counter/c", good.clone()).starts_with("{\"imported\":true"));
    // Under a key it is carried out once.
    let command = |world: &mut World| {
        let (caller, content) = (world.caller(K("k")), good.clone());
        Command::Import { caller, object: object("counter/d"), content }
    };
    let once = command(&mut world);
    let answer = world.answer(&once);
    let again = command(&mut world);
    assert_eq!(world.answer(&again), answer);
}

#[test]
fn what_is_too_large_is_not_exported_and_not_imported() {
    let mut world = World::new();
    let value = "x".repeat(1 << 20).replace('x', "y");
    for number in 0..4 {
        let args = format!("{{\"key\":\"{number}\",\"value\":\"{}\"}}", &value[..(1 << 20) - 10]);
        assert!(world.call(Anyone, "map/m", "put", &args).starts_with("{\"stored\":true"));
    }
    let refused = world.state.export(&object("map/m"), None).expect_err("four values of 1 MiB");
    assert_eq!(refused.slug.name(), "too-large");
    let items = |count: usize| format!("{{\"items\":[{}]}}", vec!["1"; count].join(","));
    let add = |count| Invocation { method: "add".into(), args: items(count).into_bytes() };
    let content = |calls| Content::Calls { arguments: b"{}".to_vec(), calls };
    assert!(world.import("set/s", content(vec![add(1_000); 100])).starts_with("{\"imported\":true"));
    assert_eq!(world.import("set/t", content(vec![add(1_000); 101])), "refused too-large");
    // Long results, and names below very many others.
    let put = |args: String| Invocation { method: "put".into(), args: args.into_bytes() };
    let value = format!("{{\"key\":\"k\",\"value\":\"{}\"}}", &value[..(1 << 20) - 10]);
    let again = || put(String::from("{\"key\":\"k\",\"value\":1,\"if_absent\":true}"));
    let calls = [put(value)].into_iter().chain((0..4).map(|_| again())).collect();
    assert_eq!(world.import("map/long", content(calls)), "refused too-large");
    let deep = |number: usize| {
        let name = format!("{number}{}", ".a".repeat(120));
        let args = format!("{{\"name\":\"{name}\",\"record\":{{\"type\":\"TXT\",\"text\":\"t\"}}}}");
        Invocation { method: "set".into(), args: args.into_bytes() }
    };
    assert_eq!(world.import("names/deep", content((0..4_000).map(deep).collect())), "refused too-large");
    assert!(world.state.export(&object("set/none"), None).is_err());
}

#[test]
fn object_of_a_users_type_is_what_its_module_saves() {
    let mut types = Types::with_object(1);
    types.raise_level();
    assert_eq!(types.call(Anyone, "add", "{\"by\":3}"), "{\"value\":3}");
    let object = types.object("a");
    let exported = types.world.state.export(&object, None).expect("it saves");
    assert!(exported.contains("\"type\":\"hits\"") && exported.contains("\"version\":\""), "{exported}");
    let other = types.object("b");
    let import = |types: &mut Types, content: Content| {
        let command = Command::Import { caller: types.world.caller(Anyone), object: other.clone(), content };
        types.world.answer(&command)
    };
    let calls = Content::Calls { arguments: b"{}".to_vec(), calls: Vec::new() };
    assert_eq!(import(&mut types, calls), "refused bad-argument");
    assert!(import(&mut types, content(&exported)).starts_with("{\"imported\":true"));
    let query = types.world.state.query(&other, None, false, "get", b"");
    // A module of this engine notes that it took something over.
    assert_eq!(query, Ok(String::from("{\"value\":1003}")));
    assert_eq!(import(&mut types, content(&exported)), "refused exists");
}
