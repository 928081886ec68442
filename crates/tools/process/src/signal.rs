//! What an interrupt does: children are in groups of their own, so a terminal's interrupt does not reach them by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Signal, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::group::groups;
use crate::{Error, Result};

/// Between the request to end and the kill when a user waits at the terminal.
const GRACE: Duration = Duration::from_millis(500);

/// On an interrupt or a request to end, kills every group and exits as a shell would report it.
///
/// # Errors
/// Signals cannot be listened to.
pub fn kill_groups_on_signal() -> Result<()> {
    listen(None)
}

/// The first interrupt or request to end sets `stop`, and the program ends by itself; a second one, or the end of the
/// terminal, kills every group and exits.
///
/// # Errors
/// Signals cannot be listened to.
pub fn stop_then_kill_groups_on_signal(stop: Arc<AtomicBool>) -> Result<()> {
    listen(Some(stop))
}

fn listen(stop: Option<Arc<AtomicBool>>) -> Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM]).map_err(Error::host("listen to", "signals"))?;
    std::thread::spawn(move || {
        for signal in signals.forever() {
            match &stop {
                Some(stop) if signal != SIGHUP && !stop.swap(true, Ordering::Relaxed) => {}
                _ => end(signal),
            }
        }
    });
    Ok(())
}

fn end(signal: i32) {
    // Held until the end: so no thread starts another group because the killed ones are gone.
    let groups = groups();
    for last in [Signal::TERM, Signal::KILL] {
        for id in groups.iter() {
            // It may have ended meanwhile.
            let _ = kill_process_group(*id, last);
        }
        if last == Signal::TERM && !groups.is_empty() {
            std::thread::sleep(GRACE);
        }
    }
    std::process::exit(128 + signal);
}
