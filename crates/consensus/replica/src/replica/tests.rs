//! Three members over a machine that keeps notes: what any machine may count on.

use base::{Now, WallTime};
use consensus_raft::{Change, MemberId, Role, Step};

use super::Replica;
use crate::journal::{JournalEvent, JournalRequest};
use crate::start::Seat;
use crate::state_machine::{ReplicatedState, StateMachine};
use crate::test_support::{NOW, Notes, ROTTEN, recovered};
use crate::{Fault, PeerMessage, ReplicaConfig, SnapshotEnd};

/// How often time is told to members, milliseconds.
const TICK_MS: u64 = 10;

struct Member {
    replica: Replica<Notes>,
    notes: Vec<u8>,
    /// The snapshot on its disk.
    saved: Option<(Vec<u8>, SnapshotEnd)>,
    /// One that is being written.
    chunks: Vec<u8>,
    reachable: bool,
    /// Whether it applies what is committed in its turns.
    applies: bool,
}

/// A group whose disks keep everything at once and whose messages take no time.
struct Group {
    members: Vec<Member>,
    now: Now,
}

impl Group {
    /// Members 1 to 3, who keep so many bytes of log in memory.
    fn of_three(window_bytes_max: usize) -> Self {
        Self::with(|config| config.window_bytes_max = window_bytes_max)
    }

    fn with(change_config: impl Fn(&mut ReplicaConfig)) -> Self {
        let member = |id: u64| {
            let mut config = ReplicaConfig::new(MemberId(id));
            change_config(&mut config);
            let log = recovered(&[1, 2, 3]);
            let seat = Seat::new(log.clone(), (log.base_index, log.base_term));
            let replica = Replica::new(config, &seat, &Vec::new(), Notes::default(), None, id, NOW);
            let (reachable, applies) = (true, true);
            Member { replica, notes: Vec::new(), saved: None, chunks: Vec::new(), reachable, applies }
        };
        let mut group = Self { members: (1..=3).map(member).collect(), now: NOW };
        (1..=3).for_each(|id| group.set_reachable(id, true));
        group
    }

    fn member(&mut self, id: u64) -> &mut Member {
        &mut self.members[id as usize - 1]
    }

    fn set_reachable(&mut self, id: u64, reachable: bool) {
        let now = self.now;
        self.member(id).reachable = reachable;
        for other in (1..=3).filter(|other| *other != id) {
            let up = reachable && self.member(other).reachable;
            self.member(other).replica.link(MemberId(id), up, now);
            self.member(id).replica.link(MemberId(other), up, now);
        }
    }

    fn pass(&mut self, ms: u64) {
        self.pass_until(ms, |_| false);
    }

    /// Time passes, and ends early behind the turn with which this holds. Says whether it did.
    fn pass_until(&mut self, ms: u64, holds: impl Fn(&Self) -> bool) -> bool {
        for _ in 0..ms / TICK_MS {
            self.now.advance_ms(TICK_MS);
            let now = self.now;
            for member in &mut self.members {
                member.replica.tick(now, &member.notes);
            }
            for _ in 0..4 {
                self.turn();
                if holds(self) {
                    return true;
                }
            }
        }
        false
    }

    fn turn(&mut self) {
        let now = self.now;
        let mut messages = Vec::new();
        for (place, member) in self.members.iter_mut().enumerate() {
            member.turn(now);
            let from = MemberId(place as u64 + 1);
            messages
                .extend(member.replica.take_outgoing().into_iter().map(|(to, message)| (from, to, message)));
        }
        for (from, to, message) in messages {
            if self.member(from.0).reachable && self.member(to.0).reachable {
                let mut bytes = Vec::new();
                message.encode(&mut bytes);
                let message = PeerMessage::decode(bytes.into()).expect("it was encoded");
                self.member(to.0).replica.peer(from, message, now).expect("no fault");
            }
        }
    }

    fn leader(&mut self) -> u64 {
        self.pass(3_000);
        let leads = |id: &u64| self.members[*id as usize - 1].replica.leads_in().is_some();
        (1..=3)
            .filter(leads)
            .max_by_key(|id| self.members[*id as usize - 1].replica.term())
            .expect("one leads")
    }

    /// A client of that member asks for a note.
    fn ask(&mut self, id: u64, note: u8) {
        let (machine, group) = self.member(id).replica.machine();
        machine.message(MemberId(id), crate::test_support::Note(note), group);
    }
}

impl Member {
    fn turn(&mut self, now: Now) {
        self.replica.advance(now);
        for request in self.replica.take_requests() {
            self.write(request, now);
        }
        self.replica.advance(now);
        if self.applies {
            self.apply(now);
        }
    }

    fn apply(&mut self, now: Now) {
        while self.replica.has_work(0) {
            self.replica.apply(&mut self.notes, now).expect("no fault");
        }
    }

    fn write(&mut self, request: JournalRequest, now: Now) {
        let event = match request {
            JournalRequest::Persist { number, .. } => JournalEvent::Persisted { number },
            JournalRequest::SnapshotBegin => return self.chunks.clear(),
            JournalRequest::SnapshotChunk { bytes, .. } => {
                self.chunks.extend_from_slice(&bytes);
                JournalEvent::SnapshotChunkWritten { bytes: bytes.len() as u64 }
            }
            JournalRequest::SnapshotFinish { meta, .. } => {
                let end = SnapshotEnd {
                    position: meta.position,
                    digest: meta.digest,
                    created: WallTime::default(),
                };
                self.saved = Some((self.chunks.clone(), end));
                JournalEvent::SnapshotSaved { index: meta.index }
            }
            JournalRequest::SnapshotRead { peer, index, first } => {
                let read = self.saved.clone().map(|(bytes, end)| (vec![bytes.into()], Some(end)));
                JournalEvent::SnapshotRead { peer, index, first, read }
            }
            JournalRequest::MakeRoom { .. } => return,
        };
        self.replica.journal(event, now).expect("no fault");
    }
}

#[test]
fn note_of_any_member_reaches_all_once_and_in_one_order() {
    let mut group = Group::of_three(1 << 20);
    group.leader();
    (1..=9).for_each(|note| group.ask(u64::from(note) % 3 + 1, note));
    group.pass(500);
    let mut notes = group.member(1).notes.clone();
    assert!(group.members.iter().all(|member| member.notes == notes && member.replica.look().serves));
    notes.sort_unstable();
    assert_eq!(notes, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn notes_under_way_are_not_lost_with_their_leader() {
    let mut group = Group::of_three(1 << 20);
    let old = group.leader();
    let other = old % 3 + 1;
    group.ask(other, 7);
    group.set_reachable(old, false);
    let new = group.leader();
    assert_ne!(new, old);
    assert_eq!(group.member(other).notes, [7]);
    assert!(!group.member(old).replica.look().serves, "its lease is over");
    group.set_reachable(old, true);
    group.pass(3_000);
    assert_eq!(group.member(old).notes, [7]);
    assert_eq!(group.member(old).replica.group().raft.role(), Role::Follower);
}

#[test]
fn member_that_lags_behind_the_log_that_is_kept_is_given_a_snapshot() {
    let mut group = Group::of_three(0);
    let leader = group.leader();
    let away = leader % 3 + 1;
    group.set_reachable(away, false);
    for note in 1..=200 {
        group.ask(leader, note);
        group.pass(20);
    }
    assert_eq!((group.member(leader).notes.len(), group.member(away).notes.len()), (200, 0));
    group.set_reachable(away, true);
    group.pass(5_000);
    assert_eq!(group.member(away).replica.states_replaced(), 1);
    let digest = Notes::digest(&group.member(leader).notes);
    assert_eq!(Notes::digest(&group.member(away).notes), digest);
}

#[test]
fn change_committed_before_a_snapshot_that_raft_took_over_changes_no_members() {
    let mut group = Group::of_three(0);
    let leader = group.leader();
    let away = leader % 3 + 1;
    let members = group.member(leader).replica.membership().clone();
    let change = |group: &mut Group, step| {
        let raft = &mut group.member(leader).replica.group.raft;
        raft.propose_change(&Change { steps: vec![step] }).expect("it leads");
        group.pass(100);
    };
    group.member(away).applies = false;
    change(&mut group, Step::Learner(MemberId(away)));
    assert!(group.member(away).replica.has_work(0), "it knows that this is committed");
    group.set_reachable(away, false);
    change(&mut group, Step::Voter(MemberId(away)));
    for note in 1..=200 {
        group.ask(leader, note);
        group.pass(20);
    }
    group.set_reachable(away, true);
    let is_there = |group: &Group| group.members[away as usize - 1].replica.snapshots.received.awaits_turn();
    assert!(group.pass_until(5_000, is_there));
    let now = group.now;
    group.member(away).apply(now);
    assert_eq!(group.member(away).replica.states_replaced(), 0, "raft has not said so yet");
    group.member(away).applies = true;
    group.pass(500);
    let replica = &group.member(away).replica;
    assert_eq!((replica.states_replaced(), replica.membership()), (1, &members));
    assert_eq!(replica.group.raft.membership(), members);
}

#[test]
fn who_waits_goes_on_once_all_that_was_committed_is_applied() {
    let mut group = Group::of_three(1 << 20);
    let leader = group.leader();
    group.ask(leader, 5);
    group.turn();
    let behind = leader % 3 + 1;
    let (_, lent) = group.member(behind).replica.machine();
    lent.wait(77);
    assert_eq!(group.member(behind).replica.look().went_on, []);
    group.pass(500);
    assert_eq!(group.member(behind).replica.look().went_on, [(77, 1)]);
}

#[test]
fn only_the_leader_takes_what_its_machine_may_be_told() {
    let mut group = Group::of_three(1 << 20);
    let leader = group.leader();
    let (follower, third) = (leader % 3 + 1, (leader + 1) % 3 + 1);
    let now = group.now;
    let note = PeerMessage::Machine(crate::test_support::Note(3));
    group.member(follower).replica.peer(MemberId(third), note.clone(), now).expect("no fault");
    assert!(group.member(follower).replica.look().waiting.is_empty());
    group.member(leader).replica.peer(MemberId(third), note, now).expect("no fault");
    assert_eq!(group.member(leader).replica.look().waiting, [3]);
}

/// A leader, and a follower that serves no clients and has learned of everything so far.
fn leader_and_lonely(group: &mut Group) -> (u64, u64) {
    let leader = group.leader();
    let lonely = leader % 3 + 1;
    for member in &mut group.members {
        member.replica.machine().0.without_clients = vec![MemberId(lonely)];
    }
    group.pass(2_000);
    (leader, lonely)
}

/// Runs turns in which no time passes.
fn turns(group: &mut Group, count: usize) {
    (0..count).for_each(|_| group.turn());
}

#[test]
fn member_without_clients_learns_with_the_next_entry_or_heartbeat_what_is_committed() {
    let mut group = Group::of_three(1 << 20);
    let (leader, lonely) = leader_and_lonely(&mut group);
    let other = lonely % 3 + 1;
    let notes = |group: &Group, id: u64| group.members[id as usize - 1].notes.clone();
    group.ask(leader, 1);
    turns(&mut group, 8);
    assert_eq!((notes(&group, other), notes(&group, lonely)), (vec![1], vec![]));
    group.pass(20);
    group.ask(leader, 2);
    turns(&mut group, 8);
    assert_eq!((notes(&group, other), notes(&group, lonely)), (vec![1, 2], vec![1]));
    group.pass(200);
    assert_eq!(group.member(lonely).notes, [1, 2]);
}

#[test]
fn member_without_clients_that_asks_learns_at_once_what_is_committed() {
    let mut group = Group::of_three(1 << 20);
    let (leader, lonely) = leader_and_lonely(&mut group);
    group.ask(lonely, 1);
    turns(&mut group, 8);
    assert_eq!(group.member(lonely).notes, [1], "what it proposed");
    group.pass(2_000);
    group.ask(leader, 2);
    turns(&mut group, 8);
    assert_eq!(group.member(lonely).notes, [1]);
    let (_, lent) = group.member(lonely).replica.machine();
    lent.wait(77);
    turns(&mut group, 8);
    assert_eq!(group.member(lonely).replica.look().went_on, [(77, 2)], "how far the log is committed");
}

#[test]
fn removed_member_without_clients_learns_of_its_removal() {
    let mut group = Group::of_three(1 << 20);
    let (leader, lonely) = leader_and_lonely(&mut group);
    let raft = &mut group.member(leader).replica.group.raft;
    raft.propose_change(&Change { steps: vec![Step::Remove(MemberId(lonely))] }).expect("it leads");
    turns(&mut group, 8);
    assert!(!group.member(lonely).replica.membership().contains(MemberId(lonely)));
}

/// Notes that follow each other at once, asked for at the leader.
fn ask_closely(group: &mut Group, leader: u64, notes: core::ops::RangeInclusive<u8>) {
    for note in notes {
        group.ask(leader, note);
        turns(group, 8);
    }
}

#[test]
fn entries_that_come_closely_reach_a_spare_member_together() {
    let mut group = Group::of_three(1 << 20);
    let (leader, lonely) = leader_and_lonely(&mut group);
    let lacks = |group: &mut Group| {
        let last = group.member(leader).replica.group().last_index();
        last.since(group.member(lonely).replica.group().last_index())
    };
    ask_closely(&mut group, leader, 1..=9);
    assert_eq!(group.member(leader).notes.len(), 9, "they are committed without that member");
    assert_eq!(lacks(&mut group), 8, "the first came after a pause, and went to all");
    let deadline = group.member(leader).replica.next_deadline();
    assert!(deadline <= group.now.mono().plus_ms(2));
    group.pass(10);
    assert_eq!(lacks(&mut group), 0);
    ask_closely(&mut group, leader, 10..=27);
    assert!(lacks(&mut group) < 16, "no more than so many wait");
}

#[test]
fn spare_member_stands_in_for_one_that_does_not_acknowledge() {
    let mut group = Group::of_three(1 << 20);
    let (leader, lonely) = leader_and_lonely(&mut group);
    let other = 6 - leader - lonely;
    ask_closely(&mut group, leader, 1..=3);
    // Nobody is told: its connection stands.
    group.member(other).reachable = false;
    ask_closely(&mut group, leader, 4..=5);
    assert_eq!(group.member(leader).notes, [1, 2, 3]);
    group.pass(10);
    assert_eq!(group.member(leader).notes, [1, 2, 3, 4, 5]);
    ask_closely(&mut group, leader, 6..=7);
    assert_eq!(group.member(leader).notes.len(), 7, "its log is the longest now: it is not spared");
}

#[test]
fn spare_member_has_every_entry_before_what_builds_on_it() {
    let mut group = Group::of_three(1 << 20);
    let (leader, lonely) = leader_and_lonely(&mut group);
    ask_closely(&mut group, leader, 1..=4);
    let (machine, _) = group.member(leader).replica.machine();
    machine.without_clients.clear();
    group.ask(leader, 5);
    let now = group.now;
    group.member(leader).turn(now);
    let sent = group.member(leader).replica.take_outgoing();
    let entries = sent.iter().filter(|(to, _)| *to == MemberId(lonely)).map(|(_, message)| match message {
        PeerMessage::Engine(message) => message.contents().count(),
        _ => 0,
    });
    assert_eq!(
        entries.sum::<usize>(),
        4,
        "a client has come to it: it gets this entry, and the three that waited"
    );
}

#[test]
fn commits_wait_for_nothing_though_no_follower_serves_clients() {
    let mut group = Group::of_three(1 << 20);
    let (leader, lonely) = leader_and_lonely(&mut group);
    let other = 6 - leader - lonely;
    let (machine, _) = group.member(leader).replica.machine();
    machine.without_clients.push(MemberId(other));
    ask_closely(&mut group, leader, 1..=9);
    assert_eq!(group.member(leader).notes.len(), 9);
}

#[test]
fn memory_that_has_rotted_is_a_fault_and_none_of_it_becomes_a_snapshot() {
    let mut group = Group::of_three(1 << 20);
    let leader = group.leader();
    group.ask(leader, 5);
    group.pass(100);
    let now = group.now;
    let member = group.member(leader);
    member.notes.push(ROTTEN);
    member.replica.request_snapshot();
    assert!(member.replica.has_work(0));
    assert_eq!(member.replica.apply(&mut member.notes, now), Err(Fault::Rotten { position: 2 }));
    let finishes = |request: &JournalRequest| matches!(request, JournalRequest::SnapshotFinish { .. });
    assert!(!member.replica.take_requests().iter().any(finishes));
}

#[test]
fn whole_snapshot_covers_the_entry_of_which_only_some_commands_are_applied() {
    let mut group = Group::with(|config| config.apply_bytes_max = 1);
    let leader = group.leader();
    let before = group.member(leader).replica.applied_index();
    (1..=4).for_each(|note| group.ask(leader, note));
    group.member(leader).applies = false;
    group.pass(200);
    let now = group.now;
    let member = group.member(leader);
    while member.replica.is_between_entries() {
        assert!(member.replica.has_work(0), "the notes are several commands of one entry");
        member.replica.apply(&mut member.notes, now).expect("no fault");
    }
    // Somebody may have been told of the first note.
    assert_eq!((member.replica.applied_index(), member.notes.len() < 4), (before, true));
    let wanted = member.replica.request_whole_snapshot();
    assert_eq!(wanted, before.next());
    member.applies = true;
    group.pass(200);
    let member = group.member(leader);
    assert_eq!(member.replica.durable_snapshot(), wanted);
    assert_eq!(member.saved.as_ref().map(|(notes, _)| &notes[notes.len() - 4..]), Some(&[1, 2, 3, 4][..]));
    // What covers it already is not taken again.
    assert_eq!(member.replica.request_whole_snapshot(), wanted);
    assert!(!member.replica.has_work(0));
}
