//! Messages on a connection between members: four bytes of length, four of checksum, the message. A frame without a
//! message only says that the sender lives.

use bytes::{Buf, Bytes, BytesMut};

/// The longest message: far beyond the largest entry that limits let through.
const FRAME_BYTES_MAX: usize = 1 << 30;
const HEAD_BYTES: usize = 8;

/// Appends what `encode` appends, as one frame.
pub(crate) fn append(out: &mut Vec<u8>, encode: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; HEAD_BYTES]);
    encode(out);
    let (head, message) = out[start..].split_at_mut(HEAD_BYTES);
    let length = u32::try_from(message.len()).expect("a message is bounded");
    head[..4].copy_from_slice(&length.to_le_bytes());
    head[4..].copy_from_slice(&crc32c::crc32c(message).to_le_bytes());
}

/// Takes the next whole frame out of what has arrived.
///
/// # Errors
/// The bytes are none: the connection is of no use any more.
pub(crate) fn next(inbox: &mut BytesMut) -> Result<Option<Bytes>, &'static str> {
    let Some(head) = inbox.first_chunk::<HEAD_BYTES>() else { return Ok(None) };
    let [a, b, c, d, checksum @ ..] = *head;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    if length > FRAME_BYTES_MAX {
        return Err("a message of impossible length");
    }
    if inbox.len() < HEAD_BYTES + length {
        inbox.reserve(HEAD_BYTES + length - inbox.len());
        return Ok(None);
    }
    inbox.advance(HEAD_BYTES);
    let message = inbox.split_to(length).freeze();
    if crc32c::crc32c(&message) != u32::from_le_bytes(checksum) {
        return Err("a message that was damaged on the way");
    }
    Ok(Some(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_however_they_are_cut() {
        let mut sent = Vec::new();
        for message in [&b"one"[..], b"", b"three"] {
            append(&mut sent, |out| out.extend_from_slice(message));
        }
        for piece in 1..sent.len() {
            let (mut inbox, mut got) = (BytesMut::new(), Vec::new());
            for bytes in sent.chunks(piece) {
                inbox.extend_from_slice(bytes);
                while let Some(message) = next(&mut inbox).expect("whole") {
                    got.push(message);
                }
            }
            assert_eq!(got, [&b"one"[..], b"", b"three"]);
        }
    }

    #[test]
    fn a_flipped_bit_and_a_wild_length_are_found() {
        let mut sent = Vec::new();
        append(&mut sent, |out| out.extend_from_slice(b"message"));
        for at in 4..sent.len() {
            let mut damaged = BytesMut::from(&sent[..]);
            damaged[at] ^= 1;
            assert!(next(&mut damaged).is_err(), "{at}");
        }
        assert!(next(&mut BytesMut::from(&[0xff; 8][..])).is_err());
    }
}
