//! What answers the requests of one edge's connections: [`EdgeHandler`], between the mailboxes of this edge and with a clock
//! that says how long the core takes.

use std::collections::HashMap;
use std::sync::Arc;

use base::{MonoTime, Now};
use net_http_server::{Handler, Refusal, Replies, Request, RequestId, Response};
use node_threads::{Clock, Mailbox};
use objects_edge::{Core, EdgeHandler, EdgeMail};
use objects_http::EdgeConfig;
use objects_replica::edge::{self, Answer};
use objects_state::Origin;
use parking_lot::Mutex;

use crate::edges::origin_of;
use crate::figures::Figures;

/// From the core's thread to an edge.
#[derive(Debug)]
pub(crate) enum ToEdge {
    /// The core says so.
    Answer(Answer),
    /// See [`crate::EdgeAnswers::core_ended`].
    CoreEnded,
}

/// See the module.
pub(crate) struct Front {
    handler: EdgeHandler<ToCore>,
    timed: Arc<Timed>,
}

/// Since when requests of an edge are at the core, microseconds. Only the edge's thread uses it.
struct Timed {
    since: Mutex<HashMap<u64, u64>>,
    figures: Arc<Figures>,
    clock: Clock,
}

impl Timed {
    fn begin(&self, requests: &[edge::Request]) {
        let (now_us, mut since) = (self.clock.mono_us(), self.since.lock());
        for request in requests {
            match request {
                edge::Request::Command { .. } | edge::Request::Query { .. } => {
                    since.extend(origin_of(request).map(|origin| (origin.number, now_us)));
                }
                edge::Request::Gone { origin } => drop(since.remove(&origin.number)),
                _ => {}
            }
        }
    }

    /// Calls that wait take as long as they wait: they do not count.
    fn end(&self, origin: Origin, counts: bool) {
        let since = self.since.lock().remove(&origin.number).filter(|_| counts);
        if let Some(since_us) = since {
            self.figures.call_us.record(self.clock.mono_us().saturating_sub(since_us));
        }
    }
}

/// The edge's way to the core.
struct ToCore {
    requests: Arc<Mailbox<edge::Request>>,
    timed: Arc<Timed>,
}

impl Core for ToCore {
    fn ask(&mut self, requests: &mut Vec<edge::Request>) {
        self.timed.begin(requests);
        self.requests.put_all(requests);
    }
}

impl Front {
    pub(crate) fn new(
        config: EdgeConfig,
        requests: Arc<Mailbox<edge::Request>>,
        figures: Arc<Figures>,
        clock: Clock,
    ) -> Self {
        let timed = Arc::new(Timed { since: Mutex::default(), figures, clock });
        let to_core = ToCore { requests, timed: Arc::clone(&timed) };
        Self { handler: EdgeHandler::new(config, to_core), timed }
    }
}

impl Handler for Front {
    type Mail = ToEdge;

    fn request(&mut self, id: RequestId, request: Request, replies: &mut Replies, now: Now) {
        self.handler.request(id, request, replies, now);
    }

    fn refusal(&mut self, refusal: Refusal) -> Response {
        self.handler.refusal(refusal)
    }

    fn mail(&mut self, mail: ToEdge, replies: &mut Replies, now: Now) {
        let mail = match mail {
            ToEdge::Answer(answer) => {
                match &answer {
                    Answer::Done { origin, .. } => self.timed.end(*origin, true),
                    Answer::Parked { origin, .. } => self.timed.end(*origin, false),
                    _ => {}
                }
                EdgeMail::Answer(answer)
            }
            ToEdge::CoreEnded => {
                self.timed.since.lock().clear();
                EdgeMail::CoreEnded
            }
        };
        self.handler.mail(mail, replies, now);
    }

    fn gone(&mut self, id: RequestId) {
        self.handler.gone(id);
    }

    fn deadline(&self) -> Option<MonoTime> {
        self.handler.deadline()
    }

    fn tick(&mut self, replies: &mut Replies, now: Now) {
        self.handler.tick(replies, now);
    }

    fn stop(&mut self, replies: &mut Replies, now: Now) {
        self.handler.stop(replies, now);
    }

    fn flush(&mut self) {
        self.handler.flush();
    }
}
