//! What is to be sent on a connection: bytes, with parts of files between them.
//!
//! A part of a file goes from the file to the socket, and never through the memory of this process. Few are worth it: below
//! [`FILE_BYTES_MIN`] the call costs more than the copy, and each part keeps its file open until it is sent, so that one
//! connection holds at most [`FILES_MAX`]; all others are copied.

use std::collections::VecDeque;

use log_storage::SegmentRange;
use log_wire::{FRAME_HEADER, Writer};
use net_event_loop::{FilePart, Output};

/// A part of a file that is smaller is copied.
pub(crate) const FILE_BYTES_MIN: u64 = 24 << 10;
/// Parts of files that a connection may have before it.
const FILES_MAX: usize = 8;
/// How much of the room for bytes is kept while nothing is sent.
const KEPT_BYTES: usize = 64 << 10;

/// See the module.
#[derive(Debug)]
pub struct Outgoing<F> {
    bytes: Vec<u8>,
    /// How many of them are sent.
    sent: usize,
    /// In the order in which they are sent.
    files: VecDeque<PlacedPart<F>>,
    /// Bytes of all of them that are not sent.
    file_bytes: usize,
}

/// A part of a file, what is left of it.
#[derive(Debug)]
struct PlacedPart<F> {
    /// Behind so many of the bytes.
    at: usize,
    part: SegmentRange<F>,
}

impl<F> Default for Outgoing<F> {
    fn default() -> Self {
        Self { bytes: Vec::new(), sent: 0, files: VecDeque::new(), file_bytes: 0 }
    }
}

impl<F> Outgoing<F> {
    /// With room for so many bytes.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), ..Self::default() }
    }

    /// The bytes, to append to.
    pub(crate) const fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// What appends to the bytes.
    pub(crate) const fn writer(&mut self, flexible: bool) -> Writer<'_> {
        Writer::new(&mut self.bytes, flexible)
    }

    /// Appends a frame whose content `write` appends.
    ///
    /// # Panics
    /// It has more than 2 GiB: what is written is bounded above.
    pub(crate) fn frame(&mut self, write: impl FnOnce(&mut Self)) {
        let (start, file_bytes) = (log_wire::start_frame(&mut self.bytes), self.file_bytes);
        write(self);
        let length = self.bytes.len() - start - FRAME_HEADER + self.file_bytes - file_bytes;
        log_wire::write_frame_length(&mut self.bytes, start, length);
    }

    /// Whether a part of a file of that length is sent from its file.
    pub(crate) fn takes_part(&self, length: u64) -> bool {
        length >= FILE_BYTES_MIN && self.files.len() < FILES_MAX
    }

    /// Appends a part of a file.
    pub(crate) fn part(&mut self, part: SegmentRange<F>) {
        self.file_bytes += part.length as usize;
        self.files.push_back(PlacedPart { at: self.bytes.len(), part });
    }

    /// Appends all of another.
    pub(crate) fn append(&mut self, other: Self) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.file_bytes += other.file_bytes;
        self.files
            .extend(other.files.into_iter().map(|placed| PlacedPart { at: begin + placed.at, ..placed }));
    }

    /// What is to be sent next.
    #[must_use]
    pub fn output(&self) -> Output<'_, F> {
        let Some(PlacedPart { at, part }) = self.files.front() else {
            return Output::bytes(self.bytes.get(self.sent..).unwrap_or_default());
        };
        let bytes = self.bytes.get(self.sent..*at).unwrap_or_default();
        let (from, length) = (part.position, part.length as usize);
        Output { bytes, file: Some(FilePart { file: &part.file, from, length }) }
    }

    /// How many bytes are to be sent in all.
    pub(crate) const fn len(&self) -> usize {
        self.bytes.len() - self.sent + self.file_bytes
    }

    /// So many bytes were sent.
    pub(crate) fn sent(&mut self, mut count: usize) {
        while let Some(PlacedPart { at, part }) = self.files.front_mut() {
            let before = count.min(*at - self.sent);
            self.sent += before;
            count -= before;
            let of_file = (count as u64).min(part.length);
            part.position += of_file;
            part.length -= of_file;
            self.file_bytes -= of_file as usize;
            count -= of_file as usize;
            if part.length > 0 {
                return;
            }
            self.files.pop_front();
        }
        self.sent += count;
        if self.sent >= self.bytes.len() {
            self.bytes.clear();
            self.bytes.shrink_to(KEPT_BYTES);
            self.sent = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Named = Outgoing<&'static str>;

    fn part(file: &'static str, position: u64, length: u64) -> SegmentRange<&'static str> {
        SegmentRange { file, position, length }
    }

    /// All that is sent, in steps of so many bytes at most: bytes as they are, of files each as its name and its place.
    fn drain(outgoing: &mut Named, step: usize) -> Vec<String> {
        let mut sent = Vec::new();
        while outgoing.len() > 0 {
            let output = outgoing.output().first(step);
            let length = output.len();
            sent.extend(output.bytes.iter().map(|byte| char::from(*byte).to_string()));
            if let Some(part) = output.file {
                sent.extend((part.from..).take(part.length).map(|at| format!("{}{at}", part.file)));
            }
            outgoing.sent(length);
        }
        sent
    }

    fn filled() -> Named {
        let mut outgoing = Named::default();
        outgoing.bytes().extend_from_slice(b"ab");
        outgoing.part(part("f", 7, 3));
        outgoing.part(part("g", 0, 1));
        outgoing.bytes().push(b'c');
        let mut behind = Named::default();
        behind.bytes().push(b'd');
        behind.part(part("h", 1, 2));
        outgoing.append(behind);
        outgoing.bytes().push(b'e');
        outgoing
    }

    #[test]
    fn bytes_and_parts_are_sent_in_the_order_in_which_they_were_appended() {
        let all = ["a", "b", "f7", "f8", "f9", "g0", "c", "d", "h1", "h2", "e"];
        for step in 1..=all.len() {
            let mut outgoing = filled();
            assert_eq!(outgoing.len(), all.len());
            assert_eq!(drain(&mut outgoing, step), all, "in steps of {step}");
            outgoing.bytes().push(b'z');
            assert_eq!(drain(&mut outgoing, step), ["z"], "after all was sent");
        }
    }

    #[test]
    fn length_of_a_frame_counts_the_parts_of_files_in_it() {
        let mut outgoing = filled();
        let before = outgoing.bytes().len();
        outgoing.frame(|out| {
            out.bytes().push(1);
            out.part(part("i", 0, 300));
            out.bytes().push(2);
        });
        let length = outgoing.bytes()[before..].first_chunk().map(|length| i32::from_be_bytes(*length));
        assert_eq!(length, Some(302));
    }

    #[test]
    fn parts_that_are_small_or_too_many_are_not_taken() {
        let mut outgoing = Named::default();
        assert!(!outgoing.takes_part(FILE_BYTES_MIN - 1));
        for _ in 0..FILES_MAX {
            assert!(outgoing.takes_part(FILE_BYTES_MIN));
            outgoing.part(part("f", 0, FILE_BYTES_MIN));
        }
        assert!(!outgoing.takes_part(FILE_BYTES_MIN), "so many files are held open at most");
        outgoing.sent(FILE_BYTES_MIN as usize);
        assert!(outgoing.takes_part(FILE_BYTES_MIN), "one was sent");
    }
}
