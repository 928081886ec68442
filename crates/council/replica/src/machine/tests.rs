//! What the machine does as a leader, apart from the replica.

use consensus_replica::MemberId;
use consensus_replica::StateMachine;
use council_tree::{Changes, Command, Operation, Origin, Stamp, Tree};
use council_wire::{OpCode, SessionId};

use super::CouncilMachine;
use crate::CoreConfig;
use crate::test_support::{NOW, group};

fn raise_epoch(tree: &mut Tree) {
    let _ = tree.apply(
        Stamp { time: base::WallTime::of_ms(1) },
        &Command::internal(Operation::RaiseEpoch),
        &mut Changes::new(),
    );
}

/// A machine whose epochs are used up with so many transactions.
fn machine(tree: &Tree, epoch_transactions_max: u32) -> CouncilMachine {
    let config = CoreConfig { epoch_transactions_max, ..CoreConfig::new(MemberId(1), 1) };
    CouncilMachine::new(&config, tree, [7; 32], NOW)
}

#[test]
fn epoch_is_renewed_once_it_is_nearly_used_up() {
    let mut tree = Tree::new();
    raise_epoch(&mut tree);
    let mut roomy = machine(&tree, 1);
    roomy.renew_epoch(&tree);
    assert_eq!(roomy.proposer.waiting(), 0);
    let mut machine = machine(&tree, 0);
    (0..2).for_each(|_| machine.renew_epoch(&tree));
    assert_eq!(machine.proposer.waiting(), 1, "once an epoch");
    raise_epoch(&mut tree);
    machine.renew_epoch(&tree);
    assert_eq!(machine.proposer.waiting(), 2);
}

#[test]
fn what_nobody_waits_for_any_more_is_not_given_again() {
    let (mut machine, mut group) = (machine(&Tree::new(), 1), group(1, &[1, 2, 3]));
    let operation = Operation::Client { opcode: OpCode::SetData, body: b"" };
    let origin = Some(Origin { session: SessionId(7), generation: 1, sequence: 1 });
    let mut command = Vec::new();
    Command { origin, ..Command::internal(operation) }.encode(&mut command);
    machine.proposer.command(&command, 1);
    machine.forward_waiting(Some(MemberId(2)), &mut group);
    assert_ne!(machine.proposer.pending_bytes(), 0);
    let mut now = group.now();
    now.advance_ms(60_000);
    group.set_now(now);
    assert!(!machine.is_stuck(&group), "its session is held by no connection here");
    assert_eq!(machine.proposer.pending_bytes(), 0);
}
