//! A version made ready: its machine code and its image. What becomes of it follows from its bytes.

use std::num::NonZeroUsize;
use std::sync::Arc;

use objects_state::guest::{Failure, Rejected};
use wasmtime::{Config, Linker, Module, WasmBacktraceDetails};

use crate::description::Description;
use crate::imports;
use crate::instance::{Instance, Recipe};
use crate::limits::{FRAMES_MAX, IMAGE_RUNS};
use crate::log::Log;
use crate::memory::{Creator, Image, Tracking};
use crate::module::{FEATURES, Segment, checked, rewrite};
use crate::rejected::rejected;

/// Bytes of the machine's stack that a run may take, twice of what it counts. A thread that runs modules has more than that.
const STACK_BYTES: usize = 1 << 20;
/// Addresses of a memory: all that 32 bits reach, so that the machine checks them and not the code.
const RESERVED_BYTES: u64 = 4 << 30;

/// A version that can be run.
pub(crate) struct Prepared {
    pub(crate) recipe: Recipe,
    pub(crate) description: Description,
    pub(crate) image: Arc<Image>,
    /// Registers of the image.
    pub(crate) registers: Vec<u8>,
    /// What its source says of itself, if it has one and its runner can tell.
    pub(crate) described: Option<Vec<u8>>,
}

impl Prepared {
    /// Makes a version ready.
    pub(crate) fn new(
        module: &[u8],
        source: Option<&[u8]>,
        tracking: Tracking,
        log: &Arc<Log>,
    ) -> Result<Self, Rejected> {
        let outline = checked(module, source)?;
        let rewritten = rewrite(&outline)?;
        let description = outline.described();
        let bytes_max = usize::try_from(description.memory_bytes).expect("a limit fits");
        let creator = Arc::new(Creator::new(bytes_max, tracking));
        let recipe = Recipe {
            pre: compiled(&rewritten.module, creator.clone())?,
            globals: rewritten.globals,
            bytes_max,
            log: log.clone(),
            tracking,
        };
        let mut first = Instance::new(&recipe).map_err(|failure| unprepared(&failure))?;
        fill(&mut first, &rewritten.segments)?;
        let described = first
            .initialize(source, IMAGE_RUNS * description.fuel)
            .map_err(|failure| unprepared(&failure))?;
        let described = Some(described).filter(|described| !described.is_empty());
        let image = Arc::new(Image::new(first.bytes()));
        creator.begin_as(image.clone());
        Ok(Self { registers: first.registers(), recipe, description, image, described })
    }
}

fn configuration(creator: Arc<Creator>) -> Config {
    let mut config = Config::new();
    config
        .wasm_features(!FEATURES, false)
        .cranelift_nan_canonicalization(true)
        .max_wasm_stack(STACK_BYTES)
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .wasm_backtrace_max_frames(NonZeroUsize::new(FRAMES_MAX))
        .memory_reservation(RESERVED_BYTES)
        .memory_may_move(false)
        .with_host_memory(creator);
    config
}

fn compiled(module: &[u8], creator: Arc<Creator>) -> Result<wasmtime::InstancePre<imports::Cell>, Rejected> {
    let engine = wasmtime::Engine::new(&configuration(creator));
    let engine = engine.unwrap_or_else(|error| panic!("no engine on this machine: {error}"));
    let module = Module::new(&engine, module);
    let module = module.map_err(|error| rejected(format!("does not compile: {error:#}")))?;
    let mut linker = Linker::new(&engine);
    imports::link(&mut linker)
        .unwrap_or_else(|error| panic!("the functions for modules do not fit: {error}"));
    linker.instantiate_pre(&module).map_err(|error| rejected(format!("cannot be linked: {error:#}")))
}

/// Does what the active segments of data ask for.
fn fill(instance: &mut Instance, segments: &[Segment<'_>]) -> Result<(), Rejected> {
    for (index, segment) in segments.iter().enumerate() {
        let start = segment.offset as usize;
        let room = instance.bytes_mut().get_mut(start..start + segment.data.len());
        let room =
            room.ok_or_else(|| rejected(format!("data segment {index} does not fit into the memory")))?;
        room.copy_from_slice(segment.data);
    }
    Ok(())
}

fn unprepared(failure: &Failure) -> Rejected {
    rejected(match failure {
        Failure::Refused { code, detail } => format!("refused its source: {code}: {detail}"),
        Failure::Trapped { detail } | Failure::Broken { detail } => {
            format!("cannot be initialized: {detail}")
        }
        Failure::OutOfFuel => "cannot be initialized: its fuel is used up".to_owned(),
        Failure::StackExhausted => "cannot be initialized: its stack is used up".to_owned(),
        Failure::OutOfMemory => "cannot be initialized: it may not have more memory".to_owned(),
    })
}
