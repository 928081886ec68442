//! What the brokers have balanced by themselves, and why, for people and for programs.

use std::io::Write;

use log_balance::{Report, ReportedChange};
use log_client::Cluster;
use serde_json::{Value, json};

use super::failure::Done;
use super::time::now_ms;

/// The configuration by which the controller shows it.
const REPORT: &str = "diwan.balance.report";
/// How many changes are named.
const NAMED_MAX: usize = 5;

/// Asks the controller. Nothing if nothing is balanced, or no broker of ours is asked.
pub(super) fn look(cluster: &mut Cluster) -> Done<Option<Report>> {
    let text = cluster.shown_by_controller(REPORT)?.filter(|text| !text.is_empty());
    Ok(text.map(|text| Report::read(&text)))
}

pub(super) fn show(report: &Report, out: &mut impl Write) -> Done {
    let now = now_ms();
    writeln!(out)?;
    let seconds = |ms: i64| (ms.max(0) + 999) / 1_000;
    let next = seconds(report.next_look_ms.saturating_sub(now));
    writeln!(out, "balance ({}): {}; the next look is in {next} s", report.mode, report.outcome)?;
    if let Some(at) = report.begun_ms {
        let (leaders, moves) = report.changed;
        let ago = seconds(now.saturating_sub(at));
        writeln!(out, "balance: {leaders} leaders changed and {moves} replicas moved so far; {ago} s ago:")?;
        named(&report.begun, out)?;
    }
    if !report.planned.is_empty() {
        writeln!(out, "balance: what was not begun:")?;
        named(&report.planned, out)?;
    }
    report.problems.iter().try_for_each(|problem| writeln!(out, "balance: {problem}"))?;
    Ok(())
}

fn named(changes: &[ReportedChange], out: &mut impl Write) -> Done {
    for of in changes.iter().take(NAMED_MAX) {
        let (before, after) = (numbers(&of.before), numbers(&of.after));
        writeln!(out, "  {}-{}: {before} -> {after}: {}", of.topic, of.index, of.why)?;
    }
    if changes.len() > NAMED_MAX {
        writeln!(out, "  and {} more: `--json` names them", changes.len() - NAMED_MAX)?;
    }
    Ok(())
}

fn numbers(of: &[i32]) -> String {
    of.iter().map(i32::to_string).collect::<Vec<_>>().join(",")
}

pub(super) fn to_json(report: &Report) -> Value {
    let changes = |of: &[ReportedChange]| {
        Value::from_iter(of.iter().map(|of| {
            json!({"topic": of.topic, "partition": of.index, "replicas": of.before, "then": of.after,
                "why": of.why})
        }))
    };
    let levels = report.levels.iter().map(|of| {
        json!({"resource": of.resource, "broker": of.broker, "highest": of.highest, "even": of.even,
            "afterwards": of.afterwards})
    });
    json!({"mode": report.mode, "looked_ms": report.looked_ms, "next_look_ms": report.next_look_ms,
        "outcome": report.outcome, "leaders_changed": report.changed.0, "replicas_moved": report.changed.1,
        "under_way": report.under_way, "begun_ms": report.begun_ms, "begun": changes(&report.begun),
        "planned": changes(&report.planned), "levels": Value::from_iter(levels), "problems": report.problems})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_says_what_was_changed_and_why() {
        let change = ReportedChange {
            topic: "orders".into(),
            index: 3,
            before: vec![1, 2],
            after: vec![2, 1],
            why: "outgoing network traffic of broker 1: 60.0 % -> 40.0 %".into(),
        };
        let report = Report {
            mode: "leaders".into(),
            outcome: "what was changed is being measured".into(),
            changed: (7, 0),
            begun_ms: Some(0),
            begun: vec![change; 7],
            ..Report::default()
        };
        let mut out = Vec::new();
        show(&report, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.contains("balance (leaders): what was changed is being measured; the next look"),
            "{text}"
        );
        assert!(text.contains("7 leaders changed and 0 replicas moved"), "{text}");
        assert!(
            text.contains("  orders-3: 1,2 -> 2,1: outgoing network") && text.contains("and 2 more"),
            "{text}"
        );
        assert_eq!(to_json(&report)["begun"].as_array().unwrap().len(), 7);
    }
}
