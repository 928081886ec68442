//! What is asked of the core for those who look after objects: export and import, and of users' types migration, the way back,
//! quarantine.

use objects_replica::edge::Question;
use objects_state::{Command, EXPORT_FORM, Json, ObjectName, type_name};

use super::ask::{Asked, Asker, LATEST};
use super::open::Purpose;
use crate::arguments;
use crate::care::Care;
use crate::fields::{self, Sender};
use crate::message::Fault;
use crate::route;

impl Asker<'_> {
    pub(super) fn care(&self, sender: &Sender, care: Care, object: ObjectName) -> Result<Asked, Fault> {
        if care == Care::Import {
            return self.import(sender, object);
        }
        let fields = arguments::body(self.request.body)?;
        let incarnation = fields::incarnation(self.request.fields)?;
        let identity = sender.identity()?;
        let asked = match care {
            Care::Export | Care::Import => {
                arguments::only(&fields, &[])?;
                self.question(sender, Question::Export { object, incarnation }, LATEST)
            }
            Care::Migrate => return self.migrate(sender, object, &fields),
            Care::Rollback => {
                arguments::only(&fields, &["lose_commands"])?;
                let lose_commands = flag(&fields, "lose_commands")?;
                self.command(
                    |caller| Command::Rollback { caller, object, incarnation, lose_commands },
                    identity,
                    sender.proof(),
                    Purpose::Command,
                )
            }
            Care::Quarantine | Care::Release => {
                let quarantines = care == Care::Quarantine;
                arguments::only(&fields, if quarantines { &["reason"] } else { &[] })?;
                let reason = arguments::text(&fields, "reason")?.unwrap_or_default();
                let reason = quarantines.then_some(reason);
                self.command(
                    |caller| Command::Quarantine { caller, object, incarnation, reason },
                    identity,
                    sender.proof(),
                    Purpose::Command,
                )
            }
        };
        Ok(asked)
    }

    /// An export, of an object of the same type.
    fn import(&self, sender: &Sender, object: ObjectName) -> Result<Asked, Fault> {
        let fields = arguments::any_body(self.request.body)?;
        if arguments::integer(&fields, "export")? != Some(EXPORT_FORM) {
            let detail = "no export that this build reads: its body is what `:export` has answered";
            return Err(Fault::argument("export", detail));
        }
        let own = self.user_type.as_deref().or(type_name(object.kind)).unwrap_or_default();
        if arguments::text(&fields, "type")?.as_deref() != Some(own) {
            return Err(Fault::argument("type", format!("an export of another type than `{own}`")));
        }
        let content = arguments::content(&fields)?;
        let command = |caller| Command::Import { caller, object, content };
        Ok(self.command(command, sender.identity()?, sender.proof(), Purpose::Creation))
    }

    fn migrate(
        &self,
        sender: &Sender,
        object: ObjectName,
        fields: &[(String, Json)],
    ) -> Result<Asked, Fault> {
        arguments::only(fields, &["to", "dry_run"])?;
        let to = arguments::text(fields, "to")?;
        let to = to.ok_or_else(|| Fault::argument("to", "it is missing: name a version"))?;
        let (to, incarnation) = (route::hash(&to)?, fields::incarnation(self.request.fields)?);
        if flag(fields, "dry_run")? {
            return Ok(self.question(sender, Question::TryMigration { object, incarnation, to }, LATEST));
        }
        let command = |caller| Command::Migrate { caller, object, incarnation, to };
        Ok(self.command(command, sender.identity()?, sender.proof(), Purpose::Command))
    }
}

/// A flag, which is not set if it is missing.
fn flag(fields: &[(String, Json)], name: &str) -> Result<bool, Fault> {
    match arguments::field(fields, name) {
        None | Some(Json::Null | Json::Bool(false)) => Ok(false),
        Some(Json::Bool(true)) => Ok(true),
        Some(_) => Err(Fault::argument(name, "neither `true` nor `false`")),
    }
}
