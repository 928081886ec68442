//! The protocol between members without its sockets, to be fed any bytes: the code of both sides of the
//! handshake and of the frames behind it, as the server runs it, on bytes in memory. The server does not use this.

use std::io::{self, Read, Write};
use std::sync::Arc;

use base::{MemberId, MemberNumber};
use bytes::{Bytes, BytesMut};
use net_peer_pairs::Lane;

use crate::channel::{Channel, ChannelNumber, Channels};
use crate::frame::{self, Said};
use crate::group_number::GroupNumber;
use crate::handshake::{self, Answering, Terms};
use crate::hello::{self, Cluster, Hello};
use crate::hints::Hints;
use crate::names::Names;
pub use crate::numbering::ClaimedNumber;
use crate::numbering::Numbering;
use crate::proof::{NONCE_BYTES, PROOF_BYTES, Prover, Side};
use crate::refusal::Refusal;
use crate::roster::{ReadRoster, Roster};
use crate::secret::EnsembleSecret;

/// Bytes of what a member says of itself: which connection, attempt, number, id, life, wanted member, ensemble, level.
pub const HELLO_BYTES: usize = hello::HELLO_BYTES;

/// A member at which bytes arrive.
#[derive(Debug)]
pub struct Member {
    /// Its number in the configuration.
    pub number: MemberNumber,
    /// Its ensemble, if its disk is not blank: then its id is its number.
    pub cluster: Option<Cluster>,
    /// The secret that it asks for.
    pub secret: Option<EnsembleSecret>,
    /// Who the members are.
    pub roster: Roster,
    /// How it reads rosters of other members.
    pub read_roster: ReadRoster,
    /// The channels on which it takes messages.
    pub channels: Vec<Channel>,
}

/// What a member that was let in says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its number.
    pub number: ClaimedNumber,
    /// Its id and its ensemble, unless its disk is blank.
    pub seat: Option<(MemberId, Cluster)>,
    /// The member that it says it wants to reach, or 0.
    pub wanted: ClaimedNumber,
    /// The connection that it says this is.
    pub attempt: u64,
}

/// What came of bytes at the side that answers.
#[derive(Debug, PartialEq, Eq)]
pub struct Answered {
    /// What was sent back.
    pub sent: Vec<u8>,
    /// Who is let in, or why none is; nothing while more bytes are waited for.
    pub verdict: Option<Result<Claim, Refusal>>,
}

/// Which side proves that it knows the secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prove {
    /// The side that dials.
    Dialler,
    /// The side that answers.
    Answerer,
}

/// The attempt of every connection that a [`Member`] dials.
pub const ATTEMPT: u64 = 3;

impl Member {
    /// What it begins each connection with: its nonce is always the same.
    #[must_use]
    pub fn greeting(&self) -> Vec<u8> {
        let prover = self.prover();
        self.terms(prover.as_ref(), None).greeting().to_vec()
    }

    /// What a member of this one's secret sends to prove it knows it; zeros without a secret.
    #[must_use]
    pub fn proof(&self, by: Prove, transcript: &[&[u8]]) -> [u8; PROOF_BYTES] {
        let side = match by {
            Prove::Dialler => Side::Dialler,
            Prove::Answerer => Side::Answerer,
        };
        self.prover().map_or([0; PROOF_BYTES], |prover| prover.prove(side, &[0; 32], transcript))
    }

    /// A connection that another has dialled, as far as these bytes take it. They arrive in pieces of `piece` bytes.
    #[must_use]
    pub fn answer(&self, bytes: &[u8], piece: usize) -> Answered {
        let prover = self.prover();
        let terms = self.terms(prover.as_ref(), None);
        let names = self.names();
        let (mut answering, mut sent, mut rest) = (Answering::new(), Vec::new(), bytes);
        let verdict = loop {
            let length = answering.wants().min(piece.max(1)).min(rest.len());
            if length == 0 {
                break None;
            }
            let (arrived, later) = rest.split_at(length);
            rest = later;
            let judge = |hello: &Hello| {
                terms.own.judge_dialler(hello, |number| names.is_named(number))?;
                Ok(terms.own)
            };
            match answering.take(arrived, &terms, judge, &mut sent) {
                Ok(None) => {}
                Ok(Some(hello)) => break Some(Ok(claim(&hello))),
                Err(why) => break Some(Err(why)),
            }
        };
        Answered { sent, verdict }
    }

    /// A connection that this member has dialled to `wanted`, answered with these bytes.
    ///
    /// # Errors
    /// The bytes end before the handshake does.
    pub fn dial(&self, wanted: MemberNumber, answer: &[u8]) -> io::Result<Result<Claim, Refusal>> {
        let prover = self.prover();
        let mut script = Script(answer);
        let outcome = handshake::open(&mut script, &self.terms(prover.as_ref(), Some(wanted)))?;
        Ok(outcome.map(|hello| claim(&hello)))
    }

    /// What this member says of itself when it dials, or without a wanted member when it answers.
    #[must_use]
    pub fn introduction(&self, wanted: Option<MemberNumber>) -> [u8; HELLO_BYTES] {
        self.terms(None, wanted).own.encode()
    }

    /// The messages in what a member sends behind the handshake, by channel, and why no more come after them, if its
    /// connection is of no use any more. They arrive in pieces of `piece` bytes.
    #[must_use]
    pub fn hear(&self, bytes: &[u8], piece: usize) -> (Vec<(ChannelNumber, Bytes)>, Option<&'static str>) {
        let (names, channels) = (self.names(), Channels::new(&self.channels));
        let (mut inbox, mut heard) = (BytesMut::new(), Vec::new());
        for arrived in bytes.chunks(piece.max(1)) {
            inbox.extend_from_slice(arrived);
            loop {
                let message = match frame::next(&mut inbox, &channels) {
                    Ok(None) => break,
                    Ok(Some(bytes)) => frame::understand(bytes, &channels),
                    Err(why) => return (heard, Some(why)),
                };
                match message {
                    Ok(Said::Alive) => {}
                    Ok(Said::Roster(text)) => drop(names.hear(&text)),
                    Ok(Said::Message(channel, bytes)) => heard.push((channel, bytes)),
                    Err(why) => return (heard, Some(why)),
                }
            }
        }
        (heard, None)
    }

    fn names(&self) -> Arc<Names> {
        Names::new(self.number.into(), self.roster.clone(), self.read_roster)
    }

    fn prover(&self) -> Option<Prover> {
        self.secret.as_ref().map(Prover::new)
    }

    fn terms<'a>(&self, prover: Option<&'a Prover>, wanted: Option<MemberNumber>) -> Terms<'a> {
        let seat = self.cluster.map(|cluster| (MemberId::founder(self.number), cluster));
        let wanted = wanted.map_or(ClaimedNumber::NOBODY, ClaimedNumber::from);
        let number = self.number.into();
        let (numbering, lane) = (Numbering::OneByte, Lane::Control);
        let own = Hello {
            numbering,
            group: GroupNumber::FIRST,
            lane,
            attempt: ATTEMPT,
            number,
            seat,
            life: 77,
            wanted,
            level: 1,
        };
        Terms { own, nonce: [self.number.0; NONCE_BYTES], prover, binding: [0; 32], hints: Hints::PLAIN }
    }
}

/// The message that `encode` appends as a frame of that channel.
#[must_use]
pub fn framed(channel: ChannelNumber, encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    frame::append_message(&mut out, channel, encode);
    out
}

/// These bytes as a frame, whatever they are.
#[must_use]
pub fn frame_of(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    frame::append(&mut out, |out| out.extend_from_slice(bytes));
    out
}

const fn claim(hello: &Hello) -> Claim {
    Claim { number: hello.number, seat: hello.seat, wanted: hello.wanted, attempt: hello.attempt }
}

/// A connection whose other side says the same whatever it hears.
struct Script<'a>(&'a [u8]);

impl Read for Script<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Script<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
