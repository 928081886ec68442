//! What a member says of itself to another, and whether the other believes it.
//!
//! A hello claims; the handshake has it proved. The rules here hold however it is proved: a number that there is
//! ([`Numbering`]) and that is named in the configuration or in the ensemble's roster, an id that carries this number,
//! one ensemble, and a connection that is meant for the member that answers it. Knows no socket and no key.

use base::MemberId;
use net_peer_pairs::{Lane, PeerNumber};

use crate::group_number::GroupNumber;
use crate::numbering::{ClaimedNumber, Numbering};

/// An ensemble's id.
pub type Cluster = [u8; 16];

/// Bytes of a hello: group and lane, five numbers, ensemble, feature level.
pub(crate) const HELLO_BYTES: usize = 61;

/// Why what a member says of itself is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HelloRefusal {
    /// It asks for neither connection of a pair.
    #[error("it asks for a connection of an unknown kind")]
    UnknownLane,
    /// Of its group there is no member in this process.
    #[error(
        "it asks for a member of group {0} of this server, and there is none; hint: does this server serve what the other \
         one serves?"
    )]
    GroupNotServed(GroupNumber),
    /// It dialled another member than this one.
    #[error("this is member {own}, and not {wanted}; hint: see the `server.` lines of both")]
    OtherMemberWanted {
        /// This member.
        own: PeerNumber,
        /// The member that it wants, as it says.
        wanted: u64,
    },
    /// Neither the configuration nor the roster names it.
    #[error(
        "member {number} is named neither in the configuration of member {own} nor in its ensemble; hint: add it with \
         `diwan member add`, or a `server.{number}` line"
    )]
    NotNamed {
        /// Its number.
        number: PeerNumber,
        /// This member.
        own: PeerNumber,
    },
    /// Another member answers than the one that was dialled.
    #[error("at the address of member {wanted} is member {number}; hint: see the `server.` lines of both")]
    OtherMemberAnswers {
        /// The member that was dialled.
        wanted: u64,
        /// The number that the other side says it has.
        number: u64,
    },
    /// What it says belongs to another connection.
    #[error("its answer belongs to another connection")]
    OtherConnection,
    /// No member can have the number that it says it has.
    #[error("it says that it is number {0}, and members have {1}")]
    NoMembersNumber(u64, Numbering),
    /// It has no data, and in this group that is no member.
    #[error("it does not say which group it belongs to")]
    WithoutId,
    /// It says that it has this member's own number.
    #[error("two members say that they are number {0}; hint: see their `myid`")]
    OwnNumber(PeerNumber),
    /// Its id is that of a member of another number.
    #[error("its id {id} is none of member {number}")]
    OtherMembersId {
        /// The id that it says it has.
        id: MemberId,
        /// Its number.
        number: PeerNumber,
    },
    /// Both have data, of different ensembles.
    #[error(
        "the data of member {number} belongs to another ensemble than that of member {own}; hint: one of the two was \
         founded apart; where its data can be spared, empty its data directory"
    )]
    OtherEnsemble {
        /// Its number.
        number: PeerNumber,
        /// This member.
        own: PeerNumber,
    },
}

/// Who a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    /// How numbers are written; the same in the whole group and not on the wire.
    pub(crate) numbering: Numbering,
    /// Of which of the process's groups.
    pub(crate) group: GroupNumber,
    pub(crate) lane: Lane,
    /// Which of the dialler's attempts: the two connections of one attempt belong together.
    pub(crate) attempt: u64,
    /// Its number in the configuration.
    pub(crate) number: ClaimedNumber,
    /// Its id and its ensemble, once it has a seat.
    pub(crate) seat: Option<(MemberId, Cluster)>,
    /// When its process started: a later life replaces an earlier one.
    pub(crate) life: u64,
    /// The member that the dialler wants to reach; 0 from the one that answers.
    pub(crate) wanted: ClaimedNumber,
    /// The highest feature level that it understands.
    pub(crate) level: u32,
}

impl Hello {
    pub(crate) fn encode(&self) -> [u8; HELLO_BYTES] {
        let mut out = Vec::with_capacity(HELLO_BYTES);
        out.push(self.group.0 << 1 | u8::from(self.lane == Lane::Bulk));
        let (id, cluster) = self.seat.unwrap_or_default();
        for number in [self.attempt, self.number.0, id.0, self.life, self.wanted.0] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&cluster);
        out.extend_from_slice(&self.level.to_le_bytes());
        out.try_into().expect("a hello has its length")
    }

    pub(crate) fn decode(bytes: &[u8; HELLO_BYTES], numbering: Numbering) -> Result<Self, HelloRefusal> {
        let mut rest = &bytes[..];
        let [kind] = take(&mut rest);
        let lane = Lane::of(kind % 2 == 1);
        let group = GroupNumber::new(kind / 2).ok_or(HelloRefusal::UnknownLane)?;
        let mut number = || u64::from_le_bytes(take(&mut rest));
        let (attempt, own, id, life, wanted) = (number(), number(), number(), number(), number());
        let (own, wanted) = (ClaimedNumber(own), ClaimedNumber(wanted));
        let cluster = take(&mut rest);
        let level = u32::from_le_bytes(take(&mut rest));
        let seat = MemberId(id).known().map(|id| (id, cluster));
        Ok(Self { numbering, group, lane, attempt, number: own, seat, life, wanted, level })
    }

    /// The number of a member that is known to have one: this member's own, and that of a member that was let in.
    pub(crate) const fn known_number(&self) -> PeerNumber {
        self.numbering.known(self.number)
    }

    /// The number of a member that dialled this one and is let in. `named` says which numbers the configuration and the
    /// roster have.
    ///
    /// # Errors
    /// Why it is not let in, for the logs of both.
    pub(crate) fn judge_dialler(
        &self,
        other: &Self,
        named: impl Fn(PeerNumber) -> bool,
    ) -> Result<PeerNumber, HelloRefusal> {
        if other.wanted != self.number {
            let own = self.known_number();
            let wanted = self.numbering.shown(other.wanted);
            return Err(HelloRefusal::OtherMemberWanted { own, wanted });
        }
        let number = self.judge_number(other.number)?;
        if !named(number) {
            return Err(HelloRefusal::NotNamed { number, own: self.known_number() });
        }
        self.judge_seat(other, number)?;
        Ok(number)
    }

    /// Whether the one that answered this member's call is the member that it wanted.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn judge_answerer(&self, other: &Self) -> Result<(), HelloRefusal> {
        if other.number != self.wanted {
            let (wanted, number) = (self.numbering.shown(self.wanted), self.numbering.shown(other.number));
            return Err(HelloRefusal::OtherMemberAnswers { wanted, number });
        }
        let connection = |hello: &Self| (hello.group, hello.lane, hello.attempt);
        if other.wanted != ClaimedNumber::NOBODY || connection(other) != connection(self) {
            return Err(HelloRefusal::OtherConnection);
        }
        let number = self.judge_number(other.number)?;
        self.judge_seat(other, number)
    }

    /// Whether both have data, and of two ensembles.
    pub(crate) fn is_apart_from(&self, other: &Self) -> bool {
        matches!((self.seat, other.seat), (Some((_, own)), Some((_, theirs))) if own != theirs)
    }

    fn judge_number(&self, claimed: ClaimedNumber) -> Result<PeerNumber, HelloRefusal> {
        let number = self
            .numbering
            .number(claimed)
            .ok_or_else(|| HelloRefusal::NoMembersNumber(self.numbering.shown(claimed), self.numbering))?;
        if claimed == self.number {
            return Err(HelloRefusal::OwnNumber(number));
        }
        Ok(number)
    }

    fn judge_seat(&self, other: &Self, number: PeerNumber) -> Result<(), HelloRefusal> {
        let Some((id, theirs)) = other.seat else {
            return if self.numbering.needs_id() { Err(HelloRefusal::WithoutId) } else { Ok(()) };
        };
        if self.numbering.number_of(id) != Some(number) {
            return Err(HelloRefusal::OtherMembersId { id, number });
        }
        match self.seat {
            Some((_, own)) if own != theirs => {
                Err(HelloRefusal::OtherEnsemble { number, own: self.known_number() })
            }
            _ => Ok(()),
        }
    }
}

fn take<const LENGTH: usize>(bytes: &mut &[u8]) -> [u8; LENGTH] {
    let (head, rest) = bytes.split_first_chunk().expect("a hello has its length");
    *bytes = rest;
    *head
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(number: u64, wanted: u64, cluster: Option<u8>) -> Hello {
        let seat = cluster.map(|name| (MemberId(number), [name; 16]));
        let (number, wanted) = (ClaimedNumber(number), ClaimedNumber(wanted));
        let numbering = Numbering::OneByte;
        Hello {
            numbering,
            group: GroupNumber::FIRST,
            lane: Lane::Bulk,
            attempt: 3,
            number,
            seat,
            life: 77,
            wanted,
            level: 1,
        }
    }

    fn dialler_refusal(other: Hello) -> String {
        let named = |number: PeerNumber| (1..=3).contains(&number.0);
        hello(1, 0, Some(9)).judge_dialler(&other, named).expect_err("refused").to_string()
    }

    #[test]
    fn hello_comes_back_whole() {
        for told in [hello(2, 1, Some(9)), Hello { lane: Lane::Control, ..hello(255, 0, None) }] {
            assert_eq!(Hello::decode(&told.encode(), Numbering::OneByte), Ok(told));
        }
        let of_a_later_group = Hello { group: GroupNumber(3), lane: Lane::Control, ..hello(2, 1, Some(9)) };
        let mut bytes = of_a_later_group.encode();
        assert_eq!((bytes[0], Hello::decode(&bytes, Numbering::OneByte)), (6, Ok(of_a_later_group)));
        bytes[0] = 2 * GroupNumber::COUNT;
        assert_eq!(Hello::decode(&bytes, Numbering::OneByte), Err(HelloRefusal::UnknownLane));
    }

    #[test]
    fn dialler_is_let_in_when_it_is_named_and_wants_this_member() {
        let two = PeerNumber(2);
        let judge = |other: &Hello| hello(1, 0, Some(9)).judge_dialler(other, |number| number == two);
        assert_eq!(judge(&hello(2, 1, Some(9))), Ok(two));
        assert_eq!(judge(&hello(2, 1, None)), Ok(two));
        let later_disk = Hello { seat: Some((MemberId(2 + 256 * 77), [9; 16])), ..hello(2, 1, None) };
        assert_eq!(judge(&later_disk), Ok(two));
    }

    #[test]
    fn dialler_is_refused_with_the_reason() {
        assert!(dialler_refusal(hello(200, 1, None)).contains("member 200 is named neither"));
        assert!(dialler_refusal(hello(2, 0, Some(9))).contains("this is member 1, and not 0"));
        assert!(dialler_refusal(hello(2, 3, Some(9))).contains("this is member 1, and not 3"));
        assert!(dialler_refusal(hello(1, 1, Some(9))).contains("number 1"));
        assert!(dialler_refusal(hello(0, 1, None)).contains("1 to 255"));
        assert!(dialler_refusal(hello(256, 1, None)).contains("1 to 255"));
        assert!(dialler_refusal(hello(2, 1, Some(8))).contains("another ensemble"));
        let leaders_id = Hello { seat: Some((MemberId(3), [9; 16])), ..hello(2, 1, None) };
        assert!(dialler_refusal(leaders_id).contains("its id 3 is none of member 2"));
    }

    #[test]
    fn member_of_a_group_of_wide_numbers_needs_an_id_that_is_its_number() {
        let numbering = Numbering::FourBytes;
        let of = |number: u32, wanted: ClaimedNumber, seat: Option<MemberId>| {
            let seat = seat.map(|id| (id, [9; 16]));
            Hello {
                numbering,
                number: numbering.claim(PeerNumber(number)),
                wanted,
                seat,
                ..hello(0, 0, None)
            }
        };
        let zero = of(0, ClaimedNumber::NOBODY, numbering.id(PeerNumber(0)));
        let wanted = numbering.claim(PeerNumber(0));
        let judge = |other: Hello| zero.judge_dialler(&other, |number| number.0 != 77);
        for number in [1, 255, 256, u32::MAX] {
            let number_there = PeerNumber(number);
            let dialler = of(number, wanted, numbering.id(number_there));
            assert_eq!(Hello::decode(&dialler.encode(), numbering), Ok(dialler));
            assert_eq!(judge(dialler), Ok(number_there));
        }
        assert_eq!(judge(of(1, wanted, None)), Err(HelloRefusal::WithoutId));
        let own = numbering.id(PeerNumber(0));
        assert_eq!(judge(of(0, wanted, own)), Err(HelloRefusal::OwnNumber(PeerNumber(0))));
        for other in [numbering.id(PeerNumber(2)), Some(MemberId(u64::MAX))] {
            assert!(matches!(judge(of(1, wanted, other)), Err(HelloRefusal::OtherMembersId { .. })));
        }
        let unnamed = judge(of(77, wanted, numbering.id(PeerNumber(77)))).expect_err("it is not named");
        assert_eq!(unnamed, HelloRefusal::NotNamed { number: PeerNumber(77), own: PeerNumber(0) });
        let past = Hello { number: ClaimedNumber(1 << 33), ..of(1, wanted, numbering.id(PeerNumber(1))) };
        assert!(matches!(judge(past), Err(HelloRefusal::NoMembersNumber(..))));
        let elsewhere = judge(of(1, numbering.claim(PeerNumber(5)), numbering.id(PeerNumber(1))));
        let expected = HelloRefusal::OtherMemberWanted { own: PeerNumber(0), wanted: 5 };
        assert_eq!(elsewhere, Err(expected));
    }

    #[test]
    fn answerer_is_the_member_that_was_wanted() {
        let judge = |other: Hello| hello(2, 1, Some(9)).judge_answerer(&other);
        assert_eq!(judge(hello(1, 0, Some(9))), Ok(()));
        let other = HelloRefusal::OtherMemberAnswers { wanted: 1, number: 3 };
        assert_eq!(judge(hello(3, 0, Some(9))), Err(other));
        assert!(other.to_string().contains("is member 3"));
        let sent_back = judge(hello(1, 2, Some(9)));
        assert_eq!(sent_back, Err(HelloRefusal::OtherConnection), "a hello of a dialler, sent back");
        let other_group = Hello { group: GroupNumber(1), ..hello(1, 0, Some(9)) };
        assert_eq!(judge(other_group), Err(HelloRefusal::OtherConnection));
        let other_attempt = Hello { attempt: 4, ..hello(1, 0, Some(9)) };
        assert_eq!(judge(other_attempt), Err(HelloRefusal::OtherConnection));
        let other_id = Hello { seat: Some((MemberId(3), [9; 16])), ..hello(1, 0, None) };
        let refusal = HelloRefusal::OtherMembersId { id: MemberId(3), number: PeerNumber(1) };
        assert_eq!(judge(other_id), Err(refusal));
    }
}
