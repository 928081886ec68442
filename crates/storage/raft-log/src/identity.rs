//! The owner of a data directory, and its form in the file `meta`.

use crate::codec::{Input, Malformed};
use alloc::vec::Vec;
use base::MemberId;
use storage_wal::meta::Meta;

/// The owner of a data directory: chosen by the caller when the directory is made, read back at each later start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The ensemble.
    pub cluster: [u8; 16],
    /// This very data directory: a directory that is made again is another incarnation, because it has forgotten its
    /// votes.
    pub incarnation: [u8; 16],
    /// The member, within the ensemble.
    pub member: MemberId,
}

impl Identity {
    pub(crate) fn to_meta(self) -> Meta {
        let mut owner = Vec::with_capacity(24);
        owner.extend_from_slice(&self.cluster);
        owner.extend_from_slice(&self.member.0.to_le_bytes());
        Meta { incarnation: self.incarnation, owner }
    }

    pub(crate) fn of_meta(meta: &Meta) -> Result<Identity, Malformed> {
        let mut input = Input::new(&meta.owner);
        let (cluster, member) = (input.array()?, MemberId(u64::from_le_bytes(input.array()?)));
        input.finish()?;
        Ok(Identity { cluster, incarnation: meta.incarnation, member })
    }
}
