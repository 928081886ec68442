//! What a checked module is made into:
//! - its mutable globals are exported, since they belong to an object's state;
//! - its start function and its data segments are taken out: the *image* holds what they do, and an object's memory begins as a
//!   copy of it. Segments stay as passive ones (`memory.init` may use them), active ones as empty ones.

use objects_state::guest::Rejected;
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{DataSection, ExportKind, ExportSection, RawSection, SectionId};
use wasmparser::{ConstExpr, DataKind, Operator, Parser, Payload};

use super::Outline;
use crate::rejected::rejected;

/// A segment of data that the image begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment<'a> {
    pub(crate) offset: u32,
    pub(crate) data: &'a [u8],
}

/// A module that can be compiled, and what was taken out of it.
pub(crate) struct Rewritten<'a> {
    pub(crate) module: Vec<u8>,
    pub(crate) segments: Vec<Segment<'a>>,
    /// Export names of the mutable globals, in order.
    pub(crate) globals: Vec<String>,
}

/// Under which name something of ours is exported.
pub(crate) fn reserved_global(name: &str) -> String {
    format!("diwan:{name}")
}

/// The export that the start function became.
pub(crate) const START: &str = "diwan:start";

/// The order of sections in a module.
const ORDER: [SectionId; 11] = [
    SectionId::Type,
    SectionId::Import,
    SectionId::Function,
    SectionId::Table,
    SectionId::Memory,
    SectionId::Global,
    SectionId::Export,
    SectionId::Element,
    SectionId::DataCount,
    SectionId::Code,
    SectionId::Data,
];

/// Rewrites a checked module.
pub(crate) fn rewrite<'a>(outline: &Outline<'a>) -> Result<Rewritten<'a>, Rejected> {
    let mut sections = Sections::default();
    let mut segments = Vec::new();
    let mut exports = ExportSection::new();
    let mut names = None;
    for payload in Parser::new(0).parse_all(outline.module) {
        let payload = payload.map_err(|error| rejected(error.to_string()))?;
        match payload {
            Payload::ExportSection(reader) => {
                RoundtripReencoder.parse_export_section(&mut exports, reader).map_err(unencodable)?;
            }
            Payload::DataSection(reader) => sections.put(SectionId::Data, &data(reader, &mut segments)?),
            Payload::StartSection { .. } | Payload::CodeSectionEntry(_) => {}
            Payload::CustomSection(section) if section.name() == "name" => names = Some(section),
            other => sections.copy(outline.module, &other),
        }
    }
    let globals = export_globals(outline, &mut exports);
    sections.put(SectionId::Export, &exports);
    let mut module = sections.finish();
    if let Some(names) = names {
        module.section(&wasm_encoder::CustomSection { name: "name".into(), data: names.data().into() });
    }
    Ok(Rewritten { module: module.finish(), segments, globals })
}

fn unencodable(error: impl std::fmt::Display) -> Rejected {
    rejected(format!("cannot be rewritten: {error}"))
}

/// Exports what else is needed; names of the mutable globals.
fn export_globals(outline: &Outline<'_>, exports: &mut ExportSection) -> Vec<String> {
    let mut names = Vec::new();
    for (index, global) in (0_u32..).zip(&outline.globals).filter(|(_, global)| global.mutable) {
        debug_assert!(!global.content_type.is_reference_type(), "checked");
        let name = reserved_global(&format!("global-{index}"));
        exports.export(&name, ExportKind::Global, index);
        names.push(name);
    }
    if let Some(start) = outline.start {
        exports.export(START, ExportKind::Func, start);
    }
    names
}

/// Data segments without what is to be done once.
fn data<'a>(
    reader: wasmparser::DataSectionReader<'a>,
    segments: &mut Vec<Segment<'a>>,
) -> Result<DataSection, Rejected> {
    let mut section = DataSection::new();
    for (index, data) in reader.into_iter().enumerate() {
        let data = data.map_err(unencodable)?;
        match data.kind {
            DataKind::Passive => section.passive(data.data.iter().copied()),
            DataKind::Active { offset_expr, .. } => {
                let offset = constant(&offset_expr).ok_or_else(|| {
                    rejected(format!("data segment {index} has an offset that is no constant"))
                })?;
                segments.push(Segment { offset, data: data.data });
                section.passive([])
            }
        };
    }
    Ok(section)
}

fn constant(expression: &ConstExpr<'_>) -> Option<u32> {
    let mut reader = expression.get_operators_reader();
    let Operator::I32Const { value } = reader.read().ok()? else { return None };
    matches!(reader.read().ok()?, Operator::End).then_some(value.cast_unsigned())
}

/// Sections by their place in a module.
#[derive(Default)]
struct Sections {
    bodies: std::collections::BTreeMap<usize, Vec<u8>>,
}

impl Sections {
    fn put(&mut self, id: SectionId, section: &impl wasm_encoder::Encode) {
        let mut bytes = Vec::new();
        section.encode(&mut bytes);
        // A section encodes its length before its body; `RawSection` does so again.
        let start = bytes.iter().position(|byte| byte & 0x80 == 0).map_or(0, |last| last + 1);
        bytes.drain(..start);
        self.insert(id, bytes);
    }

    /// Takes over a section as it is.
    fn copy(&mut self, module: &[u8], payload: &Payload<'_>) {
        let Some((id, range)) = payload.as_section() else { return };
        if let Some(id) = ORDER.iter().find(|own| **own as u8 == id) {
            self.insert(*id, module[range].to_vec());
        }
    }

    fn insert(&mut self, id: SectionId, body: Vec<u8>) {
        let place = ORDER.iter().position(|own| *own as u8 == id as u8);
        self.bodies.insert(place.unwrap_or(ORDER.len()), body);
    }

    fn finish(self) -> wasm_encoder::Module {
        let mut module = wasm_encoder::Module::new();
        for (place, body) in &self.bodies {
            if let Some(id) = ORDER.get(*place) {
                module.section(&RawSection { id: *id as u8, data: body });
            }
        }
        module
    }
}
