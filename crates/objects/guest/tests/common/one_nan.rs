//! Gives a module one NaN where a float changes its width. The generator does so behind all other instructions that may give a
//! NaN; an interpreter keeps the bits of the one that it meets.

use core::convert::Infallible;

use wasm_encoder::reencode::{Error, Reencode};
use wasm_encoder::{CodeSection, Function, Ieee32, Ieee64, Instruction, Module, ValType};
use wasmparser::{CompositeInnerType, FunctionBody, Operator, Parser, Payload};

const NAN_32: u32 = 0x7fc0_0000;
const NAN_64: u64 = 0x7ff8_0000_0000_0000;

/// How many parameters each function has. The module imports none.
struct OneNan {
    parameters: std::vec::IntoIter<u32>,
}

/// The module with these instructions.
pub(super) fn one_nan(module: &[u8]) -> Vec<u8> {
    let mut out = Module::new();
    let mut pass = OneNan { parameters: parameters(module).into_iter() };
    pass.parse_core_module(&mut out, Parser::new(0), module).unwrap();
    out.finish()
}

fn parameters(module: &[u8]) -> Vec<u32> {
    let (mut types, mut functions) = (Vec::new(), Vec::new());
    for payload in Parser::new(0).parse_all(module) {
        match payload.unwrap() {
            Payload::TypeSection(section) => {
                let all = section.into_iter().flat_map(|group| group.unwrap().into_types());
                types.extend(all.map(|of| match of.composite_type.inner {
                    CompositeInnerType::Func(of) => of.params().len() as u32,
                    _ => 0,
                }));
            }
            Payload::FunctionSection(section) => {
                functions.extend(section.into_iter().map(|number| types[number.unwrap() as usize]));
            }
            _ => {}
        }
    }
    functions
}

impl Reencode for OneNan {
    type Error = Infallible;

    fn parse_function_body(
        &mut self,
        code: &mut CodeSection,
        body: FunctionBody<'_>,
    ) -> Result<(), Error<Infallible>> {
        let mut locals = Vec::new();
        let mut first = self.parameters.next().unwrap();
        for local in body.get_locals_reader()? {
            let (count, of) = local?;
            first += count;
            locals.push((count, self.val_type(of)?));
        }
        locals.extend([ValType::F32, ValType::F64, ValType::V128].map(|of| (1, of)));
        let mut function = Function::new(locals);
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            let operator = operators.read()?;
            let behind = behind(&operator, first);
            function.instruction(&self.instruction(operator)?);
            for one in &behind {
                function.instruction(one);
            }
        }
        code.function(&function);
        Ok(())
    }
}

/// What comes behind an operator. Locals for each width begin at `first`.
fn behind(operator: &Operator<'_>, first: u32) -> Vec<Instruction<'static>> {
    let (local, nan, is_equal, choose) = match operator {
        Operator::F32DemoteF64 => {
            (first, Instruction::F32Const(Ieee32::new(NAN_32)), Instruction::F32Eq, Instruction::Select)
        }
        Operator::F64PromoteF32 => {
            (first + 1, Instruction::F64Const(Ieee64::new(NAN_64)), Instruction::F64Eq, Instruction::Select)
        }
        Operator::F32x4DemoteF64x2Zero => {
            let nan = i128::from(NAN_32) * 0x0000_0001_0000_0001_0000_0001_0000_0001;
            (first + 2, Instruction::V128Const(nan), Instruction::F32x4Eq, Instruction::V128Bitselect)
        }
        Operator::F64x2PromoteLowF32x4 => {
            let nan = i128::from(NAN_64) * 0x0000_0000_0000_0001_0000_0000_0000_0001;
            (first + 2, Instruction::V128Const(nan), Instruction::F64x2Eq, Instruction::V128Bitselect)
        }
        _ => return Vec::new(),
    };
    let get = Instruction::LocalGet(local);
    vec![Instruction::LocalTee(local), nan, get.clone(), get, is_equal, choose]
}
