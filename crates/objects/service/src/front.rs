//! What answers the requests of one edge's connections.
//!
//! Probes are answered here: they concern the member, not its objects.

use std::sync::Arc;

use base::{MonoTime, Now};
use net_http_server::{Body, Bytes, Handler, Refusal, Replies, Request, RequestId, Response, StatusCode};
use node_threads::Mailbox;
use objects_replica::edge;

use crate::config::HttpOptions;
use crate::standing::Standing;

/// From the core's thread to an edge.
#[derive(Debug)]
pub(crate) enum ToEdge {
    /// The core says so.
    Answer(edge::Answer),
    /// See [`crate::EdgeAnswers::core_ended`].
    CoreEnded,
}

/// See the module.
pub(crate) struct Front {
    requests: Arc<Mailbox<edge::Request>>,
    standing: Arc<Standing>,
}

impl Front {
    pub(crate) fn new(
        _number: u16,
        requests: Arc<Mailbox<edge::Request>>,
        standing: Arc<Standing>,
        _options: HttpOptions,
    ) -> Self {
        Self { requests, standing }
    }
}

impl Handler for Front {
    type Mail = ToEdge;

    fn request(&mut self, id: RequestId, request: Request, replies: &mut Replies, _: Now) {
        let status = match request.uri.path() {
            "/v1/live" => StatusCode::OK,
            "/v1/ready" if self.standing.is_serving() => StatusCode::OK,
            "/v1/ready" => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::NOT_FOUND,
        };
        let body = Body::Whole(Bytes::from_static(b"\n"));
        replies.respond(id, Response::new(status, "text/plain", body));
    }

    fn refusal(&mut self, refusal: Refusal) -> Response {
        Response::new(refusal.status(), "text/plain", Body::Whole(Bytes::new()))
    }

    fn mail(&mut self, mail: ToEdge, _: &mut Replies, _: Now) {
        if let ToEdge::Answer(edge::Answer::WhoWasHeard { round }) = mail {
            self.requests.put(edge::Request::Heard { edge: 0, round: Some(round), sessions: Vec::new() });
        }
    }

    fn gone(&mut self, _: RequestId) {}

    fn deadline(&self) -> Option<MonoTime> {
        None
    }

    fn tick(&mut self, _: &mut Replies, _: Now) {}

    fn stop(&mut self, _: &mut Replies, _: Now) {}

    fn flush(&mut self) {}
}
