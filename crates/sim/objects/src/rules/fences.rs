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
        if let (Command::Batch(batch), Some(Told::Answered(_, Ok(result)))) =
            (seen.command, seen.shown.last())
            && !seen.may_be_kept
        {
            let results = result["results"].as_array().into_iter().flatten();
            for (index, result) in results.enumerate() {
                let result = &result["result"];
                if let Some(fence) = fence_of(&batch.object, result) {
                    self.rise(seen.first + index as u64, batch.object.clone(), fence, result)?;
                }
            }
        }
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
                self.rise(position, object, fence, result)?;
            }
        }
        Ok(())
    }

    fn rise(&mut self, position: u64, object: ObjectName, fence: u64, result: &Value) -> Result<(), Wrong> {
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

fn fence_of(object: &ObjectName, result: &Value) -> Option<u64> {
    let owned = ["lock", "rwlock", "semaphore", "election"];
    owned.contains(&type_name(object.kind)?).then_some(())?;
    result["fence"].as_u64()
}
