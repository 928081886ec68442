//! Walks through the machine: what it is told, and what it commands.

use super::*;
use base::MonoTime;

const CLUSTER: Cluster = [9; 16];

fn one_of_three(number: u8) -> MemberLifecycle {
    let voters = [1, 2, 3].map(MemberNumber).to_vec();
    MemberLifecycle::new(Setup::OneOfSeveral { number: MemberNumber(number), voters }, [number; 32])
}

fn alone() -> MemberLifecycle {
    MemberLifecycle::new(Setup::Alone, [7; 32])
}

fn identity(member: MemberId) -> Identity {
    Identity { cluster: CLUSTER, incarnation: [5; 16], member }
}

fn admitted_id() -> MemberId {
    MemberId::admitted(MemberNumber(3), [8; 16])
}

/// Opens a directory with that content.
fn open(lifecycle: &mut MemberLifecycle, content: DiskContent) -> Command {
    lifecycle.step(Event::Opened(content))
}

fn run(lifecycle: &mut MemberLifecycle, identity: Identity) {
    assert_eq!(open(lifecycle, DiskContent::Data(identity)), Command::Load);
    assert_eq!(lifecycle.step(Event::Loaded), Command::Run(identity));
    assert_eq!(lifecycle.identity(), Some(identity));
}

fn voted_in(cluster: Cluster) -> FoundingMessage {
    FoundingMessage::Seated { cluster, untouched: None }
}

/// What that member says of itself when it asks.
fn claims_to_found(lifecycle: &mut MemberLifecycle) -> Vec<bool> {
    assert_eq!(lifecycle.tick(MonoTime::of_ms(0)), None);
    let said = lifecycle.take_outgoing().into_iter();
    said.filter_map(|(_, message)| match message {
        FoundingMessage::Blank { founds, .. } => Some(founds),
        _ => None,
    })
    .collect()
}

fn disk_name(lifecycle: &mut MemberLifecycle) -> [u8; 16] {
    let said = lifecycle.take_outgoing();
    let [(_, FoundingMessage::Blank { incarnation, .. }), ..] = said[..] else { panic!("{said:?}") };
    incarnation
}

#[test]
fn blank_member_bootstraps_and_runs_only_once_that_is_written_and_loaded() {
    let mut member = one_of_three(1);
    let asks = open(&mut member, DiskContent::Nothing { had_data: false });
    assert_eq!(asks, Command::AskOthers(Claim::Blank));
    assert_eq!(claims_to_found(&mut member), [true, true]);
    for id in [2, 3].map(|number| MemberId::blank(MemberNumber(number))) {
        member.connected(id);
        member.hear(id, FoundingMessage::Blank { incarnation: [1; 16], founds: true });
    }
    assert_eq!(member.tick(MonoTime::of_ms(1)), None);
    let proposed = member.take_outgoing().into_iter().find_map(|(_, message)| match message {
        FoundingMessage::Propose { cluster, .. } => Some(cluster),
        _ => None,
    });
    let cluster = proposed.expect("a proposal");
    for id in [MemberId(2), MemberId(3)] {
        let untouched = Some([1, 2, 3].map(MemberId).to_vec());
        member.hear(id, FoundingMessage::Seated { cluster, untouched });
    }
    let Some(Command::Write(new)) = member.tick(MonoTime::of_ms(2)) else { panic!("an outcome") };
    assert_eq!((new.identity.cluster, new.identity.member), (cluster, MemberId(1)));
    assert_eq!((new.founders, member.identity()), (Some([1, 2, 3].map(MemberId).to_vec()), None));
    assert_eq!(member.step(Event::Written(new.identity)), Command::Load);
    assert_eq!(member.identity(), None);
    assert_eq!(member.step(Event::Loaded), Command::Run(new.identity));
}

#[test]
fn member_whose_data_was_put_aside_bootstraps_nothing() {
    let mut member = one_of_three(1);
    let asks = open(&mut member, DiskContent::Nothing { had_data: true });
    assert_eq!(asks, Command::AskOthers(Claim::HadData));
    assert_eq!(claims_to_found(&mut member), [false, false]);
}

#[test]
fn evicted_member_puts_its_data_aside_and_looks_at_its_disk_again() {
    let mut member = one_of_three(3);
    run(&mut member, identity(MemberId(3)));
    assert_eq!(member.step(Event::Ended(Ending::Evicted)), Command::PutAside(Reason::Evicted));
    assert_eq!(member.identity(), None);
    assert_eq!(member.step(Event::Done), Command::Open);
    let asks = open(&mut member, DiskContent::Nothing { had_data: true });
    assert_eq!(asks, Command::AskOthers(Claim::HadData));
    assert_eq!(member.tick(MonoTime::of_ms(0)), None);
    let incarnation = disk_name(&mut member);
    let id = MemberId::admitted(MemberNumber(3), incarnation);
    member.hear(MemberId(1), FoundingMessage::Admitted { cluster: CLUSTER, id, incarnation });
    assert_eq!(member.tick(MonoTime::of_ms(1)), None, "others might contradict");
    member.hear(MemberId(2), voted_in(CLUSTER));
    let Some(Command::Write(new)) = member.tick(MonoTime::of_ms(2)) else { panic!("an outcome") };
    assert_eq!((new.identity.member, new.identity.cluster, new.founders), (id, CLUSTER, None));
}

#[test]
fn member_that_was_let_in_and_heard_of_no_leader_asks_for_another_seat() {
    let mut member = one_of_three(3);
    run(&mut member, identity(MemberId(0x503)));
    assert_eq!(
        member.step(Event::Ended(Ending::NothingReceived)),
        Command::PutAside(Reason::NothingReceived)
    );
    assert_eq!(member.step(Event::Done), Command::Open);
    assert_eq!(
        open(&mut member, DiskContent::Nothing { had_data: true }),
        Command::AskOthers(Claim::HadData)
    );
}

#[test]
fn member_whose_state_differs_from_the_others_puts_it_aside_and_one_that_is_alone_stops() {
    let mut member = one_of_three(3);
    run(&mut member, identity(MemberId(3)));
    assert_eq!(member.step(Event::Ended(Ending::Diverged)), Command::PutAside(Reason::Diverged));
    assert_eq!(member.step(Event::Done), Command::Open);
    let asks = open(&mut member, DiskContent::Nothing { had_data: true });
    assert_eq!(asks, Command::AskOthers(Claim::HadData));
    let mut alone = MemberLifecycle::new(Setup::Alone, [7; 32]);
    run(&mut alone, identity(MEMBER_ALONE));
    assert_eq!(alone.step(Event::Ended(Ending::Diverged)), Command::Stop);
}

#[test]
fn member_whose_memory_has_rotted_goes_on_with_its_disk_also_alone() {
    let mut member = one_of_three(3);
    run(&mut member, identity(MemberId(3)));
    let mut alone = MemberLifecycle::new(Setup::Alone, [7; 32]);
    run(&mut alone, identity(MEMBER_ALONE));
    for (member, id) in [(&mut member, MemberId(3)), (&mut alone, MEMBER_ALONE)] {
        assert_eq!(member.step(Event::Ended(Ending::Rotten)), Command::Open);
        assert_eq!(member.step(Event::Opened(DiskContent::Data(identity(id)))), Command::Load);
    }
}

#[test]
fn doubtful_membership_is_asked_about_before_its_data_is_used_again() {
    let mut member = one_of_three(3);
    run(&mut member, identity(MemberId(3)));
    let asks = member.step(Event::Ended(Ending::Unconfirmed));
    assert_eq!(asks, Command::AskOthers(Claim::Unconfirmed(CLUSTER)));
    assert_eq!(claims_to_found(&mut member), [false, false]);
    member.hear(
        MemberId(1),
        FoundingMessage::Seated { cluster: CLUSTER, untouched: Some([1, 2, 3].map(MemberId).to_vec()) },
    );
    assert_eq!(member.tick(MonoTime::of_ms(1)), Some(Command::Open), "its ensemble is there");
    run(&mut member, identity(MemberId(3)));
}

#[test]
fn doubtful_member_that_is_admitted_elsewhere_puts_its_data_aside_first() {
    let mut member = one_of_three(3);
    run(&mut member, identity(MemberId(3)));
    member.step(Event::Ended(Ending::Unconfirmed));
    assert_eq!(member.tick(MonoTime::of_ms(0)), None);
    let incarnation = disk_name(&mut member);
    let (cluster, id) = ([4; 16], MemberId::admitted(MemberNumber(3), incarnation));
    member.hear(MemberId(1), FoundingMessage::Admitted { cluster, id, incarnation });
    member.hear(MemberId(2), voted_in(cluster));
    assert_eq!(member.tick(MonoTime::of_ms(1)), Some(Command::PutAside(Reason::AnotherEnsemble)));
    let Command::Write(new) = member.step(Event::Done) else { panic!("it was put aside") };
    assert_eq!((new.identity.member, new.identity.cluster), (id, cluster));
}

#[test]
fn doubtful_member_that_founds_with_others_forgets_its_identity_first() {
    let mut member = one_of_three(3);
    run(&mut member, identity(MemberId(3)));
    member.step(Event::Ended(Ending::Unconfirmed));
    assert_eq!(member.tick(MonoTime::of_ms(0)), None);
    let (cluster, voters) = ([0; 16], [1, 2, 3].map(MemberId).to_vec());
    member.hear(MemberId(1), FoundingMessage::Seated { cluster, untouched: Some(voters.clone()) });
    member.hear(MemberId(2), FoundingMessage::Seated { cluster, untouched: Some(voters.clone()) });
    assert_eq!(member.tick(MonoTime::of_ms(1)), Some(Command::Forget));
    let Command::Write(new) = member.step(Event::Done) else { panic!("it was forgotten") };
    assert_eq!((new.identity.cluster, new.founders), (cluster, Some(voters)));
}

#[test]
fn damage_is_put_aside_where_others_have_the_data_and_stops_a_server_that_is_alone() {
    for loading in [false, true] {
        let (mut member, mut single) = (one_of_three(1), alone());
        for lifecycle in [&mut member, &mut single] {
            if loading {
                assert_eq!(open(lifecycle, DiskContent::Data(identity(MemberId(1)))), Command::Load);
            }
        }
        assert_eq!(member.step(Event::Damaged), Command::PutAside(Reason::Damaged));
        assert_eq!(member.step(Event::Done), Command::Open);
        assert_eq!(single.step(Event::Damaged), Command::Stop);
    }
}

#[test]
fn identity_without_a_word_is_forgotten_by_a_founder_and_put_aside_by_an_admitted_member() {
    let mut founder = one_of_three(3);
    assert_eq!(open(&mut founder, DiskContent::Unused(identity(MemberId(3)))), Command::Forget);
    assert_eq!(founder.step(Event::Done), Command::Open);
    let asks = open(&mut founder, DiskContent::Nothing { had_data: false });
    assert_eq!(asks, Command::AskOthers(Claim::Blank), "nobody heard of it");
    let mut admitted = one_of_three(3);
    let unused = DiskContent::Unused(identity(admitted_id()));
    assert_eq!(open(&mut admitted, unused), Command::PutAside(Reason::NothingReceived));
}

#[test]
fn server_that_is_alone_bootstraps_itself_and_asks_nobody() {
    for content in [DiskContent::Nothing { had_data: true }, DiskContent::Unused(identity(MemberId(1)))] {
        let mut server = alone();
        let Command::Write(new) = open(&mut server, content) else { panic!("{content:?}") };
        assert_eq!((new.identity.member, new.founders), (MemberId(1), Some(vec![MemberId(1)])));
        assert_eq!(server.step(Event::Written(identity(MemberId(1)))), Command::Load);
        assert_eq!(server.step(Event::Loaded), Command::Run(identity(MemberId(1))));
        assert_eq!(server.step(Event::Ended(Ending::Restore)), Command::Restore);
        assert_eq!(server.step(Event::Done), Command::Open);
    }
}

#[test]
fn process_stops_in_any_state() {
    let mut asking = one_of_three(1);
    open(&mut asking, DiskContent::Nothing { had_data: false });
    let mut running = one_of_three(1);
    run(&mut running, identity(MemberId(1)));
    for (mut member, event) in
        [(one_of_three(1), Event::Failed), (asking, Event::Stopped), (running, Event::Ended(Ending::Stopped))]
    {
        assert_eq!(member.step(event), Command::Stop);
        assert_eq!((member.identity(), member.tick(MonoTime::of_ms(0))), (None, None));
    }
}

#[test]
fn operator_is_reminded_every_ten_seconds_of_what_is_waited_for() {
    let mut member = one_of_three(1);
    open(&mut member, DiskContent::Nothing { had_data: true });
    assert_eq!(member.tick(MonoTime::of_ms(5)), None);
    assert_eq!(member.reminder(MonoTime::of_ms(10_004)), None);
    member.hear(MemberId(2), voted_in(CLUSTER));
    member.hear(MemberId(3), voted_in([4; 16]));
    let reminder = member.reminder(MonoTime::of_ms(10_005)).expect("it is time");
    assert_eq!(reminder.heard, [(MemberNumber(2), true), (MemberNumber(3), true)]);
    assert_eq!(reminder.ensembles, [vec![MemberNumber(3)], vec![MemberNumber(2)]]);
    assert_eq!(member.reminder(MonoTime::of_ms(10_006)), None);
}
