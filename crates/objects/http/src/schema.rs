//! What the arguments of the built-in types are, by their names: to read them from a query, and to describe them.

use objects_state::{TypeId, type_name};

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Integer,
    Text,
    Flag,
    /// Any JSON.
    Value,
    /// A list of any JSON.
    Values,
    Texts,
    Integers,
    /// An object: names and any JSON.
    Pairs,
}

/// What a method's or constructor's argument of this name is.
pub(crate) fn kind_of(object: TypeId, argument: &str) -> Option<Kind> {
    let kind = type_name(object)?;
    Some(match (argument, kind) {
        ("value" | "expect", "value" | "map")
        | ("after", "set")
        | ("item" | "entry" | "data" | "initial", _) => Kind::Value,
        ("items", _) => Kind::Values,
        ("ids", _) => Kind::Integers,
        ("keys", _) => Kind::Texts,
        ("entries" | "record", _) => Kind::Pairs,
        ("if_absent" | "fair" | "double" | "bounded", _) => Kind::Flag,
        ("from" | "to", "map") | ("after", "names") => Kind::Text,
        ("key" | "name" | "owner" | "condition" | "reason" | "on_loss" | "when_full" | "form", _) => {
            Kind::Text
        }
        (argument, _) if INTEGERS.contains(&argument) => Kind::Integer,
        _ => return None,
    })
}

const INTEGERS: &[&str] = &[
    "after",
    "at_least",
    "at_most",
    "before",
    "burst",
    "by",
    "capacity",
    "count",
    "delay_ms",
    "epoch",
    "equals",
    "expect",
    "fence",
    "from",
    "id",
    "if_version",
    "key_max",
    "lease_ms",
    "limit",
    "lock_delay_ms",
    "max",
    "max_attempts",
    "max_bytes",
    "max_entries",
    "min",
    "min_size",
    "n",
    "parties",
    "per_second",
    "permits",
    "priority",
    "reentrant",
    "start",
    "term",
    "ttl_ms",
    "value",
    "version",
    "wait_ms",
];

/// What a constructor's argument of this name is.
pub(crate) fn constructor_kind_of(object: TypeId, argument: &str) -> Option<Kind> {
    if argument == "priority" { Some(Kind::Flag) } else { kind_of(object, argument) }
}

/// Whether a call of this type with `ttl_ms` and without a session opens one. A map's `ttl_ms` is its entry's.
pub(crate) fn opens_sessions(object: TypeId) -> bool {
    type_name(object) != Some("map")
}

impl Kind {
    /// Its schema, as JSON.
    pub(crate) const fn schema(self) -> &'static str {
        match self {
            Self::Integer => r#"{"type":"integer","format":"int64"}"#,
            Self::Text => r#"{"type":"string"}"#,
            Self::Flag => r#"{"type":"boolean"}"#,
            Self::Value => "{}",
            Self::Values => r#"{"type":"array"}"#,
            Self::Texts => r#"{"type":"array","items":{"type":"string"}}"#,
            Self::Integers => r#"{"type":"array","items":{"type":"integer","format":"int64"}}"#,
            Self::Pairs => r#"{"type":"object"}"#,
        }
    }
}

#[cfg(test)]
mod tests {
    use objects_state::{TYPES, constructor, methods};

    use super::*;

    #[test]
    fn every_argument_of_every_method_has_a_kind() {
        for (object, name) in TYPES {
            for method in methods(*object) {
                for argument in method.args {
                    assert!(kind_of(*object, argument).is_some(), "{name}.{}({argument})", method.name);
                }
            }
            for argument in constructor(*object) {
                assert!(constructor_kind_of(*object, argument).is_some(), "{name}({argument})");
            }
        }
    }
}
