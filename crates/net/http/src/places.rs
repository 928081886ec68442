//! Which clients may hold a connection to the pages, and for what.
//!
//! A connection that waits (for its request to come, or for its client to close) loses its place when another comes and
//! all are taken: the oldest of the address that holds the most. So a client that opens connections and sends nothing
//! shuts out no probe. Requests that are being answered are counted by what they ask for, so that slow commands leave
//! room for metrics, and both for probes.

use std::collections::BTreeMap;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::Arc;

use parking_lot::Mutex;

/// Connections at a time; more than can be answered, so that one that waits can always be closed for a new one.
const CONNECTIONS_MAX: usize = 64;
/// Of these, those from one address.
const PER_ADDRESS_MAX: usize = 40;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whether the server runs, or is ready.
    Probe,
    /// Figures.
    Metrics,
    /// Everything else.
    Command,
}

impl Kind {
    /// How many may be answered at a time.
    const fn max(self) -> usize {
        match self {
            Self::Probe | Self::Metrics => 8,
            Self::Command => 16,
        }
    }
}

/// One connection.
#[derive(Debug)]
struct Guest {
    id: u64,
    ip: IpAddr,
    stream: Arc<TcpStream>,
    /// What it is being answered, if it is.
    answered: Option<Kind>,
}

#[derive(Debug, Default)]
struct Guests {
    last_id: u64,
    /// The oldest first.
    all: Vec<Guest>,
}

impl Guests {
    /// Closes the oldest connection that waits, of this address or of the one that holds the most. False if none does.
    fn close_one(&mut self, of: Option<IpAddr>) -> bool {
        let waits = |guest: &&Guest| guest.answered.is_none();
        let crowded = of.or_else(|| {
            let mut waiting = BTreeMap::<IpAddr, usize>::new();
            self.all.iter().filter(waits).for_each(|guest| *waiting.entry(guest.ip).or_default() += 1);
            waiting.into_iter().max_by_key(|(_, count)| *count).map(|(ip, _)| ip)
        });
        let oldest = self.all.iter().position(|guest| waits(&guest) && Some(guest.ip) == crowded);
        let Some(oldest) = oldest else { return false };
        // Its thread reads the end of it.
        let _ = self.all.remove(oldest).stream.shutdown(Shutdown::Both);
        true
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Places(Mutex<Guests>);

impl Places {
    /// Takes a connection in; nothing if it has to be closed.
    pub(crate) fn admit(self: &Arc<Self>, stream: &Arc<TcpStream>, ip: IpAddr) -> Option<ConnectionPermit> {
        let mut guests = self.0.lock();
        let of_address = guests.all.iter().filter(|guest| guest.ip == ip).count();
        if of_address >= PER_ADDRESS_MAX && !guests.close_one(Some(ip)) {
            return None;
        }
        if guests.all.len() >= CONNECTIONS_MAX && !guests.close_one(None) {
            return None;
        }
        guests.last_id += 1;
        let id = guests.last_id;
        guests.all.push(Guest { id, ip, stream: Arc::clone(stream), answered: None });
        Some(ConnectionPermit { id, places: Arc::clone(self) })
    }
}

/// One connection's place, given back when it is dropped.
pub(crate) struct ConnectionPermit {
    id: u64,
    places: Arc<Places>,
}

impl ConnectionPermit {
    /// Its request has come and is to be answered. False if too many of its kind are.
    pub(crate) fn begin(&self, kind: Kind) -> bool {
        let mut guests = self.places.0.lock();
        let answered = guests.all.iter().filter(|guest| guest.answered == Some(kind)).count();
        // One that was closed meanwhile is not there any more.
        let Some(guest) = guests.all.iter_mut().find(|guest| guest.id == self.id) else { return false };
        let free = answered < kind.max();
        guest.answered = free.then_some(kind);
        free
    }

    /// It is answered, and waits for its client to close.
    pub(crate) fn end(&self) {
        let mut guests = self.places.0.lock();
        if let Some(guest) = guests.all.iter_mut().find(|guest| guest.id == self.id) {
            guest.answered = None;
        }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.places.0.lock().all.retain(|guest| guest.id != self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    struct Rig {
        listener: TcpListener,
        places: Arc<Places>,
    }

    impl Rig {
        fn new() -> Self {
            Self { listener: TcpListener::bind("127.0.0.1:0").expect("a port"), places: Arc::default() }
        }

        /// A connection that is said to come from that address.
        fn connect(&self, address: u8) -> (Arc<TcpStream>, Option<ConnectionPermit>) {
            let to = self.listener.local_addr().expect("bound");
            let stream = Arc::new(TcpStream::connect(to).expect("connected"));
            let place = self.places.admit(&stream, IpAddr::from([10, 0, 0, address]));
            (stream, place)
        }
    }

    fn is_closed(stream: &TcpStream) -> bool {
        let mut stream = stream;
        stream.set_nonblocking(true).expect("set");
        matches!(std::io::Read::read(&mut stream, &mut [0]), Ok(0))
    }

    #[test]
    fn waiting_connections_give_their_places_to_new_ones() {
        let rig = Rig::new();
        let crowd: Vec<_> = (0..100).map(|_| rig.connect(1)).collect();
        assert!(crowd.iter().all(|(_, place)| place.is_some()));
        let closed = crowd.iter().filter(|(stream, _)| is_closed(stream)).count();
        assert_eq!(closed, 100 - PER_ADDRESS_MAX);
        assert!(is_closed(&crowd[0].0) && !is_closed(&crowd[99].0), "the oldest goes first");
        let (probe, place) = rig.connect(1);
        assert!(place.expect("a place").begin(Kind::Probe) && !is_closed(&probe));
    }

    #[test]
    fn a_full_house_closes_a_connection_of_the_most_crowded_address() {
        let rig = Rig::new();
        let quiet = rig.connect(2);
        let crowd: Vec<_> = (0..PER_ADDRESS_MAX).map(|_| rig.connect(1)).collect();
        let others: Vec<_> = (0..CONNECTIONS_MAX).map(|nth| rig.connect(3 + (nth % 30) as u8)).collect();
        assert!(others.iter().all(|(_, place)| place.is_some()));
        assert!(is_closed(&crowd[0].0) && !is_closed(&quiet.0));
    }

    #[test]
    fn slow_commands_leave_probes_and_metrics_their_places() {
        let rig = Rig::new();
        let crowd: Vec<_> = (0..PER_ADDRESS_MAX).map(|_| rig.connect(1)).collect();
        let begun =
            crowd.iter().filter(|(_, place)| place.as_ref().is_some_and(|one| one.begin(Kind::Command)));
        assert_eq!(begun.count(), Kind::Command.max());
        for kind in [Kind::Probe, Kind::Metrics] {
            assert!(rig.connect(1).1.expect("a place").begin(kind), "{kind:?}");
        }
        let answered = crowd.iter().filter(|(stream, _)| !is_closed(stream)).count();
        assert!(answered >= Kind::Command.max(), "what is being answered is not closed");
        crowd[0].1.as_ref().expect("a place").end();
        assert!(rig.connect(1).1.expect("a place").begin(Kind::Command), "a place is free again");
    }
}
