//! O31 quotas, as far as the state itself says what is used: nothing that a client asks for makes somebody have more than he may,
//! and calls are refused for their bytes only if there is no room for what they may write.

use std::collections::BTreeMap;

use objects_state::limits::{QUOTA_RESERVE_BYTES, QUOTA_RESERVE_SHARE};
use objects_state::{Command, Principal, State};
use serde_json::Value;
use sim_kit::Judged;

use super::{Seen, Wrong, judged};
use crate::outcome::parsed;

/// What a call may write beside four times its arguments.
const CALL_BYTES: u64 = 4_000;

/// Limits, each with what is used of it.
const FIELDS: [&str; 4] = ["objects", "bytes", "waiters", "sessions"];

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Quotas {
    /// What was used before, of all that have a quota.
    before: BTreeMap<String, [u64; 4]>,
}

fn shown(state: &State) -> Vec<Value> {
    let shown = parsed(&state.shown_access(&Principal::root(), None));
    shown["quotas"].as_array().cloned().unwrap_or_default()
}

fn name_of(quota: &Value) -> String {
    format!("{} {}", quota["namespace"], quota["principal"])
}

impl Quotas {
    /// Only in runs that have any.
    pub(crate) fn see(&mut self, seen: &Seen<'_>, all: &mut BTreeMap<u32, Judged>) -> Result<(), Wrong> {
        let quotas = shown(seen.state);
        let mut now = BTreeMap::new();
        let is_asked = matches!(
            seen.command,
            Command::Call(_)
                | Command::Batch(_)
                | Command::Create { .. }
                | Command::Import { .. }
                | Command::OpenSession { .. }
        );
        for quota in &quotas {
            let used = FIELDS.map(|field| quota["used"][field].as_u64().unwrap_or_default());
            let known = self.before.get(&name_of(quota)).copied();
            for (at, field) in FIELDS.into_iter().enumerate() {
                let Some(mut most) = quota[field].as_u64() else { continue };
                if field == "bytes" {
                    most += most / QUOTA_RESERVE_SHARE + QUOTA_RESERVE_BYTES;
                }
                judged(all, 31, "quotas");
                if is_asked && known.is_some_and(|known| used[at] > known[at] && used[at] > most) {
                    return Err((31, format!("{quota} has more {field} than it may, and had {known:?}")));
                }
            }
            now.insert(name_of(quota), used);
        }
        let before = std::mem::replace(&mut self.before, now);
        is_justified(seen, &quotas, &before)
    }
}

/// A call that is refused for its bytes needed them.
fn is_justified(seen: &Seen<'_>, quotas: &[Value], before: &BTreeMap<String, [u64; 4]>) -> Result<(), Wrong> {
    let Command::Call(call) = seen.command else { return Ok(()) };
    if !seen.is_refused_for_bytes {
        return Ok(());
    }
    let may_write = 4 * call.invocation.args.len() as u64 + CALL_BYTES;
    let is_full = |quota: &&Value| {
        let used = before.get(&name_of(quota)).map_or(0, |used| used[1]);
        quota["bytes"].as_u64().is_some_and(|most| used + may_write > most)
    };
    match quotas.iter().find(is_full) {
        Some(_) => Ok(()),
        None => Err((31, format!("there is room, and bytes are refused: {quotas:?}, before {before:?}"))),
    }
}
