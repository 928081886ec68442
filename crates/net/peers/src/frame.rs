//! Messages on a connection between members: four bytes of length, four of checksum, the message. A frame without a
//! message only says that the sender lives. The message's first byte tells its channel ([`crate::channel`]).
//!
//! How long a message may be depends on its first bytes: its channel judges that. Memory grows with the bytes that have
//! arrived, never with the length that was announced.

use bytes::{Buf, Bytes, BytesMut};

use crate::channel::{ChannelNumber, Channels, ROSTER};

const HEAD_BYTES: usize = 8;

/// What a frame says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// That its sender lives.
    Alive,
    /// The sender's roster, as text.
    Roster(Bytes),
    /// A message of a channel.
    Message(ChannelNumber, Bytes),
}

/// What a whole frame's message says.
///
/// # Errors
/// It is of a channel that is not known here.
pub(crate) fn understand(mut bytes: Bytes, channels: &Channels) -> Result<Said, &'static str> {
    let Some(&first) = bytes.first() else { return Ok(Said::Alive) };
    if first == ROSTER {
        bytes.advance(1);
        return Ok(Said::Roster(bytes));
    }
    let channel = channels.of(first).ok_or("a message of an unknown channel")?;
    if channel.prefix().is_some() {
        bytes.advance(1);
    }
    Ok(Said::Message(channel, bytes))
}

/// Appends the message that `encode` appends, as one frame of a channel.
pub(crate) fn append_message(out: &mut Vec<u8>, channel: ChannelNumber, encode: impl FnOnce(&mut Vec<u8>)) {
    append(out, |out| {
        out.extend(channel.prefix());
        let start = out.len();
        encode(out);
        let is_its_own = |first: &u8| *first < 0x80;
        debug_assert!(channel != ChannelNumber::ZERO || out.get(start).is_some_and(is_its_own));
    });
}

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
/// The bytes are none, or the message is longer than one that begins like it may be: the connection is of no use any more.
pub(crate) fn next(inbox: &mut BytesMut, channels: &Channels) -> Result<Option<Bytes>, &'static str> {
    let Some((head, beginning)) = inbox.split_first_chunk::<HEAD_BYTES>() else { return Ok(None) };
    let [a, b, c, d, checksum @ ..] = *head;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    if length > channels.message_bytes_max(beginning.get(..length.min(3)).unwrap_or(beginning)) {
        return Err("a message that is longer than its kind may be");
    }
    if beginning.len() < length {
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
    use crate::channel::Channel;
    use crate::testing::channels;

    #[test]
    fn frames_come_back_however_they_are_cut() {
        let mut sent = Vec::new();
        for message in [&b"\x01one"[..], b"", b"\x10three"] {
            append(&mut sent, |out| out.extend_from_slice(message));
        }
        for piece in 1..sent.len() {
            let (mut inbox, mut got) = (BytesMut::new(), Vec::new());
            for bytes in sent.chunks(piece) {
                inbox.extend_from_slice(bytes);
                while let Some(message) = next(&mut inbox, &channels()).expect("whole") {
                    got.push(message);
                }
            }
            assert_eq!(got, [&b"\x01one"[..], b"", b"\x10three"]);
        }
    }

    #[test]
    fn message_comes_back_on_the_channel_that_it_was_sent_on() {
        let fifth = ChannelNumber::new(5).expect("it may be");
        let message_bytes_max = |_: &[u8], requests: usize| requests;
        let described = [ChannelNumber::ZERO, fifth].map(|number| Channel {
            number,
            message_bytes_max,
            request_bytes_max: 64,
        });
        let channels = Channels::new(&described);
        let said = |channel, message: &'static [u8]| {
            let mut inbox = Vec::new();
            append_message(&mut inbox, channel, |out| out.extend_from_slice(message));
            let whole = next(&mut BytesMut::from(&inbox[..]), &channels)?.expect("whole");
            understand(whole, &channels)
        };
        for message in [&b"\x00"[..], b"\x7fabc"] {
            let expected = Said::Message(ChannelNumber::ZERO, Bytes::from_static(message));
            assert_eq!(said(ChannelNumber::ZERO, message), Ok(expected));
        }
        for message in [&b""[..], b"\xf0abc"] {
            assert_eq!(said(fifth, message), Ok(Said::Message(fifth, Bytes::from_static(message))));
        }
        let sixth = ChannelNumber::new(6).expect("it may be");
        assert_eq!(said(sixth, b"abc"), Err("a message of an unknown channel"));
        let roster = Bytes::from_static(b"\xf0abc");
        assert_eq!(understand(roster, &channels), Ok(Said::Roster(Bytes::from_static(b"abc"))));
        assert_eq!(understand(Bytes::new(), &channels), Ok(Said::Alive));
        assert!(understand(Bytes::from_static(b"\x80"), &channels).is_err());
    }

    #[test]
    fn a_flipped_bit_and_a_wild_length_are_found() {
        let mut sent = Vec::new();
        append(&mut sent, |out| out.extend_from_slice(b"message"));
        for at in 4..sent.len() {
            let mut damaged = BytesMut::from(&sent[..]);
            damaged[at] ^= 1;
            assert!(next(&mut damaged, &channels()).is_err(), "{at}");
        }
        assert!(next(&mut BytesMut::from(&[0xff; 8][..]), &channels()).is_err());
    }

    #[test]
    fn message_length_is_bounded_as_soon_as_its_channel_knows_how() {
        let announced = |length: u32, beginning: &[u8]| {
            let mut inbox = BytesMut::from(&length.to_le_bytes()[..]);
            inbox.extend_from_slice(&[0; 4]);
            inbox.extend_from_slice(beginning);
            let verdict = next(&mut inbox, &channels());
            assert!(inbox.capacity() < 4096, "memory for what has not come");
            verdict.is_ok()
        };
        for (beginning, length_max) in [
            (&[][..], (1 << 20) + 1),
            (&[0], 1 << 20),
            (&[1], 64),
            (&[ROSTER], 256 << 10),
            (&[0x81], 64 << 10),
        ] {
            assert!(announced(length_max, beginning), "{beginning:?}");
            assert!(!announced(length_max + 1, beginning), "{beginning:?}");
        }
    }
}
