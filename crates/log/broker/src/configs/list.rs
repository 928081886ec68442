//! ListConfigResources: everything that has configurations.

use log_config::{kind, to_list};
use log_wire::messages::configs::{ConfigResource, ListConfigResourcesRequest, ListConfigResourcesResponse};

use crate::node::Node;
use crate::response::Form;
use crate::rights::{By, CLUSTER_DESCRIBE_CONFIGS};

/// Handles a request.
pub(super) fn list_config_resources(
    node: &Node,
    by: By<'_>,
    request: &ListConfigResourcesRequest,
    form: Form,
) -> ListConfigResourcesResponse {
    let mut response = ListConfigResourcesResponse::default();
    if let Err(error) = node.may_on_cluster(by, CLUSTER_DESCRIBE_CONFIGS) {
        response.error_code = error.code();
        return response;
    }
    let kinds = match to_list(form.version, &request.resource_types) {
        Ok(kinds) => kinds,
        Err(refusal) => {
            response.error_code = refusal.code.code();
            return response;
        }
    };
    let own_id = node.configs.node_id().to_string();
    for resource_type in kinds.into_iter().rev() {
        let mut push = |name: &str| {
            response.config_resources.push(ConfigResource { resource_name: name.into(), resource_type });
        };
        match resource_type {
            kind::TOPIC => node.catalog.topics().for_each(|topic| push(&topic.name)),
            kind::GROUP => node.configs.groups().for_each(push),
            kind::CLIENT_METRICS => node.configs.subscriptions().for_each(push),
            _ => push(&own_id),
        }
    }
    response
}
