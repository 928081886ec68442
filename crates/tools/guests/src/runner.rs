//! What the Python runner must do with any source.

use objects_state::guest::Engine;
use serde_json::{Value, json};

use crate::object::{Object, told};
use crate::prepared;

/// A scene with a runner: its name, and what it plays.
pub(crate) type Scene = (&'static str, fn(&dyn Engine, &[u8]));

pub(crate) const SCENES: &[Scene] = &[
    ("refuses a source that is no type", bad_sources),
    ("tells where an exception came from", exceptions),
    ("begins each object from what was loaded", same_beginning),
    ("sends messages to other objects", messages),
    ("gives equal results everywhere", determinism),
];

fn bad_sources(engine: &dyn Engine, module: &[u8]) {
    let bad = [
        ("class Hits:\n    def hit(self:\n", "SyntaxError"),
        ("import os\n", "ModuleNotFoundError"),
        ("1 / 0\n", "ZeroDivisionError"),
        ("class Hits:\n    pass\n", "one class"),
        (
            "from diwan import *\nclass A:\n    @query\n    def a(self): pass\nclass B:\n    @query\n    def b(self): pass\n",
            "A, B",
        ),
    ];
    for (number, (source, told)) in (200..).zip(bad) {
        let rejected = prepared(engine, number, module, Some(source.as_bytes()));
        let detail = rejected.expect_err("it is refused").detail;
        assert!(detail.contains(told), "`{told}` is not in: {detail}");
    }
}

const ODD: &str = r#"
from diwan import Refused, Ticket, command, emit, now_ms, park, position, query, random_below, random_bytes, send, set_timer

SEEN = {}

class Odd:
    def __init__(self):
        self.items = []
        self.timers = 0

    @command
    def fail(self, deep=0):
        self.items.append(deep)
        if deep:
            return self.fail(deep - 1)
        raise KeyError("no such thing")

    @command
    def catch(self):
        try:
            self.fail(3)
        except KeyError as error:
            return [str(error), len(self.items)]

    @command
    def forever(self):
        while True:
            pass

    @command
    def deep(self):
        return self.deep()

    @command
    def see(self, *, word: str, **rest):
        SEEN[word] = SEEN.get(word, 0) + 1
        return [SEEN, sorted(rest), {"a": (1, 2.5, None, True, "\u00e9\u2713"), "b": -2**63, "c": 2**64 - 1}]

    @command
    def chance(self):
        words = {"one", "two", "three", "four", "five"}
        emit("rolled", {"at": now_ms()})
        set_timer(7, 1000)
        return [list(words), random_below(10**9), random_bytes(4).hex(), position(), now_ms(), hash("a"), id(self) > 0]

    @command
    def tell(self):
        send("counter/all", "increment", {"by": 2})
        send("latch/done", "count_down")
        return 1

    @query
    def count(self):
        self.items.append("never kept")
        return len(self.items)

    @query
    def huge(self):
        return 2**64

    def timer(self, id):
        self.timers += id
"#;

fn odd<'a>(engine: &'a dyn Engine, module: &[u8], number: u8) -> Object<'a> {
    let version = prepared(engine, number, module, Some(ODD.as_bytes()));
    let version = version.unwrap_or_else(|rejected| panic!("{}", rejected.detail));
    let mut object = Object::new(engine, version, u64::from(number));
    object.create(&json!({})).expect("it is created");
    object
}

fn exceptions(engine: &dyn Engine, module: &[u8]) {
    let mut odd = odd(engine, module, 210);
    let (code, detail) = odd.call("fail", &json!({ "deep": 2 })).expect_err("it fails");
    assert_eq!(code, "exception");
    for told in ["Traceback", "type.py", "in fail", "KeyError", "no such thing"] {
        assert!(detail.contains(told), "`{told}` is not in: {detail}");
    }
    assert_eq!(odd.query("count", &json!({})), Ok(json!(1)), "the items of the failed call are gone");
    assert_eq!(odd.call("catch", &json!({})), Ok(json!(["'no such thing'", 4])));
    assert_eq!(odd.query("count", &json!({})), Ok(json!(5)), "and what a query does is never kept");
    let failed = odd.call("forever", &json!({})).expect_err("it has no end");
    assert_eq!(failed.1, "OutOfFuel");
    let (code, detail) = odd.call("deep", &json!({})).expect_err("it has no end");
    assert!(detail.contains("RecursionError") || detail == "StackExhausted", "{code}: {detail}");
    let (code, detail) = odd.query("huge", &json!({})).expect_err("JSON has no such number");
    assert_eq!(code, "exception");
    assert!(detail.contains("64 bits"), "{detail}");
}

fn same_beginning(engine: &dyn Engine, module: &[u8]) {
    let mut first = odd(engine, module, 211);
    let values = json!({ "a": [1, 2.5, null, true, "\u{e9}\u{2713}"], "b": i64::MIN, "c": u64::MAX });
    let seen = |count: u64| Ok(json!([{ "x": count }, ["y", "z"], values.clone()]));
    let arguments = json!({ "word": "x", "z": 1, "y": 2, "wait_ms": 5 });
    assert_eq!(first.call("see", &arguments), seen(1));
    assert_eq!(first.call("see", &arguments), seen(2));
    first.forget();
    assert_eq!(first.call("see", &arguments), seen(3));
    // What stands in the file is each object's own.
    let mut second = Object::new(engine, first.version(), 99);
    second.create(&json!({})).expect("it is created");
    assert_eq!(second.call("see", &arguments), seen(1));
}

fn messages(engine: &dyn Engine, module: &[u8]) {
    let mut odd = odd(engine, module, 215);
    assert_eq!(odd.call("tell", &json!({})), Ok(json!(1)));
    assert_eq!(odd.acts, told());
}

fn determinism(engine: &dyn Engine, module: &[u8]) {
    let chance = |number: u8, is_forgotten: bool| -> (Value, usize) {
        let mut odd = odd(engine, module, number);
        odd.call("catch", &json!({})).expect("it is called");
        if is_forgotten {
            odd.forget();
        }
        let result = odd.call("chance", &json!({})).expect("it is called");
        assert_eq!(odd.acts.len(), 2, "an event and a timer");
        (result, odd.bytes())
    };
    let told = chance(212, false);
    assert_eq!(told, chance(213, false), "another instance");
    assert_eq!(told, chance(214, true), "after its copy was lost");
}
