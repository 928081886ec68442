//! What comes next arrives, or is lost on its way.

use std::collections::BTreeMap;

use super::{At, EndState, Parts, PeerMachine, PeerWorld, Peers, dial, pairs};
use crate::faults::MessageFaults;
use crate::network::{Connection, Flight, Side};
use crate::peers::{Hello, Peering};

/// What comes next arrives at a process, if there is anything. Gives whether there was.
pub fn deliver(world: &mut impl PeerWorld, faults: MessageFaults) -> bool {
    let Parts { peering, sim, machines, .. } = world.parts();
    let overtakes = faults.overtake > sim.random.below(1000);
    let now_ms = sim.now_ms();
    let Peering { network, processes, .. } = peering;
    let is_read = |connection: &Connection<Hello, Vec<u8>, EndState>, side: Side| {
        let peers = processes.get(&connection.end(side).place);
        peers.is_none_or(|peers| is_read(machines, peers, now_ms, connection, side))
    };
    let Some((id, side, flight)) = network.arrive(overtakes, is_read, sim) else { return false };
    let Some(direction) = network.connection(id).map(|connection| connection.direction(side)) else {
        return true;
    };
    let may_be_lost = matches!(flight, Flight::Message(_) | Flight::Ping);
    let is_lost = may_be_lost && faults.loss > sim.random.below(1000);
    if is_lost || network.cut.contains(&direction) {
        sim.count("loss", 1);
        network.clear_up(id);
        return true;
    }
    if !machines.contains_key(&direction.1) {
        network.close((id, side), false, sim);
        return true;
    }
    match flight {
        Flight::Greeting(hello) => dial::greeted(world, (id, side), hello),
        Flight::Close => dial::hung_up(world, (id, side)),
        Flight::Ping => pairs::receive(world, (id, side), None),
        Flight::Message(bytes) => {
            sim.count("overtaking", u64::from(overtakes));
            message(world, (id, side), direction, bytes, faults);
        }
    }
    true
}

/// Whether a process looks at what has come on a connection; otherwise it waits in the socket.
fn is_read<G, M>(
    machines: &BTreeMap<u64, impl PeerMachine>,
    peers: &Peers,
    now_ms: u64,
    connection: &Connection<G, M, EndState>,
    side: Side,
) -> bool {
    let end = connection.end(side);
    let Some(machine) = machines.get(&end.place) else { return true };
    if machine.is_paused(now_ms) {
        return false;
    }
    // What was another process's is its system's to refuse.
    let is_its = peers.process == end.process;
    match end.state {
        EndState::Greeting => true,
        EndState::Established => !is_its || end.closed,
        EndState::Taken(_) => !is_its || !machine.is_starting(),
    }
}

fn message(
    world: &mut impl PeerWorld,
    at: At,
    (from, to): (u64, u64),
    bytes: Vec<u8>,
    faults: MessageFaults,
) {
    let Parts { peering, sim, .. } = world.parts();
    let now_ms = sim.now_ms();
    sim.trace.step("message", &[from, to, now_ms]);
    sim.trace.bytes(&bytes);
    if faults.repeat > sim.random.below(1000) {
        sim.count("repeat", 1);
        peering.network.again(at, Flight::Message(bytes.clone()), now_ms);
    }
    pairs::receive(world, at, Some(bytes));
}
