//! The figures of a broker on a page: that of the council in the same process, or one of its own.

use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use log_service::LogServer;
use net_http::HttpListener;
use node_pages::{Pages, Registry, Source};
use node_threads::Descriptors;

/// A broker's figures, until it is gone.
pub(crate) struct BrokerFigures(pub(crate) Weak<LogServer>);

impl Source for BrokerFigures {
    fn samples(&self) -> Vec<node_metrics::Sample> {
        self.0.upgrade().map_or_else(Vec::new, |server| server.samples())
    }
}

/// Serves a page of its own for a broker, with the probes.
///
/// # Errors
/// The address cannot be had.
pub(crate) fn serve(address: SocketAddr, server: &Arc<LogServer>) -> std::io::Result<HttpListener> {
    let registry = Registry::default();
    registry.register(Arc::new(BrokerFigures(Arc::downgrade(server))));
    // A broker is started only once it serves.
    let pages = Pages::default().metrics(registry);
    HttpListener::start(address, "http", Arc::new(pages), Descriptors::of_process(0))
}
