//! A broker that stops hands over what it leads first, so that no client has to wait until its loss is noticed.
//!
//! # Invariants
//! - *Bounded.* Nobody waits longer than [`HAND_OVER_MAX`], nor for what no other broker could lead, nor after a fault.

use std::time::{Duration, Instant};

use log_broker::Broker;
use node_threads::{Mailbox, Supervisor};
use parking_lot::Mutex;

use crate::mail::ShardMail;

/// How long others may take to lead what this broker led.
const HAND_OVER_MAX: Duration = Duration::from_secs(10);
/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(10);
/// How long clients are still told who leads now, and followers acknowledge, before the connections end.
const LINGER: Duration = Duration::from_millis(250);

/// Has the partitions led that this broker leads by others, and waits for that. `first` is the mailbox of the first shard.
pub(crate) fn hand_over(broker: &Mutex<Broker>, first: &Mailbox<ShardMail>, supervisor: &Supervisor) {
    let led = broker.lock().to_hand_over();
    first.put(ShardMail::Drain);
    if led == 0 || supervisor.has_failed() {
        return;
    }
    tracing::info!(partitions = led, "what this broker leads is handed over to others");
    let begun = Instant::now();
    let mut left = led;
    while left > 0 && begun.elapsed() < HAND_OVER_MAX && !supervisor.has_failed() {
        std::thread::sleep(LOOK);
        left = broker.lock().to_hand_over();
    }
    let after_ms = begun.elapsed().as_millis();
    if left > 0 {
        tracing::warn!(
            partitions = left,
            after_ms,
            "this broker stops although it leads partitions still: others take them over when its connections end"
        );
    } else {
        tracing::info!(after_ms, "others lead what this broker led");
    }
    std::thread::sleep(LINGER);
}
