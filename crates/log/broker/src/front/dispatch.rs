//! From a request's frame to what handles it.

use base::Now;
use log_wire::{
    Api, ApiKey, ApiVersionsRequest, ErrorCode, Feature, Features, FetchRequest, Malformed, MetadataRequest,
    ProduceRequest, Reader, RequestHeader, ServedApi, Writer, write_api_versions_response,
};
use net_event_loop::ConnId;

use super::Front;
use crate::broker::Broker;
use crate::response::Response;
use crate::waits::Waiter;

/// What is served, and thus advertised.
const SERVED: &[ApiKey] = &[ApiKey::Produce, ApiKey::Fetch, ApiKey::Metadata, ApiKey::ApiVersions];

/// Produce is advertised from version 0 on, though the first versions are not served: clients judge by it whether a broker
/// knows compressions (KAFKA-18659).
const PRODUCE_LOWEST: i16 = 0;

/// What a request comes to at once.
enum Handled {
    /// It is answered.
    Done(Response),
    /// Its answer comes later.
    Waits,
    /// It has no answer.
    Silent,
}

/// A request on its way.
struct Call<'r> {
    version: i16,
    flexible: bool,
    body: Reader<'r>,
    waiter: Waiter,
    now: Now,
}

impl Front {
    pub(super) fn handle(&mut self, broker: &mut Broker, conn: ConnId, frame: &[u8], now: Now) {
        let shard = self.shard;
        let Some(connection) = self.get(conn) else { return };
        let Ok((header, Some(api), body)) = RequestHeader::read(frame) else { return self.end(conn) };
        let is_served = SERVED.contains(&api.key) && api.has(header.version);
        if !is_served && api.key != ApiKey::ApiVersions {
            return self.end(conn);
        }
        // The answer to an unknown version of ApiVersions is one of version 0.
        let version = if is_served { header.version } else { 0 };
        let request = connection.begin(api, version, header.correlation_id);
        let waiter = Waiter { shard, conn, request };
        let call = Call { version, flexible: api.is_flexible(version), body, waiter, now };
        let handled = match is_served {
            true => dispatch(broker, api, call),
            false => Ok(Handled::Done(api_versions(0, ErrorCode::UnsupportedVersion))),
        };
        match handled {
            Err(Malformed(_)) => {
                connection.no_answer(request);
                self.end(conn);
            }
            Ok(Handled::Waits) if api.key == ApiKey::Produce => {}
            Ok(Handled::Waits) => connection.blocked_by = Some(request),
            Ok(Handled::Silent) => connection.no_answer(request),
            Ok(Handled::Done(response)) => self.answers.push((waiter, response)),
        }
    }
}

fn dispatch(broker: &mut Broker, api: &Api, mut call: Call<'_>) -> Result<Handled, Malformed> {
    match api.key {
        ApiKey::ApiVersions => {
            let request = ApiVersionsRequest::read(&mut call.body, call.version)?;
            let valid = request.has_valid_names(call.version);
            let error = if valid { ErrorCode::None } else { ErrorCode::InvalidRequest };
            Ok(Handled::Done(api_versions(call.version, error)))
        }
        ApiKey::Metadata => metadata(broker, call),
        ApiKey::Produce => produce(broker, call),
        ApiKey::Fetch => fetch(broker, call),
        _ => Err(Malformed("an API that is not served")),
    }
}

fn api_versions(version: i16, error: ErrorCode) -> Response {
    let served = SERVED.iter().filter_map(|key| Api::find(*key as i16)).map(|api| ServedApi {
        key: api.key,
        lowest: if api.key == ApiKey::Produce { PRODUCE_LOWEST } else { api.lowest },
        highest: api.highest,
    });
    let unknown = error == ErrorCode::UnsupportedVersion;
    let apis: Vec<ServedApi> = served.filter(|api| !unknown || api.key == ApiKey::ApiVersions).collect();
    let features = [Feature { name: "metadata.version", lowest: 7, highest: 30 }];
    let features = Features { supported: &features, finalized: &features, epoch: 0 };
    let mut out = Vec::new();
    let flexible = Api::find(ApiKey::ApiVersions as i16).is_some_and(|api| api.is_flexible(version));
    write_api_versions_response(&mut Writer::new(&mut out, flexible), version, error, &apis, 0, features);
    Response::Body(out)
}

fn metadata(broker: &mut Broker, mut call: Call<'_>) -> Result<Handled, Malformed> {
    let mut topics = Vec::new();
    let request = MetadataRequest::read(&mut call.body, call.version, &mut topics)?;
    let mut out = Vec::new();
    broker.metadata(&request, &topics, (&mut Writer::new(&mut out, call.flexible), call.version));
    Ok(Handled::Done(Response::Body(out)))
}

fn produce(broker: &mut Broker, mut call: Call<'_>) -> Result<Handled, Malformed> {
    let mut partitions = Vec::new();
    let request = ProduceRequest::read(&mut call.body, call.version, &mut partitions)?;
    let answered = broker.produce((&request, call.version), &partitions, call.waiter, call.now);
    Ok(match answered {
        Some(response) => Handled::Done(response),
        None if request.acks == 0 => Handled::Silent,
        None => Handled::Waits,
    })
}

fn fetch(broker: &mut Broker, mut call: Call<'_>) -> Result<Handled, Malformed> {
    let (mut partitions, mut forgotten) = (Vec::new(), Vec::new());
    let request = FetchRequest::read(&mut call.body, call.version, &mut partitions, &mut forgotten)?;
    Ok(broker.fetch(&request, &partitions, call.waiter, call.now).map_or(Handled::Waits, Handled::Done))
}
