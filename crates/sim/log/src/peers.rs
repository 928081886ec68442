//! The links between brokers: two connections for each pair, on which messages keep their order, with delays of their own. A link
//! breaks with what is on its way; another one comes between the processes that are announced by then.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use sim_kit::random::Random;

use crate::broker::{LinkId, Machine, PeerEvent};

/// How often a process shows that it lives, and after how long without a sign a link is given up, milliseconds.
const HEARTBEAT_MS: u64 = 100;
const SILENT_MS: u64 = 3_000;

/// A pair of brokers, by their places among all, the lower one first.
type Pair = (usize, usize);

/// One direction of a link.
#[derive(Debug, Default)]
struct Flow {
    /// Small messages, and batches. An empty one is a sign of life.
    lanes: [VecDeque<Vec<u8>>; 2],
    beats_at_ms: u64,
    /// When the receiver heard something last.
    heard_ms: u64,
}

#[derive(Debug)]
struct Link {
    id: LinkId,
    /// The processes at its ends.
    incarnations: [u64; 2],
    /// From the first of the pair, and from the other.
    flows: [Flow; 2],
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    links: BTreeMap<Pair, Link>,
    last: u64,
}

impl Peers {
    /// The link between two breaks, if there is one.
    pub(crate) fn reset_between(&mut self, brokers: &mut [Machine], one: usize, other: usize) {
        self.end(brokers, (one.min(other), one.max(other)));
    }

    /// Something goes on between two brokers. Gives whether a link is new.
    pub(crate) fn step(&mut self, brokers: &mut [Machine], random: &mut Random, now_ms: u64) -> bool {
        let all = brokers.len();
        if all < 2 {
            return false;
        }
        let one = random.below(all as u64) as usize;
        let other = (one + 1 + random.below(all as u64 - 1) as usize) % all;
        let pair = (one.min(other), one.max(other));
        self.end_if_gone(brokers, pair);
        if !self.links.contains_key(&pair) {
            return random.chance(30) && self.connect(brokers, pair, now_ms);
        }
        for direction in [0, 1] {
            self.go_on(brokers, pair, direction, random, now_ms);
        }
        self.end_if_silent(brokers, pair, now_ms);
        false
    }

    fn connect(&mut self, brokers: &mut [Machine], pair: Pair, now_ms: u64) -> bool {
        let (one, other) = pair;
        let mut incarnation = |at: usize| Some(brokers[at].serving(now_ms)?.incarnation());
        let (Some(first), Some(second)) = (incarnation(one), incarnation(other)) else { return false };
        let mut knows = |at: usize, of: usize, incarnation: u64| {
            with_port(&mut brokers[at], |port| port.knows(number(of), incarnation)).unwrap_or(false)
        };
        if !knows(one, other, second) || !knows(other, one, first) {
            return false;
        }
        self.last += 1;
        let id = LinkId(self.last);
        let flow = || Flow { beats_at_ms: now_ms, heard_ms: now_ms, ..Flow::default() };
        self.links.insert(pair, Link { id, incarnations: [first, second], flows: [flow(), flow()] });
        tell(&mut brokers[one], other, PeerEvent::Connected(id));
        tell(&mut brokers[other], one, PeerEvent::Connected(id));
        true
    }

    /// What goes in one direction goes on.
    fn go_on(
        &mut self,
        brokers: &mut [Machine],
        pair: Pair,
        direction: usize,
        random: &mut Random,
        now_ms: u64,
    ) {
        let (from, to) = if direction == 0 { pair } else { (pair.1, pair.0) };
        let Some(link) = self.links.get_mut(&pair) else { return };
        let (id, flow) = (link.id, &mut link.flows[direction]);
        let goes =
            brokers[from].serving(now_ms).is_some_and(|of| of.incarnation() == link.incarnations[direction]);
        for lane in [0, 1] {
            if !goes {
                break;
            }
            let next = || with_port(&mut brokers[from], |port| port.next(number(to), id, lane)).flatten();
            flow.lanes[lane].extend(std::iter::from_fn(next));
        }
        if goes && now_ms >= flow.beats_at_ms {
            flow.beats_at_ms = now_ms + HEARTBEAT_MS;
            flow.lanes[0].push_back(Vec::new());
        }
        if brokers[to].serving(now_ms).is_none() {
            return;
        }
        for lane in &mut flow.lanes {
            for _ in 0..random.below(6) {
                let Some(message) = lane.pop_front() else { break };
                flow.heard_ms = now_ms;
                let event = match message.is_empty() {
                    true => PeerEvent::Heard,
                    false => PeerEvent::Message(Bytes::from(message)),
                };
                tell(&mut brokers[to], from, event);
            }
        }
    }

    /// A process that has ended closes its connections. One without power says nothing, until another one is there.
    fn end_if_gone(&mut self, brokers: &mut [Machine], pair: Pair) {
        let Some(link) = self.links.get(&pair) else { return };
        let is_gone = |at: usize, incarnation: u64| match &brokers[at].process {
            Some(process) => process.is_serving() && process.incarnation() != incarnation,
            None => !brokers[at].is_without_power,
        };
        if is_gone(pair.0, link.incarnations[0]) || is_gone(pair.1, link.incarnations[1]) {
            self.end(brokers, pair);
        }
    }

    /// Nothing was heard for long, at one of the ends.
    fn end_if_silent(&mut self, brokers: &mut [Machine], pair: Pair, now_ms: u64) {
        let Some(link) = self.links.get_mut(&pair) else { return };
        for (flow, receiver) in link.flows.iter_mut().zip([pair.1, pair.0]) {
            // Who stood still itself finds first what came meanwhile.
            if brokers[receiver].host.is_paused(now_ms) || brokers[receiver].process.is_none() {
                flow.heard_ms = now_ms;
            }
        }
        if link.flows.iter().any(|flow| now_ms > flow.heard_ms + SILENT_MS) {
            self.end(brokers, pair);
        }
    }

    fn end(&mut self, brokers: &mut [Machine], pair: Pair) {
        let Some(link) = self.links.remove(&pair) else { return };
        for (at, other, incarnation) in
            [(pair.0, pair.1, link.incarnations[0]), (pair.1, pair.0, link.incarnations[1])]
        {
            let is_there = |process: &crate::broker::Process| process.incarnation() == incarnation;
            if brokers[at].process.as_ref().is_some_and(is_there) {
                tell(&mut brokers[at], other, PeerEvent::Broken);
            }
        }
    }
}

fn with_port<T>(machine: &mut Machine, call: impl FnOnce(&mut crate::broker::PeerPort) -> T) -> Option<T> {
    machine.process.as_mut()?.with_peers(call)
}

fn tell(machine: &mut Machine, from: usize, event: PeerEvent) {
    with_port(machine, |port| port.tell(number(from), event));
}

/// The number of the broker at that place among all.
fn number(at: usize) -> i32 {
    at as i32 + 1
}
