//! Which stripes of its memory a module has written, of [`STRIPE_BYTES`] each. The module notes them itself: before each instruction
//! that writes, instructions are put that set the stripe's byte in a second memory, the *dirty bytes*. So it costs a few instructions a
//! store to know what a run has written, on every machine, and nothing is asked of the kernel.
//!
//! A store notes the stripe of its first byte alone: it may reach into the next one by [`SPILL_BYTES`], so who reads the dirty
//! bytes looks there, too. Instructions that move many bytes note all their stripes.
//!
//! What is noted may be too much, never too little: an instruction that then traps has noted its stripe as well. Where it lies outside
//! of all that the memory may become, noting it traps as the instruction itself would have.

use wasm_encoder::{BlockType, Function, Instruction, MemArg, MemoryType, ValType};
use wasmparser::Operator;

/// Bytes of a stripe.
pub(crate) const STRIPE_BYTES: usize = 512;
/// The most bytes that a store writes behind the stripe which it notes: one less than its own.
pub(crate) const SPILL_BYTES: usize = 15;
/// The index of the memory of dirty bytes: the module's own is 0.
pub(super) const DIRTY_MEMORY: u32 = 1;

const STRIPE_BITS: i32 = STRIPE_BYTES.trailing_zeros() as i32;
const BYTE_OF_STRIPE: MemArg = MemArg { offset: 0, align: 0, memory_index: DIRTY_MEMORY };
const WASM_PAGE_BYTES: u64 = 64 << 10;

/// The memory that has a byte for each stripe of a memory of so many bytes at the most.
pub(super) fn memory(bytes_max: u64) -> MemoryType {
    let pages = bytes_max.div_ceil(STRIPE_BYTES as u64).div_ceil(WASM_PAGE_BYTES).max(1);
    MemoryType { minimum: pages, maximum: Some(pages), memory64: false, shared: false, page_size_log2: None }
}

/// How an instruction writes to memory.
#[derive(Clone, Copy)]
pub(super) enum Write {
    /// A value, at an address that is below it on the stack and an offset.
    Store { value: ValType, offset: u32 },
    /// As many bytes as the number on top says, from the address on that is third.
    Range,
}

/// How it writes, if it does. Whatever instruction is added to those that modules may use has to be looked at here: see the test.
pub(super) fn write(operator: &Operator<'_>) -> Option<Write> {
    let (value, memarg) = match operator {
        Operator::I32Store { memarg } | Operator::I32Store8 { memarg } | Operator::I32Store16 { memarg } => {
            (ValType::I32, memarg)
        }
        Operator::I64Store { memarg }
        | Operator::I64Store8 { memarg }
        | Operator::I64Store16 { memarg }
        | Operator::I64Store32 { memarg } => (ValType::I64, memarg),
        Operator::F32Store { memarg } => (ValType::F32, memarg),
        Operator::F64Store { memarg } => (ValType::F64, memarg),
        Operator::V128Store { memarg }
        | Operator::V128Store8Lane { memarg, .. }
        | Operator::V128Store16Lane { memarg, .. }
        | Operator::V128Store32Lane { memarg, .. }
        | Operator::V128Store64Lane { memarg, .. } => (ValType::V128, memarg),
        Operator::MemoryCopy { .. } | Operator::MemoryFill { .. } | Operator::MemoryInit { .. } => {
            return Some(Write::Range);
        }
        _ => return None,
    };
    let offset = u32::try_from(memarg.offset).expect("checked: memories have 32 bits");
    Some(Write::Store { value, offset })
}

/// Locals that hold operands while their stripe is noted, behind a function's own.
#[derive(Clone, Copy, Default)]
pub(super) struct Scratch {
    /// The first of three numbers.
    numbers: Option<u32>,
    /// By the types of [`WIDE`].
    wide: [Option<u32>; WIDE.len()],
}

const WIDE: [ValType; 4] = [ValType::I64, ValType::F32, ValType::F64, ValType::V128];

impl Scratch {
    /// What those writes need, and the locals that are added for it behind `first` ones.
    pub(super) fn of(writes: impl Iterator<Item = Write>, first: u32) -> (Self, Vec<(u32, ValType)>) {
        let (mut scratch, mut added) = (Self::default(), Vec::new());
        let mut next = first;
        let mut add = |count, ty| {
            added.push((count, ty));
            next += count;
            next - count
        };
        for write in writes {
            scratch.numbers.get_or_insert_with(|| add(3, ValType::I32));
            if let Write::Store { value, .. } = write
                && let Some(place) = WIDE.iter().position(|ty| *ty == value)
            {
                scratch.wide[place].get_or_insert_with(|| add(1, value));
            }
        }
        (scratch, added)
    }

    fn numbers(&self) -> [u32; 3] {
        let first = self.numbers.expect("there are some where something is written");
        [first, first + 1, first + 2]
    }

    fn value(&self, ty: ValType) -> u32 {
        let wide = WIDE.iter().position(|wide| *wide == ty).and_then(|place| self.wide[place]);
        wide.unwrap_or(self.numbers()[1])
    }

    /// Notes what the next instruction writes. Its operands stay where they are.
    pub(super) fn note(&self, write: Write, function: &mut Function) {
        match write {
            Write::Store { value, offset } => self.note_store(value, offset, function),
            Write::Range => self.note_range(function),
        }
    }

    fn note_store(&self, ty: ValType, offset: u32, function: &mut Function) {
        let (address, value) = (self.numbers()[0], self.value(ty));
        put(
            function,
            &[Instruction::LocalSet(value), Instruction::LocalTee(address), Instruction::LocalGet(address)],
        );
        if offset > 0 {
            // An address that this wraps around is outside of memory, and the store traps.
            put(function, &[Instruction::I32Const(offset.cast_signed()), Instruction::I32Add]);
        }
        put(
            function,
            &[
                Instruction::I32Const(STRIPE_BITS),
                Instruction::I32ShrU,
                Instruction::I32Const(1),
                Instruction::I32Store8(BYTE_OF_STRIPE),
                Instruction::LocalGet(value),
            ],
        );
    }

    /// The first and the last stripe, and those in between if there are any; a range that wraps around is outside of memory.
    fn note_range(&self, function: &mut Function) {
        let [start, source, length] = self.numbers();
        let (first, last) = (self.first(), self.last());
        let set = [Instruction::I32Const(1), Instruction::I32Store8(BYTE_OF_STRIPE)];
        let operands =
            [Instruction::LocalSet(length), Instruction::LocalSet(source), Instruction::LocalSet(start)];
        let if_any = [Instruction::LocalGet(length), Instruction::If(BlockType::Empty)];
        for part in [&operands[..], &if_any, &first, &set, &last, &set] {
            put(function, part);
        }
        let if_many = [
            Instruction::I32Sub,
            Instruction::I32Const(1),
            Instruction::I32GtU,
            Instruction::If(BlockType::Empty),
        ];
        for part in [&last[..], &first, &if_many, &first, &[Instruction::I32Const(1)], &last, &first] {
            put(function, part);
        }
        let fill = [Instruction::I32Sub, Instruction::MemoryFill(DIRTY_MEMORY), Instruction::End];
        let back =
            [Instruction::LocalGet(start), Instruction::LocalGet(source), Instruction::LocalGet(length)];
        for part in [&fill[..], &[Instruction::End], &back] {
            put(function, part);
        }
    }

    /// The number of a range's first stripe.
    fn first(&self) -> [Instruction<'static>; 3] {
        let [start, ..] = self.numbers();
        [Instruction::LocalGet(start), Instruction::I32Const(STRIPE_BITS), Instruction::I32ShrU]
    }

    /// The number of a range's last stripe.
    fn last(&self) -> [Instruction<'static>; 7] {
        let [start, _, length] = self.numbers();
        [
            Instruction::LocalGet(start),
            Instruction::LocalGet(length),
            Instruction::I32Add,
            Instruction::I32Const(1),
            Instruction::I32Sub,
            Instruction::I32Const(STRIPE_BITS),
            Instruction::I32ShrU,
        ]
    }
}

fn put(function: &mut Function, instructions: &[Instruction<'_>]) {
    for instruction in instructions {
        function.instruction(instruction);
    }
}

#[cfg(test)]
mod tests {
    /// Names of the instructions, of the proposals that modules may use, that have to do with memory and do more than read it.
    macro_rules! names {
        ($(@$proposal:ident $op:ident $({ $($arg:ident: $ty:ty),* })? => $visit:ident ($($ann:tt)*))*) => {
            [$((stringify!($proposal), stringify!($op), concat!($($(stringify!($arg), " "),*)?))),*]
        };
    }

    #[test]
    fn each_instruction_that_writes_memory_is_known() {
        let all = wasmparser::for_each_operator!(names);
        let usable =
            ["mvp", "sign_extension", "saturating_float_to_int", "bulk_memory", "reference_types", "simd"];
        let touches = |args: &str| args.split(' ').any(|arg| arg.contains("mem"));
        let reads = |name: &str| name.contains("Load") || name == "MemorySize" || name == "MemoryGrow";
        let writing = all
            .iter()
            .filter(|(proposal, name, args)| usable.contains(proposal) && touches(args) && !reads(name));
        let mut names: Vec<_> = writing.map(|(_, name, _)| *name).collect();
        names.sort_unstable();
        let known = [
            "F32Store",
            "F64Store",
            "I32Store",
            "I32Store16",
            "I32Store8",
            "I64Store",
            "I64Store16",
            "I64Store32",
            "I64Store8",
            "MemoryCopy",
            "MemoryFill",
            "MemoryInit",
            "V128Store",
            "V128Store16Lane",
            "V128Store32Lane",
            "V128Store64Lane",
            "V128Store8Lane",
        ];
        assert_eq!(names, known);
    }
}
