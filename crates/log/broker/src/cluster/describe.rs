//! DescribeCluster.

use log_wire::messages::cluster::{DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse};
use log_wire::{ErrorCode, NOT_ASKED};

use crate::node::Node;
use crate::rights::By;

/// The kinds of endpoints that may be asked for.
const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;

/// Handles a request.
pub(super) fn describe_cluster(
    node: &Node,
    by: By<'_>,
    request: &DescribeClusterRequest,
) -> DescribeClusterResponse {
    let refused = match request.endpoint_type {
        BROKERS => None,
        CONTROLLERS => {
            Some((ErrorCode::MismatchedEndpointType, "this is a broker, and controllers were asked for"))
        }
        _ => Some((ErrorCode::UnsupportedEndpointType, "there is no such type of endpoints")),
    };
    let mut response = DescribeClusterResponse::default();
    if let Some((error, why)) = refused {
        (response.error_code, response.error_message) = (error.code(), Some(why.into()));
        return response;
    }
    response.cluster_id.clone_from(&node.cluster_id);
    response.controller_id = node.brokers.controller();
    let brokers = node.brokers.for_clients(by.client.listener).into_iter();
    response.brokers.extend(brokers.map(|broker| DescribeClusterBroker {
        broker_id: broker.id,
        host: broker.host.into(),
        port: broker.port,
        rack: broker.rack.map(String::from),
        is_fenced: false,
    }));
    let asked = request.include_cluster_authorized_operations;
    response.cluster_authorized_operations =
        if asked { node.cluster_operations(by.client) } else { NOT_ASKED };
    response
}
