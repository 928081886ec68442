//! Exports and imports, in some of the runs: an object is exported, and another one made of it; or of what nobody ever exported.
//!
//! The commands are judged as all others are. Besides, what came of an export must show what its source shows, and be
//! exported the same (O24).

use base::Random;
use objects_state::{Command, Content, Invocation, Json, ObjectName};
use serde_json::Value;

use crate::crowd::Crowd;
use crate::model::Group;
use crate::outcome::parsed;
use crate::rules::{self, Wrong};
use objects_state::State;

/// Draws apart from everything else: other runs take the steps that they took.
const IMPORTS: u64 = 0x696d_706f_7274;

/// See the module.
pub(crate) struct Imports {
    random: Random,
}

/// An import that is about to be played.
pub(crate) struct Import {
    pub(crate) command: Command,
    /// The object of which it is the export.
    pub(crate) source: Option<ObjectName>,
}

impl Imports {
    /// In a third of the runs.
    pub(crate) fn of(seed: u64) -> Option<Self> {
        let mut random = Random::new(seed ^ IMPORTS);
        random.chance(33).then_some(Self { random })
    }

    /// Seldom.
    pub(crate) fn next(&mut self, crowd: &mut Crowd, group: &Group, state: &State) -> Option<Import> {
        let random = &mut self.random;
        if random.below(40) > 0 {
            return None;
        }
        let names = group.names();
        let source = names.get(random.below(names.len() as u64) as usize).filter(|_| random.chance(75));
        let exported = source.and_then(|source| state.export(source, None).ok());
        let target = crowd.import_target(random, source, &names);
        let content = match &exported {
            Some(exported) => content_of(exported)?,
            None => crowd.import_content(random, &target, group),
        };
        let command = crowd.import(random, target, content);
        Some(Import { command, source: source.filter(|_| exported.is_some()).cloned() })
    }
}

/// What an export says, as the edge of a member gives it to the group.
fn content_of(exported: &str) -> Option<Content> {
    let Ok(Json::Object(fields)) = Json::parse(exported.as_bytes()) else { return None };
    let field = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let Some(Json::List(calls)) = field("calls") else { return None };
    let call = |call: &Json| match call {
        Json::Object(fields) => match &fields[..] {
            [(_, args), (_, Json::Text(method))] => {
                Some(Invocation { method: method.clone(), args: args.canonical().into_bytes() })
            }
            _ => None,
        },
        _ => None,
    };
    let calls = calls.iter().map(call).collect::<Option<_>>()?;
    Some(Content::Calls { arguments: field("arguments")?.canonical().into_bytes(), calls })
}

/// What came of the export of `source` is like it.
pub(crate) fn is_like(state: &State, source: &ObjectName, made: &ObjectName) -> Result<(), Wrong> {
    let exported = |object: &ObjectName| state.export(object, None).map(|text| parsed(&text));
    let (Ok(first), Ok(second)) = (exported(source), exported(made)) else {
        return Err((24, format!("{source:?} or {made:?} cannot be exported")));
    };
    let is_same = ["arguments", "calls"].iter().all(|part| first[*part] == second[*part]);
    if !is_same {
        return Err((24, format!("an import is exported as another one\nfirst {first}\nthen {second}")));
    }
    // Ids that begin with the time are new, as those of items are.
    let is_of_time = first["arguments"]["form"] == "ulid";
    if is_of_time || first["left_out"].as_array().is_some_and(|left_out| !left_out.is_empty()) {
        return Ok(());
    }
    for method in rules::plain_queries(source) {
        let [first, second] = [source, made].map(|object| {
            let shown = state.query(object, None, true, method, b"");
            shown.map(|text| without_numbers(parsed(&text))).map_err(|problem| problem.slug)
        });
        if first != second {
            return Err((
                24,
                format!("{made:?} is not like {source:?} in `{method}`\n{first:?}\n{second:?}"),
            ));
        }
    }
    Ok(())
}

/// Without what is of the group, and not of what the object holds.
fn without_numbers(value: Value) -> Value {
    let is_own = |name: &str| ["version", "id", "attempt", "epoch", "generation", "previous"].contains(&name);
    match value {
        Value::Array(items) => items.into_iter().map(without_numbers).collect(),
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(name, _)| !is_own(name));
            kept.map(|(name, value)| (name, without_numbers(value))).collect()
        }
        other => other,
    }
}
