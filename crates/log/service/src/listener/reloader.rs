//! The reloader's thread: reads keys and certificates again when their files have changed. Connections that begin from then on
//! use them; those that are there notice nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use net_tls::TlsContext;
use node_threads::ThreadWaker;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(5);

/// See the module.
pub(crate) struct Reloader {
    /// What is offered at each listener that is encrypted, by its name.
    pub(crate) offers: Vec<(String, Arc<TlsContext>)>,
    pub(crate) waker: Arc<ThreadWaker>,
    pub(crate) stopping: AtomicBool,
}

impl Reloader {
    /// Runs until it is told to stop.
    pub(crate) fn run(&self) {
        while !self.stopping.load(Ordering::SeqCst) {
            self.waker.park(Some(LOOK), || self.stopping.load(Ordering::SeqCst));
            self.offers.iter().for_each(|(name, offer)| told(name, offer, offer.reload_if_changed()));
        }
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.waker.wake();
    }
}

/// Says what became of reading the files of a listener again.
pub(crate) fn told(name: &str, offer: &TlsContext, reloaded: Result<bool, net_tls::TlsError>) {
    let path = offer.path().display();
    match reloaded {
        Ok(false) => {}
        Ok(true) => {
            tracing::info!(listener = name, %path, "keys and certificates were read again: new connections use them");
        }
        Err(error) => tracing::error!(
            listener = name,
            %error,
            "keys and certificates cannot be used; those read before stay in force"
        ),
    }
}
