//! All brokers of a cluster are stopped on purpose and started again, one after the other, while producers go on.

use std::io;
use std::time::Instant;

use super::producers::{steady_all, while_producing, whole};
use super::{Seen, Topic, Turn};
use crate::log::{Mode, Stand};

/// A broker is stopped (SIGTERM) as soon as the one before it is back and all replicas are in sync. Producers retry with the timers of
/// Kafka's Java client: one that cannot deliver a message in time fails the point, as a message that is lost or there twice.
pub(super) fn perform(
    (producers, per_second): (i32, f64),
    stand: &mut Stand,
    turn: Turn,
) -> io::Result<Seen> {
    let topic = Topic::make(stand, (turn, "rolling"), producers, Mode::PageCache)?;
    let loads = steady_all(stand, &topic, per_second);
    let produced = while_producing(&loads, |told| {
        told.listen(turn.warm_up)?;
        told.caught_up()?;
        let began = Instant::now();
        for (id, _) in (1..).zip(stand.addresses()) {
            whole(stand, &topic, |time| told.listen(time))?;
            stand.stop_one(id).map_err(io::Error::other)?;
            stand.restart_one(id).map_err(io::Error::other)?;
        }
        whole(stand, &topic, |time| told.listen(time))?;
        told.listen(turn.measured)?;
        Ok((began, Instant::now()))
    })?;
    let mut seen = Seen::default();
    seen.outcome.phases.push(produced.within(produced.done));
    topic.check(produced.acknowledged, turn, &mut seen.outcome)?;
    topic.delete()?;
    Ok(seen)
}
