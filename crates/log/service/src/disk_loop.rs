//! The disk's thread: runs the executor for what the shards ask, and tells them what became of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use log_broker::{DiskCommand, DiskEvent, DiskExecutor, Next};
use node_threads::{Clock, Mailbox, ThreadWaker};
use storage_disk::Disk;
use storage_wal::Fault;

/// What the disk's thread shares with others.
pub(crate) struct DiskLinks {
    pub(crate) commands: Arc<Mailbox<DiskCommand>>,
    pub(crate) waker: Arc<ThreadWaker>,
    pub(crate) events: Arc<Mailbox<DiskEvent>>,
    pub(crate) stopping: Arc<AtomicBool>,
}

/// Runs until it is told to stop and nothing is left to do.
///
/// # Errors
/// The disk failed.
pub(crate) fn run<D: Disk>(
    mut executor: DiskExecutor<D>,
    links: &DiskLinks,
    clock: Clock,
) -> Result<(), Fault> {
    let (mut commands, mut events) = (Vec::new(), Vec::new());
    loop {
        links.commands.take_all(&mut commands);
        let stopping = commands.is_empty() && links.stopping.load(Ordering::SeqCst);
        let next = executor.turn(&mut commands, &mut events, clock.now().mono())?;
        links.events.put_all(&mut events);
        if stopping {
            return executor.close().map(drop);
        }
        if let Next::InMs(ms) = next {
            let mail = || !links.commands.is_empty() || links.stopping.load(Ordering::SeqCst);
            links.waker.park(Some(Duration::from_millis(ms)), mail);
        }
    }
}
