//! What modules in Rust must do that are badly behaved, or told much: the example `odd`.

use objects_state::guest::{Engine, VersionHash};
use serde_json::{Value, json};

use crate::object::Object;
use crate::scenes::Scene;

pub(crate) const SCENES: &[Scene] =
    &[("ends what fails, and says why", failures), ("takes and gives texts of all lengths", lengths)];

fn failures(engine: &dyn Engine, version: VersionHash) {
    let mut odd = Object::created(engine, version, 40);
    assert_eq!(odd.call("add", &json!({ "item": "a" })), Ok(json!(1)));
    // Also a copy that was made anew says what a panic was about.
    for is_forgotten in [false, true] {
        if is_forgotten {
            odd.forget();
        }
        let (code, detail) = odd.call("fail", &json!({})).expect_err("it fails");
        assert_eq!((code.as_str(), detail.as_str()), ("odd", "no such thing"));
        let (_, detail) = odd.call("panic", &json!({})).expect_err("it panics");
        assert!(detail.contains("2 items are too many") && detail.contains("examples/odd.rs"), "{detail}");
        assert_eq!(odd.pages, 0, "nothing has changed");
        assert_eq!(odd.query("items", &json!({})), Ok(json!(["a"])), "and the object goes on");
    }
}

fn lengths(engine: &dyn Engine, version: VersionHash) {
    let mut odd = Object::created(engine, version, 41);
    let text = |length: usize| "x".repeat(length);
    let lengths = [0, 1, 100, 125, 126, 127, 128, 129, 200, 240, 250, 256, 257, 300, 1_000, 100_000];
    for length in lengths.into_iter().chain(lengths.into_iter().rev()) {
        assert_eq!(odd.call("long", &json!({ "length": length })), Ok(json!(text(length))), "{length}");
    }
    for (count, length) in (1..).zip(lengths) {
        assert_eq!(odd.call("add", &json!({ "item": text(length) })), Ok(json!(count)), "{length}");
    }
    odd.forget();
    let told: Vec<Value> = lengths.into_iter().map(|length| json!(text(length))).collect();
    assert_eq!(odd.query("items", &json!({})), Ok(json!(told)));
}
