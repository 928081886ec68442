//! FindCoordinator: which broker coordinates a group, or a transactional id.

use log_wire::messages::groups::{Coordinator, FindCoordinatorRequest, FindCoordinatorResponse};
use log_wire::{ApiKey, ErrorCode, Malformed};

use crate::brokers::LiveBroker;
use crate::call::{Call, Handled};
use crate::client::Client;
use crate::groups::Groups;
use crate::node::Node;
use crate::response::Form;
use crate::rights::{By, CLUSTER_ACTION, GROUP_DESCRIBE, TRANSACTION_DESCRIBE};
use crate::share::Share;
use crate::transactions::Transactions;

/// The kinds of coordinators that are asked for.
const OF_GROUP: i8 = 0;
const OF_TRANSACTION: i8 = 1;
const OF_SHARE: i8 = 2;
/// The first version that asks for the coordinator of a share group.
const SHARES: i16 = 6;
/// The first version with many keys.
const MANY_KEYS: i16 = 4;

/// What versions with one key, and those with many, say if nothing is wrong.
const NO_ERROR: &str = "NONE";
const NO_ERROR_OF_MANY: &str = "";

/// What is served here.
pub(crate) const SERVED: &[ApiKey] = &[ApiKey::FindCoordinator];

/// Handles a request. An internal topic that is not there yet is made.
///
/// # Errors
/// It is malformed.
pub(crate) fn dispatch(
    node: &mut Node,
    coordinators: (&Groups, &Transactions, &Share),
    mut call: Call<'_>,
) -> Result<Handled, Malformed> {
    let of = (call.form, call.by());
    let found = find(node, coordinators, &call.body()?, of);
    Ok(Handled::Done(call.form.response(&found)))
}

fn find(
    node: &mut Node,
    (groups, transactions, share): (&Groups, &Transactions, &Share),
    request: &FindCoordinatorRequest,
    (form, by): (Form, By<'_>),
) -> FindCoordinatorResponse {
    let one = [request.key.clone()];
    let keys = if form.version >= MANY_KEYS { request.coordinator_keys.as_slice() } else { &one };
    let mut found: Vec<Coordinator> = keys
        .iter()
        .map(|key| {
            let may = may(node, by, (request.key_type, form.version), key);
            let found = may.and_then(|()| match request.key_type {
                OF_GROUP => {
                    groups.make_topic(node);
                    groups.coordinators.broker_of(node, key)
                }
                OF_TRANSACTION => {
                    transactions.make_topic(node);
                    transactions.broker_of(node, key)
                }
                // A share partition is named `group:topic id:partition`; its group says who holds its state.
                OF_SHARE => {
                    let mut parts = key.rsplitn(3, ':');
                    let group = parts.nth(2).ok_or(ErrorCode::InvalidRequest)?;
                    share.broker_of(node, group)
                }
                _ => Err(ErrorCode::InvalidRequest),
            });
            answer(node, by.client, key, found)
        })
        .collect();
    let mut response = FindCoordinatorResponse::default();
    if form.version >= MANY_KEYS {
        response.coordinators = found;
    } else if let Some(only) = found.pop() {
        (response.error_code, response.node_id) = (only.error_code, only.node_id);
        let text = only.error_message;
        response.error_message = if only.error_code == 0 { Some(NO_ERROR.into()) } else { text };
        (response.host, response.port) = (only.host, only.port);
    }
    response
}

/// Whether a client may know who coordinates that. What there is not is told to everybody.
fn may(node: &Node, by: By<'_>, (key_type, version): (i8, i16), key: &str) -> Result<(), ErrorCode> {
    match key_type {
        OF_GROUP => node.may(by, GROUP_DESCRIBE, key),
        OF_TRANSACTION => node.may(by, TRANSACTION_DESCRIBE, key),
        OF_SHARE if version >= SHARES => node.may_on_cluster(by, CLUSTER_ACTION),
        _ => Err(ErrorCode::InvalidRequest),
    }
}

fn answer(node: &Node, client: &Client, key: &str, found: Result<i32, ErrorCode>) -> Coordinator {
    let of = |id: i32| node.brokers.endpoint(id, client.listener).ok_or(ErrorCode::CoordinatorNotAvailable);
    let found = found.and_then(of);
    let error = found.err().unwrap_or_default();
    let mut coordinator = Coordinator {
        key: key.into(),
        node_id: -1,
        port: -1,
        error_code: error.code(),
        error_message: Some(why(error).into()),
        ..Coordinator::default()
    };
    if let Ok(LiveBroker { id, host, port, .. }) = found {
        (coordinator.node_id, coordinator.host, coordinator.port) = (id, host.into(), port);
    }
    coordinator
}

/// The reason of an error, for people.
const fn why(error: ErrorCode) -> &'static str {
    match error {
        ErrorCode::None => NO_ERROR_OF_MANY,
        ErrorCode::InvalidRequest => "there is no coordinator for keys of that type",
        ErrorCode::GroupAuthorizationFailed
        | ErrorCode::TransactionalIdAuthorizationFailed
        | ErrorCode::ClusterAuthorizationFailed => "the client has no right to know",
        _ => "the coordinator is not there at the moment",
    }
}
