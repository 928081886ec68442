//! The documentation of every key: as a list on a terminal, and as the tables of `docs/configuration.md`.

use std::io::{self, Write};

use log_config::Definition;
use node_config::Meaning;

use super::keys::{KEYS, Row, broker, standard};

/// Prints every key there is, by Diwan's name and ZooKeeper's, and its default.
pub(crate) fn describe_keys(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{:<36}  {:<42}  {:<16}  what it is", "diwan.toml", "zoo.cfg", "default")?;
    let dash = |name: &'static str| if name.is_empty() { "-" } else { name };
    for row in KEYS.rows() {
        let text = match row.meaning {
            Meaning::Honoured(_) => row.about.to_owned(),
            Meaning::NoMeaningHere(why) => format!("(ignored: {why})"),
            Meaning::RefusesStart(why, _) => format!("(refused: {why})"),
        };
        let standard = standard(row).unwrap_or("-");
        writeln!(out, "{:<36}  {:<42}  {standard:<16}  {text}", dash(row.own), dash(row.foreign))?;
    }
    writeln!(out, "\n{:<58}  {:<24}  what it is", "diwan.toml: `log.` and Kafka's key", "default")?;
    let shown = |definition: &Definition, text: &str, out: &mut dyn Write| {
        let default = definition.default.filter(|default| !default.is_empty()).unwrap_or("-");
        writeln!(out, "log.{:<54}  {default:<24}  {text}", definition.name)
    };
    for definition in broker::acting() {
        shown(definition, definition.about(), out)?;
    }
    for (definition, why) in broker::restricted() {
        shown(definition, &format!("(only values that ask for nothing: {why})"), out)?;
    }
    for definition in broker::without_effect() {
        shown(definition, "(taken, shown to clients, without effect)", out)?;
    }
    Ok(())
}

/// Prints every key there is as tables for the documentation.
pub(crate) fn document_keys(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "## Honoured\n\n| `diwan.toml` | `zoo.cfg` | what it is | default |\n|---|---|---|---|")?;
    for row in KEYS.rows() {
        if let Meaning::Honoured(_) = row.meaning {
            let standard = standard(row).map_or_else(String::new, |standard| format!("`{standard}`"));
            let (anchor, own, zoo) = (anchor(row), code(row.own), code(row.foreign));
            writeln!(out, "| {anchor}{own} | {zoo} | {} | {standard} |", row.about)?;
        }
    }
    writeln!(out, "\n## Without a meaning here\n\n| `zoo.cfg` | why |\n|---|---|")?;
    for row in KEYS.rows() {
        if let Meaning::NoMeaningHere(why) = row.meaning {
            writeln!(out, "| {}{} | {why} |", anchor(row), code(row.foreign))?;
        }
    }
    writeln!(out, "\n## Refused, whatever the value\n\n| `zoo.cfg` | why | what to do |\n|---|---|---|")?;
    for row in KEYS.rows() {
        if let Meaning::RefusesStart(why, hint) = row.meaning {
            writeln!(out, "| {}{} | {why} | {hint} |", anchor(row), code(row.foreign))?;
        }
    }
    document_brokers_keys(out)
}

/// Kafka's keys, which a `diwan.toml` has with `log.` before them.
fn document_brokers_keys(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\n## Kafka's keys\n\n| `server.properties` | what it is | default |\n|---|---|---|")?;
    for definition in broker::acting() {
        let default = code(definition.default.unwrap_or_default());
        writeln!(out, "| {} | {} | {default} |", code(definition.name), definition.about())?;
    }
    writeln!(
        out,
        "\nOnly values that ask for nothing are taken:\n\n| `server.properties` | why |\n|---|---|"
    )?;
    for (definition, why) in broker::restricted() {
        writeln!(out, "| {} | {why} |", code(definition.name))?;
    }
    let names: Vec<String> = broker::without_effect().map(|definition| code(definition.name)).collect();
    writeln!(out, "\nTaken and shown to clients, without effect: {}.", names.join(", "))
}

/// Where a link to a key leads: its name, in Diwan's form if there is one.
fn anchor(row: &Row) -> String {
    let name = if row.own.is_empty() { row.foreign } else { row.own };
    format!("<a id=\"{}\"></a>", name.trim_end_matches('*').trim_end_matches('.'))
}

fn code(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("`{name}`") }
}
