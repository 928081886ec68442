//! Whether bytes are a module that may run here. Bounds come first, then our own rules, then the rules of WebAssembly.

use objects_state::guest::Rejected;
use wasmparser::{BinaryReaderError, Encoding, Parser, Payload, Validator, WasmFeatures};

use super::{Outline, bounds, code, exports, imports};
use crate::description::{Description, SECTION};
use crate::limits::{
    EXPORTS_MAX, FUNCTIONS_MAX, GLOBALS_MAX, IMPORTS_MAX, MODULE_BYTES_MAX, RUNNER_BYTES_MAX, SEGMENTS_MAX,
    SOURCE_BYTES_MAX, TYPES_MAX,
};
use crate::rejected::rejected;

/// The proposals that modules may use. All results of their instructions follow from their operands.
pub(crate) const FEATURES: WasmFeatures = WasmFeatures::MUTABLE_GLOBAL
    .union(WasmFeatures::SATURATING_FLOAT_TO_INT)
    .union(WasmFeatures::SIGN_EXTENSION)
    .union(WasmFeatures::REFERENCE_TYPES)
    .union(WasmFeatures::MULTI_VALUE)
    .union(WasmFeatures::BULK_MEMORY)
    .union(WasmFeatures::SIMD)
    .union(WasmFeatures::FLOATS);

/// Looks at a module as an upload does: quickly, and without compiling it.
///
/// # Errors
/// It cannot be a version.
pub fn check(module: &[u8], source: Option<&[u8]>) -> Result<Description, Rejected> {
    Ok(checked(module, source)?.described())
}

/// Looks at a module; what was found serves the next step.
pub(crate) fn checked<'a>(module: &'a [u8], source: Option<&[u8]>) -> Result<Outline<'a>, Rejected> {
    sizes(module, source)?;
    let mut outline = Outline { module, ..Outline::default() };
    for payload in Parser::new(0).parse_all(module) {
        note(&mut outline, payload.map_err(broken)?)?;
    }
    let description = outline.described();
    bounds::memory(outline.memory.as_ref(), description.memory_bytes)?;
    exports::check(&outline)?;
    if source.is_some() && !outline.is_runner() {
        return Err(rejected("comes with a source, but exports no `init_source`"));
    }
    Validator::new_with_features(FEATURES).validate_all(module).map_err(broken)?;
    Ok(outline)
}

fn sizes(module: &[u8], source: Option<&[u8]>) -> Result<(), Rejected> {
    let most = if source.is_some() { RUNNER_BYTES_MAX } else { MODULE_BYTES_MAX };
    if module.len() > most {
        return Err(rejected(format!("has {} bytes, more than {most}", module.len())));
    }
    if source.is_some_and(|source| source.len() > SOURCE_BYTES_MAX) {
        return Err(rejected(format!("comes with a source of more than {SOURCE_BYTES_MAX} bytes")));
    }
    Ok(())
}

fn broken(error: BinaryReaderError) -> Rejected {
    rejected(format!("is no valid module: {error}"))
}

fn note<'a>(outline: &mut Outline<'a>, payload: Payload<'a>) -> Result<(), Rejected> {
    match payload {
        Payload::Version { encoding: Encoding::Component, .. } => {
            Err(rejected("is a component, not a core module"))
        }
        Payload::TypeSection(reader) => {
            bounds::at_most(reader.count(), TYPES_MAX, "types")?;
            types(outline, reader)
        }
        Payload::ImportSection(reader) => imports_section(outline, reader),
        Payload::FunctionSection(reader) => {
            bounds::at_most(reader.count(), FUNCTIONS_MAX, "functions")?;
            reader.into_iter().try_for_each(|ty| {
                outline.functions.push(ty.map_err(broken)?);
                Ok(())
            })
        }
        Payload::CodeSectionEntry(body) => code::note(outline, &body),
        Payload::CustomSection(section) if section.name() == SECTION => {
            if outline.description.is_some() {
                return Err(rejected(format!("has two sections `{SECTION}`")));
            }
            outline.description = Some(Description::parse(section.data())?);
            Ok(())
        }
        other => note_rest(outline, other),
    }
}

fn note_rest<'a>(outline: &mut Outline<'a>, payload: Payload<'a>) -> Result<(), Rejected> {
    match payload {
        Payload::TableSection(reader) => {
            reader.into_iter().try_for_each(|table| bounds::table(outline, &table.map_err(broken)?.ty))
        }
        Payload::MemorySection(reader) => {
            bounds::at_most(reader.count(), 1, "memories")?;
            for memory in reader {
                outline.memory = Some(memory.map_err(broken)?);
            }
            Ok(())
        }
        Payload::GlobalSection(reader) => globals(outline, reader),
        Payload::ExportSection(reader) => {
            bounds::at_most(reader.count(), EXPORTS_MAX, "exports")?;
            reader.into_iter().try_for_each(|export| exports::note(outline, &export.map_err(broken)?))
        }
        Payload::StartSection { func, .. } => {
            outline.start = Some(func);
            Ok(())
        }
        Payload::ElementSection(reader) => bounds::at_most(reader.count(), SEGMENTS_MAX, "element segments"),
        Payload::DataSection(reader) => bounds::at_most(reader.count(), SEGMENTS_MAX, "data segments"),
        Payload::CodeSectionStart { count, .. } => bounds::at_most(count, FUNCTIONS_MAX, "functions"),
        _ => Ok(()),
    }
}

fn types(outline: &mut Outline<'_>, reader: wasmparser::TypeSectionReader<'_>) -> Result<(), Rejected> {
    for (index, ty) in reader.into_iter_err_on_gc_types().enumerate() {
        let ty = ty.map_err(broken)?;
        bounds::function_type(index, &ty)?;
        outline.types.push(ty);
    }
    Ok(())
}

fn imports_section(
    outline: &mut Outline<'_>,
    reader: wasmparser::ImportSectionReader<'_>,
) -> Result<(), Rejected> {
    bounds::at_most(reader.count(), IMPORTS_MAX, "imports")?;
    for import in reader.into_imports() {
        let import = import.map_err(broken)?;
        if let Some(refusal) = imports::refusal(&import, &outline.types) {
            return Err(rejected(refusal));
        }
        let wasmparser::TypeRef::Func(ty) = import.ty else { continue };
        outline.imported += 1;
        bounds::at_most(outline.imported, IMPORTS_MAX, "imports")?;
        outline.functions.push(ty);
    }
    Ok(())
}

fn globals(outline: &mut Outline<'_>, reader: wasmparser::GlobalSectionReader<'_>) -> Result<(), Rejected> {
    bounds::at_most(reader.count(), GLOBALS_MAX, "globals")?;
    for (index, global) in reader.into_iter().enumerate() {
        let ty = global.map_err(broken)?.ty;
        if ty.mutable && ty.content_type.is_reference_type() {
            return Err(rejected(format!("global {index} is a reference that changes: no record keeps it")));
        }
        outline.globals.push(ty);
    }
    Ok(())
}
