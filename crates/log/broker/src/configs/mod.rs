//! Configurations: what is set, for whom, and the requests that show and change it.
//!
//! What may be set, and what it comes to, is in [`log_config`]. What the council holds of it is in
//! [`crate::config_layers`]. A change is judged here, judged again where it is made, and answered when this broker acts on it.

mod alter;
mod alteration;
mod describe;
mod list;
mod shown_topics;

use log_wire::{ApiKey, Malformed};

use crate::call::{Call, Handled};
use crate::council_calls::CouncilCalls;
use crate::node::Node;
use alteration::{Asked, Request};
pub(crate) use shown_topics::ShownTopics;

/// What is served here.
pub(crate) const SERVED: &[ApiKey] = &[
    ApiKey::DescribeConfigs,
    ApiKey::AlterConfigs,
    ApiKey::IncrementalAlterConfigs,
    ApiKey::ListConfigResources,
];

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
    let (waits, now) = ((call.form, call.waiter), call.now);
    Ok(match key {
        ApiKey::DescribeConfigs => Handled::Done(describe::describe_configs(node, &call.body()?, call.form)),
        ApiKey::AlterConfigs => {
            let request = Request::replacing(call.body()?, node.configs.node_id());
            Handled::of(alter::alter_configs(node, calls, request, waits, now))
        }
        ApiKey::IncrementalAlterConfigs => {
            let request = Request::incremental(call.body()?, node.configs.node_id());
            Handled::of(alter::alter_configs(node, calls, request, waits, now))
        }
        _ => {
            let listed = list::list_config_resources(node, &call.body()?, call.form);
            Handled::Done(call.form.response(&listed))
        }
    })
}
