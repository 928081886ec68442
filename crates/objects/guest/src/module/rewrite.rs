//! What a checked module is made into:
//! - its functions count fuel and stack (`metered.rs`), and note which pages they write (`dirty.rs`) in a memory that is added;
//! - its mutable globals are exported, since they belong to an object's state;
//! - its start function and its data segments are taken out: the *image* holds what they do, and an object's memory begins as a
//!   copy of it. Segments stay as passive ones (`memory.init` may use them), active ones as empty ones.

use objects_state::guest::Rejected;
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{
    BlockType, CodeSection, DataSection, ExportKind, ExportSection, GlobalSection, GlobalType, MemorySection,
    RawSection, SectionId, TypeSection, ValType,
};
use wasmparser::{
    ConstExpr, DataKind, FuncValidator, FunctionBody, Operator, Parser, Payload, ValidPayload, Validator,
    ValidatorResources, WasmFeatures,
};

use super::Outline;
use super::dirty::{self, DIRTY_MEMORY};
use super::metered::{self, Counters};
use super::validate::FEATURES;
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
/// The global that counts fuel: an i64.
pub(crate) const FUEL: &str = "diwan:fuel";
/// The global that counts bytes of stack: an i32.
pub(crate) const STACK: &str = "diwan:stack";

/// The memory of dirty bytes.
pub(crate) const DIRTY: &str = "diwan:dirty";

/// The proposals that what comes out uses.
pub(crate) const REWRITTEN_FEATURES: WasmFeatures = FEATURES.union(WasmFeatures::MULTI_MEMORY);

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
    let mut parts = Parts::new(outline);
    let mut validator = Validator::new_with_features(FEATURES);
    for payload in Parser::new(0).parse_all(outline.module) {
        let payload = payload.map_err(unencodable)?;
        match validator.payload(&payload).map_err(unencodable)? {
            ValidPayload::Func(function, body) => {
                let mut function = function.into_validator(Default::default());
                parts.function(&body, &mut function)?;
            }
            _ => parts.take(payload)?,
        }
    }
    Ok(parts.finish())
}

/// A module under way.
struct Parts<'o, 'a> {
    outline: &'o Outline<'a>,
    sections: Sections,
    types: TypeSection,
    /// Results of the types of blocks that are added, behind the module's own types.
    blocks: Vec<Vec<ValType>>,
    memories: MemorySection,
    globals: GlobalSection,
    exports: ExportSection,
    code: CodeSection,
    /// Functions that were written.
    bodies: u32,
    names: Option<&'a [u8]>,
    segments: Vec<Segment<'a>>,
}

impl<'o, 'a> Parts<'o, 'a> {
    fn new(outline: &'o Outline<'a>) -> Self {
        Self {
            outline,
            sections: Sections::default(),
            types: TypeSection::new(),
            blocks: Vec::new(),
            memories: MemorySection::new(),
            globals: GlobalSection::new(),
            exports: ExportSection::new(),
            code: CodeSection::new(),
            bodies: 0,
            names: None,
            segments: Vec::new(),
        }
    }

    /// Takes what is no function.
    fn take(&mut self, payload: Payload<'a>) -> Result<(), Rejected> {
        let mut copy = RoundtripReencoder;
        match payload {
            Payload::TypeSection(reader) => copy.parse_type_section(&mut self.types, reader),
            Payload::MemorySection(reader) => copy.parse_memory_section(&mut self.memories, reader),
            Payload::GlobalSection(reader) => copy.parse_global_section(&mut self.globals, reader),
            Payload::ExportSection(reader) => copy.parse_export_section(&mut self.exports, reader),
            Payload::DataSection(reader) => {
                self.sections.put(SectionId::Data, &data(reader, &mut self.segments)?);
                Ok(())
            }
            Payload::StartSection { .. } | Payload::CodeSectionStart { .. } => Ok(()),
            Payload::CustomSection(section) if section.name() == "name" => {
                self.names = Some(section.data());
                Ok(())
            }
            other => {
                self.sections.copy(self.outline.module, &other);
                Ok(())
            }
        }
        .map_err(unencodable)
    }

    fn function(
        &mut self,
        body: &FunctionBody<'_>,
        validator: &mut FuncValidator<ValidatorResources>,
    ) -> Result<(), Rejected> {
        let index = self.outline.imported + self.bodies;
        self.bodies += 1;
        let block = self.block(index)?;
        let counters = counters(self.outline);
        self.code.function(&metered::function(self.outline, index, body, validator, counters, block)?);
        Ok(())
    }

    /// The type of a block that gives what a function gives.
    fn block(&mut self, function: u32) -> Result<BlockType, Rejected> {
        let results = self.outline.signature(function).map_or(&[][..], |ty| ty.results());
        match results {
            [] => Ok(BlockType::Empty),
            [result] => Ok(BlockType::Result(RoundtripReencoder.val_type(*result).map_err(unencodable)?)),
            several => {
                let results = RoundtripReencoder.val_types(several.to_vec()).map_err(unencodable)?;
                let known = self.blocks.iter().position(|block| *block == results);
                let place = known.unwrap_or_else(|| {
                    self.types.ty().function([], results.iter().copied());
                    self.blocks.push(results);
                    self.blocks.len() - 1
                });
                Ok(BlockType::FunctionType((self.outline.types.len() + place) as u32))
            }
        }
    }

    fn finish(mut self) -> Rewritten<'a> {
        let globals = export_globals(self.outline, &mut self.exports);
        let counters = counters(self.outline);
        for (name, index, ty, zero) in [
            (FUEL, counters.fuel, ValType::I64, wasm_encoder::ConstExpr::i64_const(0)),
            (STACK, counters.stack, ValType::I32, wasm_encoder::ConstExpr::i32_const(0)),
        ] {
            self.globals.global(GlobalType { val_type: ty, mutable: true, shared: false }, &zero);
            self.exports.export(name, ExportKind::Global, index);
        }
        self.memories.memory(dirty::memory(self.outline.described().memory_bytes));
        self.exports.export(DIRTY, ExportKind::Memory, DIRTY_MEMORY);
        self.sections.put(SectionId::Type, &self.types);
        self.sections.put(SectionId::Memory, &self.memories);
        self.sections.put(SectionId::Global, &self.globals);
        self.sections.put(SectionId::Export, &self.exports);
        self.sections.put(SectionId::Code, &self.code);
        let mut module = self.sections.finish();
        if let Some(names) = self.names {
            module.section(&wasm_encoder::CustomSection { name: "name".into(), data: names.into() });
        }
        Rewritten { module: module.finish(), segments: self.segments, globals }
    }
}

/// The globals that are added.
fn counters(outline: &Outline<'_>) -> Counters {
    let fuel = u32::try_from(outline.globals.len()).expect("there are few");
    Counters { fuel, stack: fuel + 1 }
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
