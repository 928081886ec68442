//! Faults of an ensemble of three, and their effect on its clients.

mod disk;
mod failover;
mod pace;
mod restart;

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

pub(super) use disk::DISK_STALLED;
pub(super) use failover::{KILLED, STOPPED};
pub(super) use pace::{FOLLOWER_STOPPED, JOIN, JOIN_1GB};
pub(super) use restart::{HANDOVER, ROLLING};

use tools_testbed::Ensemble;

use crate::bench::patient::Patient;
use crate::bench::setting::HEAP_MB;
use crate::bench::{Bench, Failure, Who};

/// Members of an ensemble.
const MEMBERS: usize = 3;
/// How long the ensemble works undisturbed before a fault.
const CALM: Duration = Duration::from_millis(500);
/// Each contestant, as three fresh members with a small tree.
fn ensembles(bench: &Bench) -> Result<Vec<(Who, Ensemble)>, Failure> {
    let mut all = Vec::new();
    for who in bench.servers() {
        let ensemble = bench.ensemble(who, MEMBERS, HEAP_MB, &[])?;
        council_client::load::prepare(ensemble.address(1), bench.few_kib())?;
        all.push((who, ensemble));
    }
    Ok(all)
}

/// All serve and one leads, its number first, then the others.
fn settled(ensemble: &mut Ensemble) -> Result<Vec<usize>, Failure> {
    let all = ensemble.all();
    ensemble.wait_for(all.iter().copied())?;
    let leader = ensemble.leader_as_asked(&all)?;
    let mut order = ensemble.others(leader);
    order.insert(0, leader);
    Ok(order)
}

/// The addresses of these members.
fn addresses(ensemble: &Ensemble, numbers: &[usize]) -> Vec<SocketAddr> {
    numbers.iter().map(|number| ensemble.address(*number)).collect()
}

/// A writer at the leader, which comes first in `order`, and one at a follower that knows only the followers.
fn two_writers(ensemble: &Ensemble, order: &[usize]) -> Result<[Patient; 2], Failure> {
    let at_leader = Patient::start(addresses(ensemble, order), 0);
    let at_follower = Patient::start(addresses(ensemble, &order[1..]), 1);
    let now = Instant::now();
    at_leader.next_write(now)?;
    at_follower.next_write(now)?;
    thread::sleep(CALM);
    Ok([at_leader, at_follower])
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
