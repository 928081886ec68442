//! What a request wants to be set: changes of single configurations, or all of them anew.

use std::sync::Arc;

use log_config::change::broker::Target;
use log_config::{Overrides, Refusal, Resource, change};
use log_wire::messages::configs::{
    AlterConfigsRequest, AlterableConfig, IncrementalAlterConfigsRequest, IncrementalAlterableConfig,
};

use crate::config_layers::Layers;

/// A request, with the verdict on each resource that it names.
pub(super) struct Request {
    pub(super) resources: Vec<Asked>,
    pub(super) validate_only: bool,
    pub(super) is_incremental: bool,
}

/// A resource that a request names.
pub(super) struct Asked {
    pub(super) resource_type: i8,
    pub(super) name: String,
    pub(super) verdict: Result<(Resource, Alteration), Refusal>,
}

/// What is to be set for a resource.
#[derive(Clone, Debug)]
pub(super) enum Alteration {
    /// These are changed.
    Changes(Arc<[IncrementalAlterableConfig]>),
    /// These are set, and nothing else is.
    All(Arc<[AlterableConfig]>),
}

impl Request {
    /// Of IncrementalAlterConfigs, to the broker of that number.
    pub(super) fn incremental(request: IncrementalAlterConfigsRequest, node_id: i32) -> Self {
        let verdicts = change::incremental(&request.resources, node_id);
        let resources = request.resources.into_iter().zip(verdicts).map(|(of, verdict)| Asked {
            resource_type: of.resource_type,
            name: of.resource_name,
            verdict: verdict.map(|resource| (resource, Alteration::Changes(of.configs.into()))),
        });
        Self { resources: resources.collect(), validate_only: request.validate_only, is_incremental: true }
    }

    /// Of AlterConfigs.
    pub(super) fn replacing(request: AlterConfigsRequest, node_id: i32) -> Self {
        let verdicts = change::replacing(&request.resources, node_id);
        let resources = request.resources.into_iter().zip(verdicts).map(|(of, verdict)| Asked {
            resource_type: of.resource_type,
            name: of.resource_name,
            verdict: verdict.map(|resource| (resource, Alteration::All(of.configs.into()))),
        });
        Self { resources: resources.collect(), validate_only: request.validate_only, is_incremental: false }
    }
}

impl Alteration {
    /// What is set afterwards, where `current` is set now.
    ///
    /// # Errors
    /// Why it cannot be.
    pub(super) fn of(
        &self,
        resource: &Resource,
        current: &Overrides,
        layers: &Layers,
    ) -> Result<Overrides, Refusal> {
        let broker = layers.view();
        let target = match resource {
            Resource::Topic(_) => {
                return match self {
                    Self::Changes(changes) => change::topic::alter(current, changes, broker),
                    Self::All(configs) => change::topic::replace(configs, broker),
                };
            }
            Resource::Group(_) => {
                return match self {
                    Self::Changes(changes) => change::group::alter(current, changes, broker),
                    Self::All(configs) => change::group::replace(configs, broker),
                };
            }
            Resource::ClientMetrics(_) => {
                return match self {
                    Self::Changes(changes) => change::client_metrics::alter(current, changes),
                    Self::All(configs) => change::client_metrics::replace(configs),
                };
            }
            Resource::OtherBroker(_) => {
                return match self {
                    Self::Changes(changes) => change::broker::alter_drain(current, changes, broker),
                    // It is refused before: AlterConfigs names this broker alone.
                    Self::All(_) => Ok(current.clone()),
                };
            }
            Resource::Cluster => Target::Cluster,
            Resource::Broker | Resource::Loggers => Target::Broker,
        };
        let broker = match target {
            Target::Broker => log_config::BrokerLayers { broker: current, ..broker },
            Target::Cluster => log_config::BrokerLayers { cluster: current, ..broker },
        };
        match self {
            Self::Changes(changes) => change::broker::alter(target, broker, changes),
            Self::All(configs) => change::broker::replace(target, broker, configs),
        }
    }
}
