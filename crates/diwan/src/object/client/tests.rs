use serde_json::{Value, json};

use super::described::Described;
use super::{Language, source};

fn source_of(language: Language, told: &Value) -> Result<String, String> {
    Described::read(told).map(|described| source(language, None, &described))
}

const ALL: [Language; 6] = [
    Language::Go,
    Language::Java,
    Language::Javascript,
    Language::Typescript,
    Language::Python,
    Language::Rust,
];

fn told(name: &str, methods: &Value) -> Value {
    json!({ "name": name, "built_in": false, "version": "1f3a".repeat(16), "description": { "methods": methods } })
}

/// Names that are words of languages, or of their libraries.
fn tough() -> Value {
    let args = json!({
        "properties": {
            "class": { "type": "string" }, "n-th": { "type": "integer" }, "wait": { "type": "number" },
            "self": { "type": "boolean" }, "any": {},
        },
        "required": ["class", "wait"],
    });
    json!({
        "delete": { "kind": "command", "args": args }, "await": { "kind": "blocking", "args": args },
        "type": { "kind": "query", "args": { "properties": {} } }, "undescribed": { "kind": "command" },
        "new": { "kind": "blocking" },
    })
}

#[test]
fn every_language_has_all_methods_under_the_names_of_the_wire() {
    for language in ALL {
        let source = source_of(language, &told("rate-table", &tough())).unwrap();
        let quote = if matches!(language, Language::Javascript | Language::Typescript) { '\'' } else { '"' };
        for method in ["delete", "await", "type", "undescribed", "new"] {
            assert!(source.contains(&format!("{quote}{method}{quote}")), "{language:?} {method}: {source}");
        }
        assert!(source.contains("RateTable") && source.contains("1f3a1f3a1f3a"), "{language:?}: {source}");
    }
}

#[test]
fn what_must_be_given_comes_first_and_what_may_be_left_out_may() {
    let methods = json!({ "put": { "args": {
        "properties": { "a": { "type": "integer" }, "z": { "type": "string" } }, "required": ["z"] } } });
    let told = told("shelf", &methods);
    for (language, words) in [
        (Language::Python, "def put(self, z: str, a: Optional[int] = None)"),
        (Language::Rust, "put<R: DeserializeOwned>(&self, z: String, a: Option<i64>)"),
        (Language::Java, "put(String z, Long a)"),
        (Language::Typescript, "args: { 'z': string; 'a'?: Integer }, options"),
        (Language::Go, "\tZ string\n\tA *int64 // may be left out"),
    ] {
        let source = source_of(language, &told).unwrap();
        assert!(source.contains(words), "{language:?}: {source}");
    }
}

#[test]
fn class_has_no_name_that_its_file_uses() {
    for (name, language, class) in [
        ("none", Language::Python, "class NoneType("),
        ("self", Language::Rust, "struct SelfType "),
        ("wait", Language::Java, "interface WaitType "),
        ("json", Language::Typescript, "class JsonType "),
    ] {
        let source = source_of(language, &told(name, &tough())).unwrap();
        assert!(source.contains(class), "{language:?}: {source}");
    }
}

#[test]
fn nothing_of_a_description_becomes_code() {
    let evil = "x\"); import os; (\"";
    let hostile = [
        told(evil, &json!({})),
        told("hits", &json!({ evil: {} })),
        told("hits", &json!({ "hit": { "args": { "properties": { evil: {} } } } })),
        told("hits", &json!({ "a_b": {}, "aB": {} })),
        told("hits", &json!({ "hit": { "args": { "properties": { "a-b": {}, "a_b": {} } } } })),
        json!({ "name": "lock", "built_in": true }),
        json!({ "name": "hits", "description": null }),
        json!(null),
    ];
    for told in &hostile {
        for language in ALL {
            assert!(source_of(language, told).is_err(), "{told}");
        }
    }
    let mut told = told(
        "hits",
        &json!({ "hit": { "kind": evil, "args": { "properties": { "a": { "type": evil } } } } }),
    );
    told["version"] = json!(evil);
    for language in ALL {
        assert!(!source_of(language, &told).unwrap().contains("import os"));
    }
}

#[test]
fn methods_of_bytes_are_left_out() {
    let methods = json!({ "put": { "codec": "raw" }, "count": { "codec": "json" }, "size": {} });
    let mut told = told("blob", &methods);
    assert_eq!(Described::read(&told).map(|blob| blob.left_out), Ok(vec!["put".into()]));
    told["description"]["codec"] = json!("raw");
    let blob = Described::read(&told).unwrap();
    let left: Vec<_> = blob.methods.iter().map(|method| &*method.name).collect();
    assert_eq!((blob.left_out, left), (vec!["put".into(), "size".into()], vec!["count"]));
}
