//! The threads of listeners: one for each accepts, and the reloader reads keys and certificates again.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use log_access::{ConnectionLimits, Connections, ListenerLimits};
use log_broker::{Broker, SecurityProtocol};
use net_reactor::{Accepted, Listener, ListenerConfig, ListeningSocket};
use net_tls::TlsContext;
use node_metrics::Sample;
use node_threads::{Clock, Descriptors, Supervisor, ThreadWaker, spawn};
use parking_lot::Mutex;

use super::Listening;
use super::gate::{Admission, ListenerGate};
use super::reloader::{Reloader, told};
use crate::refusals::Refusals;

/// A thread that accepts.
struct Accepting {
    stopping: Arc<AtomicBool>,
    waker: mio::Waker,
    thread: JoinHandle<()>,
}

/// The listeners of a broker that runs. Their threads are stopped by [`Self::stop`].
pub(crate) struct Listeners {
    addresses: Vec<SocketAddr>,
    /// What is offered at each listener that is encrypted, by its name.
    offers: Vec<(String, Arc<TlsContext>)>,
    admission: Arc<Admission>,
    refusals: Arc<Refusals>,
    accepting: Vec<Accepting>,
    reloader: Option<(Arc<Reloader>, JoinHandle<()>)>,
}

impl Listeners {
    /// Those that hold these ports. Nothing is accepted yet.
    pub(crate) fn new(
        listening: &[Listening],
        limits: &ConnectionLimits,
        (broker, refusals): (&Arc<Mutex<Broker>>, &Arc<Refusals>),
    ) -> Self {
        let own = listening.iter().map(|listening| {
            let is_open = listening.config.protocol == SecurityProtocol::Plaintext;
            ListenerLimits { is_open, ..listening.config.limits }
        });
        let limits = ConnectionLimits { listeners: own.collect(), ..limits.clone() };
        let offers = listening.iter().filter_map(|one| Some((one.config.name.clone(), one.tls.clone()?)));
        Self {
            addresses: listening.iter().map(|listening| listening.address).collect(),
            offers: offers.collect(),
            admission: Admission::new(Connections::new(limits), Arc::clone(broker), Arc::clone(refusals)),
            refusals: Arc::clone(refusals),
            accepting: Vec::new(),
            reloader: None,
        }
    }

    /// Accepts at all of them. `hand_on` gets connections, for shards 0 up to `shards`.
    ///
    /// # Errors
    /// The system refuses a thread or a poll.
    pub(crate) fn start<F: FnMut(usize, Accepted) + Clone + Send + 'static>(
        &mut self,
        listening: Vec<Listening>,
        (shards, hand_on): (usize, F),
        supervisor: &Arc<Supervisor>,
        clock: Clock,
    ) -> io::Result<()> {
        self.start_reloader(supervisor)?;
        let descriptors = Descriptors::of_process(0);
        for (number, listening) in (0..).zip(listening) {
            let gate = ListenerGate::new(number, Arc::clone(&self.admission), descriptors);
            let secure = listening.tls.is_some();
            let sockets = vec![ListeningSocket { socket: listening.socket, number, secure }];
            let config = ListenerConfig { keep_alive: true };
            let (listener, waker) = Listener::new(sockets, config, (shards, hand_on.clone()), gate, clock)?;
            let stopping = Arc::new(AtomicBool::new(false));
            let flag = Arc::clone(&stopping);
            let run = move || {
                listener.run(&flag);
                Ok::<_, Infallible>(())
            };
            let thread = spawn("log-listener", supervisor, run)?;
            self.accepting.push(Accepting { stopping, waker, thread });
        }
        Ok(())
    }

    /// Starts the reloader, if there is something to keep.
    fn start_reloader(&mut self, supervisor: &Arc<Supervisor>) -> io::Result<()> {
        let offers: Vec<_> = self.offers.iter().filter(|(_, offer)| offer.reloads()).cloned().collect();
        if offers.is_empty() {
            return Ok(());
        }
        let (waker, stopping) = (ThreadWaker::of_parking(), AtomicBool::new(false));
        let reloader = Arc::new(Reloader { offers, waker, stopping });
        let running = Arc::clone(&reloader);
        let run = move || {
            running.run();
            Ok::<_, Infallible>(())
        };
        self.reloader = Some((reloader, spawn("log-reloader", supervisor, run)?));
        Ok(())
    }

    /// Nothing more is accepted.
    pub(crate) fn stop(&mut self) {
        for Accepting { stopping, waker, thread } in self.accepting.drain(..) {
            stopping.store(true, Ordering::SeqCst);
            let _ = waker.wake();
            let _ = thread.join();
        }
        if let Some((reloader, thread)) = self.reloader.take() {
            reloader.stop();
            let _ = thread.join();
        }
    }

    /// Where they listen.
    pub(crate) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Reads keys and certificates again.
    pub(crate) fn reload(&self) {
        self.offers.iter().for_each(|(name, offer)| told(name, offer, offer.reload().map(|()| true)));
    }

    /// Figures of this moment.
    pub(crate) fn samples(&self) -> Vec<Sample> {
        const STRANGERS: &str = "Connections whose clients have not proved yet who they are";
        let (connections, strangers) = self.admission.counts();
        let gauge = |name, help, value: u32| Sample::gauge(name, help, i64::from(value));
        let mut samples = vec![
            gauge("diwan_log_connections", "Connections of clients", connections),
            gauge("diwan_log_strangers", STRANGERS, strangers),
        ];
        samples.extend(self.refusals.samples());
        samples
    }
}
