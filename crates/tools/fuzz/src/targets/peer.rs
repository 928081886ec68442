//! What a member sends that is seated among three and malicious, to the two others: whole members on simulated disks.
//! They go on, keep what both had applied, and their data stays where it is.
//!
//! Not judged: whether they serve meanwhile, and what the third commits while it leads. Consensus trusts its members so far.

use base::{LogIndex, MonoTime, Now, Term};
use bytes::Bytes;
use consensus_raft::Message;
use consensus_replica::founding::FoundingMessage;
use consensus_replica::{MemberId, MemberNumber, Tenure};
use council_replica::{CouncilMessage, PeerMessage};
use sim_council::client::Client;
use sim_council::disk::SimDisk;
use sim_council::node::{Node, NodeConfig, NodeError, STEPS};

use super::connection;
use crate::input::{Input, put_piece};

const EVIL: u64 = 3;
const STEP_MS: u64 = 10;
const WRITES: usize = 3;
/// Scripts are cut off behind so many actions.
const ACTIONS_MAX: usize = 60;
/// Until the two have a leader without the third.
const ELECTION_STEPS: usize = 3_000;

/// The two members that are well.
struct World {
    nodes: [Node<SimDisk>; 2],
}

/// Actions: who is meant and what is done in the first byte, then what it takes.
pub(crate) fn run(bytes: &[u8]) {
    let mut world = World::new();
    let mut input = Input::new(bytes);
    for _ in 0..ACTIONS_MAX {
        let Some(action) = input.byte() else { break };
        let to = usize::from(action & 1);
        let said = match action >> 1 & 3 {
            0 => input.piece().and_then(|piece| PeerMessage::decode(Bytes::copy_from_slice(piece)).ok()),
            1 => engine(&mut input, &mut world.nodes[to], to as u64 + 1),
            2 => other(&mut input, &mut world.nodes[to]),
            _ => {
                let steps = usize::from(input.byte().unwrap_or(1) % 64);
                if !world.pass(steps) {
                    return;
                }
                None
            }
        };
        let from = if action & 8 == 0 { EVIL } else { u64::from(action) + (4 << 8) };
        if let Some(message) = said
            && !world.nodes[to].peer(MemberId(from), message).map_or_else(may_stop, |()| true)
        {
            return;
        }
    }
    if world.pass(200) {
        world.check();
    }
}

/// Only a majority that says it has another tree stops a member: two that the third led apart say so, too.
fn may_stop(error: NodeError) -> bool {
    let NodeError::Fault(words) = &error else { panic!("{error:?}") };
    assert!(words.starts_with("the tree of this member differs"), "{words}");
    false
}

impl World {
    fn new() -> Self {
        let start = |id: u64| {
            let mut node = Node::start(SimDisk::new(id), &config(id), START).expect("the disk is well");
            (1..=3).filter(|other| *other != id).for_each(|other| {
                node.core().understands(MemberId(other), 3);
                node.link(MemberId(other), true);
            });
            node
        };
        let mut world = Self { nodes: [start(1), start(2)] };
        let leads = |world: &Self| world.nodes.iter().position(|node| node.leads_in().is_some());
        let led = (0..ELECTION_STEPS).find_map(|_| {
            assert!(world.pass(1));
            leads(&world)
        });
        let led = led.expect("two of three elect a leader");
        assert!(world.pass(100));
        let mut client = Client::connect(&mut world.nodes[led], 60_000);
        assert!(world.pass(20));
        for number in 0..WRITES {
            client.create(&mut world.nodes[led], &format!("/{number}"), b"v", 0);
        }
        assert!(world.pass(60));
        world.check();
        world
    }

    /// Time passes, and the two talk. False when one stopped as it may.
    fn pass(&mut self, steps: usize) -> bool {
        for _ in 0..steps {
            for from in 0..2 {
                self.nodes[from].pass(STEP_MS);
                for step in STEPS {
                    self.nodes[from].step(step).expect("the member is well");
                }
                for (to, message) in self.nodes[from].take_outgoing() {
                    let Some(node) = self.nodes.get_mut(to.0.wrapping_sub(1) as usize) else { continue };
                    if !node.peer(MemberId(from as u64 + 1), message).map_or_else(may_stop, |()| true) {
                        return false;
                    }
                }
            }
        }
        true
    }

    fn check(&mut self) {
        for node in &mut self.nodes {
            assert_eq!(node.core().tenure(), Tenure::Sound, "a member puts its data aside");
            for number in 0..WRITES {
                assert!(node.tree().node(&format!("/{number}")).is_some(), "what was applied is gone");
            }
        }
    }
}

const START: Now = connection::START;

fn config(id: u64) -> NodeConfig {
    let mut config = connection::config();
    config.founders = vec![MemberId(1), MemberId(2), MemberId(3)];
    config.core.replica.member = MemberId(id);
    config.core.replica.feature_level = 3;
    config.core.replica.election_tick_ms = 20;
    config.seed = [id as u8; 32];
    config
}

/// A number near one that matters, or near the ends.
fn near(input: &mut Input<'_>, base: u64) -> Option<u64> {
    let how = input.byte()?;
    Some(match how >> 5 {
        0..=3 => base.wrapping_add(u64::from(how & 31)).wrapping_sub(8),
        4 => u64::from(how & 31),
        5 => 1 << (how & 31),
        6 => 1 << (32 + (how & 31)),
        _ => u64::MAX - u64::from(how & 31),
    })
}

/// A message of the engine with fields near those that the target would take.
#[expect(clippy::too_many_lines, reason = "a table: an arm for each kind")]
fn engine(input: &mut Input<'_>, node: &mut Node<SimDisk>, to: u64) -> Option<PeerMessage> {
    let (term, last) = (node.core().term().0, node.core().applied_index().0);
    let (kind, flags) = (input.byte()? % 13, input.byte()?);
    let is_snapshot = kind == 4;
    let mut out = vec![kind, flags & 1 | u8::from(is_snapshot) << 1];
    let bases = [term, term, last, last, term, last];
    let mut fields = Vec::new();
    for base in bases {
        fields.push(near(input, base)?);
    }
    let [message_term, log_term, index, commit, commit_term, hint] = fields.try_into().ok()?;
    let request = if flags & 2 == 0 { 0 } else { last };
    for number in [to, EVIL, message_term, log_term, index, commit, commit_term, hint, request] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    let context: &[u8] = match flags >> 2 & 3 {
        0 => &[],
        1 => b"CampaignTransfer",
        2 => &[1; 16],
        _ => &[1; 40],
    };
    out.extend_from_slice(&(context.len() as u32).to_le_bytes());
    out.extend_from_slice(context);
    let entries = u64::from(flags >> 4 & 3);
    out.extend_from_slice(&(entries as u32).to_le_bytes());
    for number in 1..=entries {
        let kind = input.byte()?;
        out.push(kind & 1);
        let next = if kind & 2 == 0 { index.wrapping_add(number) } else { near(input, last)? };
        out.extend_from_slice(&next.to_le_bytes());
        out.extend_from_slice(&message_term.to_le_bytes());
        let asks = [to.to_le_bytes(), [9; 8]].concat();
        let content: &[u8] = match kind >> 2 & 3 {
            0 => &[],
            1 => &asks,
            2 => b"\x01\0\0\0\0\0\0\0\0\x05\0\0\0zzzzz",
            _ => b"\x02\x03\0\0\0\0\0\0\0",
        };
        out.extend_from_slice(&(content.len() as u32).to_le_bytes());
        out.extend_from_slice(content);
    }
    if is_snapshot {
        put_snapshot(&mut out, index, log_term, flags);
    }
    let message = Message::decode(Bytes::from(out)).ok()?;
    Some(if flags & 0x80 == 0 { PeerMessage::Engine(message) } else { PeerMessage::Offer(message) })
}

fn put_snapshot(out: &mut Vec<u8>, index: u64, term: u64, flags: u8) {
    out.extend_from_slice(&index.to_le_bytes());
    out.extend_from_slice(&term.to_le_bytes());
    let voters: &[u64] = if flags & 0x40 == 0 { &[1, 2, 3] } else { &[3, 3] };
    for list in [voters, &[], &[], &[]] {
        out.extend_from_slice(&(list.len() as u32).to_le_bytes());
        list.iter().for_each(|id| out.extend_from_slice(&id.to_le_bytes()));
    }
    out.push(0);
}

/// A message of another kind.
fn other(input: &mut Input<'_>, node: &mut Node<SimDisk>) -> Option<PeerMessage> {
    let (term, last) = (node.core().term().0, node.core().applied_index().0);
    let (kind, now) = (input.byte()?, node.now().mono());
    let time = |input: &mut Input<'_>| near(input, now.ms()).map(MonoTime::of_ms);
    Some(match kind % 14 {
        0 => PeerMessage::Machine(CouncilMessage::Forward(Bytes::copy_from_slice(input.piece()?))),
        1 => PeerMessage::Machine(CouncilMessage::TouchAsk { round: near(input, 1)? }),
        2 => {
            let ages =
                vec![(council_wire::SessionId(near(input, 1)? as i64), near(input, 1)?); usize::from(kind)];
            PeerMessage::Machine(CouncilMessage::Touched { round: near(input, 1)?, ages })
        }
        3 => PeerMessage::LeaseAsk { term: Term(near(input, term)?), at: time(input)? },
        4 => PeerMessage::LeaseGrant { term: Term(near(input, term)?), at: time(input)? },
        5 => {
            let (term, leader) = (Term(near(input, term)?), near(input, 1)?);
            PeerMessage::LeaderLost {
                term,
                leader: MemberId(leader),
                last_index: LogIndex(near(input, last)?),
            }
        }
        6 => PeerMessage::Want { index: LogIndex(near(input, last)?), chunk: near(input, 0)? },
        7 => {
            let (index, first) = (LogIndex(near(input, last)?), near(input, 0)?);
            let chunks = vec![Bytes::copy_from_slice(input.piece()?)];
            PeerMessage::Chunks { index, first, chunks, end: None }
        }
        8 => PeerMessage::Taken { index: LogIndex(near(input, last)?), whole: kind & 0x80 != 0 },
        9 => PeerMessage::Digest { position: near(input, 128)? as i64, digest: near(input, 1)? },
        10 => {
            let (id, index) = (MemberId(near(input, 9)?), LogIndex(near(input, last)?));
            PeerMessage::Founding(FoundingMessage::Replaced { id, index })
        }
        11 => PeerMessage::Founding(FoundingMessage::Blank { incarnation: [kind; 16], founds: true }),
        12 => PeerMessage::Founding(FoundingMessage::Seated { cluster: [kind; 16], untouched: None }),
        _ => {
            let id = MemberId(near(input, MemberId::blank(MemberNumber(0)).0)?);
            PeerMessage::Founding(FoundingMessage::Admitted { cluster: [1; 16], id, incarnation: [1; 16] })
        }
    })
}

/// One of each kind, to each of the two, with time before and behind.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for kind in 0..13 {
        for flags in [0x00, 0x01, 0x10, 0x90] {
            // Numbers as the target has them.
            let fields = [9, 8, 8, 8, 8, 8];
            let mut engine = vec![2, kind, flags];
            engine.extend_from_slice(&fields);
            engine.extend_from_slice(&[0, 0, 0]);
            seeds.push([&engine[..], &[6, 20], &[engine[0] | 1], &engine[1..], &[6, 40]].concat());
        }
    }
    for kind in 0..14 {
        seeds.push([&[4, kind, 8, 8, 8, 8][..], &[6, 20], &[5, kind, 8, 8, 8, 8], &[6, 40]].concat());
    }
    let messages = [
        PeerMessage::Founding(FoundingMessage::Replaced { id: MemberId(1), index: LogIndex(1 << 62) }),
        PeerMessage::LeaseAsk { term: Term(1), at: MonoTime::of_ms(1) },
        PeerMessage::Digest { position: 128, digest: 1 },
    ];
    for message in messages {
        let (mut bytes, mut seed) = (Vec::new(), vec![0]);
        message.encode(&mut bytes);
        put_piece(&mut seed, &bytes);
        seeds.push(seed);
    }
    seeds
}
