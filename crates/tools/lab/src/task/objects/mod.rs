//! Loads of live objects by HTTP. A node of the other loads is a map here: an update puts its entry `head`, of 100 bytes at the
//! most, and whatever a value has beyond lives in further entries, as it does in ConCoord's objects. Where servers fail, each
//! client increments a counter of its own: every answer is known beforehand.

mod asker;
mod http;
mod recipes;
mod steady;
mod timeline;

use std::io;

use council_client::load::Patience;
use tools_testbed::meter::Edges;

use super::{Kind, Outcome, Task};
use asker::Asker;

/// What an update sends at the most.
const PART_MAX: usize = 100;
/// Entries that one command makes.
const PARTS_AT_ONCE: usize = 500;

/// A task with where the members are.
#[derive(Clone, Copy)]
struct Order<'a> {
    task: &'a Task,
    endpoints: &'a [String],
    patience: &'a Patience,
}

/// Performs a task on members that serve live objects.
///
/// # Errors
/// A connection failed, a member was silent for too long, or there is no such load on objects.
pub(super) fn perform(
    task: &Task,
    endpoints: &[String],
    patience: &Patience,
    edges: &mut Edges<'_>,
) -> io::Result<Outcome> {
    let order = &Order { task, endpoints, patience };
    match task.kind {
        Kind::Prepare => prepare(order).map(|()| Outcome::default()),
        // What warms fresh servers up.
        Kind::Own => {
            let task = &Task { kind: Kind::Mixed, writes_per_mille: 500, keys: 100, ..task.clone() };
            steady::perform(&Order { task, ..*order }, edges)
        }
        Kind::Mixed => steady::perform(order, edges),
        Kind::Timeline => timeline::perform(order, edges),
        Kind::LockPair | Kind::HandOff | Kind::DoubleBarrier | Kind::Increment | Kind::StaleQuery => {
            recipes::perform(order, edges)
        }
        Kind::Barriers | Kind::Watches => Err(io::Error::other("there is no such load on live objects")),
    }
}

/// The path of an object that all clients share.
fn shared(number: u32) -> String {
    format!("objects/map/lab-{number:08}")
}

/// What a write puts: 100 bytes, or as many as a value has.
fn head(task: &Task, number: u32, writer: u32, write: u64) -> String {
    let mut text = format!("{number:08}-{writer:06}-{write:012}-");
    let length = task.value_bytes.min(PART_MAX);
    text.extend(std::iter::repeat_n('x', length.saturating_sub(text.len())));
    text.truncate(length);
    text
}

/// Makes the objects that are shared, and all that lives in them beyond what is written.
fn prepare(order: &Order<'_>) -> io::Result<()> {
    let Order { task, endpoints, patience } = *order;
    let mut asker = Asker::new(endpoints, 0, patience);
    let part = "x".repeat(PART_MAX);
    for number in task.from..task.keys {
        let path = shared(number);
        let first = format!("{{\"key\":\"head\",\"value\":\"{}\"}}", head(task, number, 0, 0));
        asker.must(|wire| wire.post(&format!("{path}/put"), &first))?;
        let parts: Vec<_> = (0..task.value_bytes.saturating_sub(PART_MAX) / PART_MAX).collect();
        for parts in parts.chunks(PARTS_AT_ONCE) {
            let entries: Vec<_> = parts.iter().map(|place| format!("\"{place:08}\":\"{part}\"")).collect();
            let body = format!("{{\"entries\":{{{}}}}}", entries.join(","));
            asker.must(|wire| wire.post(&format!("{path}/put_all"), &body))?;
        }
    }
    Ok(())
}
