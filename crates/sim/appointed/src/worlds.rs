//! Worlds that are explored and walked through.

use replication_appointed::{ReplicaId, Voters};

use crate::world::Bounds;

fn voters(ids: &[u32], durable_on: usize) -> Voters {
    Voters::new(ids.iter().copied().map(ReplicaId), durable_on).expect("a constant that is fine")
}

/// Small worlds, each with another kind of fault, and their names.
#[must_use]
pub fn small() -> Vec<(&'static str, Bounds)> {
    let all = voters(&[1, 2, 3], 2);
    let quiet = quiet(all.clone());
    vec![
        ("two controllers", Bounds { attempts: 2, proposals: 2, ..quiet.clone() }),
        ("a crash", Bounds { attempts: 1, crashes: 1, proposals: 2, ..quiet.clone() }),
        (
            "a crash of two, each entry on both",
            Bounds {
                voters: vec![voters(&[1, 2], 2)],
                replicas: 2,
                attempts: 2,
                crashes: 2,
                ..quiet.clone()
            },
        ),
        (
            "other voters",
            Bounds {
                voters: vec![voters(&[1, 2], 2), all, voters(&[1, 3], 1)],
                attempts: 1,
                changes: 1,
                ..quiet.clone()
            },
        ),
        ("a log whose start is gone", Bounds { attempts: 1, cuts: 1, proposals: 2, ..quiet.clone() }),
        ("a deletion", Bounds { attempts: 1, deletions: 1, ..quiet.clone() }),
        ("a deletion on one of two", deletion_on_one_of_two(quiet.clone())),
        ("a confirmation", Bounds { attempts: 1, confirmations: 1, proposals: 0, ..quiet }),
    ]
}

/// A world of three replicas without faults.
fn quiet(all: Voters) -> Bounds {
    Bounds {
        replicas: 3,
        voters: vec![all],
        proposals: 1,
        epochs: 3,
        attempts: 0,
        crashes: 0,
        reconnects: 0,
        changes: 0,
        cuts: 0,
        deletions: 0,
        confirmations: 0,
        messages: 2,
    }
}

fn deletion_on_one_of_two(quiet: Bounds) -> Bounds {
    Bounds { voters: vec![voters(&[1, 2], 1)], replicas: 2, attempts: 1, deletions: 1, ..quiet }
}

/// A large world with all kinds of faults: which voters there are is drawn from the seed.
#[must_use]
pub fn large(seed: u64) -> Bounds {
    let sets = if seed.is_multiple_of(2) {
        vec![voters(&[1, 2, 3], 2), voters(&[2, 3, 4], 2), voters(&[1, 4], 2), voters(&[1, 2, 3, 4, 5], 3)]
    } else {
        vec![voters(&[1], 1), voters(&[1, 2], 1), voters(&[1, 2], 2), voters(&[2, 3, 4], 3)]
    };
    Bounds {
        replicas: 5,
        voters: sets,
        proposals: 40,
        epochs: 200,
        attempts: 20,
        crashes: 12,
        reconnects: 20,
        changes: 8,
        cuts: 6,
        deletions: 6,
        confirmations: 12,
        messages: 12,
    }
}
