//! The handler of one shard.

use base::{LogIndex, MonoTime, Now};
use net_http_server::{Bytes, Handler, Refusal, Replies, Request, RequestId, Response};
use objects_http::{Edge, EdgeConfig, HttpRequest, Say};
use objects_replica::edge::{self, Answer};

use crate::audit::Audit;
use crate::convert::{fields, refusal, response};

/// The way to the core.
pub trait Core: Send {
    /// Asks it all of these, in order, and leaves the list empty.
    fn ask(&mut self, requests: &mut Vec<edge::Request>);

    /// A client is to be sent the snapshot whose last entry this is, or a newer one. It comes as [`BackupMail`], at the pace at which
    /// the client reads: each piece is dropped when it is on its way.
    fn begin_backup(&mut self, id: RequestId, index: LogIndex);

    /// Nobody reads the rest.
    fn end_backup(&mut self, id: RequestId);
}

/// What becomes of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackupMail {
    /// The file is open: a state of this position.
    Begins(u64),
    /// It cannot be read, for this reason.
    Lost(String),
    /// The next piece of it.
    Piece(Bytes),
    /// That was all.
    Whole,
    /// The client is given no more: it reads too slowly, or the file cannot be read on.
    GivenUp,
}

/// What a shard is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EdgeMail {
    /// The core answers.
    Answer(Answer),
    /// Where clients of the leader connect; `None` if it is not known, or this member leads.
    Leader(Option<String>),
    /// The core has ended, and another may begin: nobody answers what it was asked.
    CoreEnded,
    /// A backup goes on.
    Backup(RequestId, BackupMail),
}

/// See the module.
pub struct EdgeHandler<C> {
    edge: Edge<RequestId>,
    core: C,
    asks: Vec<edge::Request>,
    says: Vec<Say<RequestId>>,
    audit: Audit,
}

impl<C: Core> EdgeHandler<C> {
    /// A handler that asks `core`.
    #[must_use]
    pub fn new(config: EdgeConfig, core: C) -> Self {
        Self { edge: Edge::new(config), core, asks: Vec::new(), says: Vec::new(), audit: Audit::default() }
    }

    fn reply(&mut self, replies: &mut Replies, now: Now) {
        self.audit.log(&mut self.edge, now.mono());
        self.edge.take_says(&mut self.says);
        for say in self.says.drain(..) {
            match say {
                Say::Respond(id, answer) => replies.respond(id, response(answer)),
                Say::Push(id, piece) => replies.push(id, piece.into()),
                Say::Finish(id) => replies.finish(id),
                Say::Abort(id) => {
                    self.core.end_backup(id);
                    replies.abort(id);
                }
                Say::Backup(id, index) => self.core.begin_backup(id, index),
            }
        }
    }

    fn backup(&mut self, id: RequestId, mail: BackupMail, replies: &mut Replies) {
        match mail {
            BackupMail::Begins(position) => self.edge.backup_begins(id, position),
            BackupMail::Lost(ref why) => self.edge.backup_is_lost(id, why),
            BackupMail::Piece(ref piece) => replies.push(id, piece.clone()),
            BackupMail::Whole if self.edge.backup_ended(id) => replies.finish(id),
            BackupMail::GivenUp if self.edge.backup_ended(id) => replies.abort(id),
            BackupMail::Whole | BackupMail::GivenUp => {}
        }
        if !matches!(mail, BackupMail::Begins(_) | BackupMail::Piece(_)) {
            self.core.end_backup(id);
        }
    }
}

/// # Panics
/// When the system has no randomness: nothing may be guessed instead.
fn random(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the system gives random bytes");
}

impl<C: Core> Handler for EdgeHandler<C> {
    type Mail = EdgeMail;

    fn request(&mut self, id: RequestId, request: Request, replies: &mut Replies, now: Now) {
        let target = request.uri.path_and_query().map_or("", |target| target.as_str());
        let fields = fields(&request.headers);
        let asked = HttpRequest {
            method: request.method.as_str(),
            target,
            fields: &fields,
            body: &request.body,
            certificate: request.certificate.as_deref(),
        };
        self.edge.request(id, &asked, &mut random);
        self.reply(replies, now);
    }

    fn refusal(&mut self, why: Refusal) -> Response {
        refusal(why)
    }

    fn mail(&mut self, mail: EdgeMail, replies: &mut Replies, now: Now) {
        match mail {
            EdgeMail::Answer(answer) => self.edge.answer(answer, now.mono()),
            EdgeMail::Leader(leader) => self.edge.set_leader(leader),
            EdgeMail::CoreEnded => self.edge.core_ended(),
            EdgeMail::Backup(id, mail) => self.backup(id, mail, replies),
        }
        self.reply(replies, now);
    }

    fn gone(&mut self, id: RequestId) {
        self.core.end_backup(id);
        self.edge.gone(id);
    }

    fn deadline(&self) -> Option<MonoTime> {
        self.edge.deadline()
    }

    fn tick(&mut self, replies: &mut Replies, now: Now) {
        self.edge.tick(now.mono());
        self.reply(replies, now);
    }

    fn stop(&mut self, replies: &mut Replies, now: Now) {
        self.edge.stop();
        self.reply(replies, now);
    }

    fn flush(&mut self) {
        self.edge.take_asks(&mut self.asks);
        if !self.asks.is_empty() {
            self.core.ask(&mut self.asks);
            self.asks.clear();
        }
    }
}
