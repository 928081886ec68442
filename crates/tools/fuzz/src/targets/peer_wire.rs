//! What arrives at the port between members: bytes of a stranger, of a member that is not well, and of what answers
//! where a member was dialled; first the handshake, then frames.
//!
//! A stranger without the secret is never let in and learns nothing of the ensemble; one that is let in is a named
//! member under an id of its own; and it makes no difference in which pieces bytes arrive.

use base::{LogIndex, MemberId, MemberNumber, Term};
use std::sync::OnceLock;

use bytes::Bytes;
use consensus_raft::Message;
use consensus_replica::founding::FoundingMessage;
use council_replica::{CouncilMessage, PeerMessage};
use council_service::peers::{CHANNEL, channel, read_roster};
use net_peers::wire::{
    ATTEMPT, Answered, Claim, ClaimedNumber, HELLO_BYTES, Member, Prove, frame_of, framed,
};
use net_peers::{EnsembleSecret, Roster};

use crate::heap;
use crate::input::{Input, put_piece};

/// The member under attack.
const OWN: MemberNumber = MemberNumber(1);
/// The member whose part is played.
const OTHER: MemberNumber = MemberNumber(2);
const CLUSTER: [u8; 16] = *b"ensemble-of-ours";
const SECRET: [u8; 32] = *b"what only the members should see";
/// Memory that an input may take: so much at once, and so much for each of its bytes.
const MEMORY_BYTES: (usize, usize) = (1 << 20, 64);

/// Bits of the first byte of an input.
mod mode {
    /// The member asks for the secret.
    pub(super) const SECRET: u8 = 1;
    /// The other side knows it.
    pub(super) const KNOWS: u8 = 2;
    /// The member's disk is blank.
    pub(super) const BLANK: u8 = 4;
    /// What is fed: the side that answers (0), the side that dialled, or what comes behind the handshake.
    pub(super) const DIALS: u8 = 8;
    pub(super) const FRAMES: u8 = 16;
}

/// An input: its mode, the size of the pieces in which bytes arrive, and what is fed.
pub(crate) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (Some(mode), Some(piece)) = (input.byte(), input.byte()) else { return };
    let (member, piece) = (member(mode), usize::from(piece));
    if mode & mode::FRAMES != 0 {
        frames(&member, input, piece);
    } else if mode & mode::DIALS != 0 {
        dialled(&member, input, mode);
    } else {
        answered(&member, input, mode, piece);
    }
    let (at_once, for_each) = MEMORY_BYTES;
    assert!(heap::peak_bytes() <= at_once + for_each * bytes.len(), "it took {} bytes", heap::peak_bytes());
}

fn answered(member: &Member, input: Input<'_>, mode: u8, piece: usize) {
    let Some(said) = Introduction::read(input) else { return };
    let bytes = said.bytes(member, mode, Prove::Dialler);
    let whole = member.answer(&bytes, usize::MAX);
    for piece in [1, piece] {
        assert_eq!(member.answer(&bytes, piece), whole, "the pieces make a difference");
    }
    let Answered { sent, verdict } = whole;
    let knows = mode & mode::KNOWS != 0;
    if mode & mode::SECRET != 0 && !knows {
        assert!(!matches!(verdict, Some(Ok(_))), "one that does not know the secret is let in");
        assert!(!sent.windows(CLUSTER.len()).any(|part| part == CLUSTER), "a stranger is told the ensemble");
    }
    if let Some(Ok(claim)) = verdict {
        assert_eq!(claim.wanted, OWN.into(), "it wanted another member");
        judge(member, &claim);
    }
}

fn dialled(member: &Member, mut input: Input<'_>, mode: u8) {
    let (Some(first), Some(second)) = (input.byte(), input.byte()) else { return };
    let Some(said) = Introduction::read(input) else { return };
    let told = said.bytes(member, mode, Prove::Answerer);
    let (greeting, introduction) = told.split_at(said.greeting.len());
    let bytes = [&[first][..], greeting, &[second], introduction].concat();
    let Ok(Ok(claim)) = member.dial(OTHER, &bytes) else { return };
    assert!(mode & mode::SECRET == 0 || mode & mode::KNOWS != 0, "one without the secret is believed");
    assert_eq!((claim.number, claim.wanted, claim.attempt), (OTHER.into(), ClaimedNumber(0), ATTEMPT));
    judge(member, &claim);
}

/// What holds for each that is believed.
pub(super) fn judge(member: &Member, claim: &Claim) {
    let named = claim.number.number().filter(|number| member.roster.member((*number).into()).is_some());
    let number = named.expect("no member's number");
    assert!(number != OWN, "this member's own number");
    let Some((id, cluster)) = claim.seat else { return };
    assert_eq!(id.number(), number, "another member's id");
    assert!(member.cluster.is_none_or(|own| own == cluster), "a member of another ensemble");
}

fn frames(member: &Member, mut input: Input<'_>, piece: usize) {
    let mut bytes = Vec::new();
    while let (Some(whole), Some(piece)) = (input.byte(), input.piece()) {
        if whole & 1 == 1 { bytes.extend(frame_of(piece)) } else { bytes.extend_from_slice(piece) }
    }
    let heard = member.hear(&bytes, usize::MAX);
    for piece in [1, piece] {
        assert_eq!(member.hear(&bytes, piece), heard, "the pieces make a difference");
    }
    for (number, bytes) in heard.0 {
        assert_eq!(number, CHANNEL, "nobody has described another channel");
        // What cannot be understood ends the connection.
        let Ok(message) = PeerMessage::decode(bytes) else { return };
        assert_eq!(heard_again(&message).as_ref(), Ok(&message), "it is another message when it is sent on");
    }
}

/// The same message, sent and heard once more.
fn heard_again(message: &PeerMessage) -> Result<PeerMessage, &'static str> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    PeerMessage::decode(Bytes::from(bytes)).map_err(|error| error.0)
}

/// What one that plays a member says: greeting, hello, proof.
pub(super) struct Introduction<'a> {
    greeting: &'a [u8],
    pub(super) hello: &'a [u8],
    proof: &'a [u8],
}

impl<'a> Introduction<'a> {
    pub(super) fn read(mut input: Input<'a>) -> Option<Self> {
        Some(Self {
            greeting: input.piece()?,
            hello: input.piece()?,
            proof: input.piece().unwrap_or_default(),
        })
    }

    /// All of it, with a proof that is right if the mode says so.
    fn bytes(&self, member: &Member, mode: u8, by: Prove) -> Vec<u8> {
        let own = member.greeting();
        let proof = match (mode & mode::KNOWS != 0, by) {
            (false, _) => self.proof.to_vec(),
            (true, Prove::Dialler) => member.proof(by, &[self.greeting, &own, self.hello]).to_vec(),
            (true, Prove::Answerer) => {
                let told = member.introduction(Some(OTHER));
                member.proof(by, &[&own, self.greeting, &told, self.hello]).to_vec()
            }
        };
        [self.greeting, self.hello, &proof].concat()
    }
}

/// The member under attack.
pub(super) fn member(mode: u8) -> Member {
    Member {
        number: OWN,
        cluster: (mode & mode::BLANK == 0).then_some(CLUSTER),
        secret: (mode & mode::SECRET != 0).then(|| EnsembleSecret::new(&SECRET).expect("long enough")),
        roster: roster().clone(),
        read_roster,
        channels: vec![channel(1 << 20)],
    }
}

fn roster() -> &'static Roster {
    static ROSTER: OnceLock<Roster> = OnceLock::new();
    let text = b"server.1=10.0.0.1:1:2\nserver.2=10.0.0.2:1:2\nserver.3=10.0.0.3:1:2\nversion=10";
    ROSTER.get_or_init(|| read_roster(text).expect("a roster"))
}

/// Handshakes of each mode that succeed but for the proof, and frames of each kind.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for mode in 0..8 {
        let other = Member { number: OTHER, cluster: Some(CLUSTER), ..member(mode) };
        let (greeting, hello) = (other.greeting(), other.introduction(Some(OWN)));
        let blank = Member { cluster: None, ..other }.introduction(Some(OWN));
        for hello in [hello, blank] {
            seeds.push(introduction(&[mode, 7], &greeting, &hello));
        }
        let answers = Member { number: OTHER, cluster: Some(CLUSTER), ..member(mode) }.introduction(None);
        seeds.push(introduction(&[mode | mode::DIALS, 7, 0, 0], &greeting, &answers));
    }
    for bytes in messages() {
        let mut seed = vec![mode::FRAMES, 5, 1];
        put_piece(&mut seed, &bytes);
        seed.push(0);
        put_piece(
            &mut seed,
            &framed(CHANNEL, |out| PeerMessage::Machine(CouncilMessage::TouchAsk { round: 1 }).encode(out)),
        );
        seeds.push(seed);
    }
    seeds
}

fn introduction(head: &[u8], greeting: &[u8], hello: &[u8; HELLO_BYTES]) -> Vec<u8> {
    let mut seed = head.to_vec();
    for piece in [greeting, hello, &[0; 32]] {
        put_piece(&mut seed, piece);
    }
    seed
}

/// A message of each kind, a roster, and nothing.
fn messages() -> Vec<Vec<u8>> {
    let mut bytes = vec![Vec::new(), [&[0xf0][..], b"server.4=10.0.0.4:1:2;5\nversion=11"].concat()];
    bytes.extend((0..13).map(|kind| [&[0][..], &engine(kind)].concat()));
    let founding = [
        FoundingMessage::Blank { incarnation: [1; 16], founds: true },
        FoundingMessage::Seated { cluster: [1; 16], untouched: Some([1, 2, 3].map(MemberId).to_vec()) },
        FoundingMessage::Propose { cluster: [1; 16], voters: [1, 2, 3].map(MemberId).to_vec() },
        FoundingMessage::Replaced { id: MemberId(1), index: LogIndex(9) },
        FoundingMessage::Admitted { cluster: [1; 16], id: MemberId(258), incarnation: [1; 16] },
    ];
    let others = [
        PeerMessage::Machine(CouncilMessage::Forward(Bytes::from_static(b"command"))),
        PeerMessage::Machine(CouncilMessage::TouchAsk { round: 1 }),
        PeerMessage::Machine(CouncilMessage::Touched {
            round: 1,
            ages: vec![(council_wire::SessionId(5), 6); 3],
        }),
        PeerMessage::LeaseAsk { term: Term(1), at: base::MonoTime::of_ms(2) },
        PeerMessage::LeaseGrant { term: Term(1), at: base::MonoTime::of_ms(2) },
        PeerMessage::LeaderLost { term: Term(1), leader: MemberId(2), last_index: LogIndex(3) },
        PeerMessage::Want { index: LogIndex(1), chunk: 2 },
        PeerMessage::Chunks {
            index: LogIndex(1),
            first: 0,
            chunks: vec![Bytes::from_static(b"piece"); 2],
            end: None,
        },
        PeerMessage::Taken { index: LogIndex(1), whole: true },
        PeerMessage::Digest { position: 1, digest: 2 },
    ];
    let offer = Message::decode(Bytes::from(engine(4))).into_iter().map(PeerMessage::Offer);
    for message in founding.into_iter().map(PeerMessage::Founding).chain(others).chain(offer) {
        let mut encoded = Vec::new();
        message.encode(&mut encoded);
        bytes.push(encoded);
    }
    bytes
}

/// The bytes of a message of the engine: kind, flags, nine numbers, a context, an entry, and what a snapshot needs.
fn engine(kind: u8) -> Vec<u8> {
    let is_snapshot = kind == 4;
    let mut out = vec![kind, u8::from(is_snapshot) << 1];
    for number in [OWN.into(), OTHER.into(), 2_u64, 2, 8, 7, 2, 0, 0] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&0_u32.to_le_bytes());
    out.extend_from_slice(&1_u32.to_le_bytes());
    out.push(0);
    for number in [9_u64, 2] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&3_u32.to_le_bytes());
    out.extend_from_slice(b"log");
    if is_snapshot {
        for number in [8_u64, 2] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for list in [&[1_u64, 2, 3][..], &[], &[], &[]] {
            out.extend_from_slice(&(list.len() as u32).to_le_bytes());
            list.iter().for_each(|id| out.extend_from_slice(&id.to_le_bytes()));
        }
        out.push(0);
    }
    out
}
