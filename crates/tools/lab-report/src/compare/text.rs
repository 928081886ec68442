//! A comparison for a terminal.

use std::fmt::Write as _;

use super::{Change, Verdict};

/// A line for each figure; those that moved first.
#[must_use]
pub fn text(verdict: &Verdict) -> String {
    let mut text = String::new();
    let mut changes: Vec<_> = verdict.changes.iter().collect();
    changes.sort_by_key(|change| !change.moved);
    for change in changes {
        let Change { experiment, system, figure, ratio, pairs, .. } = change;
        let interval = match change.interval {
            Some((low, high)) => format!("{low:.3} to {high:.3}"),
            None => String::from("one repetition"),
        };
        let verdict = match (change.moved, change.worse) {
            (false, _) => "",
            (true, true) => "  worse",
            (true, false) => "  better",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{experiment:3} {system:10} {figure:22} {ratio:>8.3}  ({interval}, {pairs} pairs){verdict}"
        );
    }
    if verdict.changes.iter().all(|change| change.interval.is_none()) {
        text.push_str("one repetition cannot show noise\nhint: run both with `--repetitions 2` or more\n");
    } else if !verdict.has_moved() {
        text.push_str("nothing moved beyond noise\n");
    }
    text
}
