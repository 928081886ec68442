//! O10 fences rise: a grant's fence is its position, and of a name no later grant has a lower one.

use std::collections::BTreeMap;

use objects_state::{Command, ObjectName, TicketEnd, type_name};
use serde_json::Value;
use sim_kit::Judged;

use super::{Seen, Wrong, judged};
use crate::model::Told;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Fences {
    last: Vec<(ObjectName, u64)>,
}

impl Fences {
    pub(super) fn see(&mut self, seen: &Seen<'_>, all: &mut BTreeMap<u32, Judged>) -> Result<(), Wrong> {
        let mut grants = granted_by_batch(seen);
        grants.extend(granted_otherwise(seen, all));
        // A batch may end a call that waited at one position, and grant itself something at a later one.
        grants.sort_by_key(|grant| grant.position);
        grants.into_iter().try_for_each(|grant| self.rise(grant))
    }

    fn rise(&mut self, grant: Grant<'_>) -> Result<(), Wrong> {
        let Grant { position, object, fence, result } = grant;
        let place = self.last.iter().position(|known| known.0 == object);
        let last = place.map_or(0, |place| self.last[place].1);
        let holds_already =
            result["holds"].as_i64().is_some_and(|holds| holds > 1) || result["leader"] == true;
        if fence != position && !(holds_already && fence == last) {
            return Err((10, format!("{object:?} is granted at {position} under {fence}, after {last}")));
        }
        match place {
            Some(place) => self.last[place].1 = fence,
            None => self.last.push((object, fence)),
        }
        Ok(())
    }
}

/// Something is granted.
struct Grant<'a> {
    position: u64,
    object: ObjectName,
    fence: u64,
    result: &'a Value,
}

/// What the calls of a batch are granted.
fn granted_by_batch<'a>(seen: &Seen<'a>) -> Vec<Grant<'a>> {
    let (Command::Batch(batch), Some(Told::Answered(_, Ok(result))), false) =
        (seen.command, seen.shown.last(), seen.may_be_kept)
    else {
        return Vec::new();
    };
    let results = result["results"].as_array().into_iter().flatten();
    let grant = |(position, result): (u64, &'a Value)| {
        let (object, result) = (batch.object.clone(), &result["result"]);
        fence_of(&object, result).map(|fence| Grant { position, object, fence, result })
    };
    (seen.first..).zip(results).filter_map(grant).collect()
}

/// What a call is granted, and what calls that waited are.
fn granted_otherwise<'a>(seen: &Seen<'a>, all: &mut BTreeMap<u32, Judged>) -> Vec<Grant<'a>> {
    let mut grants = Vec::new();
    for told in seen.shown {
        let (object, result) = match (told, seen.command) {
            (Told::Answered(_, Ok(result)), Command::Call(call)) if !seen.may_be_kept => {
                (call.object.clone(), result)
            }
            (Told::Ended(id, TicketEnd::Granted, Ok(result)), _) => {
                let own = match seen.command {
                    Command::Call(call) if *id == seen.first => Some(&call.object),
                    _ => None,
                };
                let object = seen.book.ticket(*id).map(|ticket| &ticket.object).or(own);
                let Some(object) = object else { continue };
                (object.clone(), result)
            }
            _ => continue,
        };
        if let Some(fence) = fence_of(&object, result) {
            judged(all, 10, "grants");
            // A call that waited was granted at one of a batch's positions.
            let is_within = matches!(seen.command, Command::Batch(_)) && fence <= seen.state.position();
            let position = if is_within { seen.first.max(fence) } else { seen.first };
            grants.push(Grant { position, object, fence, result });
        }
    }
    grants
}

fn fence_of(object: &ObjectName, result: &Value) -> Option<u64> {
    let owned = ["lock", "rwlock", "semaphore", "election"];
    owned.contains(&type_name(object.kind)?).then_some(())?;
    result["fence"].as_u64()
}
