//! What a read's answer shows.

use council_wire::{AclList, Malformed, Reader, Stat};

use crate::history::Ask;

/// See the module.
pub(super) struct Seen<'a> {
    /// The data, if they were asked for; a node may have none.
    pub(super) data: Option<Option<&'a [u8]>>,
    pub(super) children: Option<Vec<&'a str>>,
    pub(super) acl: Option<AclList<'a>>,
    pub(super) stat: Stat,
}

impl<'a> Seen<'a> {
    /// Reads the body of a good answer to what reads one node.
    pub(super) fn read(ask: &Ask, body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let (mut data, mut children, mut acl) = (None, None, None);
        match ask {
            Ask::Get { .. } => data = Some(reader.buffer()?),
            Ask::Children { .. } => {
                children = Some(names(&mut reader)?);
            }
            Ask::GetAcl { .. } => acl = Some(AclList::read(&mut reader)?),
            Ask::Exists { .. } => {}
            _ => return Err(Malformed("answer: of no single node")),
        }
        Ok(Self { data, children, acl, stat: Stat::read(&mut reader)? })
    }
}

/// A list of names.
pub(super) fn names<'a>(reader: &mut Reader<'a>) -> Result<Vec<&'a str>, Malformed> {
    let count = reader.i32()?;
    (0..count).map(|_| reader.text()).collect()
}
