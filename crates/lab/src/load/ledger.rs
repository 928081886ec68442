//! What was written, and whether that is what is read: a server that answers everything and keeps nothing must not pass
//! for a fast one.
//!
//! Each value says which node it was written to, by whom, and as the how manieth of that writer's. A reply to a write
//! says in which transaction it took effect; the latest of each node is kept. A read that shows that transaction must
//! show its value; one that shows another must show a value that somebody meant for that node. When all is over, whoever
//! has written nothing reads every node: none may lie before the latest acknowledged write.

use std::fmt;

use jute::{Malformed, Reader, Stat};

/// What marks a value of ours.
const MAGIC: u32 = 0x4c61_6221;
/// The bytes of a stamp.
pub const STAMP_BYTES: usize = 24;
/// How many violations are told one by one.
const TOLD_MAX: usize = 5;

/// What the head of a value says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    node: u32,
    writer: u32,
    number: u64,
}

impl Stamp {
    /// The how manieth write of that writer, to that node.
    #[must_use]
    pub const fn new(node: u32, writer: u32, number: u64) -> Self {
        Self { node, writer, number }
    }

    /// Writes it over the head of a value, which must be long enough; the rest of it repeats the number's last byte.
    pub fn put(self, value: &mut [u8]) {
        let Some((head, rest)) = value.split_first_chunk_mut::<STAMP_BYTES>() else { return };
        head[..4].copy_from_slice(&MAGIC.to_be_bytes());
        head[4..8].copy_from_slice(&self.node.to_be_bytes());
        head[8..12].copy_from_slice(&self.writer.to_be_bytes());
        head[12..20].copy_from_slice(&self.number.to_be_bytes());
        let sum = self.sum();
        head[20..].copy_from_slice(&sum.to_be_bytes());
        rest.fill(self.number as u8);
    }

    /// What a value says; nothing if it is none of ours, or not whole.
    #[must_use]
    pub fn of(value: &[u8]) -> Option<Self> {
        let (head, rest) = value.split_first_chunk::<STAMP_BYTES>()?;
        let word = |at: usize| Some(u32::from_be_bytes(*head.get(at..)?.first_chunk()?));
        let number = u64::from_be_bytes(*head.get(12..)?.first_chunk()?);
        let stamp = Self { node: word(4)?, writer: word(8)?, number };
        let fill = number as u8;
        let whole = rest.first().is_none_or(|byte| *byte == fill) && rest.last().is_none_or(|byte| *byte == fill);
        (word(0)? == MAGIC && word(20)? == stamp.sum() && whole).then_some(stamp)
    }

    /// Mixes its parts, so that a value with a part of another is found.
    const fn sum(self) -> u32 {
        let mixed = (self.number ^ ((self.node as u64) << 32 | self.writer as u64)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as u32
    }
}

/// What is known of each node, and what went against it.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// The latest acknowledged write of each node: its transaction, and what it wrote.
    latest: Vec<(i64, Stamp)>,
    value_bytes: usize,
    /// Reads that were compared.
    pub reads: u64,
    /// Writes that were acknowledged.
    pub writes: u64,
    violations: u64,
    told: Vec<String>,
}

impl Ledger {
    /// Of so many nodes with values of so many bytes.
    #[must_use]
    pub fn new(nodes: u32, value_bytes: usize) -> Self {
        let latest = vec![(0, Stamp::default()); nodes as usize];
        Self { latest, value_bytes, reads: 0, writes: 0, violations: 0, told: Vec::new() }
    }

    /// Whether values are long enough to say anything.
    #[must_use]
    pub const fn judges(&self) -> bool {
        self.value_bytes >= STAMP_BYTES
    }

    /// A write was acknowledged, by a reply with this body.
    pub fn wrote(&mut self, stamp: Stamp, body: &[u8]) {
        let stat = match Stat::read(&mut Reader::new(body)) {
            Ok(stat) => stat,
            Err(error) => return self.violated(|| format!("the answer to a write cannot be read: {error}")),
        };
        self.writes += 1;
        let Some(latest) = self.latest.get_mut(stamp.node as usize) else { return };
        if stat.mzxid > latest.0 {
            *latest = (stat.mzxid, stamp);
        } else if stat.mzxid == latest.0 && latest.1 != stamp {
            let before = latest.1;
            self.violated(|| format!("{before:?} and {stamp:?} were both written at {:x}", stat.mzxid));
        }
    }

    /// A node was read, with this reply's body. `last` when nothing is under way any more.
    pub fn read(&mut self, node: u32, body: &[u8], last: bool) {
        let read = |body| -> Result<(Vec<u8>, Stat), Malformed> {
            let mut reader = Reader::new(body);
            let data = reader.buffer()?.unwrap_or_default().to_vec();
            Ok((data, Stat::read(&mut reader)?))
        };
        let (data, stat) = match read(body) {
            Ok(both) => both,
            Err(error) => return self.violated(|| format!("the answer to a read cannot be read: {error}")),
        };
        self.reads += 1;
        let (mzxid, known) = self.latest.get(node as usize).copied().unwrap_or_default();
        if last && stat.mzxid < mzxid {
            return self.violated(|| {
                format!("node {node} was last written at {:x}, and {known:?} was acknowledged at {mzxid:x}", stat.mzxid)
            });
        }
        if stat.version == 0 || !self.judges() {
            return;
        }
        match Stamp::of(&data) {
            Some(stamp) if stamp.node == node && data.len() == self.value_bytes => {
                if stat.mzxid == mzxid && stamp != known {
                    self.violated(|| format!("node {node} holds {stamp:?} of {mzxid:x}, which wrote {known:?}"));
                }
            }
            found => self.violated(|| format!("node {node} holds what nobody wrote to it: {found:?}")),
        }
    }

    fn violated(&mut self, tell: impl FnOnce() -> String) {
        self.violations += 1;
        if self.told.len() < TOLD_MAX {
            self.told.push(tell());
        }
    }

    /// What went against what is known.
    ///
    /// # Errors
    /// Something did.
    pub fn verdict(&self) -> Result<(), Broken> {
        match self.violations {
            0 => Ok(()),
            violations => Err(Broken { violations, told: self.told.clone() }),
        }
    }
}

/// The servers did not do what they were asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    violations: u64,
    told: Vec<String>,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} answers are wrong: {}", self.violations, self.told.join("; "))
    }
}

impl std::error::Error for Broken {}
