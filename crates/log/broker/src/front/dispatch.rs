//! From a request's frame to what handles it.

use base::Now;
use log_wire::messages::Field;
use log_wire::{
    Api, ApiKey, ApiVersionsRequest, ErrorCode, Feature, Features, FetchRequest, Malformed, MetadataRequest,
    ProduceRequest, Reader, RequestHeader, ServedApi, Writer, write_api_versions_response,
};
use net_event_loop::ConnId;

use super::Front;
use crate::broker::Broker;
use crate::group_call::Caller;
use crate::response::{Form, Response};
use crate::waits::Waiter;

/// What is served, and thus advertised.
const SERVED: &[ApiKey] = &[
    ApiKey::Produce,
    ApiKey::Fetch,
    ApiKey::ListOffsets,
    ApiKey::Metadata,
    ApiKey::OffsetCommit,
    ApiKey::OffsetFetch,
    ApiKey::FindCoordinator,
    ApiKey::JoinGroup,
    ApiKey::Heartbeat,
    ApiKey::LeaveGroup,
    ApiKey::SyncGroup,
    ApiKey::DescribeGroups,
    ApiKey::ListGroups,
    ApiKey::ApiVersions,
    ApiKey::CreateTopics,
    ApiKey::DeleteTopics,
    ApiKey::InitProducerId,
    ApiKey::OffsetForLeaderEpoch,
    ApiKey::DeleteGroups,
];

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

impl Handled {
    fn of(answer: Option<Response>) -> Self {
        answer.map_or(Self::Waits, Self::Done)
    }
}

/// A request on its way.
struct Call<'r> {
    form: Form,
    body: Reader<'r>,
    waiter: Waiter,
    client_id: &'r str,
    host: &'r str,
    now: Now,
}

impl<'r> Call<'r> {
    fn body<T: Field>(&mut self) -> Result<T, Malformed> {
        T::read(&mut self.body, self.form.version)
    }

    const fn caller(&self) -> Caller<'r> {
        Caller { waiter: self.waiter, form: self.form, client_id: self.client_id, client_host: self.host }
    }
}

impl Front {
    pub(super) fn handle(&mut self, broker: &mut Broker, conn: ConnId, frame: &[u8], now: Now) {
        let (shard, body_bytes_max) = (self.shard, self.body_bytes_max);
        let Some(connection) = self.get(conn) else { return };
        let Ok((header, Some(api), body)) = RequestHeader::read(frame) else { return self.end(conn) };
        let is_served = SERVED.contains(&api.key) && api.has(header.version);
        let is_large = frame.len() > body_bytes_max && api.key != ApiKey::Produce;
        if (!is_served && api.key != ApiKey::ApiVersions) || is_large {
            return self.end(conn);
        }
        // The answer to an unknown version of ApiVersions is one of version 0.
        let version = if is_served { header.version } else { 0 };
        let request = connection.begin(api, version, header.correlation_id);
        let waiter = Waiter { shard, conn, request };
        let form = Form { version, flexible: api.is_flexible(version) };
        let (client_id, host) = (header.client_id.unwrap_or_default(), format!("/{}", connection.host));
        let call = Call { form, body, waiter, client_id, host: &host, now };
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
    let form = call.form;
    Ok(match api.key {
        ApiKey::ApiVersions => {
            let request = ApiVersionsRequest::read(&mut call.body, form.version)?;
            let valid = request.has_valid_names(form.version);
            let error = if valid { ErrorCode::None } else { ErrorCode::InvalidRequest };
            Handled::Done(api_versions(form.version, error))
        }
        ApiKey::Metadata => metadata(broker, call)?,
        ApiKey::Produce => produce(broker, call)?,
        ApiKey::Fetch => fetch(broker, call)?,
        ApiKey::ListOffsets => {
            Handled::Done(Response::Offsets(broker.list_offsets(&call.body()?, form.version)))
        }
        ApiKey::OffsetForLeaderEpoch => {
            Handled::Done(form.response(&broker.offset_for_leader_epoch(&call.body()?)))
        }
        ApiKey::InitProducerId => Handled::Done(form.response(&broker.init_producer_id(&call.body()?))),
        ApiKey::CreateTopics => Handled::of(broker.create_topics(&call.body()?, form, call.waiter, call.now)),
        ApiKey::DeleteTopics => Handled::of(broker.delete_topics(&call.body()?, form, call.waiter, call.now)),
        ApiKey::FindCoordinator => {
            Handled::Done(form.response(&broker.find_coordinator(&call.body()?, form)))
        }
        _ => group(broker, api, call)?,
    })
}

fn group(broker: &mut Broker, api: &Api, mut call: Call<'_>) -> Result<Handled, Malformed> {
    let (of, now) = (call.caller(), call.now);
    Ok(Handled::of(match api.key {
        ApiKey::JoinGroup => broker.join_group(call.body()?, of, now),
        ApiKey::SyncGroup => broker.sync_group(call.body()?, of, now),
        ApiKey::Heartbeat => broker.heartbeat(&call.body()?, of, now),
        ApiKey::LeaveGroup => broker.leave_group(&call.body()?, of, now),
        ApiKey::OffsetCommit => broker.offset_commit(&call.body()?, of, now),
        ApiKey::OffsetFetch => broker.offset_fetch(&call.body()?, of, now),
        ApiKey::DescribeGroups => broker.describe_groups(&call.body()?, of, now),
        ApiKey::ListGroups => broker.list_groups(&call.body()?, of, now),
        ApiKey::DeleteGroups => broker.delete_groups(&call.body()?, of, now),
        _ => return Err(Malformed("an API that is not served")),
    }))
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
    let request = MetadataRequest::read(&mut call.body, call.form.version, &mut topics)?;
    let mut out = Vec::new();
    broker.metadata(&request, &topics, (&mut Writer::new(&mut out, call.form.flexible), call.form.version));
    Ok(Handled::Done(Response::Body(out)))
}

fn produce(broker: &mut Broker, mut call: Call<'_>) -> Result<Handled, Malformed> {
    let mut partitions = Vec::new();
    let request = ProduceRequest::read(&mut call.body, call.form.version, &mut partitions)?;
    let answered = broker.produce((&request, call.form.version), &partitions, call.waiter, call.now);
    Ok(match answered {
        Some(response) => Handled::Done(response),
        None if request.acks == 0 => Handled::Silent,
        None => Handled::Waits,
    })
}

fn fetch(broker: &mut Broker, mut call: Call<'_>) -> Result<Handled, Malformed> {
    let (mut partitions, mut forgotten) = (Vec::new(), Vec::new());
    let request = FetchRequest::read(&mut call.body, call.form.version, &mut partitions, &mut forgotten)?;
    Ok(Handled::of(broker.fetch(&request, &partitions, call.waiter, call.now)))
}
