//! Bytes that wait to be sent, and the buffers they wait in.
//!
//! A connection without unsent bytes holds no buffer: emptied ones go to a pool that the shard shares, so ten
//! thousand idle connections cost nothing and a busy one never allocates.

use std::collections::VecDeque;

/// What one connection has yet to send, in segments: none is copied when others are sent, and a long reply is a segment of
/// its own.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// Segments that are sent before the last one; mostly there are none.
    older: VecDeque<Vec<u8>>,
    last: Vec<u8>,
    /// How much of the first segment is sent.
    start: usize,
    /// Bytes of all segments before the last one, those that are gone included.
    before_last: usize,
    /// Bytes that were sent.
    sent: usize,
    /// Up to where frames have been counted.
    counted: usize,
}

impl Output {
    /// The next bytes to be sent: all of the first segment that is left.
    pub(crate) fn pending(&self) -> &[u8] {
        self.older.front().unwrap_or(&self.last).get(self.start..).unwrap_or_default()
    }

    pub(crate) const fn len(&self) -> usize {
        self.written() - self.sent
    }

    const fn written(&self) -> usize {
        self.before_last + self.last.len()
    }

    /// Where to append a frame.
    pub(crate) fn buffer(&mut self, pool: &mut BufferPool) -> &mut Vec<u8> {
        if self.last.len() >= SEGMENT_BYTES {
            self.begin_segment(Vec::new());
        }
        if self.last.capacity() == 0 {
            self.last = pool.take();
        }
        &mut self.last
    }

    /// Appends a whole frame; a long one without a copy.
    pub(crate) fn append(&mut self, frame: Vec<u8>, pool: &mut BufferPool) {
        if frame.len() <= BUFFER_BYTES_MAX {
            self.buffer(pool).extend_from_slice(&frame);
        } else if self.last.is_empty() {
            pool.give(core::mem::replace(&mut self.last, frame));
        } else {
            self.begin_segment(frame);
        }
    }

    fn begin_segment(&mut self, segment: Vec<u8>) {
        self.before_last += self.last.len();
        self.older.push_back(core::mem::replace(&mut self.last, segment));
    }

    /// How many bytes were appended since this was last asked: the size of the frame just written.
    pub(crate) const fn newly_written(&mut self) -> usize {
        let new = self.written() - self.counted;
        self.counted = self.written();
        new
    }

    /// How many of the pending bytes [`Self::newly_written`] has told of.
    pub(crate) const fn told(&self) -> usize {
        self.counted.saturating_sub(self.sent)
    }

    /// Forgets the first `count` pending bytes.
    pub(crate) fn sent(&mut self, count: usize, pool: &mut BufferPool) {
        let count = count.min(self.len());
        self.sent += count;
        self.start += count;
        while let Some(first) = self.older.pop_front_if(|first| first.len() <= self.start) {
            self.start -= first.len();
            pool.give(first);
        }
        if self.sent == self.written() {
            pool.give(core::mem::take(&mut self.last));
            *self = Self::default();
        }
    }
}

/// From how many bytes on a segment is not appended to.
const SEGMENT_BYTES: usize = 256 << 10;
const BUFFER_BYTES_MAX: usize = 256 << 10;
const POOL_BYTES_MAX: usize = 16 << 20;

/// Buffers without an owner.
#[derive(Debug, Default)]
pub(crate) struct BufferPool {
    spare: Vec<Vec<u8>>,
    bytes: usize,
}

impl BufferPool {
    fn take(&mut self) -> Vec<u8> {
        let Some(buffer) = self.spare.pop() else { return Vec::with_capacity(512) };
        self.bytes -= buffer.capacity();
        buffer
    }

    fn give(&mut self, mut buffer: Vec<u8>) {
        let capacity = buffer.capacity();
        if capacity <= BUFFER_BYTES_MAX && self.bytes + capacity <= POOL_BYTES_MAX {
            buffer.clear();
            self.bytes += capacity;
            self.spare.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emptied_buffer_is_given_back_and_taken_again() {
        let mut pool = BufferPool::default();
        let mut output = Output::default();
        output.buffer(&mut pool).extend_from_slice(b"abcdef");
        output.sent(2, &mut pool);
        assert_eq!(output.pending(), b"cdef");
        assert_eq!((output.newly_written(), output.newly_written()), (6, 0));
        output.sent(9, &mut pool);
        assert_eq!((output.len(), output.last.capacity(), pool.spare.len()), (0, 0, 1));
        output.buffer(&mut pool).push(1);
        assert_eq!((output.pending(), pool.spare.len()), (&[1][..], 0));
    }

    #[test]
    fn what_was_sent_does_not_pile_up_before_what_was_not() {
        let mut pool = BufferPool::default();
        let mut output = Output::default();
        for _ in 0..100 {
            output.buffer(&mut pool).extend_from_slice(&[0; 100_000]);
            output.sent(99_999, &mut pool);
        }
        assert_eq!(output.len(), 100);
        let kept: usize = output.older.iter().chain([&output.last]).map(Vec::len).sum();
        assert!(kept < 1 << 20, "{kept}");
    }

    #[test]
    fn segments_are_sent_in_order_and_a_long_frame_is_not_copied() {
        let mut pool = BufferPool::default();
        let mut output = Output::default();
        output.buffer(&mut pool).extend_from_slice(&[1; 10]);
        let long = vec![2; BUFFER_BYTES_MAX + 1];
        let at = long.as_ptr();
        output.append(long, &mut pool);
        output.buffer(&mut pool).extend_from_slice(&[3; 5]);
        assert_eq!((output.newly_written(), output.len()), (BUFFER_BYTES_MAX + 16, BUFFER_BYTES_MAX + 16));
        output.sent(4, &mut pool);
        assert_eq!((output.pending(), output.told()), (&[1; 6][..], BUFFER_BYTES_MAX + 12));
        output.sent(7, &mut pool);
        assert_eq!(
            (output.pending().len(), output.pending().as_ptr()),
            (BUFFER_BYTES_MAX, at.wrapping_add(1))
        );
        output.sent(BUFFER_BYTES_MAX, &mut pool);
        assert_eq!((output.pending(), output.len(), output.told()), (&[3; 5][..], 5, 5));
        output.sent(5, &mut pool);
        assert_eq!(
            (output.len(), output.told(), output.newly_written(), output.older.capacity()),
            (0, 0, 0, 0)
        );
    }
}
