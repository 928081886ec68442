//! What `hyper`'s state machine of a connection and the rest of a shard share: bytes in both directions, the request that
//! has come, its reply, and the pieces of a streamed body. The state machine is polled by one thread only, so the lock is
//! never waited for; it is there because the whole shard may move to another thread between turns.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf as _, Bytes, BytesMut};
use hyper::rt::{Read, ReadBufCursor, Write};
use parking_lot::{Mutex, MutexGuard};

use crate::message::{Refusal, Request, Response};

/// Unsent bytes of a connection beyond which no more of its response is encoded.
const OUTPUT_BYTES_MAX: usize = 256 << 10;

/// What has become of the request that is being read.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "refusals are rare")]
pub(crate) enum Arrival {
    Whole(Request),
    Refused(Refusal),
}

/// The pieces of a body that is streamed.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    pub(crate) waiting: VecDeque<Bytes>,
    pub(crate) bytes: usize,
    /// The handler has said all.
    pub(crate) finished: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Ends {
    pub(crate) input: BytesMut,
    pub(crate) output: Vec<u8>,
    /// Bytes that were taken from there and are not sent yet.
    pub(crate) unsent: usize,
    /// More would have been written if there had been room.
    pub(crate) is_full: bool,
    /// The head of a request is whole, and its body is being read.
    pub(crate) reads_body: bool,
    pub(crate) arrival: Option<Arrival>,
    pub(crate) reply: Option<Response>,
    pub(crate) pieces: Pieces,
    /// The body that was streamed is over: sent to its end, or its connection is gone.
    pub(crate) stream_over: bool,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pipe(Arc<Mutex<Ends>>);

impl Pipe {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Ends> {
        self.0.lock()
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
        if input.is_empty() {
            // An idle connection holds no room here.
            *input = BytesMut::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl Write for Pipe {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let ends = &mut *self.lock();
        let before = ends.output.len();
        for bytes in slices {
            let room = OUTPUT_BYTES_MAX.saturating_sub(ends.unsent + ends.output.len());
            ends.output.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        }
        let taken = ends.output.len() - before;
        ends.is_full = taken < slices.iter().map(|bytes| bytes.len()).sum();
        if taken == 0 && ends.is_full { Poll::Pending } else { Poll::Ready(Ok(taken)) }
    }
}
