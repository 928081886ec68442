//! Several operations in one request.

use council_wire::{Acl, ErrorCode, MultiHeader, OpCode, Reader, Stat, Writer};

use crate::Error;
use crate::encode::{self, CreateMode};
use crate::path::Chroot;

/// Writes and checks that all take effect, or none does. The first path that is not one makes the whole an error.
#[must_use = "nothing happens until it is submitted"]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Multi {
    pub(crate) operations: Vec<Part>,
}

/// One operation of either.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    opcode: OpCode,
    path: String,
    sequential: bool,
    /// What stands behind the path.
    rest: Vec<u8>,
}

/// The result of one operation of a [`Multi`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MultiResult {
    /// A node was created.
    Created {
        /// Its path.
        path: String,
        /// Its Stat, where the operation answers one.
        stat: Option<Stat>,
    },
    /// A node was deleted.
    Deleted,
    /// Data was set; the node's Stat.
    Set(Stat),
    /// A version was right.
    Checked,
}

impl Multi {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a creation with an ACL that is open to everyone.
    pub fn create(self, path: &str, data: impl AsRef<[u8]>, mode: CreateMode) -> Self {
        self.create_with(path, Some(data.as_ref()), &[Acl::open()], mode)
    }

    /// Adds a creation.
    pub fn create_with(self, path: &str, data: Option<&[u8]>, acl: &[Acl], mode: CreateMode) -> Self {
        let opcode = match mode {
            CreateMode::Container => OpCode::CreateContainer,
            CreateMode::Ttl(_) | CreateMode::TtlSequential(_) => OpCode::CreateTtl,
            _ => OpCode::Create2,
        };
        // The path is written again with the chroot before it: here it only stands for itself.
        let mut rest = encode::body(|writer| encode::create(writer, "", data, acl, mode));
        rest.drain(..4);
        self.add(opcode, path, mode.is_sequential(), rest)
    }

    /// Adds a deletion.
    pub fn delete(self, path: &str, version: i32) -> Self {
        self.add(OpCode::Delete, path, false, version.to_be_bytes().to_vec())
    }

    /// Adds a change of data.
    pub fn set_data(self, path: &str, data: impl AsRef<[u8]>, version: i32) -> Self {
        let rest = encode::body(|writer| {
            writer.buffer(Some(data.as_ref())).i32(version);
        });
        self.add(OpCode::SetData, path, false, rest)
    }

    /// Adds a check of a version.
    pub fn check(self, path: &str, version: i32) -> Self {
        self.add(OpCode::Check, path, false, version.to_be_bytes().to_vec())
    }

    /// How many operations there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    fn add(mut self, opcode: OpCode, path: &str, sequential: bool, rest: Vec<u8>) -> Self {
        self.operations.push(Part { opcode, path: String::from(path), sequential, rest });
        self
    }
}

/// Reads of one state.
#[must_use = "nothing happens until it is submitted"]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MultiRead {
    pub(crate) operations: Vec<Part>,
}

/// The result of one read of a [`MultiRead`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MultiReadResult {
    /// Data and Stat of a node.
    Data(Option<Vec<u8>>, Stat),
    /// The names of a node's children.
    Children(Vec<String>),
    /// This one was refused; the others were not.
    Refused(ErrorCode),
}

impl MultiRead {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node's data.
    pub fn data(self, path: &str) -> Self {
        self.add(OpCode::GetData, path)
    }

    /// Adds the names of a node's children.
    pub fn children(self, path: &str) -> Self {
        self.add(OpCode::GetChildren, path)
    }

    fn add(mut self, opcode: OpCode, path: &str) -> Self {
        self.operations.push(Part { opcode, path: String::from(path), sequential: false, rest: vec![0] });
        self
    }
}

/// The body of a request that holds all of them.
pub(crate) fn encode_all(operations: &[Part], chroot: &Chroot) -> Result<Vec<u8>, Error> {
    let mut body = Vec::new();
    let mut writer = Writer::new(&mut body);
    for operation in operations {
        let full = match operation.sequential {
            true => chroot.to_server_prefix(&operation.path)?,
            false => chroot.to_server(&operation.path)?,
        };
        MultiHeader { operation: operation.opcode.code(), done: false, err: -1 }.write(&mut writer);
        writer.text(&full).raw(&operation.rest);
    }
    MultiHeader::END.write(&mut writer);
    Ok(body)
}

/// What became of a transaction: the results of all, or the error of the one that was refused.
pub(crate) fn transaction(reader: &mut Reader<'_>, chroot: &Chroot) -> Result<Vec<MultiResult>, Error> {
    let mut results = Vec::new();
    let mut refused: Option<(usize, i32)> = None;
    for index in 0.. {
        let header = MultiHeader::read(reader)?;
        if header.done {
            break;
        }
        match OpCode::from_code(header.operation) {
            Some(OpCode::Create) => {
                results
                    .push(MultiResult::Created { path: chroot.to_user(reader.text()?).into(), stat: None });
            }
            Some(OpCode::Create2 | OpCode::CreateContainer | OpCode::CreateTtl) => {
                let path = chroot.to_user(reader.text()?).into();
                results.push(MultiResult::Created { path, stat: Some(Stat::read(reader)?) });
            }
            Some(OpCode::Delete) => results.push(MultiResult::Deleted),
            Some(OpCode::SetData) => results.push(MultiResult::Set(Stat::read(reader)?)),
            Some(OpCode::Check) => results.push(MultiResult::Checked),
            _ => {
                // The one that was refused stands among those that were not run for its sake.
                let err = reader.i32()?;
                let culprit = err != 0 && err != ErrorCode::RuntimeInconsistency.code();
                if culprit || refused.is_none() && err != 0 {
                    refused = Some((index, err));
                }
            }
        }
    }
    match refused {
        None => Ok(results),
        Some((index, err)) => Err(match ErrorCode::from_code(err) {
            Some(code) => Error::Transaction { index, code },
            None => Error::UnknownCode(err),
        }),
    }
}

/// The results of all reads.
pub(crate) fn read_results(reader: &mut Reader<'_>, _: &Chroot) -> Result<Vec<MultiReadResult>, Error> {
    let mut results = Vec::new();
    loop {
        let header = MultiHeader::read(reader)?;
        if header.done {
            return Ok(results);
        }
        results.push(match OpCode::from_code(header.operation) {
            Some(OpCode::GetData) => {
                let data = reader.buffer()?.map(<[u8]>::to_vec);
                MultiReadResult::Data(data, Stat::read(reader)?)
            }
            Some(OpCode::GetChildren) => {
                let count = reader.count()?;
                let names: Result<Vec<String>, _> =
                    (0..count).map(|_| reader.text().map(String::from)).collect();
                MultiReadResult::Children(names?)
            }
            _ => {
                let err = reader.i32()?;
                MultiReadResult::Refused(ErrorCode::from_code(err).ok_or(Error::UnknownCode(err))?)
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use council_wire::{MultiOperation, Request};

    use super::*;

    #[test]
    fn operations_are_what_a_server_reads() {
        let multi = Multi::new()
            .create("/a-", b"x", CreateMode::EphemeralSequential)
            .create("/t", b"", CreateMode::Ttl(9))
            .set_data("/s", b"y", 3)
            .delete("/d", -1)
            .check("/", 2);
        let body = encode_all(&multi.operations, &Chroot::new("/c")).unwrap();
        let Ok(Request::Multi(read)) = Request::decode(OpCode::Multi, &body) else { panic!() };
        let shown: Vec<String> = read.operations.iter().map(|operation| format!("{operation:?}")).collect();
        assert!(shown[0].contains("\"/c/a-\"") && shown[0].contains("flags: 3"), "{}", shown[0]);
        assert!(
            matches!(read.operations[1], MultiOperation::Create(OpCode::CreateTtl, create, 9) if create.flags == 5)
        );
        assert!(matches!(
            read.operations[2],
            MultiOperation::SetData { path: "/c/s", data: Some(b"y"), version: 3 }
        ));
        assert!(matches!(read.operations[3], MultiOperation::Delete { path: "/c/d", version: -1 }));
        assert!(matches!(read.operations[4], MultiOperation::Check { path: "/c", version: 2 }));
    }

    #[test]
    fn the_culprit_of_a_failed_transaction_is_named() {
        let mut body = Vec::new();
        let mut writer = Writer::new(&mut body);
        for err in [0, -110, -2] {
            MultiHeader { operation: -1, done: false, err }.write(&mut writer);
            writer.i32(err);
        }
        MultiHeader::END.write(&mut writer);
        assert_eq!(
            transaction(&mut Reader::new(&body), &Chroot::default()),
            Err(Error::Transaction { index: 1, code: ErrorCode::NodeExists })
        );
        for cut in 0..body.len() {
            assert!(transaction(&mut Reader::new(&body[..cut]), &Chroot::default()).is_err());
        }
    }
}
