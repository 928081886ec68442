//! Frames: a length of four bytes, then as many bytes.

use alloc::vec::Vec;

/// Bytes of a frame before its content.
pub const FRAME_HEADER: usize = 4;

/// What stands at the beginning of what was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A whole frame: its content, and what is behind it.
    Whole {
        /// The content.
        content: &'a [u8],
        /// What follows.
        rest: &'a [u8],
    },
    /// A part of one; so many bytes are missing at the least.
    Partial {
        /// How many.
        missing: usize,
    },
    /// A length below 0 or above the limit: nothing behind it can be read.
    TooLong,
}

/// The first frame of `bytes`, whose content has `most` bytes at the most.
#[must_use]
pub fn next_frame(bytes: &[u8], most: usize) -> Frame<'_> {
    let Some((length, rest)) = bytes.split_first_chunk::<FRAME_HEADER>() else {
        return Frame::Partial { missing: FRAME_HEADER - bytes.len() };
    };
    let Some(length) = usize::try_from(i32::from_be_bytes(*length)).ok().filter(|length| *length <= most)
    else {
        return Frame::TooLong;
    };
    match rest.split_at_checked(length) {
        Some((content, rest)) => Frame::Whole { content, rest },
        None => Frame::Partial { missing: length - rest.len() },
    }
}

/// Leaves room for a frame's length. Gives the place for [`end_frame`].
pub fn start_frame(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; FRAME_HEADER]);
    start
}

/// All that was written since [`start_frame`] is the content.
///
/// # Panics
/// It has more than 2 GiB: what is written is bounded above.
pub fn end_frame(out: &mut [u8], start: usize) {
    let length = out.len() - start - FRAME_HEADER;
    write_frame_length(out, start, length);
}

/// Content of that length follows at the place that [`start_frame`] gave. For content that does not all stand in `out`.
///
/// # Panics
/// It has more than 2 GiB: what is written is bounded above.
pub fn write_frame_length(out: &mut [u8], start: usize, length: usize) {
    let length = i32::try_from(length).expect("no response is that long");
    out[start..start + FRAME_HEADER].copy_from_slice(&length.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_is_found_once_it_is_whole() {
        let mut out = vec![9];
        let start = start_frame(&mut out);
        out.extend_from_slice(b"abc");
        end_frame(&mut out, start);
        out.push(7);
        let bytes = &out[1..];
        assert_eq!(next_frame(bytes, 3), Frame::Whole { content: b"abc", rest: &[7] });
        assert_eq!(next_frame(&bytes[..2], 3), Frame::Partial { missing: 2 });
        assert_eq!(next_frame(&bytes[..5], 3), Frame::Partial { missing: 2 });
    }

    #[test]
    fn length_below_zero_or_above_the_limit_is_refused_at_once() {
        assert_eq!(next_frame(&[0, 0, 0, 4], 3), Frame::TooLong);
        assert_eq!(next_frame(&[0xff; 4], usize::MAX), Frame::TooLong);
    }
}
