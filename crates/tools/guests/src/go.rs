//! What modules in Go must do that are badly behaved: the example `odd`.

use objects_state::guest::{Engine, VersionHash};
use serde_json::{Value, json};

use crate::object::{Object, told};
use crate::scenes::Scene;

pub(crate) const SCENES: &[Scene] = &[
    ("ends what fails, and is as before", failures),
    ("ends what has no end", endless),
    ("has no files, no network, no environment", nothing_outside),
    ("runs goroutines that end", goroutines),
    ("keeps what is outside of the object", kept),
    ("sends messages to other objects", messages),
    ("gives equal results everywhere", determinism),
];

fn failures(engine: &dyn Engine, version: VersionHash) {
    let mut odd = Object::created(engine, version, 20);
    let (code, detail) = odd.call("fail", &json!({})).expect_err("it fails");
    assert_eq!((code.as_str(), detail.as_str()), ("error", "no such thing"));
    for (method, wanted) in [
        ("panic", "nil pointer"),
        ("exit", "ended itself"),
        ("wait", "unreachable code"),
        ("large", "more than"),
        ("grow", "OutOfMemory"),
    ] {
        let (_, detail) = odd.call(method, &json!({})).expect_err("it fails");
        assert!(detail.contains(wanted), "{method}: `{wanted}` is not in: {detail}");
        assert_eq!(odd.pages, 0, "{method}: nothing has changed");
    }
    assert_eq!(odd.query("count", &json!({})), Ok(json!(1)), "and the object goes on");
    assert_eq!(odd.query("count", &json!({})), Ok(json!(1)), "what a query does is never kept");
}

fn endless(engine: &dyn Engine, version: VersionHash) {
    let mut odd = Object::created(engine, version, 21);
    for (method, wanted) in
        [("forever", ["OutOfFuel", "OutOfFuel"]), ("deep", ["StackExhausted", "OutOfMemory"])]
    {
        let (_, detail) = odd.call(method, &json!({})).expect_err("it has no end");
        assert!(wanted.iter().any(|wanted| detail.contains(wanted)), "{method}: {detail}");
    }
    let (_, detail) = odd.call("sleep", &json!({})).expect_err("no time passes in a call");
    assert!(detail.contains("Trapped"), "{detail}");
}

fn nothing_outside(engine: &dyn Engine, version: VersionHash) {
    let mut odd = Object::created(engine, version, 22);
    assert_eq!(odd.call("files", &json!({})), Ok(json!("true true 0 0")));
}

fn goroutines(engine: &dyn Engine, version: VersionHash) {
    let mut odd = Object::created(engine, version, 23);
    for _ in 0..3 {
        assert_eq!(odd.call("side", &json!({})), Ok(json!(45)));
        odd.forget();
    }
}

fn kept(engine: &dyn Engine, version: VersionHash) {
    let mut first = Object::created(engine, version, 24);
    let word = json!({ "word": "x" });
    assert_eq!(first.call("see", &word), Ok(json!({ "x": 1 })));
    first.forget();
    assert_eq!(first.call("see", &word), Ok(json!({ "x": 2 })));
    assert_eq!(
        Object::created(engine, version, 25).call("see", &word),
        Ok(json!({ "x": 1 })),
        "each object has its own"
    );
}

fn messages(engine: &dyn Engine, version: VersionHash) {
    let mut odd = Object::created(engine, version, 29);
    assert_eq!(odd.call("tell", &json!({})), Ok(json!(1)));
    assert_eq!(odd.acts, told());
}

fn determinism(engine: &dyn Engine, version: VersionHash) {
    let chance = |space: u64, is_forgotten: bool| -> (Vec<Value>, u64) {
        let mut odd = Object::created(engine, version, space);
        let results = (0..50).map(|_| {
            if is_forgotten {
                odd.forget();
            }
            odd.call("chance", &json!({})).expect("it is called")
        });
        (results.collect(), odd.digest())
    };
    let told = chance(26, false);
    println!("# {}", told.0[0]);
    assert_ne!(told.0[0][1], told.0[1][1], "random numbers differ from call to call");
    assert_eq!(told.0[0][4], 1_700_000_000_000_u64, "the clock is the command's");
    assert_eq!(told, chance(27, false), "another instance");
    assert_eq!(told, chance(28, true), "after its copy was lost");
}
