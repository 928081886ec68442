//! Configurations: what is set, for whom, and the requests that show and change it.
//!
//! What may be set, and what it comes to, is in [`log_config`]. What the council holds of it is in
//! [`crate::config_layers`]. A change is judged here, judged again where it is made, and answered when this broker acts on it.

mod alter;
mod alteration;
mod describe;
mod list;
mod shown_topics;

use log_config::{Refusal, kind};
use log_wire::{ApiKey, Malformed};

use crate::call::{Call, Handled};
use crate::council_calls::CouncilCalls;
use crate::node::Node;
use crate::rights::{By, Need};
use alteration::{Asked, Request};
pub(crate) use shown_topics::ShownTopics;

/// What is served here.
pub(crate) const SERVED: &[ApiKey] = &[
    ApiKey::DescribeConfigs,
    ApiKey::AlterConfigs,
    ApiKey::IncrementalAlterConfigs,
    ApiKey::ListConfigResources,
];

/// Whether a client may do that with the configurations of a resource: what it needs for a topic, for a group, for all others.
fn may(
    node: &Node,
    by: By<'_>,
    [of_topic, of_group, of_cluster]: [Need; 3],
    (resource_type, name): (i8, &str),
) -> Result<(), Refusal> {
    let judged = match resource_type {
        kind::TOPIC => node.may(by, of_topic, name),
        kind::GROUP => node.may(by, of_group, name),
        _ => node.may_on_cluster(by, of_cluster),
    };
    judged.map_err(|code| Refusal { code, message: String::from("the client has no right to that") })
}

/// Handles a request.
///
/// # Errors
/// It is malformed.
pub(crate) fn dispatch(
    node: &mut Node,
    calls: &mut CouncilCalls,
    key: ApiKey,
    mut call: Call<'_>,
) -> Result<Handled, Malformed> {
    let (waits, by, now) = ((call.form, call.waiter), call.by(), call.now);
    Ok(match key {
        ApiKey::DescribeConfigs => {
            Handled::Done(describe::describe_configs(node, by, &call.body()?, call.form))
        }
        ApiKey::AlterConfigs => {
            let request = Request::replacing(call.body()?, node.configs.node_id());
            Handled::of(alter::alter_configs(node, calls, (by, request), waits, now))
        }
        ApiKey::IncrementalAlterConfigs => {
            let request = Request::incremental(call.body()?, node.configs.node_id());
            Handled::of(alter::alter_configs(node, calls, (by, request), waits, now))
        }
        _ => {
            let listed = list::list_config_resources(node, by, &call.body()?, call.form);
            Handled::Done(call.form.response(&listed))
        }
    })
}
