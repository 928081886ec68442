//! The table of planted bugs in a Markdown file: a run replaces the rows of what it planted and leaves the others.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;

use super::Trial;
use super::mutant::Mutant;
use super::torture::{Torture, told};

const HEADER: &str = "| bug | what is broken | class | found by | seeds | seconds |";
const RULE: &str = "|---|---|---|---|---|---|";

/// Writes the result of one that was planted; rows of bugs that are not among `all` are removed.
pub(super) fn write(file: &Path, all: &[Mutant], mutant: &Mutant, trial: &Trial) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))?;
    let new = BTreeMap::from([(mutant.name.clone(), row(mutant, trial))]);
    let known: Vec<_> = all.iter().map(|mutant| mutant.name.as_str()).collect();
    std::fs::write(file, renewed(&text, &known, new))
        .with_context(|| format!("cannot write `{}`", file.display()))
}

fn row(mutant: &Mutant, trial: &Trial) -> String {
    let (found, seeds) = match &trial.failure {
        Some(failure) => {
            let at_most = if failure.exact { "" } else { "at most " };
            let test = match &mutant.torture {
                Torture::Sim => String::new(),
                test => format!(" `{test}`"),
            };
            (told(&failure.findings) + &test, format!("{at_most}{}", failure.seeds))
        }
        None => (String::from("**nobody**"), format!("none of {}", trial.seeds)),
    };
    let Mutant { name, title, class, like, .. } = mutant;
    let like = like.as_ref().map_or(String::new(), |like| format!(" Like {like}."));
    format!("| `{name}` | {title}{like} | {class} | {found} | {seeds} | {:.0} |", trial.seconds)
}

/// The text with its table renewed, or with one at its end if it has none.
fn renewed(text: &str, known: &[&str], new: BTreeMap<String, String>) -> String {
    let lines: Vec<_> = text.lines().collect();
    let begin = lines.iter().position(|line| *line == HEADER).unwrap_or(lines.len());
    let rows = lines[begin..].iter().take_while(|line| line.starts_with('|'));
    let end = begin + rows.clone().count();
    let mut all: BTreeMap<String, String> = rows
        .filter_map(|row| Some((row.strip_prefix("| `")?.split('`').next()?.to_owned(), (*row).to_owned())))
        .filter(|(name, _)| known.contains(&name.as_str()))
        .collect();
    all.extend(new);
    let table = [HEADER, RULE].into_iter().chain(all.values().map(String::as_str));
    let whole = lines[..begin].iter().copied().chain(table).chain(lines[end..].iter().copied());
    whole.map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_replaced_added_and_dropped_and_the_text_around_them_stays() {
        let text = format!(
            "# Title\n\n{HEADER}\n{RULE}\n| `01-a` | old |\n| `02-b` | kept |\n| `09-x` | gone |\n\nend\n"
        );
        let row = |name: &str| (name.to_owned(), format!("| `{name}` | new |"));
        let new = BTreeMap::from([row("01-a"), row("03-c")]);
        let expected = format!(
            "# Title\n\n{HEADER}\n{RULE}\n| `01-a` | new |\n| `02-b` | kept |\n| `03-c` | new |\n\nend\n"
        );
        assert_eq!(renewed(&text, &["01-a", "02-b", "03-c"], new), expected);
    }

    #[test]
    fn a_text_without_a_table_gets_one() {
        let new = BTreeMap::from([(String::from("01-a"), String::from("| `01-a` | new |"))]);
        assert_eq!(
            renewed("words\n", &["01-a"], new),
            format!("words\n{HEADER}\n{RULE}\n| `01-a` | new |\n")
        );
    }
}
