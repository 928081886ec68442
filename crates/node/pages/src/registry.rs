//! The figures of all services, gathered at each request for them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use node_metrics::Sample;

/// What has figures. Called from threads that serve pages; may take as long as a scrape may.
pub trait Source: Send + Sync {
    /// All figures now. Names of our own begin with `diwan_` and the service's name.
    fn samples(&self) -> Vec<Sample>;
}

/// See the module. The figures of the process itself come last. A clone is the same registry: a service that starts later adds
/// its figures to pages that are served already.
#[derive(Clone, Default)]
pub struct Registry {
    sources: Arc<Mutex<Vec<Arc<dyn Source>>>>,
}

impl Registry {
    /// Adds the figures of one service.
    pub fn register(&self, source: Arc<dyn Source>) {
        self.lock().push(source);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<dyn Source>>> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All figures in the format of Prometheus.
    #[must_use]
    pub fn prometheus(&self) -> String {
        let sources = self.lock().clone();
        let mut samples: Vec<Sample> = sources.iter().flat_map(|source| source.samples()).collect();
        samples.extend(node_metrics::process::samples());
        node_metrics::prometheus(&samples)
    }
}
