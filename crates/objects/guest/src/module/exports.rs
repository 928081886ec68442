//! What a module must export, and what it may.

use objects_state::guest::Rejected;
use wasmparser::{Export, ExternalKind};

use super::imports::is_signature;
use super::{Outline, reserved_global};
use crate::rejected::rejected;

/// Functions that the engine calls: name, parameters, results, whether there must be one.
const ENTRIES: &[(&str, &str, &str, bool)] = &[
    ("alloc", "i", "i", true),
    ("call", "iiii", "I", true),
    ("init", "ii", "", false),
    ("migrate", "ii", "", false),
    ("save", "", "I", false),
    ("session_expired", "ii", "", false),
    ("timer", "I", "", false),
    ("ticket_ended", "I", "", false),
    ("init_source", "ii", "", false),
    ("describe", "", "I", false),
    ("_initialize", "", "", false),
];

/// Takes note of an export.
pub(super) fn note<'a>(outline: &mut Outline<'a>, export: &Export<'a>) -> Result<(), Rejected> {
    if export.name.starts_with(&reserved_global("")) {
        return Err(rejected(format!("exports `{}`: names of that beginning are taken", export.name)));
    }
    match export.kind {
        ExternalKind::Func => outline.exports.push((export.name, export.index)),
        ExternalKind::Memory if export.name == "memory" => outline.has_memory = true,
        _ => {}
    }
    Ok(())
}

/// Whether all is there that is needed, with the right signatures.
pub(super) fn check(outline: &Outline<'_>) -> Result<(), Rejected> {
    if !outline.has_memory {
        return Err(rejected("exports no memory `memory`"));
    }
    for (name, params, results, is_needed) in ENTRIES {
        match outline.exported(name) {
            None if *is_needed => return Err(rejected(format!("exports no function `{name}`"))),
            None => {}
            Some(function) => {
                let ty = outline.signature(function);
                if !ty.is_some_and(|ty| is_signature(ty, params, results)) {
                    return Err(rejected(format!("exports `{name}` with another signature")));
                }
            }
        }
    }
    Ok(())
}
