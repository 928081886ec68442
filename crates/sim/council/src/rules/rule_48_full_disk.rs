//! Rule 48. A full disk: a member that has no room on its disk refuses writes with SystemError and keeps no client waiting;
//! reads go on, sessions are opened and closed, and it votes. When there is room again, it takes writes by itself.
//!
//! Judged is what the two clients of `load/squeeze.rs` see while all else is calm. As many other voters are down as may
//! be, so that nothing is decided without the member if it votes: each session that is opened or closed shows that it does.
//!
//! Source: ours: docs/stronger.md and docs/operations.md on full disks.
//!
//! Alone it catches the planted bug `84-fills-the-room-kept-for-sessions`.

use council_wire::ErrorCode;

use crate::history::{Ask, Call, Connection, Squeezed};
use crate::rules::{Evidence, Findings, tell};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let history = evidence.history;
    let Some(squeezed) = &history.squeezed else { return };
    let answer_max_ms = evidence.settings.answer_max_ms();
    let is_there = |one: &&Connection| (one.member, one.life) == (squeezed.member, squeezed.life);
    for (number, connection) in history.connections.iter().enumerate().filter(|(_, one)| is_there(one)) {
        if !squeezed.clients.contains(&connection.client) {
            continue;
        }
        if squeezed.was_full(connection.opened_ms) {
            findings.judged("sessions opened without room");
            let granted =
                connection.grant.filter(|grant| grant.at_ms <= connection.opened_ms + answer_max_ms);
            if granted.is_none() {
                findings.add(format!("connection {number} got no session from a member without room"));
            }
        }
        for call in connection.calls.iter().map(|call| &history.calls[*call]) {
            if let Some(wrong) = wrong(call, squeezed, answer_max_ms, findings) {
                findings.add(format!("{} {wrong}", tell(history, call)));
            }
        }
    }
}

fn wrong(
    call: &Call,
    squeezed: &Squeezed,
    answer_max_ms: u64,
    findings: &mut Findings,
) -> Option<&'static str> {
    let was_full = squeezed.was_full(call.heard_ms());
    let has_room_ms = squeezed.room_ms.map(|room_ms| room_ms + answer_max_ms);
    let has_room = has_room_ms.is_some_and(|room_ms| call.heard_ms() >= room_ms);
    // A ping behind a close is not answered, and says nothing that a read does not say.
    if (!was_full && !has_room) || call.ask == Ask::Ping {
        return None;
    }
    findings.judged(match (&call.ask, was_full) {
        (Ask::Close, true) => "sessions closed without room",
        (ask, true) if ask.is_write() => "writes without room",
        (_, true) => "reads without room",
        (ask, false) if ask.is_write() => "writes when there was room again",
        _ => "reads when there was room again",
    });
    let answer = call.answer.as_ref().filter(|answer| answer.at_ms <= call.heard_ms() + answer_max_ms);
    let Some(answer) = answer else { return Some("waited too long at a member whose disk was full") };
    let is_refused = answer.err == ErrorCode::SystemError.code();
    let must_be_refused =
        call.ask.is_write() && call.ask != Ask::Close && was_full && squeezed.was_full(answer.at_ms);
    if must_be_refused {
        return (!is_refused).then_some("was not refused by a member whose disk was full");
    }
    // A write that was under way when room came may have been refused before.
    let may_be_refused = call.ask.is_write() && call.ask != Ask::Close && was_full;
    (answer.err != 0 && !may_be_refused).then_some("was refused")
}
