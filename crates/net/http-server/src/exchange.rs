//! One request, as `hyper` wants it: a future that reads the body and shows the request. It gives `hyper` a placeholder at
//! once, so that the next request is read while this one is answered; [`crate::response`] writes the real response.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http::request::Parts;
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::service::Service;

use crate::limits::{Budget, HttpLimits, Share};
use crate::message::{Refusal, Request};
use crate::pipe::{Arrival, Pipe};

/// Requests of one connection that are read and not answered.
pub(crate) const UNDER_WAY_MAX: usize = 16;

/// The status of a placeholder. A handler's response never has it on this side of [`crate::response`].
pub(crate) const PLACEHOLDER: StatusCode = StatusCode::NO_CONTENT;

/// Makes an exchange of each request of one connection.
pub(crate) struct Exchanges {
    pub(crate) pipe: Pipe,
    pub(crate) budget: Arc<Budget>,
    pub(crate) limits: HttpLimits,
}

impl Service<http::Request<Incoming>> for Exchanges {
    type Response = http::Response<NoBody>;
    type Error = Infallible;
    type Future = Exchange;

    fn call(&self, request: http::Request<Incoming>) -> Exchange {
        let (head, body) = request.into_parts();
        let body_bytes_max = self.limits.body_bytes_max_of(&head.method, head.uri.path());
        self.pipe.lock().reads_body = true;
        Exchange {
            pipe: self.pipe.clone(),
            head: Some(head),
            body,
            read: Bytes::new(),
            more: BytesMut::new(),
            share: Some(self.budget.share()),
            body_bytes_max,
        }
    }
}

/// See the module.
pub(crate) struct Exchange {
    pipe: Pipe,
    /// Until the request has been shown, as the share.
    head: Option<Parts>,
    body: Incoming,
    /// The first piece of the body, which mostly is all of it.
    read: Bytes,
    /// All of it, if there are more.
    more: BytesMut,
    share: Option<Share>,
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
            if let Some(share) = &mut self.share
                && !share.grow(piece.len())
            {
                return Poll::Ready(Err(Refusal::BodiesTooLong(share.most())));
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

    fn show(&mut self, head: Parts, share: Share, read: Result<(), Refusal>) {
        let first = std::mem::take(&mut self.read);
        let body = if self.more.is_empty() { first } else { self.more.split().freeze() };
        let arrival = match read {
            Ok(()) => {
                let Parts { method, uri, headers, .. } = head;
                // Whose it is the connection knows.
                let request = Request { method, uri, headers, body, certificate: None };
                Arrival::Whole(request, head.version, share)
            }
            Err(refusal) => Arrival::Refused(refusal),
        };
        let mut ends = self.pipe.lock();
        ends.reads_body = false;
        ends.under_way += 1;
        ends.arrivals.push_back(arrival);
    }
}

impl Future for Exchange {
    type Output = Result<http::Response<NoBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if this.head.is_some() {
            let read = ready!(this.poll_body(context));
            if let (Some(head), Some(share)) = (this.head.take(), this.share.take()) {
                this.show(head, share, read);
            }
        }
        let ends = &mut *this.pipe.lock();
        ends.is_stuck = ends.under_way >= UNDER_WAY_MAX;
        if ends.is_stuck {
            return Poll::Pending;
        }
        let mut placeholder = http::Response::new(NoBody);
        *placeholder.status_mut() = PLACEHOLDER;
        Poll::Ready(Ok(placeholder))
    }
}

/// The body of a placeholder.
pub(crate) struct NoBody;

impl http_body::Body for NoBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        true
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(0)
    }
}
