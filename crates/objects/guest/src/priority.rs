//! How much of the processor a thread has.

/// How much less it is: about a third.
const NICER: i32 = 5;

/// This thread, and what it starts, has less of the processor than others from now on. Without the right to that it is as they are.
pub(crate) fn stand_back() {
    if let Ok(nice) = rustix::process::getpriority_process(None) {
        let _ = rustix::process::setpriority_process(None, nice + NICER);
    }
}
