//! Sessions begin, move and end, and only their silence everywhere ends them.

use consensus_raft::MemberId;
use council_tree::{Changes, Command, Stamp};

use super::liveness::Condemned;
use super::*;
use crate::group::Group;
use crate::message::CouncilMessage;
use crate::test_support::{NOW, group};
use crate::{CoreConfig, PeerMessage};

/// Sessions of one member, and the tree that its commands are applied to.
struct World {
    tree: Tree,
    sessions: Sessions,
    group: Group,
    out: Output,
}

const fn conn(slot: u32) -> ConnId {
    ConnId { slot, generation: 1 }
}

impl World {
    fn new(voters: &[u64]) -> Self {
        let (group, tree) = (group(1, voters), Tree::new());
        let sessions = Sessions::new(&CoreConfig::new(MemberId(1), 1), &tree, [7; 32], NOW);
        Self { tree, sessions, group, out: Output::new(1) }
    }

    fn apply(&mut self, operation: &Operation<'_>) -> Outcome {
        let command = Command::internal(*operation);
        self.tree.apply(Stamp { time: base::WallTime::of_ms(1) }, &command, &mut Changes::new())
    }

    /// Opens a session: its id and password.
    fn create(&mut self, slot: u32) -> (SessionId, [u8; 16]) {
        let operation = self.sessions.create(0, conn(slot), 4_000, &self.tree, MemberId(1));
        let Operation::CreateSession { session, timeout_ms, password } = operation else {
            panic!("a session is opened")
        };
        let outcome = self.apply(&operation);
        let created = (session, timeout_ms, password);
        self.sessions.created(&self.tree, created, &outcome, self.group.now(), &mut self.out);
        (session, password)
    }

    fn attach(&mut self, slot: u32, session: SessionId, password: &[u8; 16]) -> Option<Operation<'static>> {
        let Self { tree, sessions, out, .. } = self;
        sessions.attach(0, conn(slot), Claim { session, password, timeout_ms: 4_000 }, tree, MemberId(1), out)
    }

    fn attached(&mut self, operation: &Operation<'_>) {
        let Operation::Attach { session, generation, timeout_ms } = *operation else {
            panic!("a session is taken up")
        };
        let outcome = self.apply(operation);
        let attached = (session, generation, timeout_ms);
        self.sessions.attached(&self.tree, attached, &outcome, self.group.now(), &mut self.out);
    }

    fn stream(&mut self) -> Vec<FromCore> {
        std::mem::take(self.out.stream(0))
    }

    fn pass(&mut self, ms: u64) {
        let mut now = self.group.now();
        now.advance_ms(ms);
        self.group.set_now(now);
    }

    fn tick(&mut self) -> Vec<Condemned> {
        self.sessions.tick(&mut self.group, &mut self.out)
    }
}

#[test]
fn session_begins_with_its_connection_and_ends_for_all_shards() {
    let mut world = World::new(&[1]);
    let (session, _) = world.create(1);
    let stream = world.stream();
    assert!(matches!(stream[..], [FromCore::Connected { session: of, generation: 1, .. }] if of == session));
    assert_eq!((world.sessions.count(), world.sessions.held_here()), (1, 1));
    world.sessions.end(session, true, Zxid(9), true, &mut world.out);
    assert!(matches!(world.stream()[..], [FromCore::SessionClosed { .. }]));
    assert_eq!((world.sessions.count(), world.sessions.held_here()), (0, 0));
    assert_eq!(
        world.out.take_session_ends(),
        (vec![SessionEnd { session, timeout_ms: 4_000, expired: true }], 0)
    );
}

#[test]
fn session_moves_to_the_connection_that_knows_its_password() {
    let mut world = World::new(&[1]);
    let (session, password) = world.create(1);
    world.stream();
    assert!(world.attach(2, session, &[0; 16]).is_none());
    let refused = FromCore::ConnectRefused { conn: conn(2), reason: ConnectRefusal::Expired };
    assert_eq!(format!("{:?}", world.stream()), format!("{:?}", [refused]));
    let operation = world.attach(3, session, &password).expect("it may");
    world.attached(&operation);
    let stream = world.stream();
    assert!(
        matches!(stream[..], [FromCore::Moved { .. }, FromCore::Connected { conn: to, .. }] if to == conn(3))
    );
}

#[test]
fn session_taken_up_twice_goes_to_the_later_and_the_other_is_sent_away() {
    let mut world = World::new(&[1]);
    let (session, password) = world.create(1);
    let first = world.attach(2, session, &password).expect("it may");
    let second = world.attach(3, session, &password).expect("it may");
    world.attached(&second);
    world.stream();
    world.attached(&first);
    let refused = FromCore::ConnectRefused { conn: conn(2), reason: ConnectRefusal::Closing };
    assert_eq!(format!("{:?}", world.stream()), format!("{:?}", [refused]));
    assert_eq!(world.sessions.counts().attach_races, 1);
}

#[test]
fn session_taken_up_once_more_gets_a_generation_above_the_present_one_though_an_earlier_connection_waits() {
    let mut world = World::new(&[1]);
    let (session, password) = world.create(1);
    world.attach(2, session, &password).expect("it may");
    let second = world.attach(3, session, &password).expect("it may");
    world.attached(&second);
    let third = world.attach(4, session, &password).expect("it may");
    let generation = |operation: &Operation<'_>| match *operation {
        Operation::Attach { generation, .. } => generation,
        _ => panic!("a session is taken up"),
    };
    assert!(generation(&third) > generation(&second));
}

#[test]
fn session_that_moved_before_it_expired_lives_on_with_its_full_timeout() {
    let mut world = World::new(&[1]);
    let (session, _) = world.create(1);
    world.pass(3_000);
    let outcome = world.apply(&Operation::Expire { session, generation: 0 });
    assert!(!world.sessions.expired(&world.tree, session, &outcome, world.group.now()));
    assert!(world.sessions.deadlines()[0].0 >= NOW.mono().plus_ms(7_000));
}

#[test]
fn silent_session_is_condemned_once_shards_and_a_majority_have_answered() {
    let mut world = World::new(&[1, 2, 3]);
    let (session, _) = world.create(1);
    world.pass(60_000);
    assert_eq!(world.tick(), []);
    let asked = world.group.take_sent();
    assert_eq!(
        asked,
        [2, 3].map(|peer| (MemberId(peer), PeerMessage::Machine(CouncilMessage::TouchAsk { round: 1 })))
    );
    let World { sessions, group, .. } = &mut world;
    assert_eq!(sessions.shard_answered((0, 1), &[], group), []);
    let condemned = sessions.peer_answered((MemberId(2), 1), &[], group);
    assert_eq!(condemned, [Condemned { session, generation: 1 }]);
    assert_eq!(sessions.counts().condemned, 1);
}

#[test]
fn session_that_another_member_has_heard_of_is_not_condemned() {
    let mut world = World::new(&[1, 2, 3]);
    let (session, _) = world.create(1);
    world.pass(60_000);
    assert_eq!(world.tick(), []);
    let World { sessions, group, .. } = &mut world;
    assert_eq!(sessions.shard_answered((0, 1), &[], group), []);
    assert_eq!(sessions.peer_answered((MemberId(2), 1), &[(session, 100)], group), []);
}

#[test]
fn stall_of_this_process_is_forgiven_and_ends_the_round() {
    let mut world = World::new(&[1, 2, 3]);
    world.create(1);
    let before = world.sessions.deadlines()[0].0;
    world.pass(60_000);
    assert_eq!(world.tick(), []);
    world.sessions.forgive(60_000, world.group.now());
    assert!(world.sessions.deadlines()[0].0 >= before.plus_ms(60_000));
    assert_eq!((world.sessions.counts().forgiven_ms, world.sessions.round.is_none()), (60_000, true));
}

#[test]
fn round_that_took_longer_than_a_lease_condemns_nobody_and_is_begun_anew() {
    let mut world = World::new(&[1]);
    let (session, _) = world.create(1);
    world.pass(4_100);
    assert_eq!(world.tick(), []);
    let lease_ms = world.group.view().config.lease_ms;
    world.pass(lease_ms + 1);
    assert_eq!(world.sessions.shard_answered((0, 1), &[], &mut world.group), [], "the shard stood still");
    assert_eq!(world.tick(), []);
    let heard = [(session, world.group.now().mono())];
    assert_eq!(world.sessions.shard_answered((0, 2), &heard, &mut world.group), [], "its client is back");
    world.pass(6_000);
    assert_eq!(world.tick(), []);
    world.pass(lease_ms);
    let condemned = world.sessions.shard_answered((0, 3), &[], &mut world.group);
    assert_eq!(condemned, [Condemned { session, generation: 1 }]);
}
