//! Frames: a 4-byte big-endian length, then that many bytes.

use alloc::vec::Vec;

/// Bytes of a frame's length field.
pub const FRAME_HEADER: usize = 4;

/// What stands at the start of a connection's unread bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Not enough bytes yet to tell or to hand over a frame of this many bytes, its length field included
    /// (0 when not even the length is there).
    Partial(usize),
    /// One whole frame, without its length field.
    Whole(&'a [u8]),
    /// A length that is negative or beyond the limit.
    Refused(i32),
}

/// Looks at the first frame in `bytes`, of `limit` bytes at the most.
#[inline]
#[must_use]
pub fn next_frame(bytes: &[u8], limit: usize) -> Frame<'_> {
    let Some((header, rest)) = bytes.split_first_chunk::<FRAME_HEADER>() else { return Frame::Partial(0) };
    let declared = i32::from_be_bytes(*header);
    match usize::try_from(declared) {
        Ok(length) if length <= limit => match rest.get(..length) {
            Some(frame) => Frame::Whole(frame),
            None => Frame::Partial(FRAME_HEADER + length),
        },
        _ => Frame::Refused(declared),
    }
}

/// Leaves room for a frame's length at the end of `out`; returns where, for [`end_frame`].
#[inline]
pub fn start_frame(out: &mut Vec<u8>) -> usize {
    let at = out.len();
    out.extend_from_slice(&[0; FRAME_HEADER]);
    at
}

/// Fills in the length of the frame begun at `at`, now that its body is written.
///
/// # Panics
/// When the frame is longer than 2 GiB: none of ours is.
#[inline]
pub fn end_frame(out: &mut [u8], at: usize) {
    let length =
        u32::try_from(out.len() - at - FRAME_HEADER).expect("a frame longer than 2 GiB is never built");
    if let Some(header) = out.get_mut(at..at + FRAME_HEADER) {
        header.copy_from_slice(&length.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_told_at_every_cut() {
        let mut out = Vec::new();
        let at = start_frame(&mut out);
        out.extend_from_slice(b"abc");
        end_frame(&mut out, at);
        assert_eq!(next_frame(&out[..3], 10), Frame::Partial(0));
        for cut in 4..7 {
            assert_eq!(next_frame(&out[..cut], 10), Frame::Partial(7));
        }
        assert_eq!(next_frame(&out, 10), Frame::Whole(b"abc"));
        assert_eq!(next_frame(&out, 2), Frame::Refused(3));
        assert_eq!(next_frame(&[255, 0, 0, 0], 2), Frame::Refused(-16_777_216));
    }
}
