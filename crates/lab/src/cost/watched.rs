//! The price of a watch event: what a crowd that watches itself costs the shards of real members, less what all else is worth
//! that they do meanwhile.

use std::io;
use std::path::Path;

use client::load::Patience;
use sim::cost::{Part, Prediction, Profile, Role, Setup, Work, predict};

use super::measured::{Spent, Stage, key};
use crate::bench::Failure;
use crate::task::{Edge, Kind, Task, perform};

/// Members, and clients: each watches every client's node, and then each writes its own.
const CROWDS: [(u64, usize); 4] = [(1, 100), (1, 200), (3, 100), (3, 200)];
const VALUE_BYTES: usize = 24;

/// What one crowd gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Watched {
    /// Members.
    pub servers: u64,
    /// Clients.
    pub clients: usize,
    /// Nanoseconds of all shards, an event.
    pub measured_ns: f64,
    /// What the simulation of the same says of all but the event.
    pub beside_ns: f64,
}

impl Watched {
    /// Nanoseconds of an event alone.
    #[must_use]
    pub fn price_ns(&self) -> f64 {
        (self.measured_ns - self.beside_ns).max(0.0)
    }
}

/// The profile with the price that crowds on real members give: their mean.
///
/// # Errors
/// A server or a connection failed, or an event was missing.
pub fn price_events(
    diwan: &Path,
    folder: &Path,
    profile: &Profile,
    measured_ms: u64,
    mut done: impl FnMut(&Watched),
) -> Result<Profile, Failure> {
    let kind = Role::Shard.kind("event").ok_or_else(|| Failure("shards know no events".into()))?;
    let mut prices = *profile.prices(Role::Shard);
    prices[kind] = 0.0;
    let profile = profile.clone().with_prices(Role::Shard, prices);
    let mut sum = 0.0;
    for (servers, clients) in CROWDS {
        let stage = Stage::start(diwan, folder, servers)?;
        let watched = Watched {
            servers,
            clients,
            measured_ns: measure(&stage, clients, measured_ms)?,
            beside_ns: beside(&predict(&profile, &setup(servers, clients))),
        };
        done(&watched);
        sum += watched.price_ns();
    }
    prices[kind] = sum / CROWDS.len() as f64;
    Ok(profile.with_prices(Role::Shard, prices))
}

fn setup(servers: u64, clients: usize) -> Setup {
    Setup { work: Work::Watches, value_bytes: VALUE_BYTES, ..Setup::new(servers, clients, 1, 1000).shared() }
}

fn beside(prediction: &Prediction) -> f64 {
    prediction.sum_of(Role::Shard).1 as f64 / prediction.events.max(1) as f64
}

fn measure(stage: &Stage, clients: usize, measured_ms: u64) -> Result<f64, Failure> {
    let leader = stage.leader()?;
    let task = Task { clients, value_bytes: VALUE_BYTES, measured_ms, ..Task::of(Kind::Watches) };
    let mut spent_ns = 0;
    let mut before: Option<io::Result<u64>> = None;
    let mut failed = None;
    let shards = || stage.spent(leader).map(|spent| of_shards(&spent));
    let outcome =
        perform(&task, &stage.addresses().into(), &Patience::default(), &mut |edge, _| match edge {
            Edge::Begin => before = Some(shards()),
            Edge::End => match (before.take(), shards()) {
                (Some(Ok(before)), Ok(after)) => spent_ns += after - before,
                (Some(Err(error)), _) | (_, Err(error)) => failed = Some(error),
                (None, Ok(_)) => {}
            },
        })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    if let Some(wrong) = outcome.wrong.first() {
        return Err(Failure(wrong.clone()));
    }
    let events: u64 = outcome.phases.iter().map(|phase| phase.operations).sum();
    Ok(spent_ns as f64 / events.max(1) as f64)
}

fn of_shards(spent: &Spent) -> u64 {
    let parts = [Part::Leader, Part::Follower].map(|part| key(part, Role::Shard.name()));
    parts.iter().filter_map(|name| spent.get(name)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_costs_what_the_shards_of_all_members_spent_beyond_the_rest() {
        let spent = [("Leader shard", 5), ("Follower shard", 7), ("Leader core", 100), ("Client load", 1000)];
        assert_eq!(of_shards(&spent.map(|(name, ns)| (name.to_owned(), ns)).into()), 12);
        let watched = Watched { servers: 1, clients: 10, measured_ns: 300.0, beside_ns: 120.0 };
        assert_eq!(watched.price_ns(), 180.0);
        assert_eq!(
            Watched { beside_ns: 400.0, ..watched }.price_ns(),
            0.0,
            "nothing is worth less than nothing"
        );
    }
}
