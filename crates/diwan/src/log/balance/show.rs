//! What a proposal comes to, for people and for programs.

use std::io::Write;

use log_balance::{Change, Level, Proposal, Snapshot};
use serde_json::{Value, json};

use crate::log::copies::bytes;
use crate::log::failure::Done;
use crate::table;

/// How many changes are named in a table.
const NAMED_MAX: usize = 40;

pub(super) fn show(snapshot: &Snapshot, proposal: &Proposal, out: &mut impl Write) -> Done {
    let head = ["RESOURCE", "HIGHEST", "AT BROKER", "EVEN", "AFTERWARDS"];
    let mut rows = vec![head.map(String::from).to_vec()];
    // What no broker uses says nothing.
    rows.extend(proposal.levels.iter().filter(|level| level.highest.0 > 0).map(level));
    writeln!(out)?;
    table::write(out, 0, &rows)?;
    writeln!(out)?;
    for problem in &proposal.problems {
        writeln!(out, "{problem}")?;
    }
    if proposal.changes.is_empty() {
        let (brokers, partitions) = (snapshot.brokers.len(), snapshot.partitions.len());
        writeln!(out, "{brokers} brokers with {partitions} partitions are in balance")?;
        return Ok(());
    }
    let head = ["TOPIC", "PARTITION", "REPLICAS", "THEN", "COPIES", "WHY"];
    let mut rows = vec![head.map(String::from).to_vec()];
    rows.extend(proposal.changes.iter().take(NAMED_MAX).map(change));
    table::write(out, 0, &rows)?;
    if proposal.changes.len() > NAMED_MAX {
        writeln!(out, "and {} more: `--json` names all", proposal.changes.len() - NAMED_MAX)?;
    }
    let moves = proposal.changes.len() - proposal.transfers();
    writeln!(
        out,
        "\n{} changes of leader, {moves} moves, {} to copy",
        proposal.transfers(),
        bytes(proposal.copy_bytes())
    )?;
    if proposal.is_limited {
        writeln!(out, "there is more to do: ask again afterwards")?;
    }
    Ok(())
}

fn level(level: &Level) -> Vec<String> {
    let broker = level.most_used.map_or_else(String::new, |id| id.to_string());
    let [highest, even, after] = [level.highest, level.even, level.highest_after].map(|of| of.to_string());
    vec![level.resource.to_string(), highest, broker, even, after]
}

fn change(of: &Change) -> Vec<String> {
    let copies = if of.copy_bytes == 0 { String::from("-") } else { bytes(of.copy_bytes) };
    let why = of.reasons.first().cloned().unwrap_or_default();
    vec![of.topic.clone(), of.index.to_string(), numbers(&of.before), numbers(&of.after), copies, why]
}

fn numbers(of: &[i32]) -> String {
    of.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

pub(super) fn to_json(proposal: &Proposal) -> Value {
    let levels = proposal.levels.iter().map(|of| {
        json!({"resource": of.resource.to_string(), "broker": of.most_used, "highest": of.highest.to_string(),
            "even": of.even.to_string(), "afterwards": of.highest_after.to_string()})
    });
    let changes = proposal.changes.iter().map(|of| {
        json!({"topic": of.topic, "partition": of.index, "replicas": of.before, "then": of.after,
            "moves_leader": of.moves_leader, "copy_bytes": of.copy_bytes, "stage": of.stage, "why": of.reasons})
    });
    json!({"levels": Value::from_iter(levels), "changes": Value::from_iter(changes),
        "problems": proposal.problems, "is_limited": proposal.is_limited})
}
