//! What was written, and whether that is what is read: a server that answers everything and keeps nothing must not pass
//! for a fast one.
//!
//! Each value names its node and its writer, and has a sequence number of that writer. A reply to a write says in which
//! transaction it took effect; the latest of each node is kept. A read that shows that transaction must show its value;
//! one that shows another must show a value that was written to that node. At the end, a separate reader reads every
//! node: none may lie before the latest acknowledged write.

use std::fmt;

use council_wire::{Malformed, Reader, Stat};

/// What marks a value of ours.
const MAGIC: u32 = 0x4c61_6221;
/// The bytes of a whole stamp.
pub const STAMP_BYTES: usize = 24;
/// The fewest bytes that say anything: which node, and a part of the number.
const SHORT_BYTES: usize = 5;
/// How many violations are told one by one.
const TOLD_MAX: usize = 5;

/// What a value says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Which node.
    pub node: u32,
    /// The number of the writer; 0 is the creator of the node.
    pub writer: u32,
    /// Sequence number among the writer's writes.
    pub number: u64,
}

impl Stamp {
    /// Sequence number among that writer's writes to that node.
    #[must_use]
    pub const fn new(node: u32, writer: u32, number: u64) -> Self {
        Self { node, writer, number }
    }

    /// Writes it over a value, as far as it reaches; what is behind it repeats the number's last byte.
    pub fn put(self, value: &mut [u8]) {
        if let Some((head, rest)) = value.split_first_chunk_mut::<STAMP_BYTES>() {
            *head = self.head();
            rest.fill(self.number as u8);
        } else {
            value.fill(self.number as u8);
            if value.len() >= SHORT_BYTES {
                value[..4].copy_from_slice(&self.node.to_be_bytes());
            }
        }
    }

    /// Appends a value that carries it, as [`Self::put`] makes it.
    pub fn append(self, bytes: usize, out: &mut Vec<u8>) {
        let at = out.len();
        // Filled once; what is put over the head is short.
        out.resize(at + bytes, self.number as u8);
        let value = &mut out[at..];
        if let Some(head) = value.first_chunk_mut::<STAMP_BYTES>() {
            *head = self.head();
        } else if bytes >= SHORT_BYTES {
            value[..4].copy_from_slice(&self.node.to_be_bytes());
        }
    }

    fn head(self) -> [u8; STAMP_BYTES] {
        let mut head = [0; STAMP_BYTES];
        head[..4].copy_from_slice(&MAGIC.to_be_bytes());
        head[4..8].copy_from_slice(&self.node.to_be_bytes());
        head[8..12].copy_from_slice(&self.writer.to_be_bytes());
        head[12..20].copy_from_slice(&self.number.to_be_bytes());
        head[20..].copy_from_slice(&self.sum().to_be_bytes());
        head
    }

    /// Whether a value is the one that [`Self::put`] makes; of what is behind a whole stamp only the ends are looked at.
    #[must_use]
    pub fn is_in(self, value: &[u8]) -> bool {
        let fill = self.number as u8;
        let filled =
            |rest: &[u8]| [rest.first(), rest.last()].into_iter().flatten().all(|byte| *byte == fill);
        match value.split_first_chunk::<STAMP_BYTES>() {
            Some((head, rest)) => *head == self.head() && filled(rest),
            None if value.len() >= SHORT_BYTES => {
                value[..4] == self.node.to_be_bytes() && filled(&value[4..])
            }
            None => filled(value),
        }
    }

    /// Whether a value was meant for this node, by whomever.
    #[must_use]
    pub fn is_of(node: u32, value: &[u8]) -> bool {
        match value.split_first_chunk::<STAMP_BYTES>() {
            Some((head, _)) => Self::of(head).is_some_and(|stamp| stamp.node == node && stamp.is_in(value)),
            None if value.len() >= SHORT_BYTES => value[..4] == node.to_be_bytes(),
            None => true,
        }
    }

    /// What a whole stamp says.
    fn of(head: &[u8; STAMP_BYTES]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_be_bytes(*head.get(at..)?.first_chunk()?));
        let number = u64::from_be_bytes(*head.get(12..)?.first_chunk()?);
        Some(Self { node: word(4)?, writer: word(8)?, number })
    }

    /// Mixes its parts, so that a value with a part of another is found.
    const fn sum(self) -> u32 {
        let mixed = (self.number ^ ((self.node as u64) << 32 | self.writer as u64))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
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
    /// Of so many nodes with values of so many bytes, each made with the stamp of writer 0.
    #[must_use]
    pub fn new(nodes: u32, value_bytes: usize) -> Self {
        let latest = (0..nodes).map(|node| (0, Stamp::new(node, 0, 0))).collect();
        Self { latest, value_bytes, reads: 0, writes: 0, violations: 0, told: Vec::new() }
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
        let read = |body| -> Result<(&[u8], Stat), Malformed> {
            let mut reader = Reader::new(body);
            let data = reader.buffer()?.unwrap_or_default();
            Ok((data, Stat::read(&mut reader)?))
        };
        let (data, stat) = match read(body) {
            Ok(both) => both,
            Err(error) => return self.violated(|| format!("the answer to a read cannot be read: {error}")),
        };
        self.reads += 1;
        let (mzxid, known) = self.latest.get(node as usize).copied().unwrap_or_default();
        let (at, bytes) = (stat.mzxid, data.len());
        if last && at < mzxid {
            self.violated(|| {
                format!("node {node} was last written at {at:x}, and {known:?} was acknowledged at {mzxid:x}")
            });
        } else if bytes != self.value_bytes {
            let meant = self.value_bytes;
            self.violated(|| format!("node {node} holds {bytes} bytes, not {meant}"));
        } else if at == mzxid && !known.is_in(data) {
            self.violated(|| format!("node {node} does not hold {known:?}, which was written at {mzxid:x}"));
        } else if stat.version == 0 && !Stamp::new(node, 0, 0).is_in(data) {
            self.violated(|| format!("node {node} was never written, and is not as it was made"));
        } else if !Stamp::is_of(node, data) {
            self.violated(|| format!("node {node} holds a value that was not written to it"));
        }
    }

    /// Something else went wrong.
    pub fn violated(&mut self, tell: impl FnOnce() -> String) {
        self.violations += 1;
        if self.told.len() < TOLD_MAX {
            self.told.push(tell());
        }
    }

    /// The nodes that were written, by acknowledged writes.
    pub fn written(&self) -> impl Iterator<Item = u32> {
        self.latest.iter().filter(|(mzxid, _)| *mzxid > 0).map(|(_, stamp)| stamp.node)
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

#[cfg(test)]
mod tests {
    use council_wire::Writer;

    use super::*;

    fn stat(mzxid: i64, version: i32) -> Stat {
        Stat { mzxid, version, ..Stat::default() }
    }

    fn write_body(mzxid: i64) -> Vec<u8> {
        let mut body = Vec::new();
        stat(mzxid, 1).write(&mut Writer::new(&mut body));
        body
    }

    fn read_body(stamp: Stamp, bytes: usize, mzxid: i64, version: i32) -> Vec<u8> {
        let mut value = vec![0; bytes];
        stamp.put(&mut value);
        let mut body = Vec::new();
        let mut writer = Writer::new(&mut body);
        writer.buffer(Some(&value));
        stat(mzxid, version).write(&mut writer);
        body
    }

    #[test]
    fn a_value_is_the_one_that_was_written_whatever_its_size() {
        for bytes in [0, 1, 5, 23, 24, 25, 1024] {
            let mut value = vec![0xee; bytes];
            let stamp = Stamp::new(7, 3, 0x1_0000_0002);
            stamp.put(&mut value);
            assert!(stamp.is_in(&value) && Stamp::is_of(7, &value), "{bytes}");
            let mut out = vec![1];
            stamp.append(bytes, &mut out);
            assert_eq!(out[1..], value, "{bytes}");
            assert!(bytes == 0 || !Stamp::new(7, 3, 3).is_in(&value), "{bytes}");
            assert!(bytes < 5 || !Stamp::is_of(8, &value), "{bytes}");
        }
    }

    #[test]
    fn an_honest_server_is_believed() {
        let (mut ledger, stamp) = (Ledger::new(3, 100), Stamp::new(2, 1, 1));
        ledger.read(2, &read_body(Stamp::new(2, 0, 0), 100, 5, 0), false);
        ledger.wrote(stamp, &write_body(9));
        ledger.read(2, &read_body(stamp, 100, 9, 1), true);
        // By a writer whose reply is still under way.
        ledger.read(2, &read_body(Stamp::new(2, 5, 77), 100, 11, 2), true);
        assert_eq!(ledger.verdict(), Ok(()));
        assert_eq!((ledger.reads, ledger.writes, ledger.written().collect()), (3, 1, vec![2]));
    }

    #[test]
    fn a_lost_write_a_foreign_value_and_nonsense_are_found() {
        let wrong: [&dyn Fn(&mut Ledger); 5] = [
            &|ledger| ledger.read(2, &read_body(Stamp::new(2, 0, 0), 100, 5, 0), true),
            &|ledger| ledger.read(2, &read_body(Stamp::new(2, 1, 2), 100, 9, 1), false),
            &|ledger| ledger.read(2, &read_body(Stamp::new(1, 1, 1), 100, 12, 2), false),
            &|ledger| ledger.read(1, &read_body(Stamp::new(1, 1, 1), 99, 12, 2), false),
            &|ledger| ledger.read(1, b"nonsense", false),
        ];
        for (place, wrong) in wrong.iter().enumerate() {
            let mut ledger = Ledger::new(3, 100);
            ledger.wrote(Stamp::new(2, 1, 1), &write_body(9));
            assert_eq!(ledger.verdict(), Ok(()));
            wrong(&mut ledger);
            assert!(ledger.verdict().is_err(), "{place}");
        }
    }
}
