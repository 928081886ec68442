//! What answers may cost: in bytes, because they are kept until the client reads them, and in work, because all other
//! clients wait meanwhile.
//!
//! A unit of work is about one node or path that is looked at, a tenth of a microsecond or a few. Counting them needs no
//! clock, and is the same on every machine.

/// Work after which a connection waits for its next turn.
pub(crate) const TURN_WORK: usize = 4096;
/// Work of all connections after which the tree is let go before more is done.
pub(crate) const ROUND_WORK: usize = 16384;
/// Bytes of a reply, or of a write, that cost as much as one unit of work.
pub(crate) const BYTES_PER_WORK: usize = 256;

/// Bytes that cost as much of a write which holds an operation, or an entry of an ACL, for every few of them.
pub(crate) const PART_BYTES_PER_WORK: usize = 8;
/// Entries of ACLs that are compared with identities for one unit of work.
pub(crate) const ENTRIES_PER_WORK: usize = 8;

/// Bytes of an answer that one may count on to be small: also where it is made while others wait.
pub(crate) const LIGHT_BYTES: usize = 64 << 10;
/// Nodes or entries that such an answer takes.
pub(crate) const LIGHT_WORK: usize = 1000;
/// Bytes of an answer that is made at once, beyond those of the largest request: what one write has put into the tree
/// can be read in one piece.
pub(crate) const AT_ONCE_BYTES: usize = 64 << 10;
/// Bytes of an answer that the core makes behind a write. A read that might take more is not given to the core; one
/// that still needs more, because other clients made its node grow a moment ago, is refused.
pub(crate) const BEHIND_WRITE_BYTES: usize = 256 << 10;

/// Bytes of a piece of data, or of a name, beside its own: lengths, a Stat, the header of a result and the end of all.
pub(crate) const DATA_OVERHEAD: usize = 128;

/// More than a limit allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Over;

/// What is left of a limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meter {
    /// How long the output may become.
    end: usize,
    work: usize,
}

impl Meter {
    /// So many bytes beyond those that `out` has, and so much work.
    pub(crate) const fn new(out: &[u8], bytes: usize, work: usize) -> Self {
        Self { end: out.len().saturating_add(bytes), work }
    }

    /// Whether so many bytes more have room in the output.
    #[inline]
    pub(crate) const fn fits(&self, out: &[u8], more: usize) -> Result<(), Over> {
        if more <= self.end.saturating_sub(out.len()) { Ok(()) } else { Err(Over) }
    }

    /// Takes off bytes that will be put out elsewhere.
    pub(crate) const fn take(&mut self, bytes: usize) -> Result<(), Over> {
        match self.end.checked_sub(bytes) {
            Some(left) => {
                self.end = left;
                Ok(())
            }
            None => Err(Over),
        }
    }

    /// Takes off work that is about to be done.
    #[inline]
    pub(crate) const fn spend(&mut self, work: usize) -> Result<(), Over> {
        match self.work.checked_sub(work) {
            Some(left) => {
                self.work = left;
                Ok(())
            }
            None => Err(Over),
        }
    }

    /// Takes off work that is done already, as far as any is left.
    #[inline]
    pub(crate) const fn charge(&mut self, work: usize) {
        self.work = self.work.saturating_sub(work);
    }

    /// Work that is left.
    pub(crate) const fn work(&self) -> usize {
        self.work
    }
}
