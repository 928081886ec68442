//! What answers requests, on the thread of their connection.

use base::{MonoTime, Now};
use bytes::Bytes;

use crate::message::{Refusal, Request, RequestId, Response};

/// Answers the requests of one shard's connections: at once, or later, when its mail says so.
pub trait Handler: Send {
    /// What other threads send it.
    type Mail: Send;

    /// A request has come. Others of its connection may come before it is answered; the responses are sent in the order of
    /// the requests.
    fn request(&mut self, id: RequestId, request: Request, replies: &mut Replies, now: Now);

    /// The words for a refusal, of a request that is not shown.
    fn refusal(&mut self, refusal: Refusal) -> Response;

    /// Mail from another thread.
    fn mail(&mut self, mail: Self::Mail, replies: &mut Replies, now: Now);

    /// Nobody waits for the answer of this request any more, or for the rest of its stream.
    fn gone(&mut self, id: RequestId);

    /// When [`Self::tick`] is to be called.
    fn deadline(&self) -> Option<MonoTime>;

    /// The deadline has passed.
    fn tick(&mut self, replies: &mut Replies, now: Now);

    /// The server stops: answers what can be answered, and finishes streams. No request comes after this.
    fn stop(&mut self, replies: &mut Replies, now: Now);

    /// Everything that came in this turn has been handed over: sends other threads what they are to know, in one piece.
    fn flush(&mut self);
}

/// What a handler has to say, in order.
#[derive(Debug, Default)]
pub struct Replies {
    pub(crate) queue: Vec<(RequestId, Say)>,
}

#[derive(Debug)]
pub(crate) enum Say {
    Respond(Response),
    Push(Bytes),
    Finish,
    Abort,
}

impl Replies {
    /// Answers a request.
    pub fn respond(&mut self, id: RequestId, response: Response) {
        self.queue.push((id, Say::Respond(response)));
    }

    /// A piece of a streamed body, behind its response.
    pub fn push(&mut self, id: RequestId, piece: Bytes) {
        self.queue.push((id, Say::Push(piece)));
    }

    /// A streamed body ends before its end: the connection is closed at once, so that nobody takes what has come for all of it.
    pub fn abort(&mut self, id: RequestId) {
        self.queue.push((id, Say::Abort));
    }

    /// A streamed body has come to its end.
    pub fn finish(&mut self, id: RequestId) {
        self.queue.push((id, Say::Finish));
    }
}
