//! The links between brokers: two connections for each pair, on which messages keep their order, with delays of their own. A link
//! breaks with what is on its way; another one comes between the processes that are announced by then. A link that is cut stands
//! until it is given up, and nothing comes over it, in one direction or in both. Of silence brokers are told as the shipped driver of
//! links (`log_links`) does it: once for each silence, and not for time in which the listener itself stood still.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use sim_kit::random::Random;

use crate::broker::{LinkId, Machine, PeerEvent};

/// How often a process shows that it lives, and after how long without a sign a link is given up, milliseconds.
const HEARTBEAT_MS: u64 = 100;
const SILENT_MS: u64 = 300;
const BROKEN_MS: u64 = 3_000;
/// More bytes are not on their way in one direction of a connection.
const ON_THE_WAY_BYTES_MAX: usize = 20_000;

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
    /// When it stood still last: it counts silence from then.
    late_ms: u64,
    /// The receiver was told that nothing is heard.
    is_silent: bool,
}

#[derive(Debug)]
struct Link {
    id: LinkId,
    /// The numbers of the brokers at its ends, and their processes.
    numbers: [i32; 2],
    incarnations: [u64; 2],
    /// From the first of the pair, and from the other.
    flows: [Flow; 2],
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    links: BTreeMap<Pair, Link>,
    /// Until when nothing comes from the first of a pair to the other, and from the other to the first.
    cuts: BTreeMap<Pair, [u64; 2]>,
    last: u64,
    /// How often a broker was told of silence since the last time that was asked.
    silences: u64,
}

impl Peers {
    /// Nothing goes between two brokers until then; only in one direction if that is named by its sender.
    pub(crate) fn cut(&mut self, one: usize, other: usize, only_from: Option<usize>, until_ms: u64) {
        let pair = (one.min(other), one.max(other));
        let cut = self.cuts.entry(pair).or_default();
        for (from, until) in [pair.0, pair.1].into_iter().zip(cut) {
            if only_from.is_none_or(|only| only == from) {
                *until = until_ms.max(*until);
            }
        }
    }

    /// Everything that is cut is whole again.
    pub(crate) fn heal(&mut self) {
        self.cuts.clear();
    }

    /// How often a broker was told that another one is silent, since this was asked last.
    pub(crate) fn take_silences(&mut self) -> u64 {
        std::mem::take(&mut self.silences)
    }

    fn is_cut(&self, pair: Pair, direction: usize, now_ms: u64) -> bool {
        self.cuts.get(&pair).is_some_and(|until| until[direction] > now_ms)
    }

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
            let is_cut = [0, 1].into_iter().any(|direction| self.is_cut(pair, direction, now_ms));
            return random.chance(30) && !is_cut && self.connect(brokers, pair, now_ms);
        }
        for direction in [0, 1] {
            self.go_on(brokers, pair, direction, random, now_ms);
        }
        self.listen(brokers, pair, now_ms);
        self.end_if_silent(brokers, pair, now_ms);
        false
    }

    fn connect(&mut self, brokers: &mut [Machine], pair: Pair, now_ms: u64) -> bool {
        let (one, other) = pair;
        let mut incarnation = |at: usize| Some(brokers[at].serving(now_ms)?.incarnation());
        let (Some(first), Some(second)) = (incarnation(one), incarnation(other)) else { return false };
        let numbers = [brokers[one].node_id(), brokers[other].node_id()];
        let mut knows = |at: usize, of: i32, incarnation: u64| {
            with_port(&mut brokers[at], |port| port.knows(of, incarnation)).unwrap_or(false)
        };
        if !knows(one, numbers[1], second) || !knows(other, numbers[0], first) {
            return false;
        }
        self.last += 1;
        let id = LinkId(self.last);
        let flow = || Flow { beats_at_ms: now_ms, heard_ms: now_ms, ..Flow::default() };
        let flows = [flow(), flow()];
        self.links.insert(pair, Link { id, numbers, incarnations: [first, second], flows });
        tell(&mut brokers[one], numbers[1], PeerEvent::Connected(id));
        tell(&mut brokers[other], numbers[0], PeerEvent::Connected(id));
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
        let is_cut = self.is_cut(pair, direction, now_ms);
        let Some(link) = self.links.get_mut(&pair) else { return };
        let (id, flow) = (link.id, &mut link.flows[direction]);
        let (sender, receiver) = (link.numbers[direction], link.numbers[1 - direction]);
        let goes =
            brokers[from].serving(now_ms).is_some_and(|of| of.incarnation() == link.incarnations[direction]);
        for lane in [0, 1] {
            if !goes || flow.lanes[lane].iter().map(Vec::len).sum::<usize>() > ON_THE_WAY_BYTES_MAX {
                continue;
            }
            let next = || with_port(&mut brokers[from], |port| port.next(receiver, id, lane)).flatten();
            flow.lanes[lane].extend(std::iter::from_fn(next));
        }
        if goes && now_ms >= flow.beats_at_ms {
            flow.beats_at_ms = now_ms + HEARTBEAT_MS;
            flow.lanes[0].push_back(Vec::new());
        }
        if is_cut || brokers[to].serving(now_ms).is_none() {
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
                tell(&mut brokers[to], sender, event);
            }
        }
    }

    /// Who is at an end and heard nothing for a while is told so, and that something is heard again. Behind what has come.
    fn listen(&mut self, brokers: &mut [Machine], pair: Pair, now_ms: u64) {
        let Some(link) = self.links.get_mut(&pair) else { return };
        let numbers = link.numbers;
        for (direction, flow) in link.flows.iter_mut().enumerate() {
            let receiver = &mut brokers[if direction == 0 { pair.1 } else { pair.0 }];
            if receiver.serving(now_ms).is_none() {
                flow.late_ms = now_ms;
                continue;
            }
            // One that is silent already does not become heard by that.
            let since = if flow.is_silent { flow.heard_ms } else { flow.heard_ms.max(flow.late_ms) };
            let is_silent = now_ms >= since + SILENT_MS;
            if std::mem::replace(&mut flow.is_silent, is_silent) != is_silent {
                self.silences += u64::from(is_silent);
                let event = if is_silent { PeerEvent::Silent } else { PeerEvent::Heard };
                tell(receiver, numbers[direction], event);
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
        let Some(link) = self.links.get(&pair) else { return };
        // Who stood still itself finds first what came meanwhile.
        if link.flows.iter().any(|flow| now_ms > flow.heard_ms.max(flow.late_ms) + BROKEN_MS) {
            self.end(brokers, pair);
        }
    }

    fn end(&mut self, brokers: &mut [Machine], pair: Pair) {
        let Some(link) = self.links.remove(&pair) else { return };
        let [first, second] = link.incarnations;
        for (at, other, incarnation) in [(pair.0, link.numbers[1], first), (pair.1, link.numbers[0], second)]
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

fn tell(machine: &mut Machine, from: i32, event: PeerEvent) {
    with_port(machine, |port| port.tell(from, event));
}
