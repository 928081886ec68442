//! What answers the requests of one edge's connections: [`EdgeHandler`], between the mailboxes of this edge and with a clock
//! that says how long the core takes.

use std::collections::HashMap;
use std::sync::Arc;

use base::{LogIndex, MonoTime, Now};
use foldhash::fast::FixedState;
use net_http_server::{Body, Handler, Refusal, Replies, Request, RequestId, Response, StatusCode};
use node_threads::{Clock, Mailbox};
use objects_edge::{Core, EdgeHandler, EdgeMail};
use objects_http::{EdgeConfig, PROBLEM};
use objects_replica::edge::{self, Answer, Consistency, origin_of};
use objects_state::{Command, Origin, Problem, Slug};
use parking_lot::Mutex;

use crate::core_loop::ObjectsTurns;
use crate::figures::Figures;
use crate::sender::Senders;
use crate::standing::Standing;
use crate::to_edge::ToEdge;

/// Asks whether the process lives.
const LIVE: &str = "/v1/live";

/// How long commands that are under way have to be answered when the member stops, milliseconds.
const DRAIN_MS: u64 = 1_000;

/// A call of at most so many bytes is handed on by the edge's thread.
const LONE_BYTES_MAX: usize = 16 << 10;

/// See the module.
pub(crate) struct Front {
    handler: EdgeHandler<ToCore>,
    timed: Arc<Timed>,
    standing: Arc<Standing>,
    /// The member stops: until then commands that are under way are waited for.
    drains_until: Option<MonoTime>,
}

/// Since when requests of an edge are at the core, microseconds. Only the edge's thread uses it.
struct Timed {
    since: Mutex<HashMap<u64, u64, FixedState>>,
    figures: Arc<Figures>,
    clock: Clock,
}

impl Timed {
    fn is_idle(&self) -> bool {
        self.since.lock().is_empty()
    }

    fn begin(&self, requests: &[edge::Request]) {
        let (now_us, mut since) = (self.clock.mono_us(), self.since.lock());
        for request in requests {
            match request {
                edge::Request::Command { .. }
                | edge::Request::Query { .. }
                | edge::Request::OfType { .. } => {
                    since.extend(origin_of(request).map(|origin| (origin.number, now_us)));
                }
                edge::Request::Gone { origin } => drop(since.remove(&origin.number)),
                _ => {}
            }
        }
    }

    /// Calls that wait take as long as they wait: they do not count.
    fn end(&self, origin: Origin, counts: bool, now: Now) {
        let since = self.since.lock().remove(&origin.number).filter(|_| counts);
        if let Some(since_us) = since {
            self.figures.call_us.record(now.mono_us.saturating_sub(since_us));
        }
    }
}

/// The edge's way to the core.
struct ToCore {
    requests: Arc<Mailbox<edge::Request>>,
    turns: Arc<ObjectsTurns>,
    timed: Arc<Timed>,
    senders: Senders,
}

impl Core for ToCore {
    fn ask(&mut self, requests: &mut Vec<edge::Request>) {
        self.timed.begin(requests);
        match &requests[..] {
            [request] if is_relayed(request) => {
                self.requests.put_all_quietly(requests);
                self.turns.relay_or_wake();
            }
            _ => self.requests.put_all(requests),
        }
    }

    fn begin_backup(&mut self, id: RequestId, index: LogIndex) {
        self.senders.begin(id, index);
    }

    fn end_backup(&mut self, id: RequestId) {
        self.senders.end(id);
    }
}

/// Whether the core of a member that follows only hands this on: a command, or the question behind a query that must be fresh.
/// What is answered here, and may run a module, is left to the core's thread.
fn is_relayed(request: &edge::Request) -> bool {
    match request {
        edge::Request::Command { command: Command::Call(call), .. } => {
            call.invocation.args.len() <= LONE_BYTES_MAX
        }
        edge::Request::Query { consistency, .. } => *consistency == Consistency::Linearizable,
        edge::Request::ByToken { request, .. } => is_relayed(request),
        _ => false,
    }
}

impl Front {
    pub(crate) fn new(
        config: EdgeConfig,
        (requests, turns): (Arc<Mailbox<edge::Request>>, Arc<ObjectsTurns>),
        (figures, standing): (Arc<Figures>, Arc<Standing>),
        senders: Senders,
        clock: Clock,
    ) -> Self {
        let timed = Arc::new(Timed { since: Mutex::default(), figures, clock });
        let to_core = ToCore { requests, turns, timed: Arc::clone(&timed), senders };
        Self { handler: EdgeHandler::new(config, to_core), timed, standing, drains_until: None }
    }

    /// Ends what is left once nothing is under way, or has taken too long.
    fn drain(&mut self, replies: &mut Replies, now: Now) {
        let is_over = |until: &mut MonoTime| *until <= now.mono() || self.timed.is_idle();
        if self.drains_until.take_if(is_over).is_some() {
            self.handler.stop(replies, now);
        }
    }
}

impl Handler for Front {
    type Mail = ToEdge;

    fn request(&mut self, id: RequestId, request: Request, replies: &mut Replies, now: Now) {
        if self.standing.has_ended() && request.uri.path() != LIVE {
            return replies.respond(id, ended());
        }
        self.handler.request(id, request, replies, now);
    }

    fn refusal(&mut self, refusal: Refusal) -> Response {
        self.handler.refusal(refusal)
    }

    fn mail(&mut self, mail: ToEdge, replies: &mut Replies, now: Now) {
        let mail = match mail {
            ToEdge::Answer(answer) => {
                match &answer {
                    Answer::Done { origin, .. } => self.timed.end(*origin, true, now),
                    Answer::Parked { origin, .. } | Answer::Backup { origin, .. } => {
                        self.timed.end(*origin, false, now)
                    }
                    _ => {}
                }
                EdgeMail::Answer(answer)
            }
            ToEdge::Backup(id, mail) => EdgeMail::Backup(id, mail),
            ToEdge::Leader(address) => EdgeMail::Leader(address),
            ToEdge::CoreEnded => {
                self.timed.since.lock().clear();
                EdgeMail::CoreEnded
            }
        };
        self.handler.mail(mail, replies, now);
        self.drain(replies, now);
    }

    fn gone(&mut self, id: RequestId) {
        self.handler.gone(id);
    }

    fn deadline(&self) -> Option<MonoTime> {
        self.handler.deadline().into_iter().chain(self.drains_until).min()
    }

    fn tick(&mut self, replies: &mut Replies, now: Now) {
        if self.handler.deadline().is_some_and(|at| at <= now.mono()) {
            self.handler.tick(replies, now);
        }
        self.drain(replies, now);
    }

    fn stop(&mut self, replies: &mut Replies, now: Now) {
        self.drains_until = Some(now.mono().plus_ms(DRAIN_MS));
        self.drain(replies, now);
    }

    fn flush(&mut self) {
        self.handler.flush();
    }
}

/// The answer to everything once the core has ended for good.
fn ended() -> Response {
    let problem = Problem::new(Slug::NoLeader, "the objects of this member have failed: its log says why");
    let body = Body::Written(problem.to_json().into_bytes());
    Response::new(StatusCode::SERVICE_UNAVAILABLE, PROBLEM, body)
}
