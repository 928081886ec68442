//! A snapshot file: chunks with checksums, closed by a footer that says which part of the log the snapshot replaces.
//!
//! ```text
//! "DIWANSNP", version u32, crc32c u32
//! chunk length u32, crc32c u32, bytes            any number of times
//! u32::MAX, crc32c u32, footer length u32, footer: meta, chunk count, byte count
//! footer offset u64, "ENDS", crc32c u32
//! ```
//! Checksums of chunks cover the place of the chunk in the file, so that a chunk written elsewhere does not verify.

use crate::batch::SnapshotMeta;
use crate::codec::{self, Input};
use crate::state::LAST_INDEX_MAX;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use base::LogIndex;
use storage_disk::{Disk, DiskError};
use storage_wal::{Corruption, Fault, OpenError};

pub(crate) const SNAPSHOT_DIRECTORY: &str = "snapshot";
pub(crate) const SNAPSHOT_TEMPORARY: &str = "snapshot/incoming.tmp";
const MAGIC: &[u8; 8] = b"DIWANSNP";
const END_MAGIC: &[u8; 4] = b"ENDS";
const SNAPSHOT_VERSION: u32 = 1;
const HEAD_BYTES: u64 = 16;
const CHUNK_HEAD_BYTES: u64 = 8;
const FOOTER_MARK: u32 = u32::MAX;
const END_BYTES: u64 = 16;
/// The longest chunk that is written in one piece.
const CHUNK_BYTES_MAX: usize = 64 << 20;

const HINT: &str = "the file was left as it is. Restore the data directory from a backup, or, in an ensemble, start the \
     member anew with an empty directory";

pub(crate) fn snapshot_path(index: LogIndex) -> String {
    format!("{SNAPSHOT_DIRECTORY}/{:016x}.snap", index.0)
}

pub(crate) fn snapshot_index(name: &str) -> Option<LogIndex> {
    let digits = name.strip_suffix(".snap")?;
    let index = u64::from_str_radix(digits, 16).ok()?;
    (digits.len() == 16 && LogIndex(index) <= LAST_INDEX_MAX && format!("{index:016x}") == digits)
        .then_some(LogIndex(index))
}

fn fault(path: &str, operation: &'static str, error: DiskError) -> Fault {
    Fault { file: path.to_string(), operation, error }
}

/// A snapshot on its way to the disk, under a temporary name.
pub(crate) struct SnapshotWriter<File> {
    file: File,
    offset: u64,
    chunks: u64,
    content_bytes: u64,
    written_back: u64,
}

impl<File> SnapshotWriter<File> {
    pub(crate) fn create<D: Disk<File = File>>(disk: &mut D) -> Result<Self, Fault> {
        let failed = |error| fault(SNAPSHOT_TEMPORARY, "create", error);
        let file = disk.create(SNAPSHOT_TEMPORARY).map_err(failed)?;
        let mut head = MAGIC.to_vec();
        head.extend_from_slice(&SNAPSHOT_VERSION.to_le_bytes());
        head.extend_from_slice(&crc32c::crc32c(&head).to_le_bytes());
        let mut writer = SnapshotWriter { file, offset: 0, chunks: 0, content_bytes: 0, written_back: 0 };
        writer.write(disk, &head)?;
        Ok(writer)
    }

    /// Appends content; a long one is cut into several chunks.
    pub(crate) fn chunk<D: Disk<File = File>>(&mut self, disk: &mut D, content: &[u8]) -> Result<(), Fault> {
        for part in content.chunks(CHUNK_BYTES_MAX) {
            let length = part.len() as u32;
            let crc = chunk_checksum(self.offset, length, part);
            let mut head = [0; CHUNK_HEAD_BYTES as usize];
            head[..4].copy_from_slice(&length.to_le_bytes());
            head[4..].copy_from_slice(&crc.to_le_bytes());
            self.write(disk, &head)?;
            self.write(disk, part)?;
            self.chunks += 1;
            self.content_bytes += part.len() as u64;
        }
        Ok(())
    }

    /// Starts the way to the disk of what was written, each time that has grown by `every` bytes.
    pub(crate) fn write_back<D: Disk<File = File>>(&mut self, disk: &mut D, every: u64) {
        if self.offset - self.written_back >= every {
            self.written_back = self.offset;
            disk.start_writeback(&self.file);
        }
    }

    /// Closes the file and makes it durable under its temporary name. Returns its length.
    pub(crate) fn close<D: Disk<File = File>>(
        mut self,
        disk: &mut D,
        meta: &SnapshotMeta,
    ) -> Result<u64, Fault> {
        let footer_offset = self.offset;
        let mut footer = Vec::new();
        codec::put_snapshot_meta(&mut footer, meta);
        codec::put_varint(&mut footer, self.chunks);
        codec::put_varint(&mut footer, self.content_bytes);
        let mut out = FOOTER_MARK.to_le_bytes().to_vec();
        let length = footer.len() as u32;
        out.extend_from_slice(&chunk_checksum(footer_offset, length, &footer).to_le_bytes());
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&footer);
        let mut end = footer_offset.to_le_bytes().to_vec();
        end.extend_from_slice(END_MAGIC);
        end.extend_from_slice(&crc32c::crc32c(&end).to_le_bytes());
        out.extend_from_slice(&end);
        self.write(disk, &out)?;
        disk.sync_data(&self.file).map_err(|error| fault(SNAPSHOT_TEMPORARY, "flush", error))?;
        Ok(self.offset)
    }

    fn write<D: Disk<File = File>>(&mut self, disk: &mut D, bytes: &[u8]) -> Result<(), Fault> {
        let written = disk.write_at(&self.file, self.offset, bytes);
        written.map_err(|error| fault(SNAPSHOT_TEMPORARY, "write", error))?;
        self.offset += bytes.len() as u64;
        Ok(())
    }
}

fn chunk_checksum(offset: u64, length: u32, content: &[u8]) -> u32 {
    let seed = crc32c::crc32c(&offset.to_le_bytes());
    crc32c::crc32c_append(crc32c::crc32c_append(seed, &length.to_le_bytes()), content)
}

/// Reads the chunks of a snapshot in order; see [`Journal::open_snapshot`](crate::Journal::open_snapshot).
///
/// It stays readable while the journal goes on, even when the snapshot is purged meanwhile.
pub struct SnapshotReader<File> {
    file: File,
    path: String,
    meta: SnapshotMeta,
    offset: u64,
    footer_offset: u64,
    chunks_left: u64,
    content_left: u64,
}

impl<File> SnapshotReader<File> {
    /// What the snapshot stands for.
    pub fn meta(&self) -> &SnapshotMeta {
        &self.meta
    }

    /// How many bytes of content are still to be read.
    pub fn content_bytes_left(&self) -> u64 {
        self.content_left
    }

    /// Opens the snapshot of this index and reads its footer; its chunks are not yet verified.
    pub(crate) fn open<D: Disk<File = File>>(disk: &mut D, index: LogIndex) -> Result<Self, OpenError> {
        let reader = Self::open_path(disk, snapshot_path(index))?;
        if reader.meta.index == index {
            return Ok(reader);
        }
        let what = "it stands for another index than its name says";
        Err(OpenError::Corrupt(damaged(&reader.path, reader.footer_offset, what)))
    }

    /// The same for a snapshot with a name that has no index.
    fn open_path<D: Disk<File = File>>(disk: &mut D, path: String) -> Result<Self, OpenError> {
        let file = disk.open(&path).map_err(|error| fault(&path, "open", error))?;
        let length = disk.len(&file).map_err(|error| fault(&path, "measure", error))?;
        let mut read = |offset: u64, length: u64| read_exactly(disk, &file, &path, offset, length);
        let bad = |offset, what: &str| OpenError::Corrupt(damaged(&path, offset, what));

        let head = read(0, HEAD_BYTES.min(length))?;
        check_head(&path, &head)?;
        let end_offset = length
            .checked_sub(END_BYTES)
            .filter(|at| *at >= HEAD_BYTES)
            .ok_or_else(|| bad(length, "it is cut off"))?;
        let end = read(end_offset, END_BYTES)?;
        let (covered, crc) = end.split_at(12);
        if crc != crc32c::crc32c(covered).to_le_bytes() || &covered[8..] != END_MAGIC {
            return Err(bad(end_offset, "it has no end"));
        }
        let mut input = Input::new(covered);
        let footer_offset = u64::from_le_bytes(input.array().map_err(|_| bad(end_offset, "it has no end"))?);
        let footer_length = end_offset
            .checked_sub(footer_offset)
            .filter(|length| footer_offset >= HEAD_BYTES && (12..1 << 20).contains(length))
            .ok_or_else(|| bad(end_offset, "its end leads nowhere"))?;
        let footer = read(footer_offset, footer_length)?;
        let (meta, chunks_left, content_left) = parse_footer(&footer, footer_offset)
            .ok_or_else(|| bad(footer_offset, "its footer does not verify"))?;
        let offset = HEAD_BYTES;
        Ok(SnapshotReader { file, path, meta, offset, footer_offset, chunks_left, content_left })
    }

    /// The next chunk; nothing at the end.
    pub(crate) fn next<D: Disk<File = File>>(&mut self, disk: &mut D) -> Result<Option<Vec<u8>>, OpenError> {
        let at = self.offset;
        let bad = |what: &str| OpenError::Corrupt(damaged(&self.path, at, what));
        if at == self.footer_offset {
            let whole = self.chunks_left == 0 && self.content_left == 0;
            return if whole { Ok(None) } else { Err(bad("chunks are missing")) };
        }
        if self.footer_offset - at < CHUNK_HEAD_BYTES {
            return Err(bad("a chunk is cut off"));
        }
        let head = read_exactly(disk, &self.file, &self.path, at, CHUNK_HEAD_BYTES)?;
        let mut input = Input::new(&head);
        let mut word = || input.array().map(u32::from_le_bytes).map_err(|_| bad("a chunk is cut off"));
        let (length, crc) = (word()?, word()?);
        if u64::from(length) > self.footer_offset - at - CHUNK_HEAD_BYTES || self.chunks_left == 0 {
            return Err(bad("a chunk is longer than the file"));
        }
        let content = read_exactly(disk, &self.file, &self.path, at + CHUNK_HEAD_BYTES, u64::from(length))?;
        if chunk_checksum(at, length, &content) != crc {
            return Err(bad("the checksum of a chunk is wrong"));
        }
        self.offset += CHUNK_HEAD_BYTES + u64::from(length);
        self.chunks_left -= 1;
        self.content_left = self.content_left.checked_sub(u64::from(length)).ok_or_else(|| {
            OpenError::Corrupt(damaged(&self.path, at, "there are more chunks than it says"))
        })?;
        Ok(Some(content))
    }

    /// Reads the whole snapshot of this index and checks it.
    pub(crate) fn verify<D: Disk<File = File>>(
        disk: &mut D,
        index: LogIndex,
    ) -> Result<SnapshotMeta, OpenError> {
        let mut reader = Self::open(disk, index)?;
        while reader.next(disk)?.is_some() {}
        Ok(reader.meta)
    }
}

/// A snapshot that lies outside a journal's directory: one that was sent, say.
pub struct LooseSnapshot<D: Disk> {
    disk: D,
    reader: SnapshotReader<D::File>,
}

impl<D: Disk> LooseSnapshot<D> {
    /// Opens the file and reads what it stands for; its content is not yet verified.
    pub fn open(mut disk: D, path: &str) -> Result<Self, OpenError> {
        let reader = SnapshotReader::open_path(&mut disk, path.to_string())?;
        Ok(Self { disk, reader })
    }

    /// What the snapshot stands for.
    pub fn meta(&self) -> &SnapshotMeta {
        self.reader.meta()
    }

    /// The next chunk, verified; nothing at the end.
    pub fn next_chunk(&mut self) -> Result<Option<Vec<u8>>, OpenError> {
        self.reader.next(&mut self.disk)
    }
}

fn check_head(path: &str, head: &[u8]) -> Result<(), OpenError> {
    let bad = |what: &str| OpenError::Corrupt(damaged(path, 0, what));
    let mut input = Input::new(head);
    let cut = |_| bad("it is cut off");
    let magic: [u8; 8] = input.array().map_err(cut)?;
    let found = u32::from_le_bytes(input.array().map_err(cut)?);
    let crc: [u8; 4] = input.array().map_err(cut)?;
    let covered = head.get(..12).unwrap_or_default();
    if magic != *MAGIC || crc != crc32c::crc32c(covered).to_le_bytes() {
        return Err(bad("it does not begin as ours do"));
    }
    if found > SNAPSHOT_VERSION {
        return Err(OpenError::Version { file: path.to_string(), found, known: SNAPSHOT_VERSION });
    }
    Ok(())
}

fn parse_footer(bytes: &[u8], offset: u64) -> Option<(SnapshotMeta, u64, u64)> {
    let mut input = Input::new(bytes);
    let mark = u32::from_le_bytes(input.array().ok()?);
    let crc = u32::from_le_bytes(input.array().ok()?);
    let length = u32::from_le_bytes(input.array().ok()?);
    let footer = input.take(length as usize).ok()?;
    input.finish().ok()?;
    if mark != FOOTER_MARK || chunk_checksum(offset, length, footer) != crc {
        return None;
    }
    let mut input = Input::new(footer);
    let meta = codec::snapshot_meta(&mut input).ok()?;
    let (chunks, bytes) = (input.varint().ok()?, input.varint().ok()?);
    input.finish().ok()?;
    Some((meta, chunks, bytes))
}

fn read_exactly<D: Disk>(
    disk: &mut D,
    file: &D::File,
    path: &str,
    offset: u64,
    length: u64,
) -> Result<Vec<u8>, OpenError> {
    let mut bytes = vec![0; length as usize];
    let read = disk.read_at(file, offset, &mut bytes).map_err(|error| fault(path, "read", error))?;
    if read < bytes.len() {
        return Err(damaged(path, offset + read as u64, "it is cut off").into());
    }
    Ok(bytes)
}

fn damaged(path: &str, offset: u64, what: &str) -> Corruption {
    Corruption { file: path.to_string(), offset, what: what.to_string(), hint: HINT }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_snapshots_are_exact() {
        assert_eq!(snapshot_path(LogIndex(300)), "snapshot/000000000000012c.snap");
        assert_eq!(snapshot_index("000000000000012c.snap"), Some(LogIndex(300)));
        assert_eq!(snapshot_index("12c.snap"), None);
        assert_eq!(snapshot_index("ffffffffffffffff.snap"), None);
        assert_eq!(snapshot_index("incoming.tmp"), None);
    }
}
