//! Arguments: mostly good ones, small numbers that meet each other, and now and then everything that is wrong.

use base::Random;
use objects_state::limits::{ARGUMENT_BYTES_MAX, ENTRY_KEY_BYTES_MAX, VALUE_BYTES_MAX};
use serde_json::{Value, json};

/// See the module.
pub(crate) struct Arguments<'a> {
    pub(crate) kind: &'a str,
    /// Numbers that results of the object had.
    pub(crate) numbers: Vec<u64>,
    pub(crate) position: u64,
}

const EDGES: [i64; 10] =
    [i64::MIN, i64::MIN + 1, -1, 0, 1, 1 << 53, (1 << 53) + 1, -(1 << 53) - 1, i64::MAX - 1, i64::MAX];

fn pick<T: Clone>(random: &mut Random, all: &[T]) -> T {
    all[random.below(all.len() as u64) as usize].clone()
}

impl Arguments<'_> {
    /// The body of a call. `wait` draws for how long it waits.
    pub(crate) fn body(&self, random: &mut Random, names: &[&str], wait: Option<u64>) -> Vec<u8> {
        match random.below(400) {
            0 => return b"{\"key\":".to_vec(),
            1 => return b"[1]".to_vec(),
            2 if random.chance(20) => return vec![b' '; ARGUMENT_BYTES_MAX + random.below(2) as usize],
            3 => return format!("{{\"value\":{}1{}}}", "[".repeat(70), "]".repeat(70)).into_bytes(),
            _ => {}
        }
        let mut fields = json!({});
        for name in names {
            if random.chance(if self.is_needed(name) { 96 } else { 35 }) {
                self.add(random, &mut fields, name);
            }
        }
        if random.chance(1) {
            fields["unknown"] = json!(1);
        }
        match wait {
            Some(0..22) => fields["wait_ms"] = json!(0),
            Some(22..68) => fields["wait_ms"] = json!(1 + random.below(8) * 40),
            Some(68..70) => {
                fields["wait_ms"] = pick(random, &[json!(-1), json!(i64::MAX), json!("1"), json!(null)])
            }
            _ => {}
        }
        fields.to_string().into_bytes()
    }

    pub(crate) fn of_constructor(&self, random: &mut Random, names: &[&str]) -> Vec<u8> {
        let mut fields = json!({});
        for name in names {
            if random.chance(50) {
                fields[*name] = match random.chance(4) {
                    true => odd(random),
                    false => configured(random, name),
                };
            }
        }
        if random.below(60) == 0 {
            fields["unknown"] = json!(1);
        }
        fields.to_string().into_bytes()
    }

    fn is_needed(&self, name: &str) -> bool {
        let needed = [
            "fence",
            "condition",
            "value",
            "key",
            "entries",
            "items",
            "item",
            "ids",
            "id",
            "entry",
            "before",
            "name",
            "data",
            "record",
            "keys",
            "version",
            "epoch",
            "by",
        ];
        needed.contains(&name) && !(self.kind == "ratelimiter" && name == "key")
    }

    fn add(&self, random: &mut Random, fields: &mut Value, name: &str) {
        let value = match random.chance(3) {
            true => odd(random),
            false => self.value(random, name),
        };
        // Now and then as text beside.
        match (value.as_i64(), random.below(40)) {
            (Some(number), 0) => fields[format!("{name}_text")] = json!(number.to_string()),
            (Some(_), 1) => fields[format!("{name}_text")] = odd(random),
            _ => fields[name] = value,
        }
    }

    /// A number that an object's result may have had.
    fn number(&self, random: &mut Random) -> Value {
        match random.below(10) {
            0..7 if !self.numbers.is_empty() => json!(pick(random, &self.numbers)),
            0..9 => json!(self.position.saturating_sub(random.below(30))),
            _ => json!(random.below(3)),
        }
    }

    fn value(&self, random: &mut Random, name: &str) -> Value {
        let small = random.below(4);
        match (self.kind, name) {
            (_, "fence" | "version" | "if_version" | "id" | "epoch" | "term" | "before")
            | ("log", "from")
            | ("queue", "after") => match random.below(12) {
                0 => json!(0),
                _ => self.number(random),
            },
            ("map", "from" | "to") | (_, "key") => key(random, small),
            ("names", "name" | "after") => name_of(random),
            (_, "name") => json!(format!("n{small}")),
            (_, "owner") => json!(format!("o{}", random.below(2))),
            (_, "condition") => json!(format!("c{}", random.below(2))),
            (_, "reason") => json!("because"),
            (_, "keys") => json!([format!("k{small}"), "k0", "k9"]),
            (_, "items") => json!([small, format!("x{}", random.below(3)), random.below(6)]),
            (_, "ids") => json!([self.number(random)]),
            (_, "entries") => {
                json!({ format!("k{small}"): random.below(9), format!("k{}", random.below(6)): [small] })
            }
            (_, "if_absent") => json!(random.chance(50)),
            (_, "record") => record(random),
            ("counter", "value" | "expect" | "at_least" | "at_most" | "equals" | "by") => {
                match random.below(12) {
                    0 => json!(pick(random, &EDGES)),
                    _ => json!(random.below(9) as i64 - 3),
                }
            }
            (_, "value" | "item" | "data" | "entry" | "expect" | "after") => any(random, self.kind, name),
            ("map", "by") | ("semaphore", "by") => json!(pick(random, &[-2, -1, 1, 1, 2, i64::MAX])),
            (_, "ttl_ms") => json!(if self.kind == "map" { 20 + 60 * small } else { 10_000 }),
            (_, "lease_ms" | "delay_ms") => json!(20 + 60 * small),
            (_, "priority") => json!(small as i64 - 2),
            (_, "limit") => json!(pick(random, &[0, 1, 2, 3, 1_000, 1_001])),
            (_, "n") => json!(pick(random, &[0, 1, 1, 1, 2, 2, 3, 5, 1_000, 1_001])),
            _ => json!(1 + small),
        }
    }
}

/// What no argument of a kind should be.
fn odd(random: &mut Random) -> Value {
    match random.below(9) {
        0 => json!(null),
        1 => json!("odd"),
        2 => json!(1.5),
        3 => json!(1.0),
        4 => json!([1]),
        5 => json!({ "a": 1 }),
        6 => json!(true),
        7 => json!("k".repeat(ENTRY_KEY_BYTES_MAX + random.below(2) as usize)),
        _ => json!(pick(random, &EDGES)),
    }
}

fn key(random: &mut Random, small: u64) -> Value {
    match random.below(60) {
        0 => json!(""),
        1 => json!("é\u{1}\"\\"),
        _ => json!(format!("k{small}")),
    }
}

/// Any value; long ones only where nobody lists many of them.
fn any(random: &mut Random, kind: &str, name: &str) -> Value {
    match random.below(40) {
        0 => json!(null),
        1 => json!({ "b": 1, "a": [random.below(3), "é\n"] }),
        2 => json!(0.5),
        3 if kind == "value" && random.chance(4) => {
            json!("x".repeat(VALUE_BYTES_MAX - 3 + random.below(3) as usize))
        }
        4 => json!("x".repeat(random.below(30) as usize)),
        5 if name == "item" || name == "entry" => json!("long".repeat(random.below(20) as usize)),
        _ => json!(random.below(5)),
    }
}

fn name_of(random: &mut Random) -> Value {
    let names = ["a", "A", "b", "web.example", "Web.Example", "c", "d"];
    let wrong = ["", "a b", "a..b", ".", "-", "ü", "a.", "*"];
    match random.below(14) {
        0 => json!(pick(random, &wrong)),
        1 => json!("l".repeat(63 + random.below(2) as usize)),
        _ => json!(pick(random, &names)),
    }
}

fn record(random: &mut Random) -> Value {
    let small = random.below(3);
    let mut record = match random.below(12) {
        0 => json!({ "type": "AAAA", "address": "::1" }),
        1 => json!({ "type": "SRV", "target": "Web.example", "priority": 0, "weight": small, "port": 80 }),
        2 => json!({ "type": "CNAME", "target": "other.example" }),
        3 => json!({ "type": "MX", "target": "x" }),
        4 => json!({ "type": "A", "address": "10.0.0" }),
        5 => json!({ "type": "SRV", "target": "x", "port": 65_536, "priority": 0, "weight": 0 }),
        6 => json!({ "type": "TXT", "text": "x".repeat(255 + small as usize) }),
        7..9 => json!({ "type": "A", "address": format!("10.0.0.{small}") }),
        _ => json!({ "type": "TXT", "text": format!("t{small}") }),
    };
    if random.chance(25) {
        record["ttl"] = json!(pick(random, &[4, 5, 60, 3_600, 3_601]));
    }
    if random.chance(4) {
        record["more"] = json!(1);
    }
    record
}

/// An argument of a constructor.
fn configured(random: &mut Random, name: &str) -> Value {
    let small = 1 + random.below(4);
    match name {
        "fair" | "bounded" | "double" | "priority" => json!(random.chance(50)),
        "lock_delay_ms" => json!(random.below(3) * 80),
        "on_loss" => json!(pick(random, &["break", "shrink"])),
        "when_full" => json!(pick(random, &["drop", "refuse"])),
        "form" => json!(pick(random, &["int", "ulid"])),
        "start" => json!(pick(random, &[0, 1, -3, 5, i64::MAX - 3, i64::MIN])),
        "min" => json!(pick(random, &[-2, 0, i64::MIN])),
        "max" => json!(pick(random, &[3, 6, i64::MAX])),
        "max_bytes" => json!(pick(random, &[1, 20, 60, 1 << 20])),
        "initial" => any(random, "", ""),
        "max_attempts" | "min_size" => json!(small - 1),
        "per_second" => json!(pick(random, &[1, 3, 10, 1_000, 1_000_000_000])),
        "capacity" => json!(1 + random.below(2)),
        _ => json!(small),
    }
}
