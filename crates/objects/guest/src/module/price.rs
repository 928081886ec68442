//! What an instruction costs: about a unit for each tenth of a nanosecond that it takes.

use wasmparser::Operator;

use crate::limits::MEMORY_BYTES_MAX;

/// The price of an instruction.
pub(super) struct Price {
    pub(super) units: u64,
    /// What it pays for the number on top of the stack besides.
    pub(super) moves: Option<Moved>,
    /// Whether what follows may be reached in another way, or not at all.
    pub(super) ends_stretch: bool,
}

/// A price by size.
pub(super) struct Moved {
    pub(super) multiplied: i64,
    pub(super) shifted: i64,
    /// More is refused anyway, and costs nothing.
    pub(super) most: u32,
}

/// Eight bytes are copied for a unit.
const BYTES: Moved = Moved { multiplied: 1, shifted: 3, most: u32::MAX };
/// A page of 64 KiB that the memory grows by: the kernel clears it.
const PAGES: Moved = Moved { multiplied: 1024, shifted: 0, most: (MEMORY_BYTES_MAX >> 16) as u32 };
/// A call: its frame, its way there and back.
const CALL_UNITS: u64 = 8;
/// Looking whether something is left, at each beginning of a loop or a function.
pub(super) const LOOK_UNITS: u64 = 5;
/// A division or a root.
const DIVISION_UNITS: u64 = 10;
/// An instruction that moves bytes, before the first one.
const MOVE_UNITS: u64 = 50;
/// One that makes the memory larger, or does not.
const GROW_UNITS: u64 = 1_000;

pub(super) fn price(operator: &Operator<'_>) -> Price {
    let (units, ends_stretch) = match operator {
        Operator::Nop | Operator::Drop | Operator::Block { .. } | Operator::Unreachable => (0, false),
        Operator::Loop { .. } | Operator::Else | Operator::End => (0, true),
        Operator::If { .. } | Operator::Br { .. } | Operator::BrIf { .. } | Operator::BrTable { .. } => {
            (1, true)
        }
        Operator::Return => (1, true),
        Operator::Call { .. } | Operator::CallIndirect { .. } => (CALL_UNITS, false),
        Operator::MemoryCopy { .. } | Operator::MemoryFill { .. } | Operator::MemoryInit { .. } => {
            (MOVE_UNITS, false)
        }
        Operator::MemoryGrow { .. } => (GROW_UNITS, false),
        Operator::I32DivS | Operator::I32DivU | Operator::I32RemS | Operator::I32RemU => {
            (DIVISION_UNITS, false)
        }
        Operator::I64DivS | Operator::I64DivU | Operator::I64RemS | Operator::I64RemU => {
            (DIVISION_UNITS, false)
        }
        Operator::F32Div | Operator::F64Div | Operator::F32Sqrt | Operator::F64Sqrt => {
            (DIVISION_UNITS, false)
        }
        _ => (1, false),
    };
    let moves = match operator {
        Operator::MemoryCopy { .. } | Operator::MemoryFill { .. } | Operator::MemoryInit { .. } => {
            Some(BYTES)
        }
        Operator::MemoryGrow { .. } => Some(PAGES),
        _ => None,
    };
    Price { units, moves, ends_stretch }
}
