//! What must happen in some hundred seeds: each method with each of its outcomes that the specification says can be, and the
//! ends of everything else. What is not in the table must never happen.

use objects_state::{AccessChange, Command, type_name};
use serde_json::Value;

use crate::book::{Book, word};
use crate::model::{Answer, Told, Way, method_of, type_of};

/// Refusals that have nothing to do with a method: each is one cell.
const OF_ANY: [&str; 13] = [
    "forbidden",
    "key-reused",
    "no-such-method",
    "no-such-object",
    "not-a-query",
    "quota",
    "request-forgotten",
    "session-expired",
    "too-large",
    "unauthenticated",
    "waiters-full",
    "wrong-group",
    "wrong-incarnation",
];

/// What must happen in a few dozen seeds, in order.
#[rustfmt::skip]
pub const CELLS: &[&str] = &[
    "access allow bad-argument",
    "access allow done",
    "access allow forbidden",
    "access close done",
    "access close forbidden",
    "access deny done",
    "access deny forbidden",
    "access open done",
    "access open forbidden",
    "access quota bad-argument",
    "access quota done",
    "access quota forbidden",
    "access revoke done",
    "access revoke forbidden",
    "access revoke-principal done",
    "access revoke-principal forbidden",
    "access role bad-argument",
    "access role done",
    "access role forbidden",
    "access roles bad-argument",
    "access roles done",
    "access roles forbidden",
    "access token bad-argument",
    "access token done",
    "access token exists",
    "access token forbidden",
    "any forbidden",
    "any key-reused",
    "any no-such-method",
    "any no-such-object",
    "any not-a-query",
    "any quota",
    "any request-forgotten",
    "any session-expired",
    "any too-large",
    "any unauthenticated",
    "any wait forbidden",
    "any wrong-group",
    "any wrong-incarnation",
    "barrier.await bad-argument",
    "barrier.await broken",
    "barrier.await cancelled",
    "barrier.await done",
    "barrier.await ended object-deleted",
    "barrier.await granted",
    "barrier.await granted broken",
    "barrier.await parked",
    "barrier.await timed-out",
    "barrier.enter bad-argument",
    "barrier.enter done",
    "barrier.enter parked",
    "barrier.leave bad-argument",
    "barrier.leave not-owner",
    "barrier.reset bad-argument",
    "barrier.reset done",
    "barrier.state bad-argument",
    "barrier.state? bad-argument",
    "barrier.state? done",
    "batch done",
    "cancel done",
    "cancel forbidden",
    "cancel no-such-ticket",
    "close done",
    "close forbidden",
    "counter.await bad-argument",
    "counter.await cancelled",
    "counter.await done",
    "counter.await parked",
    "counter.await timed-out",
    "counter.compare_and_set bad-argument",
    "counter.compare_and_set done",
    "counter.decrement bad-argument",
    "counter.decrement done",
    "counter.get bad-argument",
    "counter.get? bad-argument",
    "counter.get? done",
    "counter.increment bad-argument",
    "counter.increment done",
    "counter.set bad-argument",
    "counter.set done",
    "counter.swap bad-argument",
    "counter.swap done",
    "create barrier bad-argument",
    "create barrier done",
    "create barrier exists",
    "create counter bad-argument",
    "create counter done",
    "create counter exists",
    "create election done",
    "create election exists",
    "create ids done",
    "create ids exists",
    "create latch done",
    "create latch exists",
    "create lock done",
    "create lock exists",
    "create log bad-argument",
    "create log done",
    "create log exists",
    "create map bad-argument",
    "create map done",
    "create map exists",
    "create membership done",
    "create membership exists",
    "create names done",
    "create queue done",
    "create queue exists",
    "create ratelimiter bad-argument",
    "create ratelimiter done",
    "create ratelimiter exists",
    "create rwlock done",
    "create rwlock exists",
    "create semaphore bad-argument",
    "create semaphore done",
    "create semaphore exists",
    "create set done",
    "create set exists",
    "create stack done",
    "create stack exists",
    "create value done",
    "create value exists",
    "delete done",
    "election.campaign bad-argument",
    "election.campaign done",
    "election.campaign parked",
    "election.candidates bad-argument",
    "election.candidates? bad-argument",
    "election.candidates? done",
    "election.leader bad-argument",
    "election.leader? bad-argument",
    "election.leader? done",
    "election.observe bad-argument",
    "election.observe cancelled",
    "election.observe done",
    "election.observe ended object-deleted",
    "election.observe ended session-expired",
    "election.observe granted",
    "election.observe parked",
    "election.observe timed-out",
    "election.proclaim bad-argument",
    "election.proclaim done",
    "election.proclaim not-owner",
    "election.resign bad-argument",
    "election.resign done",
    "election.resign not-owner",
    "ids.next bad-argument",
    "ids.next done",
    "ids.next overflow",
    "ids.peek bad-argument",
    "ids.peek? bad-argument",
    "ids.peek? done",
    "import bad-argument",
    "import done",
    "import exists",
    "import refused",
    "latch.await bad-argument",
    "latch.await cancelled",
    "latch.await done",
    "latch.await ended object-deleted",
    "latch.await ended session-expired",
    "latch.await granted",
    "latch.await parked",
    "latch.await timed-out",
    "latch.count bad-argument",
    "latch.count? bad-argument",
    "latch.count? done",
    "latch.count_down bad-argument",
    "latch.count_down done",
    "latch.reset bad-argument",
    "latch.reset done",
    "latch.reset not-open",
    "lock.acquire bad-argument",
    "lock.acquire done",
    "lock.acquire granted",
    "lock.acquire parked",
    "lock.await bad-argument",
    "lock.await cancelled not-owner",
    "lock.await ended session-expired",
    "lock.await granted",
    "lock.await not-owner",
    "lock.await parked",
    "lock.check bad-argument",
    "lock.check? bad-argument",
    "lock.check? done",
    "lock.holder bad-argument",
    "lock.holder? bad-argument",
    "lock.holder? done",
    "lock.release bad-argument",
    "lock.release done",
    "lock.release not-owner",
    "lock.signal bad-argument",
    "lock.signal done",
    "lock.signal not-owner",
    "lock.signal_all bad-argument",
    "lock.signal_all not-owner",
    "lock.steal bad-argument",
    "lock.steal done",
    "log.append bad-argument",
    "log.append done",
    "log.read bad-argument",
    "log.read cancelled",
    "log.read done",
    "log.read ended object-deleted",
    "log.read granted",
    "log.read parked",
    "log.read timed-out",
    "log.read trimmed",
    "log.read? bad-argument",
    "log.read? done",
    "log.read? trimmed",
    "log.trim bad-argument",
    "log.trim done",
    "map.add bad-argument",
    "map.add done",
    "map.add full",
    "map.await_change bad-argument",
    "map.await_change done",
    "map.await_change parked",
    "map.ceiling bad-argument",
    "map.ceiling? bad-argument",
    "map.ceiling? done",
    "map.clear bad-argument",
    "map.clear done",
    "map.contains bad-argument",
    "map.contains? bad-argument",
    "map.contains? done",
    "map.first bad-argument",
    "map.first? bad-argument",
    "map.first? done",
    "map.floor bad-argument",
    "map.floor? bad-argument",
    "map.floor? done",
    "map.get bad-argument",
    "map.get? bad-argument",
    "map.get? done",
    "map.get_all bad-argument",
    "map.get_all? bad-argument",
    "map.get_all? done",
    "map.last bad-argument",
    "map.last? bad-argument",
    "map.last? done",
    "map.put bad-argument",
    "map.put done",
    "map.put_all bad-argument",
    "map.put_all done",
    "map.put_all full",
    "map.range bad-argument",
    "map.range? bad-argument",
    "map.range? done",
    "map.remove bad-argument",
    "map.remove done",
    "map.size bad-argument",
    "map.size? bad-argument",
    "map.size? done",
    "membership.await_change bad-argument",
    "membership.await_change done",
    "membership.await_change parked",
    "membership.await_size bad-argument",
    "membership.await_size cancelled",
    "membership.await_size done",
    "membership.await_size parked",
    "membership.await_size timed-out",
    "membership.join bad-argument",
    "membership.join done",
    "membership.join name-taken",
    "membership.leave bad-argument",
    "membership.leave done",
    "membership.leave not-owner",
    "membership.members bad-argument",
    "membership.members? bad-argument",
    "membership.members? done",
    "membership.report bad-argument",
    "membership.report done",
    "membership.report not-owner",
    "membership.update bad-argument",
    "membership.update done",
    "membership.update not-owner",
    "names.add bad-argument",
    "names.add done",
    "names.list bad-argument",
    "names.list? bad-argument",
    "names.list? done",
    "names.remove bad-argument",
    "names.remove done",
    "names.set bad-argument",
    "names.set done",
    "open bad-argument",
    "open done",
    "open exists",
    "open forbidden",
    "queue.ack bad-argument",
    "queue.ack not-leased",
    "queue.dead bad-argument",
    "queue.dead? bad-argument",
    "queue.dead? done",
    "queue.extend bad-argument",
    "queue.extend not-leased",
    "queue.list bad-argument",
    "queue.list? bad-argument",
    "queue.list? done",
    "queue.nack bad-argument",
    "queue.nack not-leased",
    "queue.peek bad-argument",
    "queue.peek? bad-argument",
    "queue.peek? done",
    "queue.put bad-argument",
    "queue.put done",
    "queue.remove bad-argument",
    "queue.remove done",
    "queue.replace bad-argument",
    "queue.replace done",
    "queue.size bad-argument",
    "queue.size? bad-argument",
    "queue.size? done",
    "queue.take bad-argument",
    "queue.take cancelled",
    "queue.take done",
    "queue.take ended object-deleted",
    "queue.take parked",
    "queue.take timed-out",
    "ratelimiter.acquire bad-argument",
    "ratelimiter.acquire cancelled",
    "ratelimiter.acquire done",
    "ratelimiter.acquire granted",
    "ratelimiter.acquire never",
    "ratelimiter.acquire parked",
    "ratelimiter.acquire timed-out",
    "ratelimiter.configure bad-argument",
    "ratelimiter.configure done",
    "ratelimiter.peek bad-argument",
    "ratelimiter.peek? bad-argument",
    "ratelimiter.peek? done",
    "repeat answered",
    "repeat parked",
    "rwlock.downgrade bad-argument",
    "rwlock.downgrade done",
    "rwlock.downgrade not-owner",
    "rwlock.read bad-argument",
    "rwlock.read done",
    "rwlock.read parked",
    "rwlock.release bad-argument",
    "rwlock.release done",
    "rwlock.release not-owner",
    "rwlock.state bad-argument",
    "rwlock.state? bad-argument",
    "rwlock.state? done",
    "rwlock.write bad-argument",
    "rwlock.write done",
    "rwlock.write granted",
    "rwlock.write parked",
    "rwlock.write would-deadlock",
    "semaphore.acquire bad-argument",
    "semaphore.acquire cancelled",
    "semaphore.acquire done",
    "semaphore.acquire granted",
    "semaphore.acquire parked",
    "semaphore.acquire timed-out",
    "semaphore.available bad-argument",
    "semaphore.available? bad-argument",
    "semaphore.available? done",
    "semaphore.drain bad-argument",
    "semaphore.drain done",
    "semaphore.release bad-argument",
    "semaphore.release done",
    "semaphore.release not-held",
    "semaphore.release over-release",
    "semaphore.resize bad-argument",
    "semaphore.resize done",
    "semaphore.resize out-of-range",
    "session closed",
    "session expired",
    "session opened",
    "set.add bad-argument",
    "set.add done",
    "set.add full",
    "set.contains bad-argument",
    "set.contains? bad-argument",
    "set.contains? done",
    "set.members bad-argument",
    "set.members? bad-argument",
    "set.members? done",
    "set.pop bad-argument",
    "set.pop done",
    "set.remove bad-argument",
    "set.remove done",
    "set.size bad-argument",
    "set.size? bad-argument",
    "set.size? done",
    "stack.items bad-argument",
    "stack.items? bad-argument",
    "stack.items? done",
    "stack.peek bad-argument",
    "stack.peek? bad-argument",
    "stack.peek? done",
    "stack.pop bad-argument",
    "stack.pop cancelled",
    "stack.pop done",
    "stack.pop ended object-deleted",
    "stack.pop ended session-expired",
    "stack.pop granted",
    "stack.pop parked",
    "stack.pop timed-out",
    "stack.push bad-argument",
    "stack.push done",
    "stack.push granted",
    "stack.push parked",
    "stack.size bad-argument",
    "stack.size? bad-argument",
    "stack.size? done",
    "value.await_change bad-argument",
    "value.await_change cancelled",
    "value.await_change done",
    "value.await_change granted",
    "value.await_change parked",
    "value.await_change timed-out",
    "value.compare_and_set bad-argument",
    "value.compare_and_set done",
    "value.get bad-argument",
    "value.get? bad-argument",
    "value.get? done",
    "value.set bad-argument",
    "value.set done",
    "value.swap bad-argument",
    "value.swap done",
];

/// What else the specification says can be, and a long run reaches.
#[rustfmt::skip]
pub const RARE: &[&str] = &[
    "any exists",
    "any unknown bad-argument",
    "any waiters-full",
    "barrier.enter broken",
    "barrier.enter granted broken",
    "barrier.leave broken",
    "barrier.leave granted broken",
    "batch bad-argument",
    "cancel already-granted",
    "counter.compare_and_set out-of-range",
    "counter.decrement out-of-range",
    "counter.decrement overflow",
    "counter.increment out-of-range",
    "counter.increment overflow",
    "counter.set out-of-range",
    "counter.swap out-of-range",
    "create election bad-argument",
    "create ids bad-argument",
    "create latch bad-argument",
    "create lock bad-argument",
    "create membership bad-argument",
    "create names bad-argument",
    "create queue bad-argument",
    "create rwlock bad-argument",
    "create set bad-argument",
    "create stack bad-argument",
    "create value bad-argument",
    "delete bad-argument",
    "election.proclaim stale-fence",
    "election.resign stale-fence",
    "lock.acquire reentry-limit",
    "lock.await stale-fence",
    "lock.release stale-fence",
    "log.append full",
    "log.read granted trimmed",
    "map.add overflow",
    "map.put full",
    "queue.put queue-full",
    "ratelimiter.acquire full",
    "ratelimiter.acquire granted never",
    "rwlock.read would-deadlock",
    "stack.push queue-full",
];

/// The table's own word for a cell.
pub(crate) fn known(cell: &str) -> Option<&'static str> {
    let listed = [CELLS, RARE].iter().find_map(|table| Some(table[table.binary_search(&cell).ok()?]));
    listed.or_else(|| may_be(cell).then_some("any outcome that all such methods have"))
}

/// Whether it is an outcome that every method of its kind can have.
fn may_be(cell: &str) -> bool {
    let Some((what, outcome)) = cell.split_once(' ') else { return false };
    let Some((kind, method)) = what.split_once('.') else { return false };
    let method = type_of(kind).and_then(|kind| method_of(kind, method));
    let of_all = ["done", "bad-argument"];
    let of_waiting =
        ["parked", "granted", "timed-out", "cancelled", "ended session-expired", "ended object-deleted"];
    method.is_some_and(|(_, way, _)| {
        let waits = matches!(way, Way::Blocking | Way::Either);
        of_all.contains(&outcome) || (waits && of_waiting.contains(&outcome))
    })
}

/// The cells that a command has met.
pub(crate) fn met(command: &Command, told: &[Told], book: &Book, is_repeat: bool) -> Vec<String> {
    let what = what(command);
    let mut cells = Vec::new();
    for told in told {
        match told {
            Told::Answered(..) if is_repeat => cells.push("repeat answered".into()),
            Told::Parked(..) if is_repeat => cells.push("repeat parked".into()),
            Told::Answered(_, answer) => cells.push(cell(&what, "", answer)),
            Told::Parked(..) => cells.push(format!("{what} parked")),
            Told::Ended(id, end, answer) => {
                let what = book.ticket(*id).map_or(&*what, |ticket| &*ticket.what);
                cells.push(match answer {
                    Err(refusal) if refusal.slug == "forbidden" => "any wait forbidden".into(),
                    Ok(_) => format!("{what} {}", word(*end)),
                    Err(refusal) => format!("{what} {} {}", word(*end), refusal.slug),
                });
            }
            Told::Opened(..) => cells.push("session opened".into()),
            Told::Closed(_, expired) => {
                cells.push(if *expired { "session expired" } else { "session closed" }.into());
            }
        }
        if let (Command::Batch(batch), Told::Answered(_, Ok(result)), false) = (command, told, is_repeat) {
            let kind = type_name(batch.object.kind).unwrap_or_default();
            let results = result["results"].as_array().into_iter().flatten();
            for (invocation, result) in batch.invocations.iter().zip(results) {
                cells.push(of_batch(kind, &invocation.method, result));
            }
        }
    }
    cells
}

fn of_batch(kind: &str, method: &str, result: &Value) -> String {
    let slug = result["problem"]["type"].as_str().and_then(|name| name.rsplit(':').next());
    match slug {
        Some(slug) if OF_ANY.contains(&slug) => format!("any {slug}"),
        Some(slug) => format!("{kind}.{method} {slug}"),
        None => format!("{kind}.{method} done"),
    }
}

/// The cell of a refusal that no method has of its own; a call may open a session under an id that another one has.
fn of_any(what: &str, slug: &str) -> bool {
    let is_access = what.starts_with("access ");
    let opens =
        slug == "exists" && !what.starts_with("create ") && !["open", "import"].contains(&what) && !is_access;
    // Whose a ticket or a session is; who administers.
    let is_own = slug == "forbidden" && (is_access || ["cancel", "close", "open"].contains(&what));
    (OF_ANY.contains(&slug) && !is_own) || opens
}

/// The cell of an answered query.
pub(crate) fn of_query(kind: &str, method: &str, answer: &Answer) -> String {
    cell(&format!("{kind}.{method}"), "?", answer)
}

fn cell(what: &str, mark: &str, answer: &Answer) -> String {
    match answer {
        Ok(_) => format!("{what}{mark} done"),
        // One of its calls is refused, for whatever reason.
        Err(refusal)
            if what == "import" && !["bad-argument", "exists", "forbidden"].contains(&refusal.slug) =>
        {
            "import refused".into()
        }
        Err(refusal) if of_any(what, refusal.slug) => format!("any {}", refusal.slug),
        Err(refusal) => format!("{what}{mark} {}", refusal.slug),
    }
}

fn what(command: &Command) -> String {
    match command {
        Command::Call(call) => {
            let kind = type_name(call.object.kind).unwrap_or_default();
            let known = type_of(kind).is_some_and(|kind| method_of(kind, &call.invocation.method).is_some());
            if known { format!("{kind}.{}", call.invocation.method) } else { "any unknown".into() }
        }
        Command::Batch(_) => "batch".into(),
        Command::Create { object, .. } => {
            format!("create {}", type_name(object.kind).unwrap_or_default())
        }
        Command::Delete { .. } => "delete".into(),
        Command::Import { .. } => "import".into(),
        Command::OpenSession { .. } => "open".into(),
        Command::CloseSession { .. } => "close".into(),
        Command::ExpireSession { .. } => "expire".into(),
        Command::CancelTicket { .. } => "cancel".into(),
        Command::Tick => "tick".into(),
        Command::FeatureLevel(_) => "level".into(),
        Command::Access { change, .. } => format!("access {}", word_of(change)),
        // The models know the built-in types alone.
        Command::TypePiece { .. }
        | Command::TypePut { .. }
        | Command::TypeReady { .. }
        | Command::TypeVerdict { .. }
        | Command::Quarantine { .. }
        | Command::Rollback { .. }
        | Command::Finish { .. }
        | Command::Disagreed { .. }
        | Command::TypeDelete { .. }
        | Command::TypeRelease { .. }
        | Command::Migrate { .. } => "any type".into(),
    }
}

const fn word_of(change: &AccessChange) -> &'static str {
    match change {
        AccessChange::CreateToken { .. } => "token",
        AccessChange::RevokeToken { .. } => "revoke",
        AccessChange::RevokePrincipal { .. } => "revoke-principal",
        AccessChange::Allow { .. } => "allow",
        AccessChange::Deny { .. } => "deny",
        AccessChange::Quota { .. } => "quota",
        AccessChange::Role { .. } => "role",
        AccessChange::Roles { .. } => "roles",
        AccessChange::Set { closed: true } => "close",
        AccessChange::Set { closed: false } => "open",
    }
}
