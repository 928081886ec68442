//! Bytes that wait to be sent, and the buffers they wait in.
//!
//! A connection without unsent bytes holds no buffer: emptied ones go to a pool that the shard shares, so ten
//! thousand idle connections cost nothing and a busy one never allocates.

/// What one connection has yet to send.
#[derive(Debug, Default)]
pub(crate) struct Output {
    bytes: Vec<u8>,
    start: usize,
    /// Up to where frames have been counted.
    counted: usize,
}

impl Output {
    pub(crate) fn pending(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }

    pub(crate) const fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// Where to append.
    pub(crate) fn buffer(&mut self, pool: &mut BufferPool) -> &mut Vec<u8> {
        if self.bytes.capacity() == 0 {
            self.bytes = pool.take();
        }
        &mut self.bytes
    }

    /// Appends a whole frame, without a copy if nothing else waits.
    pub(crate) fn append(&mut self, frame: Vec<u8>, pool: &mut BufferPool) {
        if self.len() == 0 && frame.len() > BUFFER_BYTES_MAX {
            (self.start, self.counted) = (0, 0);
            pool.give(core::mem::replace(&mut self.bytes, frame));
        } else {
            self.buffer(pool).extend_from_slice(&frame);
        }
    }

    /// How many bytes were appended since this was last asked: the size of the frame just written.
    pub(crate) fn newly_written(&mut self) -> usize {
        let new = self.bytes.len() - self.counted;
        self.counted = self.bytes.len();
        new
    }

    /// How many of the pending bytes [`Self::newly_written`] has told of.
    pub(crate) const fn told(&self) -> usize {
        self.counted.saturating_sub(self.start)
    }

    /// Forgets the first `count` pending bytes.
    pub(crate) fn sent(&mut self, count: usize, pool: &mut BufferPool) {
        self.start = (self.start + count).min(self.bytes.len());
        if self.start == self.bytes.len() {
            (self.start, self.counted) = (0, 0);
            pool.give(core::mem::take(&mut self.bytes));
        } else if self.start >= COMPACT_BYTES && self.start >= self.len() {
            // A client that never quite catches up would otherwise keep all that it ever got.
            self.bytes.drain(..self.start);
            self.counted = self.counted.saturating_sub(self.start);
            self.start = 0;
        }
    }
}

const COMPACT_BYTES: usize = 256 << 10;
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
        assert_eq!((output.len(), output.bytes.capacity(), pool.spare.len()), (0, 0, 1));
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
        assert!(output.bytes.len() < 1 << 20);
    }
}
