//! What `hyper`'s state machine of a connection and the rest of a shard share: the bytes that came, the requests that were
//! read out of them, and what `hyper` itself would have sent. The state machine is polled by one thread only, so the lock is
//! never waited for; it is there because the whole shard may move to another thread between turns.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf as _, BytesMut};
use http::Version;
use hyper::rt::{Read, ReadBufCursor, Write};
use parking_lot::{Mutex, MutexGuard};

use crate::limits::Share;
use crate::message::{Refusal, Request};

/// Room for input, and for output, that a connection keeps until it has been silent for a while, bytes.
pub(crate) const ROOM_BYTES_MAX: usize = 8 << 10;

/// What was read.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "refusals are rare")]
pub(crate) enum Arrival {
    /// A request, in which version, and what its body takes of the budget.
    Whole(Request, Version, Share),
    /// A request that is not shown.
    Refused(Refusal),
}

#[derive(Debug, Default)]
pub(crate) struct Ends {
    pub(crate) input: BytesMut,
    /// What `hyper` has to say: interim responses, errors, and a placeholder for each response of ours.
    pub(crate) own: Vec<u8>,
    /// The head of a request is whole, and its body is being read.
    pub(crate) reads_body: bool,
    pub(crate) arrivals: VecDeque<Arrival>,
    /// Requests that were read and are not answered.
    pub(crate) under_way: usize,
    /// The state machine waits until fewer requests are under way.
    pub(crate) is_stuck: bool,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pipe(Arc<Mutex<Ends>>);

impl Pipe {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Ends> {
        self.0.lock()
    }
}

impl Ends {
    /// A silent connection holds no room here.
    pub(crate) fn give_room_back(&mut self) {
        if self.input.is_empty() {
            self.input = BytesMut::new();
        }
    }
}

impl Read for Pipe {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let input = &mut self.lock().input;
        let count = input.len().min(into.remaining());
        if count == 0 {
            return Poll::Pending;
        }
        into.put_slice(input.get(..count).unwrap_or_default());
        input.advance(count);
        if input.is_empty() && input.try_reclaim(ROOM_BYTES_MAX + 1) {
            // Much room is given back at once, the rest when the connection has been silent for a while.
            *input = BytesMut::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl Write for Pipe {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.lock().own.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
