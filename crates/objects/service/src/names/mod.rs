//! The server of names in a member: its sockets, on a thread of their own, and its place at the core's thread, which looks
//! names up in the state.
//!
//! What is answered is decided in `objects-names`. Here are packets, connections and their limits.
//!
//! # Not done, and what that costs
//! - One thread reads all packets. At an address that stands for all of a host, an answer over UDP leaves by the address
//!   that the system chooses: a host with several addresses names one of them.

mod connection;
mod desk;
mod sockets;
mod thread;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use node_threads::{Clock, Supervisor, ThreadWaker, spawn};
use objects_names::{Announcement, Zone};

use crate::standing::Standing;
pub(crate) use desk::NamesDesk;
use sockets::Sockets;
use thread::NamesThread;

/// What is served as names.
#[derive(Clone, Debug)]
pub struct NamesConfig {
    /// Below which name.
    pub zone: Zone,
    /// Where this member is reached.
    pub announcement: Announcement,
}

/// A server of names that holds its port, and answers nobody yet.
pub struct PreparedNames {
    sockets: Sockets,
}

impl PreparedNames {
    /// Takes the port, for datagrams and for connections. Port 0: one that is free for both.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn new(address: SocketAddr) -> io::Result<Self> {
        Ok(Self { sockets: Sockets::bind(address)? })
    }

    /// Where it is.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.sockets.address
    }

    /// Starts to answer.
    pub(crate) fn start(
        self,
        desk: &Arc<NamesDesk>,
        standing: &Arc<Standing>,
        clock: Clock,
        supervisor: &Arc<Supervisor>,
    ) -> io::Result<NamesServer> {
        let (address, stopping) = (self.sockets.address, Arc::<AtomicBool>::default());
        let (thread, waker) = NamesThread::new(
            self.sockets,
            (Arc::clone(desk), Arc::clone(standing)),
            clock,
            Arc::clone(&stopping),
        )?;
        let thread = spawn("objects names", supervisor, move || thread.run())?;
        Ok(NamesServer { address, stopping, waker, thread: Some(thread) })
    }
}

/// A running server of names. Dropping it stops it.
pub(crate) struct NamesServer {
    pub(crate) address: SocketAddr,
    stopping: Arc<AtomicBool>,
    waker: Arc<ThreadWaker>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for NamesServer {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.waker.ring();
        // A thread that panicked has been reported by the supervisor.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
