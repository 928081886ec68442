//! One request and its response, as `hyper` wants them: a future that reads the body, shows the request and waits for the
//! reply, and a body that is sent whole or piece by piece.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::service::Service;

use crate::limits::{Budget, Share};
use crate::message::{Body, Refusal, Request, Response};
use crate::pipe::{Arrival, Pipe};

/// Makes an exchange of each request of one connection.
pub(crate) struct Exchanges {
    pub(crate) pipe: Pipe,
    pub(crate) budget: Arc<Budget>,
    pub(crate) body_bytes_max: usize,
}

impl Service<http::Request<Incoming>> for Exchanges {
    type Response = http::Response<SentBody>;
    type Error = Infallible;
    type Future = Exchange;

    fn call(&self, request: http::Request<Incoming>) -> Exchange {
        let (head, body) = request.into_parts();
        self.pipe.lock().reads_body = true;
        Exchange {
            pipe: self.pipe.clone(),
            head: Some(head),
            body,
            read: Bytes::new(),
            more: BytesMut::new(),
            share: self.budget.share(),
            body_bytes_max: self.body_bytes_max,
        }
    }
}

/// See the module.
pub(crate) struct Exchange {
    pipe: Pipe,
    /// Until the request has been shown.
    head: Option<Parts>,
    body: Incoming,
    /// The first piece of the body, which mostly is all of it.
    read: Bytes,
    /// All of it, if there are more.
    more: BytesMut,
    share: Share,
    body_bytes_max: usize,
}

impl Exchange {
    /// Reads the body to its end.
    fn poll_body(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Refusal>> {
        let too_long = Err(Refusal::BodyTooLong(self.body_bytes_max));
        if self.body.size_hint().lower() > self.body_bytes_max as u64 {
            return Poll::Ready(too_long);
        }
        while let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(context)) {
            let Ok(frame) = frame else { return Poll::Ready(Err(Refusal::BodyMalformed)) };
            // Fields behind the body mean nothing here.
            let Ok(piece) = frame.into_data() else { continue };
            if self.read.len() + self.more.len() + piece.len() > self.body_bytes_max {
                return Poll::Ready(too_long);
            }
            if !self.share.grow(piece.len()) {
                return Poll::Ready(Err(Refusal::BodiesTooLong(self.share.most())));
            }
            if self.read.is_empty() && self.more.is_empty() {
                self.read = piece;
            } else {
                self.more.extend_from_slice(&std::mem::take(&mut self.read));
                self.more.extend_from_slice(&piece);
            }
        }
        Poll::Ready(Ok(()))
    }

    fn show(&mut self, head: Parts, read: Result<(), Refusal>) {
        let body = if self.more.is_empty() { &mut self.read } else { &mut self.more.split().freeze() };
        let body = std::mem::take(body);
        let arrival = match read {
            Ok(()) => {
                Arrival::Whole(Request { method: head.method, uri: head.uri, headers: head.headers, body })
            }
            Err(refusal) => Arrival::Refused(refusal),
        };
        let mut ends = self.pipe.lock();
        ends.reads_body = false;
        ends.arrival = Some(arrival);
    }
}

impl Future for Exchange {
    type Output = Result<http::Response<SentBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if this.head.is_some() && this.pipe.lock().reply.is_none() {
            let read = ready!(this.poll_body(context));
            if let Some(head) = this.head.take() {
                this.show(head, read);
            }
        }
        let Some(reply) = this.pipe.lock().reply.take() else { return Poll::Pending };
        let Response { status, headers, body } = reply;
        let body = match body {
            Body::Whole(bytes) => SentBody::Whole(bytes),
            Body::Stream { .. } => SentBody::Stream(this.pipe.clone()),
        };
        let mut response = http::Response::new(body);
        (*response.status_mut(), *response.headers_mut()) = (status, headers);
        Poll::Ready(Ok(response))
    }
}

/// The body of a response on its way.
pub(crate) enum SentBody {
    Whole(Bytes),
    Stream(Pipe),
}

impl http_body::Body for SentBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Stream(pipe) => {
                let pieces = &mut pipe.lock().pieces;
                match pieces.waiting.pop_front() {
                    Some(piece) => {
                        pieces.bytes -= piece.len();
                        Poll::Ready(Some(Ok(Frame::data(piece))))
                    }
                    None if pieces.finished => Poll::Ready(None),
                    None => Poll::Pending,
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

impl Drop for SentBody {
    fn drop(&mut self) {
        if let Self::Stream(pipe) = self {
            pipe.lock().stream_over = true;
        }
    }
}
