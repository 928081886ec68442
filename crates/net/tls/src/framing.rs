//! Where frames end in a stream of them, by their length prefixes.
//!
//! Where a protocol asks for it, each frame gets a record of TLS of its own, as Java's servers do it. A client over OpenSSL (kazoo, for one) may take one
//! reply and then wait until its socket is readable; but what OpenSSL has decrypted of a record lies no longer in the
//! socket. A second reply in that record would wait there until something else arrives, at worst the answer to a ping.

const PREFIX: usize = size_of::<u32>();

/// What gets a record of TLS of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// Nothing in particular: a record holds what fits.
    #[default]
    None,
    /// Each frame, which begins with its length: four bytes, the most significant first.
    LengthPrefixed,
}

/// How far into a frame the stream is.
#[derive(Clone, Copy, Default)]
pub(crate) struct Frames {
    prefix: [u8; PREFIX],
    prefix_passed: usize,
    body_left: usize,
}

impl Frames {
    /// How many of the bytes to come belong to the frame that they begin in. (Bytes that are no frame, such as the
    /// answer to a four-letter word, are cut somewhere; all of them still pass.)
    pub(crate) fn until_end(self, bytes: &[u8]) -> usize {
        let mut ahead = self;
        ahead.pass(bytes)
    }

    /// Goes on by bytes that have passed, no farther than to the frame's end; says by how many.
    pub(crate) fn pass(&mut self, bytes: &[u8]) -> usize {
        let head = bytes.len().min(PREFIX - self.prefix_passed);
        for (place, byte) in self.prefix.iter_mut().skip(self.prefix_passed).zip(bytes) {
            *place = *byte;
        }
        self.prefix_passed += head;
        if self.prefix_passed < PREFIX {
            return head;
        }
        if head > 0 {
            self.body_left = u32::from_be_bytes(self.prefix) as usize;
        }
        let body = self.body_left.min(bytes.len() - head);
        self.body_left -= body;
        if self.body_left == 0 {
            self.prefix_passed = 0;
        }
        head + body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three frames: of two bytes, of none, of three.
    const STREAM: [u8; 17] = [0, 0, 0, 2, 7, 7, 0, 0, 0, 0, 0, 0, 0, 3, 7, 7, 7];
    const ENDS: [usize; 3] = [6, 10, 17];

    #[test]
    fn every_end_is_found_however_the_stream_arrives() {
        for piece in 1..=STREAM.len() {
            let mut frames = Frames::default();
            let mut at = 0;
            let mut ends = Vec::new();
            while at < STREAM.len() {
                let arrived = &STREAM[at..STREAM.len().min(at + piece)];
                let length = frames.until_end(arrived);
                assert_eq!(frames.pass(arrived), length);
                at += length;
                if frames.prefix_passed == 0 {
                    ends.push(at);
                }
            }
            assert_eq!(ends, ENDS, "in pieces of {piece}");
        }
    }

    #[test]
    fn what_is_no_frame_passes() {
        assert_eq!(Frames::default().until_end(b"imok"), 4);
        assert_eq!(Frames::default().until_end(b"This is a text and no"), 21);
    }
}
