//! How many of everything a module may have.

use objects_state::guest::Rejected;
use wasmparser::{FuncType, MemoryType, TableType};

use super::Outline;
use crate::limits::{PARAMETERS_MAX, RESULTS_MAX, TABLE_ELEMENTS_MAX, TABLES_MAX};
use crate::rejected::rejected;

pub(super) fn at_most(count: u32, most: u32, what: &str) -> Result<(), Rejected> {
    if count > most {
        return Err(rejected(format!("has {count} {what}, more than {most}")));
    }
    Ok(())
}

pub(super) fn function_type(index: usize, ty: &FuncType) -> Result<(), Rejected> {
    if ty.params().len() > PARAMETERS_MAX {
        return Err(rejected(format!("type {index} has more than {PARAMETERS_MAX} parameters")));
    }
    if ty.results().len() > RESULTS_MAX {
        return Err(rejected(format!("type {index} has more than {RESULTS_MAX} results")));
    }
    Ok(())
}

pub(super) fn table(outline: &mut Outline<'_>, table: &TableType) -> Result<(), Rejected> {
    outline.tables += 1;
    outline.table_elements = outline.table_elements.saturating_add(table.initial);
    at_most(outline.tables, TABLES_MAX, "tables")?;
    if outline.table_elements > TABLE_ELEMENTS_MAX {
        return Err(rejected(format!("has tables of more than {TABLE_ELEMENTS_MAX} elements")));
    }
    Ok(())
}

/// The memory against what the description allows.
pub(super) fn memory(memory: Option<&MemoryType>, bytes_max: u64) -> Result<(), Rejected> {
    let Some(memory) = memory else { return Err(rejected("has no memory of its own")) };
    if memory.memory64 || memory.shared || memory.page_size_log2.is_some() {
        return Err(rejected("has a memory that is shared, of 64 bits or of other pages"));
    }
    if memory.initial.saturating_mul(1 << 16) > bytes_max {
        return Err(rejected(format!(
            "has a memory that begins with more than its limit of {bytes_max} bytes"
        )));
    }
    Ok(())
}
