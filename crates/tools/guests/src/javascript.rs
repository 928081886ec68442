//! What the JavaScript runner must do with any source.

use objects_state::guest::Engine;
use serde_json::{Value, json};

use crate::object::{Object, told};
use crate::prepared;
use crate::runner::Scene;

pub(crate) const SCENES: &[Scene] = &[
    ("refuses a source that is no type", bad_sources),
    ("tells where an exception came from", exceptions),
    ("ends what has no end", endless),
    ("settles promises within the call", promises),
    ("tells values in JSON and back", values),
    ("begins each object from what was loaded", same_beginning),
    ("sends messages to other objects", messages),
    ("gives equal results everywhere", determinism),
];

fn bad_sources(engine: &dyn Engine, module: &[u8]) {
    let bad = [
        ("export class Hits {", "SyntaxError"),
        ("import fs from 'fs'", "fs"),
        ("import './other.js'", "other.js"),
        ("null.x", "TypeError"),
        ("throw 7", "7 was thrown"),
        ("await new Promise(() => {})", "promise"),
        ("export class Hits {}", "one class"),
        ("export class A { static methods = {} }\nexport class B { static methods = {} }", "A, B"),
        ("export class A { static methods = { a: 1 } }", "`a` is no method"),
        (
            "import { query } from 'diwan'\nexport class A { static methods = { a: query({ b: 'int' }) }; a() {} }",
            "`int`",
        ),
    ];
    for (number, (source, told)) in (100..).zip(bad) {
        let rejected = prepared(engine, number, module, Some(source.as_bytes()));
        let detail = rejected.expect_err("it is refused").detail;
        assert!(detail.contains(told), "`{told}` is not in: {detail}");
    }
}

const ODD: &str = r"
import * as diwan from 'diwan'

const seen = {}

export class Odd {
  static methods = {
    fail: diwan.command({ deep: 'integer?' }), catch: diwan.command({}), forever: diwan.command({}), deep: diwan.command({}),
    grow: diwan.command({}), double: diwan.command({}), match: diwan.command({}), see: diwan.command(), chance: diwan.command({}),
    tell: diwan.command({}),
    later: diwan.command({}), never: diwan.command({}), module: diwan.command({}), echo: diwan.command({ value: 'any' }),
    untold: diwan.query({ what: 'string' }), count: diwan.query({}), broken: diwan.command({}),
  }

  items = []
  timers = 0

  fail({ deep = 0 }) {
    this.items.push(deep)
    if (deep) return this.fail({ deep: deep - 1 })
    return undefined.thing
  }

  catch() {
    try {
      this.fail({ deep: 3 })
    } catch (error) {
      return [error.name, this.items.length]
    }
  }

  forever() {
    for (;;);
  }

  deep() {
    return 1 + this.deep()
  }

  grow() {
    for (;;) this.items.push(new Uint8Array(1 << 20))
  }

  double() {
    for (let text = 'x'; ; text += text) this.items.push(text)
  }

  match() {
    return /^(a+)+$/.test('a'.repeat(64) + 'b')
  }

  async later() {
    const first = await Promise.resolve(20)
    this.items.push(await new Promise((resolve) => Promise.resolve().then(() => resolve(first + 1))))
    return this.items
  }

  never() {
    return new Promise(() => {})
  }

  async module() {
    return (await import('fs')).default
  }

  see({ word, ...rest }) {
    seen[word] = (seen[word] ?? 0) + 1
    return [seen, Object.keys(rest).sort()]
  }

  echo({ value }) {
    return { value, type: typeof value }
  }

  untold({ what }) {
    const self = {}
    self.self = self
    return { function: () => 1, nan: NaN, map: new Map([[1, 2]]), big: 2n ** 64n, self, symbol: Symbol('a'), half: '\ud800' }[what]
  }

  broken() {
    return 'x'.repeat(2 << 20)
  }

  chance() {
    diwan.emit('rolled', { at: diwan.nowMs() })
    diwan.setTimer(7, 1000)
    const date = new Date()
    return [
      Math.random(), Math.random(), [...diwan.randomBytes(4)], diwan.position(), diwan.nowMs(), Date.now(), date.toISOString(),
      date.getTimezoneOffset(), performance.now(), typeof process, typeof fetch, typeof setTimeout, typeof SharedArrayBuffer,
    ]
  }

  tell() {
    diwan.send('counter/all', 'increment', { by: 2 })
    diwan.send('latch/done', 'count_down')
    return 1
  }

  count() {
    this.items.push('never kept')
    return this.items.length
  }

  timer(id) {
    this.timers += id
  }
}
";

fn odd<'a>(engine: &'a dyn Engine, module: &[u8], number: u8) -> Object<'a> {
    let version = prepared(engine, number, module, Some(ODD.as_bytes()));
    let version = version.unwrap_or_else(|rejected| panic!("{}", rejected.detail));
    let mut object = Object::new(engine, version, u64::from(number));
    object.create(&json!({})).expect("it is created");
    object
}

fn exceptions(engine: &dyn Engine, module: &[u8]) {
    let mut odd = odd(engine, module, 110);
    let (code, detail) = odd.call("fail", &json!({ "deep": 2 })).expect_err("it fails");
    assert_eq!(code, "exception");
    for told in ["TypeError", "fail", "type.js:20"] {
        assert!(detail.contains(told), "`{told}` is not in: {detail}");
    }
    assert_eq!(odd.query("count", &json!({})), Ok(json!(1)), "the items of the failed call are gone");
    assert_eq!(odd.call("catch", &json!({})), Ok(json!(["TypeError", 4])));
    assert_eq!(odd.query("count", &json!({})), Ok(json!(5)), "and what a query does is never kept");
    let (_, detail) = odd.call("broken", &json!({})).expect_err("a result that is too large");
    assert!(detail.contains("more than"), "{detail}");
}

fn endless(engine: &dyn Engine, module: &[u8]) {
    let mut odd = odd(engine, module, 111);
    for (method, wanted) in [
        ("forever", ["OutOfFuel", "OutOfFuel"]),
        ("match", ["OutOfFuel", "OutOfFuel"]),
        ("deep", ["Maximum call stack", "StackExhausted"]),
        ("grow", ["out of memory", "OutOfMemory"]),
        ("double", ["string too long", "out of memory"]),
    ] {
        let (code, detail) = odd.call(method, &json!({})).expect_err("it has no end");
        assert!(wanted.iter().any(|wanted| detail.contains(wanted)), "{method}: {code}: {detail}");
        assert_eq!(odd.pages, 0, "{method}: nothing has changed");
    }
    assert_eq!(odd.query("count", &json!({})), Ok(json!(1)), "and the object goes on");
}

fn promises(engine: &dyn Engine, module: &[u8]) {
    let mut odd = odd(engine, module, 112);
    assert_eq!(odd.call("later", &json!({})), Ok(json!([21])));
    let (code, detail) = odd.call("never", &json!({})).expect_err("nothing can settle it");
    assert_eq!(code, "exception", "{detail}");
    let (code, detail) = odd.call("module", &json!({})).expect_err("there is no such module");
    assert!(code == "exception" && detail.contains("fs"), "{code}: {detail}");
    assert_eq!(odd.call("later", &json!({})), Ok(json!([21, 21])));
}

fn values(engine: &dyn Engine, module: &[u8]) {
    let mut odd = odd(engine, module, 113);
    for (value, kind) in [
        (json!(null), "object"),
        (json!(true), "boolean"),
        (json!("\u{e9}\u{2713}\u{1f980}"), "string"),
        (json!(-1.5), "number"),
        (json!((1_i64 << 53) - 1), "number"),
        (json!(1_i64 << 53), "bigint"),
        (json!(i64::MIN), "bigint"),
        (json!(u64::MAX), "bigint"),
        (json!({ "a": [1, { "__proto__": 7 }], "constructor": "x", "": null }), "object"),
    ] {
        let told = odd.call("echo", &json!({ "value": value }));
        assert_eq!(told, Ok(json!({ "value": value, "type": kind })));
    }
    for what in ["function", "nan", "map", "big", "self", "symbol", "half"] {
        let (code, detail) =
            odd.query("untold", &json!({ "what": what })).expect_err("JSON has no such value");
        assert_eq!(code, "exception", "{what}: {detail}");
    }
    assert_eq!(odd.query("untold", &json!({ "what": "nothing" })), Ok(Value::Null));
}

fn same_beginning(engine: &dyn Engine, module: &[u8]) {
    let mut first = odd(engine, module, 114);
    let seen = |count: u64| Ok(json!([{ "x": count }, ["y", "z"]]));
    let arguments = json!({ "word": "x", "z": 1, "y": 2, "wait_ms": 5 });
    assert_eq!(first.call("see", &arguments), seen(1));
    assert_eq!(first.call("see", &arguments), seen(2));
    first.forget();
    assert_eq!(first.call("see", &arguments), seen(3));
    // What stands in the file is each object's own.
    let mut second = Object::new(engine, first.version(), 98);
    second.create(&json!({})).expect("it is created");
    assert_eq!(second.call("see", &arguments), seen(1));
}

fn messages(engine: &dyn Engine, module: &[u8]) {
    let mut odd = odd(engine, module, 118);
    assert_eq!(odd.call("tell", &json!({})), Ok(json!(1)));
    assert_eq!(odd.acts, told());
}

fn determinism(engine: &dyn Engine, module: &[u8]) {
    let chance = |number: u8, is_forgotten: bool| -> (Vec<Value>, u64) {
        let mut odd = odd(engine, module, number);
        odd.call("catch", &json!({})).expect("it is called");
        let results = (0..50).map(|_| {
            if is_forgotten {
                odd.forget();
            }
            odd.call("chance", &json!({})).expect("it is called")
        });
        (results.collect(), odd.digest())
    };
    let told = chance(115, false);
    println!("# {}", told.0[0]);
    assert_ne!(told.0[0][0], told.0[0][1], "random numbers differ within a call");
    assert_ne!(told.0[0][0], told.0[1][0], "and from call to call");
    assert_eq!(told.0[0][4], 1_700_000_000_000_u64);
    assert_eq!(told.0[0][5], told.0[0][4], "the clock is the command's");
    assert_eq!(told, chance(116, false), "another instance");
    assert_eq!(told, chance(117, true), "after its copy was lost");
}
