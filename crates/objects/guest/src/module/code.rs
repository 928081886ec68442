//! What a function's code may have. Looked at before it is validated, so that neither the validator nor the compiler meets
//! what is too much for them.

use objects_state::guest::Rejected;
use wasmparser::{FunctionBody, Operator};

use super::Outline;
use crate::limits::{FUNCTION_BYTES_MAX, LOCALS_MAX, LOCALS_PER_FUNCTION_MAX, NESTING_MAX};

/// Looks at the next function.
pub(super) fn note(outline: &mut Outline<'_>, body: &FunctionBody<'_>) -> Result<(), Rejected> {
    let function = outline.imported + outline.bodies;
    outline.bodies += 1;
    if body.range().len() > FUNCTION_BYTES_MAX {
        return Err(outline.in_function(function, format!("code of more than {FUNCTION_BYTES_MAX} bytes")));
    }
    let locals = locals(body).map_err(|error| outline.in_function(function, error))?;
    if locals > u64::from(LOCALS_PER_FUNCTION_MAX) {
        return Err(outline.in_function(function, format!("more than {LOCALS_PER_FUNCTION_MAX} locals")));
    }
    outline.locals += locals;
    if outline.locals > LOCALS_MAX {
        return Err(outline.in_function(function, format!("more than {LOCALS_MAX} locals of all functions")));
    }
    instructions(body).map_err(|rule| outline.in_function(function, rule))
}

fn locals(body: &FunctionBody<'_>) -> wasmparser::Result<u64> {
    body.get_locals_reader()?.into_iter().try_fold(0, |sum, local| Ok(sum + u64::from(local?.0)))
}

fn instructions(body: &FunctionBody<'_>) -> Result<(), String> {
    let mut reader = body.get_operators_reader().map_err(|error| error.to_string())?;
    let mut nesting = 0_u32;
    while !reader.eof() {
        let operator = reader.read().map_err(|error| error.to_string())?;
        if let Some(name) = refused(&operator) {
            return Err(format!("`{name}` may not be used"));
        }
        match operator {
            Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => nesting += 1,
            Operator::End => nesting = nesting.saturating_sub(1),
            _ => {}
        }
        if nesting > NESTING_MAX {
            return Err(format!("more than {NESTING_MAX} blocks within each other"));
        }
    }
    Ok(())
}

/// Instructions that change what no record keeps: tables, and which segments are left.
fn refused(operator: &Operator<'_>) -> Option<&'static str> {
    match operator {
        Operator::TableSet { .. } => Some("table.set"),
        Operator::TableGrow { .. } => Some("table.grow"),
        Operator::TableFill { .. } => Some("table.fill"),
        Operator::TableCopy { .. } => Some("table.copy"),
        Operator::TableInit { .. } => Some("table.init"),
        Operator::ElemDrop { .. } => Some("elem.drop"),
        Operator::DataDrop { .. } => Some("data.drop"),
        _ => None,
    }
}
