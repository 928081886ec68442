//! Fuel and stack, written into a function's code as instructions on two globals, so that where a run stops belongs to the program
//! and not to the engine.
//!
//! *Fuel.* Each stretch of code without a branch or a join takes its price as it begins; loops and functions look whether
//! something is left. In between a run may owe a little, at most the price of one function's code. An instruction that moves
//! bytes pays for them, and looks.
//!
//! *Stack.* A function that calls takes its frame and gives it back at its end, which is therefore one place: the code lies in a block
//! that `return` leaves. A function that calls nothing is let off: there is one of these at a time.
//!
//! What is added for other ends (`dirty.rs`) is not counted: results depend on what a module does, not on how it is watched.

use objects_state::guest::Rejected;
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{BlockType, Function, Instruction, ValType};
use wasmparser::{FuncValidator, FunctionBody, Operator, ValidatorResources};

use super::Outline;
use super::dirty::{self, Scratch};
use super::price::{LOOK_UNITS, Price, price};
use crate::rejected::rejected;

/// The globals that count.
#[derive(Clone, Copy)]
pub(super) struct Counters {
    /// i64: units left.
    pub(super) fuel: u32,
    /// i32: bytes left.
    pub(super) stack: u32,
}

/// Bytes of a frame beside its values: what the machine saves.
const FRAME_BYTES: u32 = 128;
/// Bytes of a value.
const VALUE_BYTES: u32 = 8;

/// What is found of a function before it is written.
struct Plan<'a> {
    operators: Vec<Operator<'a>>,
    /// Price of the stretch that begins with an instruction; 0 where none begins.
    stretches: Vec<u64>,
    calls: bool,
    moves: bool,
    frame_bytes: u32,
    /// The first local that is not the function's own.
    locals: u32,
}

/// Validates a function and writes it anew. `block` is the type of a block with its results.
pub(super) fn function(
    outline: &Outline<'_>,
    index: u32,
    body: &FunctionBody<'_>,
    validator: &mut FuncValidator<ValidatorResources>,
    counters: Counters,
    block: BlockType,
) -> Result<Function, Rejected> {
    let plan = plan(outline, index, body, validator)
        .map_err(|error| rejected(format!("is no valid module: {error}")))?;
    written(body, &plan, counters, block).map_err(|error| rejected(format!("cannot be rewritten: {error}")))
}

fn plan<'a>(
    outline: &Outline<'_>,
    index: u32,
    body: &FunctionBody<'a>,
    validator: &mut FuncValidator<ValidatorResources>,
) -> wasmparser::Result<Plan<'a>> {
    validator.read_locals(&mut body.get_binary_reader())?;
    let parameters = outline.signature(index).map_or(0, |ty| ty.params().len() as u32);
    let mut locals = parameters;
    for group in body.get_locals_reader()? {
        locals = locals.saturating_add(group?.0);
    }
    let mut plan = Plan {
        operators: Vec::new(),
        stretches: Vec::new(),
        calls: false,
        moves: false,
        frame_bytes: 0,
        locals,
    };
    let (mut height, mut begin) = (0, 0);
    for operator in body.get_operators_reader()?.into_iter_with_offsets() {
        let (operator, offset) = operator?;
        validator.op(offset, &operator)?;
        height = height.max(validator.operand_stack_height());
        begin = plan.take(operator, begin);
    }
    plan.frame_bytes = FRAME_BYTES + VALUE_BYTES * locals.saturating_add(height);
    Ok(plan)
}

impl<'a> Plan<'a> {
    /// Takes the next instruction, which belongs to the stretch that began at `begin`; where that of the one after it begins.
    fn take(&mut self, operator: Operator<'a>, begin: usize) -> usize {
        let price = price(&operator);
        self.stretches.push(0);
        self.stretches[begin] += price.units;
        self.calls |= matches!(operator, Operator::Call { .. } | Operator::CallIndirect { .. });
        self.moves |= price.moves.is_some();
        self.operators.push(operator);
        if price.ends_stretch { self.operators.len() } else { begin }
    }
}

fn written(
    body: &FunctionBody<'_>,
    plan: &Plan<'_>,
    counters: Counters,
    block: BlockType,
) -> Result<Function, wasm_encoder::reencode::Error> {
    let mut code = Code::new(body, plan, counters)?;
    if plan.calls {
        code.take_stack(plan.frame_bytes);
        code.function.instruction(&Instruction::Block(block));
    }
    let mut nesting = 0;
    let mut is_loop = true;
    for (operator, units) in plan.operators.iter().zip(&plan.stretches) {
        code.take_fuel(*units, is_loop);
        is_loop = matches!(operator, Operator::Loop { .. });
        match operator {
            Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => nesting += 1,
            Operator::End => nesting -= 1,
            _ => {}
        }
        code.pay_for_bytes(operator);
        if let Some(write) = dirty::write(operator) {
            code.scratch.note(write, &mut code.function);
        }
        match operator {
            // Out of the block around everything.
            Operator::Return if plan.calls => _ = code.function.instruction(&Instruction::Br(nesting as u32)),
            other => {
                let instruction = RoundtripReencoder.instruction(other.clone())?;
                code.function.instruction(&instruction);
            }
        }
    }
    if plan.calls {
        code.give_stack(plan.frame_bytes);
        code.function.instruction(&Instruction::End);
    }
    Ok(code.function)
}

struct Code {
    function: Function,
    counters: Counters,
    /// A local for a number of bytes.
    local: u32,
    scratch: Scratch,
}

impl Code {
    /// None yet, with the function's locals and those that are added.
    fn new(
        body: &FunctionBody<'_>,
        plan: &Plan<'_>,
        counters: Counters,
    ) -> Result<Self, wasm_encoder::reencode::Error> {
        let mut locals = Vec::new();
        for group in body.get_locals_reader()? {
            let (count, ty) = group?;
            locals.push((count, RoundtripReencoder.val_type(ty)?));
        }
        locals.extend(plan.moves.then_some((1, ValType::I32)));
        let first = plan.locals + u32::from(plan.moves);
        let (scratch, added) = Scratch::of(plan.operators.iter().filter_map(dirty::write), first);
        locals.extend(added);
        Ok(Self { function: Function::new(locals), counters, local: plan.locals, scratch })
    }

    fn all(&mut self, instructions: &[Instruction<'_>]) {
        for instruction in instructions {
            self.function.instruction(instruction);
        }
    }

    fn take_stack(&mut self, bytes: u32) {
        let stack = self.counters.stack;
        self.all(&[
            Instruction::GlobalGet(stack),
            Instruction::I32Const(bytes.cast_signed()),
            Instruction::I32Sub,
            Instruction::GlobalSet(stack),
            Instruction::GlobalGet(stack),
            Instruction::I32Const(0),
            Instruction::I32LtS,
            Instruction::If(BlockType::Empty),
            Instruction::Unreachable,
            Instruction::End,
        ]);
    }

    fn give_stack(&mut self, bytes: u32) {
        let stack = self.counters.stack;
        self.all(&[
            Instruction::GlobalGet(stack),
            Instruction::I32Const(bytes.cast_signed()),
            Instruction::I32Add,
            Instruction::GlobalSet(stack),
        ]);
    }

    fn take_fuel(&mut self, units: u64, looks: bool) {
        let fuel = self.counters.fuel;
        let units = if looks { units + LOOK_UNITS } else { units };
        if units > 0 {
            self.all(&[
                Instruction::GlobalGet(fuel),
                Instruction::I64Const(units.cast_signed()),
                Instruction::I64Sub,
                Instruction::GlobalSet(fuel),
            ]);
        }
        if looks {
            self.look();
        }
    }

    fn look(&mut self) {
        self.all(&[
            Instruction::GlobalGet(self.counters.fuel),
            Instruction::I64Const(0),
            Instruction::I64LtS,
            Instruction::If(BlockType::Empty),
            Instruction::Unreachable,
            Instruction::End,
        ]);
    }

    /// The number on top of the stack says how many; it stays there.
    fn pay_for_bytes(&mut self, operator: &Operator<'_>) {
        let Price { moves: Some(moved), .. } = price(operator) else { return };
        let (fuel, local) = (self.counters.fuel, self.local);
        self.all(&[
            Instruction::LocalTee(local),
            Instruction::GlobalGet(fuel),
            Instruction::LocalGet(local),
            Instruction::I32Const(0),
            Instruction::LocalGet(local),
            Instruction::I32Const(moved.most.cast_signed()),
            Instruction::I32LeU,
            Instruction::Select,
            Instruction::I64ExtendI32U,
            Instruction::I64Const(moved.multiplied),
            Instruction::I64Mul,
            Instruction::I64Const(moved.shifted),
            Instruction::I64ShrU,
            Instruction::I64Sub,
            Instruction::GlobalSet(fuel),
        ]);
        self.look();
    }
}
