//! What this crate says beside what a Kafka 4.3.1 said to the same. The folder `golden` holds Kafka's words, with how they were
//! asked for.

mod definitions;
mod files;
mod properties;
mod replay;

use std::path::Path;

use log_config::ValueType;

/// The lines of a file of `golden` that hold something, each cut at its tabs.
fn golden(name: &str) -> Vec<Vec<String>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split('\t').map(String::from).collect()).collect()
}

/// A value in quotes; nothing for `null` and `refused`.
fn quoted(text: &str) -> Option<String> {
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'))?;
    Some(inner.into())
}

const fn type_name(value_type: ValueType) -> &'static str {
    match value_type {
        ValueType::Unknown => "unknown",
        ValueType::Boolean => "boolean",
        ValueType::String => "string",
        ValueType::Int => "int",
        ValueType::Short => "short",
        ValueType::Long => "long",
        ValueType::Double => "double",
        ValueType::List => "list",
        ValueType::Class => "class",
        ValueType::Password => "password",
    }
}
