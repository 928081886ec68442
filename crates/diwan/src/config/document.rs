//! The documentation of every key: as a list on a terminal, and as the tables of `docs/configuration.md`.

use std::io::{self, Write};

use node_config::Meaning;

use super::keys::{KEYS, Row, standard};

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
    Ok(())
}

/// Where a link to a key leads: its name, in Diwan's form if there is one.
fn anchor(row: &Row) -> String {
    let name = if row.own.is_empty() { row.foreign } else { row.own };
    format!("<a id=\"{}\"></a>", name.trim_end_matches('*').trim_end_matches('.'))
}

fn code(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("`{name}`") }
}
