//! From a request's frame to what handles it.

use std::sync::Arc;

use base::Now;
use log_access::quota::QuotaKey;
use log_wire::{
    Api, ApiKey, ApiVersionsRequest, ErrorCode, Feature, Features, Malformed, RequestHeader, ServedApi,
    Writer, write_api_versions_response,
};

use crate::broker::Broker;
use crate::call::{Call, Handled};
use crate::client::Client;
use crate::response::{Form, Head, Response};
use crate::rights::is_checked;
use crate::waits::Waiter;
use crate::{
    access_requests, cluster, configs, delegation_tokens, delete_records, fetch, find_coordinator, groups,
    init_producer_id, offsets, produce, sasl_requests, share, topics, transactions,
};

/// APIs of one kind, and what handles them.
struct Area {
    served: &'static [ApiKey],
    dispatch: fn(&mut Broker, ApiKey, Call<'_>) -> Result<Handled, Malformed>,
}

/// What is served, and thus advertised; the most frequent first.
const AREAS: &[Area] = &[
    Area { served: produce::SERVED, dispatch: |at, _, call| at.produces.dispatch(&mut at.node, call) },
    Area { served: fetch::SERVED, dispatch: |at, _, call| at.fetches.dispatch(&mut at.node, call) },
    Area { served: offsets::SERVED, dispatch: |at, key, call| offsets::dispatch(&at.node, key, call) },
    Area { served: groups::SERVED, dispatch: |at, key, call| at.groups.dispatch(&mut at.node, key, call) },
    Area {
        served: find_coordinator::SERVED,
        dispatch: |at, _, call| {
            find_coordinator::dispatch(&mut at.node, (&at.groups, &at.transactions, &at.share), call)
        },
    },
    Area {
        served: topics::SERVED,
        dispatch: |at, key, call| {
            topics::dispatch(&mut at.node, (&mut at.calls, &mut at.held_metadata), key, call)
        },
    },
    Area {
        served: init_producer_id::SERVED,
        dispatch: |at, _, call| init_producer_id::dispatch(&mut at.node, &mut at.transactions, call),
    },
    Area {
        served: transactions::SERVED,
        dispatch: |at, key, call| at.transactions.dispatch(&mut at.node, key, call),
    },
    Area { served: share::SERVED, dispatch: |at, key, call| at.share_request(key, call) },
    Area {
        served: configs::SERVED,
        dispatch: |at, key, call| configs::dispatch(&mut at.node, &mut at.calls, key, call),
    },
    Area { served: delete_records::SERVED, dispatch: |at, _, call| at.delete_records(call) },
    Area { served: cluster::SERVED, dispatch: |at, key, call| at.cluster_request(key, call) },
    Area {
        served: access_requests::SERVED,
        dispatch: |at, key, call| access_requests::dispatch(&mut at.node, &mut at.calls, key, call),
    },
    Area { served: sasl_requests::SERVED, dispatch: |_, key, call| Ok(sasl_requests::dispatch(key, &call)) },
    Area {
        served: delegation_tokens::SERVED,
        dispatch: |_, key, call| delegation_tokens::dispatch(key, call),
    },
    Area { served: &[ApiKey::ApiVersions], dispatch: |_, _, call| api_versions(call) },
];

/// The features of the cluster, with the levels that this broker knows of each.
const FEATURES: &[Feature<'_>] = &[
    Feature { name: "group.version", lowest: 0, highest: 1 },
    Feature { name: "metadata.version", lowest: 7, highest: 30 },
    Feature { name: "share.version", lowest: 0, highest: 1 },
    Feature { name: "transaction.version", lowest: 0, highest: 2 },
];

/// The level of each that is used. By that of transactions, clients decide how they begin and end them (KIP-890).
const FINALIZED: &[Feature<'_>] = &[
    Feature { name: "group.version", lowest: 1, highest: 1 },
    Feature { name: "metadata.version", lowest: 30, highest: 30 },
    Feature { name: "share.version", lowest: 1, highest: 1 },
    Feature { name: "transaction.version", lowest: 2, highest: 2 },
];

/// The first version of ApiVersions that shows features which begin at level 0 (KAFKA-17011).
const FEATURES_FROM_ZERO: i16 = 4;

/// Produce is advertised from version 0 on, though the first versions are not served: clients judge by it whether a broker
/// knows compressions (KAFKA-18659).
const PRODUCE_LOWEST: i16 = 0;

/// The request cannot be answered: its connection is to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unanswerable;

impl Broker {
    /// Handles the request of a frame, which came from that client.
    ///
    /// # Errors
    /// It is malformed, too large, or of an API or a version that is not served, also because it does not ask for rights; or it
    /// has failed, and is not to be answered.
    pub fn request(
        &mut self,
        frame: &[u8],
        waiter: Waiter,
        client: &Arc<Client>,
        now: Now,
    ) -> Result<(Head, Handled), Unanswerable> {
        let Ok((header, Some(api), body)) = RequestHeader::read(frame) else { return Err(Unanswerable) };
        let area = AREAS.iter().find(|area| area.served.contains(&api.key)).ok_or(Unanswerable)?;
        self.requests.one_more(api.key);
        let is_known = api.has(header.version);
        let is_large = frame.len() > self.node.config.body_bytes_max && api.key != ApiKey::Produce;
        let is_refused = self.node.access.authorizer.is_some() && !is_checked(api.key);
        if (!is_known && api.key != ApiKey::ApiVersions) || is_large || is_refused {
            return Err(Unanswerable);
        }
        // The answer to an unknown version of ApiVersions is one of version 0.
        let version = if is_known { header.version } else { 0 };
        let mut head = Head { api, version, correlation_id: header.correlation_id, throttle_ms: 0 };
        if !is_known {
            return Ok((head, Handled::Done(list_apis(0, ErrorCode::UnsupportedVersion))));
        }
        let form = Form { version, flexible: api.is_flexible(version) };
        let client_id = header.client_id.unwrap_or_default();
        let call = Call { api: api.key, form, body, waiter, client_id, client, now };
        let worked_ns = self.node.config.worked_ns;
        let is_timed = self.node.access.quotas.has(QuotaKey::RequestPercentage);
        let began_ns = if is_timed { worked_ns() } else { 0 };
        let handled = (area.dispatch)(self, api.key, call).map_err(|Malformed(_)| Unanswerable)?;
        self.settle(now);
        let access = &mut self.node.access;
        if is_timed {
            access.worked((client, client_id), worked_ns().saturating_sub(began_ns), now.mono());
        }
        if api.key == ApiKey::Produce {
            let (key, used) = (QuotaKey::ProducerByteRate, frame.len() as f64);
            let wait_ms = access.charge(key, (client, client_id), used, now.mono());
            access.throttle(wait_ms);
        }
        head.throttle_ms = access.take_throttle_ms();
        match handled {
            // Its client waits for no answer: the end of the connection tells it, and nothing behind the request is handled.
            Handled::Done(Response::Close) => Err(Unanswerable),
            handled => Ok((head, handled)),
        }
    }
}

/// The APIs that are served.
pub(crate) fn served() -> impl Iterator<Item = ApiKey> {
    AREAS.iter().flat_map(|area| area.served.iter().copied())
}

fn api_versions(mut call: Call<'_>) -> Result<Handled, Malformed> {
    let version = call.form.version;
    let request = ApiVersionsRequest::read(&mut call.body, version)?;
    let is_valid = request.has_valid_names(version);
    let error = if is_valid { ErrorCode::None } else { ErrorCode::InvalidRequest };
    Ok(Handled::Done(list_apis(version, error)))
}

/// The answer to ApiVersions.
pub(super) fn list_apis(version: i16, error: ErrorCode) -> Response {
    let is_listed = |key: ApiKey| match error {
        ErrorCode::None => true,
        ErrorCode::UnsupportedVersion => key == ApiKey::ApiVersions,
        _ => false,
    };
    let mut apis: Vec<ServedApi> = AREAS
        .iter()
        .flat_map(|area| area.served)
        .filter(|key| is_listed(**key))
        .filter_map(|key| Api::find(*key as i16))
        .map(|api| ServedApi {
            key: api.key,
            lowest: if api.key == ApiKey::Produce { PRODUCE_LOWEST } else { api.lowest },
            highest: api.highest,
        })
        .collect();
    apis.sort_by_key(|api| api.key);
    let is_shown = |feature: &&Feature<'_>| {
        error == ErrorCode::None && (feature.lowest > 0 || version >= FEATURES_FROM_ZERO)
    };
    let supported: Vec<Feature<'_>> = FEATURES.iter().filter(is_shown).copied().collect();
    let finalized = if error == ErrorCode::None { FINALIZED } else { &[] };
    let features =
        (error == ErrorCode::None).then_some(Features { supported: &supported, finalized, epoch: 0 });
    let mut out = Vec::new();
    let flexible = Api::find(ApiKey::ApiVersions as i16).is_some_and(|api| api.is_flexible(version));
    write_api_versions_response(&mut Writer::new(&mut out, flexible), version, error, &apis, 0, features);
    Response::Body(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_served_asks_for_rights() {
        for api in AREAS.iter().flat_map(|area| area.served) {
            assert!(is_checked(*api), "{api:?} needs an entry in `rights`, and a handler that asks for it");
        }
    }
}
