//! Our JSON against `serde_json`: what is a value here is one there, and the other way round.

mod support;

use base::Random;
use objects_state::Json;
use support::{Anyone, World};

/// A text that is often JSON, and often nearly.
fn text(random: &mut Random, depth: u64) -> String {
    const ATOMS: &[&str] = &[
        "null",
        "true",
        "false",
        "0",
        "-1",
        "12",
        "1.5",
        "1e5",
        "-0",
        "\"\"",
        "\"a\"",
        "\"\\u00e9\"",
        "\"\\n\"",
        "01",
        "1.",
        "\"\\x\"",
        "nul",
        "\"\\ud83d\\ude00\"",
        "\"\\ud800\"",
        "-",
    ];
    let parts = random.below(3);
    match random.below(if depth > 3 { 1 } else { 4 }) {
        2 => {
            let items: Vec<_> = (0..parts).map(|_| text(random, depth + 1)).collect();
            format!("[ {}]", items.join(" , "))
        }
        3 => {
            let fields: Vec<_> =
                (0..parts).map(|n| format!("\"k{n}\":{}", text(random, depth + 1))).collect();
            format!("{{{}}}", fields.join(","))
        }
        _ => {
            let known = if random.chance(90) { 13 } else { ATOMS.len() as u64 };
            ATOMS[random.below(known) as usize].into()
        }
    }
}

#[test]
fn json_agrees_with_serde_json() {
    let mut random = Random::new(1);
    let (mut valid, mut refused) = (0, 0);
    for _ in 0..3_000 {
        let value = text(&mut random, 0);
        let theirs = serde_json::from_str::<serde_json::Value>(&value);
        let read = Json::parse(value.as_bytes());
        assert_eq!(Json::check(value.as_bytes()), read.map(drop), "{value}");
        let mut world = World::new();
        let answer = world.call(Anyone, "value/v", "set", &format!("{{\"value\":{value}}}"));
        assert_eq!(answer.starts_with("{\"version\""), theirs.is_ok(), "{value}: {answer}");
        let Ok(theirs) = theirs else {
            refused += 1;
            continue;
        };
        let kept: serde_json::Value = serde_json::from_str(&world.query("value/v", "get", "")).unwrap();
        assert_eq!(kept["value"], theirs, "{value}");
        valid += 1;
    }
    assert!(valid > 1_000 && refused > 50, "{valid} were JSON, {refused} were not");
}
