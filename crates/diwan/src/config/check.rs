//! What each line of a configuration means, for people.

use std::io::{self, Write};

use super::keys::{self, Meaning};
use super::{Loaded, Verdict};

/// Prints the verdict on every setting, then the problems of the whole; whether the server would start.
pub(crate) fn print_check(loaded: &Loaded, out: &mut impl Write) -> io::Result<bool> {
    for notice in &loaded.notices {
        let line = notice.line.map_or_else(String::new, |line| line.to_string());
        let (word, text, hints) = match &notice.verdict {
            Verdict::Honoured { about, warnings } => ("honoured", (*about).to_owned(), warnings.clone()),
            Verdict::NoMeaningHere(why) => ("ignored", (*why).to_owned(), Vec::new()),
            Verdict::Unknown(near) => {
                ("unknown", String::from("nobody knows this key"), near.iter().cloned().collect())
            }
            Verdict::Refused(problem) => {
                ("refused", problem.what.clone(), problem.hint.iter().cloned().collect())
            }
        };
        writeln!(out, "{line:>4}  {word:<8}  {:<36}  {text}", notice.key)?;
        for hint in hints {
            writeln!(out, "{:>16}hint: {hint}", "")?;
        }
    }
    let Err(problems) = &loaded.result else {
        writeln!(out, "a server would start with this")?;
        return Ok(true);
    };
    for problem in problems {
        writeln!(out, "error: {}", problem.what)?;
        if let Some(hint) = &problem.hint {
            writeln!(out, "hint: {hint}")?;
        }
    }
    Ok(false)
}

/// Prints every key there is, by Diwan's name and ZooKeeper's.
pub(crate) fn describe_keys(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{:<36}  {:<42}  what it is", "diwan.toml", "zoo.cfg")?;
    let dash = |name: &'static str| if name.is_empty() { "-" } else { name };
    for row in keys::rows() {
        let text = match row.meaning {
            Meaning::Honoured(_) => row.about.to_owned(),
            Meaning::NoMeaningHere(why) => format!("(ignored: {why})"),
            Meaning::RefusesStart(why, _) => format!("(refused: {why})"),
        };
        writeln!(out, "{:<36}  {:<42}  {text}", dash(row.own), dash(row.zoo))?;
    }
    Ok(())
}

/// Prints every key there is as tables for the documentation.
pub(crate) fn document_keys(out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "## Honoured\n\n| `diwan.toml` | `zoo.cfg` | what it is | if not said |\n|---|---|---|---|"
    )?;
    for row in keys::rows() {
        if let Meaning::Honoured(_) = row.meaning {
            let standard = row.standard().map_or_else(String::new, |standard| format!("`{standard}`"));
            writeln!(out, "| {} | {} | {} | {standard} |", code(row.own), code(row.zoo), row.about)?;
        }
    }
    writeln!(out, "\n## Without a meaning here: a warning\n\n| `zoo.cfg` | why |\n|---|---|")?;
    for row in keys::rows() {
        if let Meaning::NoMeaningHere(why) = row.meaning {
            writeln!(out, "| {} | {why} |", code(row.zoo))?;
        }
    }
    writeln!(out, "\n## Refused, whatever the value\n\n| `zoo.cfg` | why | what to do |\n|---|---|---|")?;
    for row in keys::rows() {
        if let Meaning::RefusesStart(why, hint) = row.meaning {
            writeln!(out, "| {} | {why} | {hint} |", code(row.zoo))?;
        }
    }
    Ok(())
}

fn code(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("`{name}`") }
}
