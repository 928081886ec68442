//! What a first look at a module's bytes finds, before any instruction is validated.

use objects_state::guest::Rejected;
use wasmparser::{FuncType, GlobalType, MemoryType};

use super::names;
use crate::description::Description;
use crate::rejected::rejected;

/// A module's types, functions and exports, as far as later steps ask for them.
#[derive(Default)]
pub(crate) struct Outline<'a> {
    pub(super) module: &'a [u8],
    /// The function types.
    pub(super) types: Vec<FuncType>,
    /// Functions that are imported.
    pub(super) imported: u32,
    /// Type of each function, of the imported ones first.
    pub(super) functions: Vec<u32>,
    pub(super) globals: Vec<GlobalType>,
    pub(super) memory: Option<MemoryType>,
    pub(super) tables: u32,
    pub(super) table_elements: u64,
    pub(super) locals: u64,
    /// Functions whose code has been looked at.
    pub(super) bodies: u32,
    /// Exported functions, by name.
    pub(super) exports: Vec<(&'a str, u32)>,
    /// Whether `memory` is exported.
    pub(super) has_memory: bool,
    /// The function that runs at the start.
    pub(super) start: Option<u32>,
    /// What the module says of itself.
    pub(crate) description: Option<Description>,
}

impl<'a> Outline<'a> {
    /// The type of a function.
    pub(super) fn signature(&self, function: u32) -> Option<&FuncType> {
        self.types.get(*self.functions.get(function as usize)? as usize)
    }

    /// A function that is exported under a name.
    pub(super) fn exported(&self, name: &str) -> Option<u32> {
        self.exports.iter().find(|(own, _)| *own == name).map(|(_, function)| *function)
    }

    /// The rule that a function breaks.
    pub(super) fn in_function(&self, function: u32, rule: impl std::fmt::Display) -> Rejected {
        rejected(match names::of_function(self.module, function) {
            Some(name) => format!("function {function} (`{name}`): {rule}"),
            None => format!("function {function}: {rule}"),
        })
    }

    /// Whether a runner: it exports `init_source`.
    pub(crate) fn is_runner(&self) -> bool {
        self.exported("init_source").is_some()
    }

    /// The description, or the one of a module that has none.
    pub(crate) fn described(&self) -> Description {
        self.description.clone().unwrap_or_default()
    }
}
