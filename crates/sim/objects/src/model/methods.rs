//! The methods of the built-in types and their arguments, as the specification's table has them.

/// How a method is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// It only reads.
    Query,
    /// It changes.
    Command,
    /// It may wait.
    Blocking,
    /// It reads, and may wait.
    Either,
}

/// A method: its name, how it is called, its arguments beside `wait_ms`.
pub(crate) type Method = (&'static str, Way, &'static [&'static str]);

/// A type: its name, its constructor's arguments, its methods.
pub(crate) type Type = (&'static str, &'static [&'static str], &'static [Method]);

use Way::{Blocking, Command, Either, Query};

/// All types.
#[rustfmt::skip]
pub(crate) const TYPES: &[Type] = &[
    ("lock", &["fair", "reentrant", "lock_delay_ms"], &[
        ("acquire", Blocking, &["owner", "ttl_ms"]), ("release", Command, &["fence"]),
        ("steal", Command, &["reason", "ttl_ms"]), ("await", Blocking, &["condition", "fence"]),
        ("signal", Command, &["condition", "n"]), ("signal_all", Command, &["condition"]),
        ("holder", Query, &[]), ("check", Query, &["fence"]),
    ]),
    ("rwlock", &["lock_delay_ms"], &[
        ("read", Blocking, &["ttl_ms"]), ("write", Blocking, &["ttl_ms"]), ("downgrade", Command, &["fence"]),
        ("release", Command, &["fence"]), ("state", Query, &[]),
    ]),
    ("semaphore", &["permits", "bounded"], &[
        ("acquire", Blocking, &["n", "ttl_ms"]), ("release", Command, &["n", "fence"]),
        ("drain", Command, &["ttl_ms"]), ("resize", Command, &["by"]), ("available", Query, &[]),
    ]),
    ("barrier", &["parties", "on_loss", "double"], &[
        ("await", Blocking, &[]), ("enter", Blocking, &["ttl_ms"]), ("leave", Blocking, &[]),
        ("reset", Command, &[]), ("state", Query, &[]),
    ]),
    ("latch", &["count"], &[
        ("count_down", Command, &["n"]), ("await", Blocking, &[]), ("reset", Command, &["count"]),
        ("count", Query, &[]),
    ]),
    ("counter", &["start", "min", "max"], &[
        ("increment", Command, &["by"]), ("decrement", Command, &["by"]), ("set", Command, &["value"]),
        ("swap", Command, &["value"]), ("compare_and_set", Command, &["expect", "value"]),
        ("await", Blocking, &["at_least", "at_most", "equals"]), ("get", Query, &[]),
    ]),
    ("value", &["initial"], &[
        ("set", Command, &["value"]), ("swap", Command, &["value"]),
        ("compare_and_set", Command, &["expect", "version", "value"]),
        ("await_change", Blocking, &["version"]), ("get", Query, &[]),
    ]),
    ("map", &["max_entries", "max_bytes"], &[
        ("put", Command, &["key", "value", "ttl_ms", "if_version", "if_absent"]),
        ("remove", Command, &["key", "if_version"]), ("add", Command, &["key", "by"]),
        ("put_all", Command, &["entries"]), ("clear", Command, &[]),
        ("await_change", Blocking, &["key", "version"]), ("get", Query, &["key"]),
        ("get_all", Query, &["keys"]), ("contains", Query, &["key"]), ("size", Query, &[]),
        ("first", Query, &[]), ("last", Query, &[]), ("floor", Query, &["key"]),
        ("ceiling", Query, &["key"]), ("range", Query, &["from", "to", "limit"]),
    ]),
    ("set", &["max_entries"], &[
        ("add", Command, &["items"]), ("remove", Command, &["items"]), ("pop", Command, &["n"]),
        ("contains", Query, &["item"]), ("size", Query, &[]), ("members", Query, &["after", "limit"]),
    ]),
    ("queue", &["capacity", "priority", "max_attempts"], &[
        ("put", Blocking, &["item", "priority", "delay_ms"]), ("take", Blocking, &["n", "lease_ms", "ttl_ms"]),
        ("ack", Command, &["ids"]), ("nack", Command, &["ids", "delay_ms"]), ("extend", Command, &["ids"]),
        ("replace", Command, &["id", "item"]), ("remove", Command, &["id"]), ("peek", Query, &["n"]),
        ("list", Query, &["after", "limit"]), ("size", Query, &[]), ("dead", Query, &["limit"]),
    ]),
    ("stack", &["capacity"], &[
        ("push", Blocking, &["item"]), ("pop", Blocking, &["n"]), ("peek", Query, &[]),
        ("items", Query, &["limit"]), ("size", Query, &[]),
    ]),
    ("log", &["max_entries", "max_bytes", "when_full"], &[
        ("append", Command, &["entry"]), ("trim", Command, &["before"]), ("read", Either, &["from", "limit"]),
    ]),
    ("membership", &["min_size"], &[
        ("join", Command, &["name", "data", "ttl_ms"]), ("leave", Command, &["name"]),
        ("update", Command, &["name", "data"]), ("report", Command, &["epoch", "name"]),
        ("await_change", Blocking, &["epoch"]), ("await_size", Blocking, &["n"]), ("members", Query, &[]),
    ]),
    ("election", &["lock_delay_ms"], &[
        ("campaign", Blocking, &["name", "data", "ttl_ms"]), ("resign", Command, &["fence"]),
        ("proclaim", Command, &["fence", "data"]), ("observe", Blocking, &["term"]), ("leader", Query, &[]),
        ("candidates", Query, &[]),
    ]),
    ("ratelimiter", &["per_second", "burst", "key_max"], &[
        ("acquire", Blocking, &["n", "key"]), ("configure", Command, &["per_second", "burst"]),
        ("peek", Query, &["key"]),
    ]),
    ("ids", &["start", "form"], &[("next", Command, &["n"]), ("peek", Query, &[])]),
    ("names", &[], &[
        ("set", Command, &["name", "record"]), ("add", Command, &["name", "record"]),
        ("remove", Command, &["name", "record"]), ("list", Query, &["name", "after", "limit"]),
    ]),
];

/// The type of that name.
#[must_use]
pub(crate) fn type_of(name: &str) -> Option<&'static Type> {
    TYPES.iter().find(|known| known.0 == name)
}

/// The method of that name.
#[must_use]
pub(crate) fn method_of(kind: &'static Type, name: &str) -> Option<&'static Method> {
    kind.2.iter().find(|method| method.0 == name)
}
