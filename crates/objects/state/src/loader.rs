//! Reading a snapshot back. The bytes come from a disk or a peer and may be anything: anything but a complete, sound
//! state with the digest that it claims is refused, never loaded in part.

use crate::access;
use crate::check;
use crate::codec::{Cursor, Malformed, decoded};
use crate::group::Head;
use crate::limits::VALUE_BYTES_MAX;
use crate::placement;
use crate::quota;
use crate::scan::{END, RECORD, VERSION};
use crate::state::State;

/// No record is longer: a map's value with its key is, or the results of a batch. Bounds what is kept of one that never
/// becomes whole.
const RECORD_BYTES_MAX: usize = 16 * VALUE_BYTES_MAX;

/// Takes a snapshot's bytes, cut anywhere, and makes a state of them.
#[derive(Debug, Default)]
pub struct Loader {
    state: State,
    /// Bytes of a record that is not whole yet.
    partial: Vec<u8>,
    begun: bool,
    last: Option<Vec<u8>>,
    /// How many records, and the digest, as the end claims.
    end: Option<(u64, u64)>,
}

impl Loader {
    /// Nothing loaded yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// When they cannot be a snapshot's; the loader is of no use then.
    pub fn chunk(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut whole = core::mem::take(&mut self.partial);
        let bytes = if whole.is_empty() {
            bytes
        } else {
            whole.extend_from_slice(bytes);
            &whole[..]
        };
        let mut rest = Cursor::new(bytes);
        while !rest.rest().is_empty() {
            let mut next = rest.clone();
            match self.part(&mut next) {
                Ok(()) => rest = next,
                // It may only be cut: then more bytes make it whole.
                Err(_) if rest.rest().len() < RECORD_BYTES_MAX && next.is_cut() => break,
                Err(malformed) => return Err(malformed),
            }
        }
        self.partial = rest.rest().to_vec();
        Ok(())
    }

    /// Hands over the state.
    ///
    /// # Errors
    /// When the snapshot is not complete or not sound, or its digest is not the state's.
    pub fn finish(mut self) -> Result<State, Malformed> {
        let Some((records, digest)) = self.end.filter(|_| self.partial.is_empty()) else {
            return Err(Malformed("snapshot: it ends early"));
        };
        self.state.core.store.commit();
        if records != self.state.records() as u64 || digest != self.state.digest() {
            return Err(Malformed("snapshot: its count or digest is not its content's"));
        }
        access::load(&mut self.state.core);
        placement::load(&mut self.state.core);
        quota::load(&mut self.state.core);
        check::sound(&self.state.core)?;
        Ok(self.state)
    }

    /// Takes the header, a record or the end.
    fn part(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Malformed> {
        if self.end.is_some() {
            return Err(Malformed("snapshot: there is more behind its end"));
        }
        let kind = cursor.u8()?;
        if !self.begun {
            if kind != VERSION {
                return Err(Malformed("snapshot: an unknown version"));
            }
            let Head { meta, sources } = decoded(cursor.bytes()?)?;
            (self.state.core.meta, self.state.core.sources) = (meta, sources);
            self.begun = true;
            return Ok(());
        }
        match kind {
            RECORD => {
                let (key, value) = (cursor.bytes()?, cursor.bytes()?);
                if self.last.as_ref().is_some_and(|last| &last[..] >= key) {
                    return Err(Malformed("snapshot: a record out of order"));
                }
                self.last = Some(key.to_vec());
                self.state.core.store.put(key.into(), value);
                // Nothing of a load is ever taken back.
                self.state.core.store.commit();
                Ok(())
            }
            END => {
                self.end = Some((cursor.varint()?, u64::from_le_bytes(cursor.array()?)));
                Ok(())
            }
            _ => Err(Malformed("snapshot: an unknown record")),
        }
    }
}
