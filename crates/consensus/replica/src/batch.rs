//! The content of a log entry: many commands under one stamp.
//!
//! Layout, little-endian: version (1 byte, 1), the leader's wall clock in milliseconds (8), then each command as its
//! length (4) and its bytes. An entry without content is a new leader's first: it commands nothing.

use base::WallTime;
use bytes::Bytes;

/// The version of the layout that this build writes.
const VERSION: u8 = 1;
const HEADER: usize = 9;

/// The content of an entry that is whole, and what its commands weigh.
#[derive(Debug)]
pub struct Sealed {
    /// The content.
    pub content: Bytes,
    /// What its commands weigh together.
    pub weight: u64,
}

/// A content to which commands are added.
#[derive(Debug, Default)]
struct Content {
    bytes: Vec<u8>,
    commands: usize,
    /// Bytes of the commands alone.
    command_bytes: usize,
    weight: u64,
}

/// Collects commands and cuts them into entries of bounded size.
#[derive(Debug)]
pub struct BatchWriter {
    full: Vec<Content>,
    open: Content,
    commands: usize,
    bytes: usize,
    weight: u64,
    entry_bytes_max: usize,
}

impl BatchWriter {
    /// A writer whose entries hold about so many bytes at the most.
    #[must_use]
    pub fn new(entry_bytes_max: usize) -> Self {
        Self { full: Vec::new(), open: Content::default(), commands: 0, bytes: 0, weight: 0, entry_bytes_max }
    }

    /// Takes a command in. One that is larger than an entry should be gets an entry of its own.
    pub fn push(&mut self, command: &[u8], weight: u64) {
        let open = &mut self.open.bytes;
        if open.len() > HEADER && open.len() + command.len() > self.entry_bytes_max {
            self.full.push(core::mem::take(&mut self.open));
        }
        let open = &mut self.open;
        if open.bytes.is_empty() {
            open.bytes.reserve(self.entry_bytes_max.min(HEADER + 4 + command.len().max(4096)));
            open.bytes.push(VERSION);
            open.bytes.extend_from_slice(&[0; 8]);
        }
        let length = u32::try_from(command.len()).expect("a command is bounded by a frame");
        open.bytes.extend_from_slice(&length.to_le_bytes());
        open.bytes.extend_from_slice(command);
        open.commands += 1;
        open.command_bytes += command.len();
        open.weight += weight;
        self.commands += 1;
        self.bytes += command.len();
        self.weight += weight;
    }

    /// Closes the batch under this stamp: the contents of its entries, in order.
    pub fn take(&mut self, wall: WallTime) -> Vec<Sealed> {
        self.close();
        (self.commands, self.bytes, self.weight) = (0, 0, 0);
        self.full.drain(..).map(|content| content.seal(wall)).collect()
    }

    fn close(&mut self) {
        if !self.open.bytes.is_empty() {
            self.full.push(core::mem::take(&mut self.open));
        }
    }

    /// The most bytes of records that all of it takes in the log.
    pub fn log_bytes(&self) -> u64 {
        let entries = self.full.len() + 1;
        storage_raft_log::log_bytes_max(entries, self.bytes + 4 * self.commands + HEADER * entries)
    }

    /// The most bytes of records that the first entry takes in the log, if there is one.
    pub fn first_log_bytes(&self) -> Option<u64> {
        let open = Some(&self.open).filter(|open| !open.bytes.is_empty());
        self.full.first().or(open).map(|first| storage_raft_log::log_bytes_max(1, first.bytes.len()))
    }

    /// Like [`Self::take`], but only as many entries from the first on as take no more than `room` bytes of records;
    /// and how many bytes they take.
    pub fn take_within(&mut self, wall: WallTime, room: u64) -> (Vec<Sealed>, u64) {
        self.close();
        let (mut used, mut count) = (0, 0);
        for content in &self.full {
            let bytes = storage_raft_log::log_bytes_max(1, content.bytes.len());
            if used + bytes > room {
                break;
            }
            (used, count) = (used + bytes, count + 1);
        }
        let rest = self.full.split_off(count);
        let taken = self.take(wall);
        for content in &rest {
            self.commands += content.commands;
            self.bytes += content.command_bytes;
            self.weight += content.weight;
        }
        self.full = rest;
        (taken, used)
    }

    /// Drops what was collected.
    pub fn clear(&mut self) {
        self.full.clear();
        self.open = Content::default();
        (self.commands, self.bytes, self.weight) = (0, 0, 0);
    }

    /// How many commands are collected.
    #[must_use]
    pub const fn commands(&self) -> usize {
        self.commands
    }

    /// Their bytes together.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// What they weigh together.
    #[must_use]
    pub const fn weight(&self) -> u64 {
        self.weight
    }
}

impl Content {
    fn seal(mut self, wall: WallTime) -> Sealed {
        self.bytes[1..HEADER].copy_from_slice(&wall.ms().to_le_bytes());
        // It is kept in memory for members that lag, and counted by its length.
        self.bytes.shrink_to_fit();
        Sealed { content: Bytes::from(self.bytes), weight: self.weight }
    }
}

/// An entry's content that this build cannot read: damage that a checksum should have caught, or a later version's.
#[derive(Debug, PartialEq, Eq)]
pub struct Unreadable;

/// The commands of an entry, in order.
#[derive(Clone, Debug)]
pub struct BatchReader<'a> {
    /// The stamp.
    pub wall: WallTime,
    content: &'a [u8],
    rest: &'a [u8],
}

impl<'a> BatchReader<'a> {
    /// A reader of that content, from its first command on.
    ///
    /// # Errors
    /// [`Unreadable`].
    pub fn new(content: &'a [u8]) -> Result<Self, Unreadable> {
        if content.is_empty() {
            return Ok(Self { wall: WallTime::default(), content, rest: &[] });
        }
        let (header, rest) = content.split_first_chunk::<HEADER>().ok_or(Unreadable)?;
        let [VERSION, stamp @ ..] = *header else { return Err(Unreadable) };
        Ok(Self { wall: WallTime::of_ms(i64::from_le_bytes(stamp)), content, rest })
    }

    /// A reader that goes on where another stood at [`Self::offset`]; 0 is the start.
    pub fn resume(content: &'a [u8], offset: usize) -> Result<Self, Unreadable> {
        let mut reader = Self::new(content)?;
        if offset > 0 {
            reader.rest = content.get(offset..).ok_or(Unreadable)?;
        }
        Ok(reader)
    }

    /// Where the next command begins.
    pub const fn offset(&self) -> usize {
        self.content.len() - self.rest.len()
    }

    /// The next command.
    pub fn next_command(&mut self) -> Result<Option<&'a [u8]>, Unreadable> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (length, rest) = self.rest.split_first_chunk::<4>().ok_or(Unreadable)?;
        let (command, rest) =
            rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or(Unreadable)?;
        self.rest = rest;
        Ok(Some(command))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &[u8]) -> Result<Vec<Vec<u8>>, Unreadable> {
        let mut reader = BatchReader::new(content)?;
        let mut commands = Vec::new();
        while let Some(command) = reader.next_command()? {
            commands.push(command.to_vec());
        }
        Ok(commands)
    }

    #[test]
    fn entry_of_one_command_takes_no_more_memory_than_it_has_bytes() {
        let mut writer = BatchWriter::new(1 << 20);
        writer.push(b"small", 0);
        let sealed = writer.take(WallTime::of_ms(5)).remove(0);
        let content = sealed.content.try_into_mut().expect("nobody else has it");
        assert!(content.capacity() < 64, "{} for {} bytes", content.capacity(), content.len());
    }

    #[test]
    fn commands_come_back_in_order_under_their_stamp() {
        let mut writer = BatchWriter::new(1000);
        writer.push(b"one", 1);
        writer.push(b"", 1);
        writer.push(b"three", 1);
        assert_eq!((writer.commands(), writer.bytes()), (3, 8));
        let contents = writer.take(WallTime::of_ms(-5));
        assert_eq!(contents.len(), 1);
        assert_eq!(BatchReader::new(&contents[0].content).unwrap().wall, WallTime::of_ms(-5));
        assert_eq!(read(&contents[0].content).unwrap(), [&b"one"[..], b"", b"three"]);
        assert!(writer.take(WallTime::of_ms(0)).is_empty());
    }

    #[test]
    fn entries_are_cut_at_their_limit_and_a_large_command_has_its_own() {
        let mut writer = BatchWriter::new(40);
        for command in [&[1; 20][..], &[2; 20], &[3; 100], &[4; 1]] {
            writer.push(command, 1);
        }
        let counts: Vec<_> = writer
            .take(WallTime::of_ms(0))
            .iter()
            .map(|sealed| read(&sealed.content).unwrap().len())
            .collect();
        assert_eq!(counts, [1, 1, 1, 1]);
    }

    #[test]
    fn entries_that_fit_the_room_are_taken_and_the_others_stay() {
        let mut writer = BatchWriter::new(40);
        for command in [&[1; 20][..], &[2; 20], &[3; 100], &[4; 1]] {
            writer.push(command, 1);
        }
        let first = writer.first_log_bytes().unwrap();
        let (none, used) = writer.take_within(WallTime::of_ms(7), first - 1);
        assert_eq!((none.len(), used), (0, 0));
        let (taken, used) = writer.take_within(WallTime::of_ms(7), 2 * first);
        assert_eq!((taken.len(), used), (2, 2 * first));
        assert_eq!(read(&taken[1].content).unwrap(), [[2; 20]]);
        assert_eq!((writer.commands(), writer.bytes(), writer.weight()), (2, 101, 2));
        writer.push(&[5; 1], 1);
        let rest: Vec<_> = writer
            .take(WallTime::of_ms(9))
            .iter()
            .flat_map(|sealed| read(&sealed.content).unwrap())
            .collect();
        assert_eq!(rest, [vec![3; 100], vec![4; 1], vec![5; 1]]);
    }

    #[test]
    fn every_cut_but_those_between_commands_is_unreadable() {
        let mut writer = BatchWriter::new(1000);
        writer.push(b"abc", 1);
        writer.push(b"defg", 1);
        let content = writer.take(WallTime::of_ms(1)).remove(0).content;
        let readable: Vec<_> = (0..=content.len()).filter(|cut| read(&content[..*cut]).is_ok()).collect();
        assert_eq!(readable, [0, 9, 16, 24]);
    }

    #[test]
    fn reader_goes_on_where_another_stopped() {
        let mut writer = BatchWriter::new(1000);
        writer.push(b"abc", 1);
        writer.push(b"defg", 1);
        let content = writer.take(WallTime::of_ms(1)).remove(0).content;
        let mut first = BatchReader::new(&content).unwrap();
        assert_eq!(first.next_command(), Ok(Some(&b"abc"[..])));
        let mut second = BatchReader::resume(&content, first.offset()).unwrap();
        assert_eq!((second.next_command(), second.next_command()), (Ok(Some(&b"defg"[..])), Ok(None)));
    }
}
