//! Exports of objects of users' types, and others that are made of them. An export is what the module saves at its position; an import
//! makes an object of the type's latest version that takes this over, or none (O24, O26).

use objects_state::Content;
use serde_json::json;

use super::calls::{refused, version_in};
use super::{Guests, Key, Named, Object, Said, Seen, key_named};
use crate::guests::deadly::{self, Kills};
use crate::guests::{Guest, TAKES_NOTHING_OVER, module};
use crate::outcome::parsed;
use crate::rules::{Rules, Wrong};
use crate::told::Answer;

/// The constructor's number of an object that was imported: `PUT` finds another object, whatever it says.
const NO_START: u64 = u64::MAX;

impl Guests {
    /// An export is what the object saves.
    pub(crate) fn exported(&self, object: &Named, answer: &Answer, rules: &mut Rules) -> Result<(), Wrong> {
        let Some(key) = key_named(object) else { return Ok(()) };
        rules.count(24, "exports of guests", 1);
        let body = parsed(&answer.body);
        let is_right = match self.objects.get(&key) {
            None => answer.status == 404,
            Some(object) => {
                let version = module(key.0, object.guest.version).hash.to_string();
                let told = [&body["type"], &body["name"], &body["version"], &body["state"]];
                let due = [json!(key.0.name()), json!(key.1), json!(version), parsed(&object.guest.saved())];
                answer.status == 200 && !object.is_quarantined && due.iter().eq(told)
            }
        };
        match is_right {
            true => Ok(()),
            false => Err((24, format!("{key:?} is exported: {answer:?}"))),
        }
    }

    pub(super) fn imported(
        &mut self,
        seen: &Seen<'_>,
        (key, content): (Key, &Content),
        said: &Said<'_>,
    ) -> Result<(), Wrong> {
        let Content::State { state, .. } = content else { return Ok(()) };
        if self.objects.contains_key(&key) {
            return refused(24, said, &["exists"], "there is such an object");
        }
        let Some(version) = self.versions.current(key.0) else {
            return refused(27, said, self.versions.refusals(key.0), "it has no version that may run");
        };
        if self.versions.creates_nothing(key.0) {
            self.judged(23, "imports behind a creation that killed");
            return refused(23, said, &["quarantined"], "a creation of its version has killed members");
        }
        let state = parsed(&String::from_utf8_lossy(state));
        if deadly::of_import(json!({ "state": state }).to_string().as_bytes()) == Kills::Always {
            self.judged(23, "imports that kill");
            self.reached("import that kills");
            self.versions.stop(key.0, seen.state.feature_level());
            return refused(23, said, &["not-migrated"], "it kills whoever carries it out");
        }
        let Some(reply) = said.done() else {
            self.judged(24, "imports that fail");
            return match version == TAKES_NOTHING_OVER {
                true => refused(24, said, &["not-migrated"], "that version takes nothing over"),
                false => Err((24, format!("it should be imported: {said:?}"))),
            };
        };
        let made = version_in(reply, key.0, &[version])
            .and_then(|version| Guest::restored(key.0, &state)?.migrated(version))
            .zip(parsed(reply)["incarnation"].as_u64());
        let Some((guest, incarnation)) = made else {
            return Err((24, format!("it should be imported, of version {version}: {said:?}")));
        };
        self.judged(24, "imports of guests");
        self.objects.insert(key, Object::new(incarnation, NO_START, guest));
        Ok(())
    }
}
