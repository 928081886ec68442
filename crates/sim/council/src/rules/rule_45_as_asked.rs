//! Rule 45. As asked: what stands in the log of a client's write is what the client sent, byte for byte, under the
//! address that it came from, the identities that it had shown and the switches of its server; and nothing stands there that was not asked for.
//!
//! The oracle replays the log, so whatever is changed on the way into it is true for all other rules.
//!
//! Source: ours.
//!
//! Alone it catches the planted bugs `71-drops-a-condition`, `72-keeps-what-should-be-ephemeral`.

use std::collections::BTreeSet;

use council_wire::{OpCode, Writer};

use crate::history::{Ask, Call};
use crate::oracle::access::Identities;
use crate::oracle::{Deed, Transaction};
use crate::rules::{Evidence, Findings, tell, who};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, history, settings, .. } = evidence;
    let (mut asked, mut known) = (BTreeSet::new(), BTreeSet::new());
    for connection in &history.connections {
        known.extend(connection.grant.map(|grant| (grant.session, grant.generation)));
        for (call, who) in who::calls(history, connection) {
            let call = &history.calls[call];
            let Some(origin) = history.origin(call) else { continue };
            asked.insert(origin);
            let Some(done) = oracle.of_origin(origin) else { continue };
            findings.judged("writes");
            if let Some(wrong) = wrong(call, done, &who, settings.policy) {
                findings.add(format!("{} is at {:x} in the log {wrong}", tell(history, call), done.zxid));
            }
        }
    }
    for done in &oracle.transactions {
        let Some(origin) = done.origin.filter(|origin| known.contains(&(origin.0, origin.1))) else {
            continue;
        };
        if !asked.contains(&origin) {
            findings
                .add(format!("{:?} of {origin:x?} at {:x} was sent by no client", done.opcode, done.zxid));
        }
    }
}

/// What the log has changed of a call.
fn wrong(call: &Call, done: &Transaction, who: &Identities, policy: Option<u8>) -> Option<String> {
    if done.refused {
        // Its answer says so.
        let told = call.answer.as_ref().map_or(done.error, |answer| answer.err);
        return (told != done.error).then(|| format!("as refused with {}", done.error));
    }
    if policy.is_some_and(|policy| policy != done.policy) {
        return Some(format!("under the switches {:b}", done.policy));
    }
    if call.ask == Ask::Close {
        let is_own = done.origin.is_some_and(|origin| done.deed == Some(Deed::Ended(origin.0)));
        return (done.opcode != Some(OpCode::CloseSession) || !is_own).then(|| format!("as {:?}", done.deed));
    }
    let mut body = Vec::new();
    call.ask.write(&mut Writer::new(&mut body));
    if done.opcode != Some(call.ask.opcode()) || done.body != body {
        return Some(format!("as {:?} {:x?}, not {body:x?}", done.opcode, done.body));
    }
    (!done.who.are(who)).then(|| format!("as of {:?}, not of {who:?}", done.who))
}
