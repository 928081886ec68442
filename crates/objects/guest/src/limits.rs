//! How much a module may have, and how much a run of it may do. Checked before anything is compiled, or as it runs.
//!
//! They are constants and no configuration: results depend on them, so all members must have the same. What a member alone
//! decides, how many copies it keeps, stands in [`crate::Settings`].

/// Bytes of a module.
pub const MODULE_BYTES_MAX: usize = 16 << 20;
/// Bytes of a runner: a module that comes with a source.
pub const RUNNER_BYTES_MAX: usize = 64 << 20;
/// Bytes of a runner's source.
pub const SOURCE_BYTES_MAX: usize = 4 << 20;
/// Function types.
pub const TYPES_MAX: u32 = 10_000;
/// Parameters of a function.
pub const PARAMETERS_MAX: usize = 64;
/// Results of a function.
pub const RESULTS_MAX: usize = 16;
/// Functions that are imported.
pub const IMPORTS_MAX: u32 = 200;
/// Functions of the module's own.
pub const FUNCTIONS_MAX: u32 = 100_000;
/// Bytes of one function's code.
pub const FUNCTION_BYTES_MAX: usize = 1 << 20;
/// Locals of one function.
pub const LOCALS_PER_FUNCTION_MAX: u32 = 10_000;
/// Locals of all functions: a few bytes of code declare thousands.
pub const LOCALS_MAX: u64 = 2_000_000;
/// Blocks within blocks.
pub const NESTING_MAX: u32 = 4_000;
/// Globals.
pub const GLOBALS_MAX: u32 = 10_000;
/// Exports.
pub const EXPORTS_MAX: u32 = 10_000;
/// Tables.
pub const TABLES_MAX: u32 = 8;
/// Elements of all tables.
pub const TABLE_ELEMENTS_MAX: u64 = 100_000;
/// Segments of elements, and of data.
pub const SEGMENTS_MAX: u32 = 100_000;
/// Bytes of the description in the module.
pub const DESCRIPTION_BYTES_MAX: usize = 256 << 10;

/// Bytes of memory of a module that does not say how much it wants.
pub const MEMORY_BYTES: u64 = 64 << 20;
/// The most that it may want.
pub const MEMORY_BYTES_MAX: u64 = 1 << 30;
/// Units of fuel of a run, of a module that does not say how much it wants.
pub const FUEL: u64 = 200_000_000;
/// The most that it may want: some ten times 20 ms.
pub const FUEL_MAX: u64 = 2_000_000_000;
/// How many runs' fuel preparing an image may take: a runner starts an interpreter and reads a source.
pub const IMAGE_RUNS: u64 = 25;

/// Bytes of stack of a run, as functions count them: 128 for a call, 8 for a value.
pub const STACK_BYTES: i32 = 512 << 10;

/// Bytes of a result, and of each result that a waiting call gets.
pub const RESULT_BYTES_MAX: usize = objects_state::limits::VALUE_BYTES_MAX;
/// Bytes of what `save` gives.
pub const SAVED_BYTES_MAX: usize = 64 << 20;
/// Things that one run may ask of the state: it may wake all who wait for its object.
pub const ACTS_MAX: usize = 16_384;
/// Bytes that these may have together.
pub const ACT_BYTES_MAX: usize = 4 << 20;
/// Bytes of a topic and of a code of a module's own.
pub const WORD_BYTES_MAX: usize = 128;
/// Bytes of the name of an object with that of its type.
pub const TARGET_BYTES_MAX: usize = 320;
/// Bytes of what people are told beside such a code.
pub const DETAIL_BYTES_MAX: usize = 4_096;
/// Bytes of one line of a module's log; the rest is cut off.
pub const LOG_LINE_BYTES_MAX: usize = 1_024;
/// Lines that are kept of all modules.
pub const LOG_LINES_MAX: usize = 1_024;
/// Functions that a trap names.
pub const FRAMES_MAX: usize = 16;
