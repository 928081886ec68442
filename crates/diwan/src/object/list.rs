//! `diwan object list` and `inspect`.

use std::io::Write;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use serde_json::{Value, json};

use super::access::{AccessArguments, NameArgument, Request, escaped};
use super::complete;
use crate::log::failure::Done;
use crate::table;

/// Objects asked for at once.
const PAGE: u32 = 1_000;

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Only objects of this type.
    #[arg(value_name = "TYPE", add = ArgValueCompleter::new(complete::types))]
    kind: Option<String>,

    /// Only names that begin so.
    #[arg(long, value_name = "PREFIX", default_value = "")]
    prefix: String,

    /// As JSON.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct InspectArguments {
    #[command(flatten)]
    name: NameArgument,

    /// As JSON.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    access: AccessArguments,
}

/// The built-in types.
pub(super) fn type_names() -> Vec<&'static str> {
    objects_state::TYPES.iter().map(|(_, name)| *name).collect()
}

/// Shows the objects.
pub(super) fn list(arguments: &ListArguments, out: &mut impl Write) -> Done {
    let ListArguments { kind, prefix, access, .. } = arguments;
    let objects = match kind {
        Some(kind) => of_type(access, kind, prefix)?,
        None => of_all_types(access, prefix)?,
    };
    if arguments.json {
        writeln!(out, "{:#}", json!({ "objects": objects }))?;
        return Ok(());
    }
    let head = ["OBJECT", "INCARNATION", "CREATED", "WAITING"].map(String::from).to_vec();
    let row = |object: &Value| {
        let text = |name: &str| object[name].as_str().unwrap_or_default();
        let number = |name: &str| object[name].as_u64().map_or_else(String::new, |number| number.to_string());
        let created = if object["explicit"] == true { "on purpose" } else { "by use" };
        let name = format!("{}/{}", text("type"), text("name"));
        vec![name, number("incarnation"), created.into(), number("waiting")]
    };
    let rows: Vec<_> = std::iter::once(head).chain(objects.iter().map(row)).collect();
    table::write(out, 0, &rows)?;
    Ok(())
}

/// All objects of a type whose names begin so.
pub(super) fn of_type(access: &AccessArguments, kind: &str, prefix: &str) -> Done<Vec<Value>> {
    pages(access, &format!("type={}&prefix={}", escaped(kind), escaped(prefix)))
}

/// The same of all types, one type behind the other.
pub(super) fn of_all_types(access: &AccessArguments, prefix: &str) -> Done<Vec<Value>> {
    pages(access, &format!("prefix={}", escaped(prefix)))
}

fn pages(access: &AccessArguments, which: &str) -> Done<Vec<Value>> {
    let (mut objects, mut after) = (Vec::new(), None::<String>);
    loop {
        let behind = after.map_or_else(String::new, |after| format!("&after={}", escaped(&after)));
        let reply = access.ask(&Request::get(format!("/v1/objects?{which}&limit={PAGE}{behind}")))?;
        objects.extend(reply.body["objects"].as_array().into_iter().flatten().cloned());
        match reply.body["next"].as_str() {
            Some(next) => after = Some(next.into()),
            None => return Ok(objects),
        }
    }
}

/// Shows one object.
pub(super) fn inspect(arguments: &InspectArguments, out: &mut impl Write) -> Done {
    let InspectArguments { name, json, access } = arguments;
    let reply = access.ask(&Request::get(name.object.path()))?;
    if *json {
        writeln!(out, "{:#}", reply.body)?;
        return Ok(());
    }
    let fields = reply.body.as_object().into_iter().flatten();
    let rows: Vec<_> = fields.map(|(key, value)| vec![key.clone(), shown(value)]).collect();
    table::write(out, 0, &rows)?;
    Ok(())
}

/// A value without the quotes of JSON, if it is text.
fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}
