//! What the machine does as a leader, apart from the replica.

use consensus_replica::MemberId;
use council_tree::{Changes, Command, Operation, Stamp, Tree};

use super::CouncilMachine;
use crate::CoreConfig;
use crate::test_support::NOW;

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
