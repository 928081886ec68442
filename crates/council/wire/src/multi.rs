//! The framing of multi and multiRead.

use alloc::vec::Vec;

use crate::{Create, Malformed, OpCode, Reader, Writer};

/// What stands before each operation and each result of a multi.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultiHeader {
    /// The operation, or -1 for an error result and for the end.
    pub operation: i32,
    /// Whether this is the end.
    pub done: bool,
    /// The error of a result; -1 in requests and at the end.
    pub err: i32,
}

impl MultiHeader {
    /// What stands at the end.
    pub const END: Self = Self { operation: -1, done: true, err: -1 };

    /// Reads a header.
    ///
    /// # Errors
    /// When the bytes end early.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { operation: reader.i32()?, done: reader.bool()?, err: reader.i32()? })
    }

    /// Writes the header.
    pub fn write(&self, writer: &mut Writer<'_>) {
        writer.i32(self.operation).bool(self.done).i32(self.err);
    }
}

/// One operation of a multi or multiRead.
#[derive(Clone, Copy, Debug)]
pub enum MultiOperation<'a> {
    /// create, create2, createContainer or createTTL; which of them, and the time to live of the last.
    Create(OpCode, Create<'a>, i64),
    /// delete.
    Delete {
        /// The node.
        path: &'a str,
        /// Its version, or -1 for any.
        version: i32,
    },
    /// setData.
    SetData {
        /// The node.
        path: &'a str,
        /// The new data, null kept apart from empty.
        data: Option<&'a [u8]>,
        /// Its version, or -1 for any.
        version: i32,
    },
    /// check.
    Check {
        /// The node.
        path: &'a str,
        /// The version it must have, or -1 for any.
        version: i32,
    },
    /// getData, in a multiRead.
    GetData {
        /// The node; a null path ends the reading there.
        path: Option<&'a str>,
        /// Whether to leave a watch.
        watch: bool,
    },
    /// getChildren, in a multiRead.
    GetChildren {
        /// The node; a null path ends the reading there.
        path: Option<&'a str>,
        /// Whether to leave a watch.
        watch: bool,
    },
}

/// Whether a multi writes or reads; one that is empty does either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MultiKind {
    /// There is no operation in it.
    Empty,
    /// All operations are writes or checks.
    Transaction,
    /// All operations are reads.
    Read,
}

/// A decoded multi or multiRead.
#[derive(Clone, Debug)]
pub struct MultiRequest<'a> {
    /// Whether it writes or reads.
    pub kind: MultiKind,
    /// Its operations, in order.
    pub operations: Vec<MultiOperation<'a>>,
}

impl<'a> MultiRequest<'a> {
    /// Reads all operations.
    ///
    /// # Errors
    /// When an operation is of a kind that has no place in a multi, reads and writes are mixed, or one is malformed.
    pub fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let mut multi = Self { kind: MultiKind::Empty, operations: Vec::new() };
        loop {
            let header = MultiHeader::read(reader)?;
            if header.done {
                return Ok(multi);
            }
            let operation = MultiOperation::read(header.operation, reader)?;
            let kind = operation.kind();
            if multi.kind != MultiKind::Empty && multi.kind != kind {
                return Err(Malformed("multi: reads and writes are mixed"));
            }
            multi.kind = kind;
            multi.operations.push(operation);
        }
    }
}

impl<'a> MultiRequest<'a> {
    /// The operations of a body up to its end or to what is no operation, whether they go together or not.
    pub fn readable(body: &'a [u8]) -> impl Iterator<Item = MultiOperation<'a>> {
        let mut reader = Reader::new(body);
        core::iter::from_fn(move || {
            let header = MultiHeader::read(&mut reader).ok().filter(|header| !header.done)?;
            MultiOperation::read(header.operation, &mut reader).ok()
        })
    }
}

impl<'a> MultiOperation<'a> {
    fn read(operation: i32, reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        match OpCode::from_code(operation) {
            Some(opcode @ (OpCode::Create | OpCode::Create2 | OpCode::CreateContainer)) => {
                Ok(Self::Create(opcode, Create::read(reader)?, 0))
            }
            Some(OpCode::CreateTtl) => {
                let create = Create::read(reader)?;
                Ok(Self::Create(OpCode::CreateTtl, create, reader.i64()?))
            }
            Some(OpCode::Delete) => Ok(Self::Delete { path: reader.text()?, version: reader.i32()? }),
            Some(OpCode::SetData) => {
                Ok(Self::SetData { path: reader.text()?, data: reader.buffer()?, version: reader.i32()? })
            }
            Some(OpCode::Check) => Ok(Self::Check { path: reader.text()?, version: reader.i32()? }),
            Some(OpCode::GetData) => Ok(Self::GetData { path: reader.string()?, watch: reader.bool()? }),
            Some(OpCode::GetChildren) => {
                Ok(Self::GetChildren { path: reader.string()?, watch: reader.bool()? })
            }
            _ => Err(Malformed("multi: an operation that has no place in it")),
        }
    }

    /// Whether the operation writes or reads.
    #[must_use]
    pub const fn kind(&self) -> MultiKind {
        match self {
            Self::GetData { .. } | Self::GetChildren { .. } => MultiKind::Read,
            _ => MultiKind::Transaction,
        }
    }

    /// The operation's code, as its request carries it.
    #[must_use]
    pub const fn opcode(&self) -> OpCode {
        match self {
            Self::Create(opcode, ..) => *opcode,
            Self::Delete { .. } => OpCode::Delete,
            Self::SetData { .. } => OpCode::SetData,
            Self::Check { .. } => OpCode::Check,
            Self::GetData { .. } => OpCode::GetData,
            Self::GetChildren { .. } => OpCode::GetChildren,
        }
    }
}
