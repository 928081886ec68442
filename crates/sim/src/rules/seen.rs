//! What a read's answer shows.

use jute::{Malformed, Reader, Stat};

use crate::history::Ask;

/// See the module.
pub(super) struct Seen<'a> {
    pub(super) data: Option<&'a [u8]>,
    pub(super) children: Option<Vec<&'a str>>,
    pub(super) stat: Stat,
}

impl<'a> Seen<'a> {
    /// Reads the body of a good answer.
    pub(super) fn read(ask: &Ask, body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let (mut data, mut children) = (None, None);
        match ask {
            Ask::Get { .. } => data = Some(reader.buffer()?.unwrap_or_default()),
            Ask::Children { .. } => {
                let count = reader.i32()?;
                let names: Result<_, _> = (0..count).map(|_| reader.text()).collect();
                children = Some(names?);
            }
            _ => {}
        }
        Ok(Self { data, children, stat: Stat::read(&mut reader)? })
    }
}
