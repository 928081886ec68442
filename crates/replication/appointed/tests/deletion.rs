//! Entries that are deleted for a client: when they are deleted for good, what is shown until then, and what a new leader takes over.

use replication_appointed::{
    Append, Appended, Config, Durable, Epoch, EpochHistory, Fence, LogShape, Position, Received, Replica,
    ReplicaId, Round, Seq, Voters,
};

const IDS: [ReplicaId; 3] = [ReplicaId(1), ReplicaId(2), ReplicaId(3)];

fn config(leader: ReplicaId, epoch: u32, durable_on: usize) -> Config {
    let voters = Voters::new(IDS, durable_on).expect("a constant that is fine");
    Config { voters, ..Config::alone(leader, Epoch(epoch)) }
}

/// A replica with ten entries of epoch 1, all of them committed, of which those before `start` are gone.
fn replica(start: u64) -> Replica {
    let (mut history, base) = (EpochHistory::default(), Position { epoch: Epoch(1), end: Seq(start) });
    history.begin(Epoch(1), Seq(start));
    let log = LogShape::new(base, history, Seq(10));
    Replica::restore(Durable { promised: Epoch(1), log, committed: Seq(10) })
}

/// It leads epoch 2, and its disk knows.
fn leader(start: u64, durable_on: usize) -> Replica {
    let mut leader = replica(start);
    assert!(matches!(leader.fence(Epoch(2)), Fence::Persist(_)));
    let id = leader.lead(IDS[0], config(IDS[0], 2, durable_on)).expect("it has promised");
    leader.persisted(id);
    leader
}

fn appended(start: u64) -> Appended {
    Appended { epoch: Epoch(2), durable: Seq(10), start: Seq(start), round: Round(0) }
}

fn next(leader: &mut Replica, to: ReplicaId) -> Option<Append> {
    let append = leader.next_append(to)?;
    let entries = append.after.end..leader.log().end();
    let append = leader.with_entries(append, entries);
    leader.sent(to, &append);
    Some(append)
}

#[test]
fn deletion_counts_once_enough_disks_have_it_and_is_shown_then() {
    let mut leader = leader(0, 2);
    leader.receive_appended(IDS[1], appended(0));
    assert!(leader.is_established());
    let id = leader.delete_before(Seq(4)).expect("they are there");
    let seen = |leader: &Replica| (leader.shown_start(), leader.deleted_to());
    assert_eq!((leader.log().start(), seen(&leader)), (Seq(4), (Seq(0), Some(Seq(0)))));
    leader.persisted(id);
    assert_eq!(seen(&leader), (Seq(0), Some(Seq(0))), "on one disk of three");
    assert_eq!(next(&mut leader, IDS[1]).map(|append| append.start), Some(Seq(4)), "without an entry");
    assert_eq!(next(&mut leader, IDS[1]), None, "it is told once");
    leader.receive_appended(IDS[1], appended(4));
    assert_eq!(seen(&leader), (Seq(4), Some(Seq(4))));
}

#[test]
fn earlier_of_two_deletions_counts_before_the_later_one() {
    let mut leader = leader(0, 2);
    leader.receive_appended(IDS[1], appended(0));
    leader.delete_before(Seq(4));
    leader.delete_before(Seq(6));
    assert_eq!(leader.delete_before(Seq(5)), None, "they are gone here");
    leader.persisted(leader.last_persist());
    leader.receive_appended(IDS[1], appended(4));
    assert_eq!((leader.shown_start(), leader.deleted_to()), (Seq(4), Some(Seq(4))));
}

#[test]
fn retention_is_shown_at_once_unless_a_deletion_is_under_way() {
    let mut leader = leader(0, 2);
    leader.receive_appended(IDS[1], appended(0));
    leader.cut_start(Seq(3));
    assert_eq!(leader.shown_start(), Seq(3));
    leader.delete_before(Seq(4));
    leader.cut_start(Seq(5));
    assert_eq!(leader.shown_start(), Seq(3));
}

#[test]
fn new_leader_takes_the_latest_start_and_serves_once_that_is_on_enough_disks() {
    let mut leader = leader(0, 2);
    leader.receive_appended(IDS[1], appended(6));
    assert!(!leader.is_established());
    assert_eq!(leader.start_to_take(), Some(Seq(6)));
    let id = leader.cut_start(Seq(6));
    assert!(!leader.is_established(), "the next leader may be chosen without the voter that has it");
    leader.persisted(id);
    assert!(leader.is_established());
    assert_eq!((leader.shown_start(), leader.start_to_take()), (Seq(6), None));
}

#[test]
fn new_leader_of_entries_that_are_on_one_disk_hears_all_voters_first() {
    let mut leader = leader(0, 1);
    leader.receive_appended(IDS[1], appended(0));
    assert_eq!((leader.committed(), leader.is_established()), (Seq(10), false));
    leader.receive_appended(IDS[2], appended(2));
    assert_eq!(leader.start_to_take(), Some(Seq(2)));
    let id = leader.cut_start(Seq(2));
    leader.persisted(id);
    assert!(leader.is_established());
}

#[test]
fn other_voters_are_ready_once_enough_of_them_have_deleted_what_is_deleted() {
    let mut leader = leader(0, 2);
    leader.receive_appended(IDS[1], appended(0));
    leader.delete_before(Seq(4));
    leader.persisted(leader.last_persist());
    leader.receive_appended(IDS[1], appended(4));
    leader.ask_for_voters(Voters::new([IDS[0], IDS[2], ReplicaId(4)], 3).expect("voters"));
    leader.receive_appended(IDS[2], appended(4));
    leader.receive_appended(ReplicaId(4), appended(3));
    assert!(!leader.are_voters_ready());
    leader.receive_appended(ReplicaId(4), appended(4));
    assert!(leader.are_voters_ready());
}

/// What a follower does with what it is sent, and tells once its disk is done.
fn follow(follower: &mut Replica, append: &Append) -> Option<Appended> {
    match follower.receive_append(IDS[0], append).expect("a leader sends that") {
        Received::Store(_) | Received::Nothing => {}
        Received::Answer(answer) => panic!("{answer:?}"),
    }
    if let Some(start) = follower.start_to_take() {
        follower.cut_start(start);
    }
    follower.persisted(follower.last_persist());
    follower.take_answer().map(|(_, answer)| answer)
}

#[test]
fn follower_deletes_when_it_is_told_and_says_so_once_its_disk_has() {
    let mut leader = leader(0, 2);
    let mut follower = replica(0);
    let first = next(&mut leader, IDS[1]).expect("there is something to say");
    assert_eq!(follow(&mut follower, &first), Some(appended(0)));
    leader.receive_appended(IDS[1], appended(0));
    leader.delete_before(Seq(4));
    let append = next(&mut leader, IDS[1]).expect("there is something to say");
    assert!(matches!(follower.receive_append(IDS[0], &append), Ok(Received::Nothing)));
    let id = follower.cut_start(follower.start_to_take().expect("it is committed"));
    assert_eq!((follower.log().start(), follower.take_answer()), (Seq(4), None), "its disk is not done");
    follower.persisted(id);
    assert_eq!(follower.take_answer(), Some((IDS[0], appended(4))));
}

#[test]
fn follower_that_lags_deletes_as_much_as_it_knows_to_be_committed() {
    let leader = leader(0, 2);
    let append = leader.next_append(IDS[1]).expect("there is something to say");
    let append = leader.with_entries(append, Seq(0)..Seq(3));
    let append = Append { start: Seq(4), ..append };
    let answer = follow(&mut Replica::new(Seq(0)), &append).expect("it has stored them");
    assert_eq!((answer.durable, answer.start), (Seq(3), Seq(3)));
}

#[test]
fn start_that_a_disk_tells_of_is_taken_up_to_what_is_committed() {
    let mut again = replica(2);
    again.found_start(Seq(99));
    assert_eq!(again.log().start(), Seq(10));
}
