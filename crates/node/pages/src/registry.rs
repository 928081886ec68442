//! The figures of all services, gathered at each request for them.

use std::sync::Arc;

use node_metrics::Sample;

/// What has figures. Called from threads that serve pages; may take as long as a scrape may.
pub trait Source: Send + Sync {
    /// All figures now. Names of our own begin with `diwan_` and the service's name.
    fn samples(&self) -> Vec<Sample>;
}

/// See the module. The figures of the process itself come last.
#[derive(Clone, Default)]
pub struct Registry {
    sources: Vec<Arc<dyn Source>>,
}

impl Registry {
    /// Adds the figures of one service.
    pub fn register(&mut self, source: Arc<dyn Source>) {
        self.sources.push(source);
    }

    /// All figures in the format of Prometheus.
    #[must_use]
    pub fn prometheus(&self) -> String {
        let mut samples: Vec<Sample> = self.sources.iter().flat_map(|source| source.samples()).collect();
        samples.extend(node_metrics::process::samples());
        node_metrics::prometheus(&samples)
    }
}
