//! Channels: which part of the process a message between members is for.
//!
//! Parts of a process share the connections between two members, each with a channel. The first byte of a frame's
//! message tells the channel:
//!
//! | first byte | the message |
//! |---|---|
//! | none | a sign of life |
//! | `0x00` to `0x7f` | of channel 0; the byte is its own first one |
//! | `0x81` to `0xef` | of channel 1 to 111, behind the byte: `0x80` and the channel's number |
//! | `0xf0` | the sender's roster as text, behind the byte |
//! | `0x80`, `0xf1` to `0xff` | not given out: refused |
//!
//! So channel 0 has no byte more on the wire than its messages have. None of them is empty or begins with another byte.

/// The first byte of a message that is of the connections' own: the sender's roster.
pub(crate) const ROSTER: u8 = 0xf0;

/// Set in the first byte of all messages but those of channel 0.
const MARK: u8 = 0x80;
/// The last channel's number: those behind it would collide with [`ROSTER`].
const NUMBER_MAX: u8 = ROSTER - MARK - 1;
/// Names and ports of 255 members.
const ROSTER_BYTES_MAX: usize = 256 << 10;
/// What is of no known channel is refused anyway, and need not arrive whole.
const UNKNOWN_BYTES_MAX: usize = 64 << 10;

/// The number of a channel, 0 to 111.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelNumber(u8);

impl ChannelNumber {
    /// Channel 0, whose messages begin with a byte below `0x80`.
    pub const ZERO: Self = Self(0);

    /// The channel of that number, if there may be one.
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        if number <= NUMBER_MAX { Some(Self(number)) } else { None }
    }

    /// What stands before its messages.
    pub(crate) const fn prefix(self) -> Option<u8> {
        if self.0 == 0 { None } else { Some(MARK | self.0) }
    }

    /// Of messages that begin with that byte.
    const fn of(first: u8) -> Option<Self> {
        match first {
            ..MARK => Some(Self::ZERO),
            MARK | ROSTER.. => None,
            marked => Some(Self(marked & !MARK)),
        }
    }
}

/// Describes the messages of a channel to the one that receives them.
#[derive(Clone, Copy, Debug)]
pub struct Channel {
    /// Which.
    pub number: ChannelNumber,
    /// How many bytes a message may have that begins like this. Of its first two bytes fewer may have come yet: then the
    /// most that any message may have that begins so. The second argument is [`Self::request_bytes_max`].
    pub message_bytes_max: fn(beginning: &[u8], request_bytes_max: usize) -> usize,
    /// How large a client's request may be at this member.
    pub request_bytes_max: usize,
}

impl Channel {
    fn limit(&self, beginning: &[u8]) -> usize {
        (self.message_bytes_max)(beginning, self.request_bytes_max)
    }
}

/// All channels of a member.
pub(crate) struct Channels {
    /// By number.
    channels: Vec<Option<Channel>>,
    longest: usize,
}

impl Channels {
    pub(crate) fn new(described: &[Channel]) -> Self {
        let mut channels = vec![None; usize::from(NUMBER_MAX) + 1];
        for channel in described {
            channels[usize::from(channel.number.0)] = Some(*channel);
        }
        let longest = described.iter().map(|channel| channel.limit(&[]).saturating_add(1)).max();
        Self { channels, longest: longest.unwrap_or(0).max(ROSTER_BYTES_MAX) }
    }

    /// The channel of messages that begin with that byte, if it is described here.
    pub(crate) fn of(&self, first: u8) -> Option<ChannelNumber> {
        self.described(first).map(|channel| channel.number)
    }

    fn described(&self, first: u8) -> Option<&Channel> {
        let number = ChannelNumber::of(first)?;
        self.channels.get(usize::from(number.0))?.as_ref()
    }

    /// How long a frame's message may be that begins like this. Of its first three bytes fewer may have come yet.
    pub(crate) fn message_bytes_max(&self, beginning: &[u8]) -> usize {
        let Some((&first, rest)) = beginning.split_first() else { return self.longest };
        match self.described(first) {
            Some(channel) if channel.number == ChannelNumber::ZERO => channel.limit(beginning),
            Some(channel) => channel.limit(rest).saturating_add(1),
            None if first == ROSTER => ROSTER_BYTES_MAX,
            None => UNKNOWN_BYTES_MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_first_byte_is_of_one_channel_or_of_none() {
        assert_eq!(ChannelNumber::of(0), Some(ChannelNumber::ZERO));
        assert_eq!(ChannelNumber::of(0x7f), Some(ChannelNumber::ZERO));
        for refused in [0x80, ROSTER, 0xf1, 0xff] {
            assert_eq!(ChannelNumber::of(refused), None, "{refused:#x}");
        }
        for number in 1..=111 {
            let channel = ChannelNumber::new(number).expect("it may be");
            assert_eq!(channel.prefix().and_then(ChannelNumber::of), Some(channel));
        }
        assert_eq!(ChannelNumber::ZERO.prefix(), None);
        assert_eq!((ChannelNumber::new(0), ChannelNumber::new(112)), (Some(ChannelNumber::ZERO), None));
    }

    #[test]
    fn message_length_is_the_business_of_its_channel() {
        let of = |number, message_bytes_max: fn(&[u8], usize) -> usize| Channel {
            number: ChannelNumber::new(number).expect("it may be"),
            message_bytes_max,
            request_bytes_max: 1000,
        };
        let first = |beginning: &[u8], requests: usize| match beginning {
            [] => requests,
            [kind, ..] => usize::from(*kind),
        };
        let ninth = |beginning: &[u8], _: usize| if beginning == [7, 7] { 1 << 20 } else { 5 };
        let channels = Channels::new(&[of(0, first), of(9, ninth)]);
        assert_eq!(channels.message_bytes_max(&[]), ROSTER_BYTES_MAX, "the longest that there may be");
        assert_eq!(channels.message_bytes_max(&[100, 3, 4]), 100);
        assert_eq!(channels.message_bytes_max(&[0x89, 7, 7]), (1 << 20) + 1, "and the channel's byte");
        assert_eq!(channels.message_bytes_max(&[0x89, 7]), 6);
        for unknown in [0x80, 0x88, 0xf1] {
            assert_eq!(channels.message_bytes_max(&[unknown]), UNKNOWN_BYTES_MAX);
            assert_eq!(channels.of(unknown), None);
        }
        assert_eq!(channels.message_bytes_max(&[ROSTER]), ROSTER_BYTES_MAX);
        assert_eq!(channels.of(0x89), ChannelNumber::new(9));
    }
}
