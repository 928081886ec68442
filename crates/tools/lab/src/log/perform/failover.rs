//! A producer at a steady rate, and one broker of a cluster that is killed or stands still meanwhile.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use log_client::Connection;
use log_client::load::Led;
use tools_lab_report::figure;
use tools_testbed::meter::{Edge, Edges};

use super::producers::{LOOK_EVERY, OVER_WITHIN, Told, steady_at, while_producing, whole};
use super::{CLIENT, PHASE, Seen, Topic, Turn};
use crate::log::job::Fault;
use crate::log::{Mode, Stand};

/// Does the fault so many times, each time to whoever leads or follows then.
pub(super) fn perform(
    (fault, times, per_second): (Fault, u32, f64),
    stand: &mut Stand,
    turn: Turn,
    edges: &mut Edges<'_>,
) -> io::Result<Seen> {
    let topic = Topic::make(stand, (turn, "failover"), 1, Mode::PageCache)?;
    let load = steady_at(stand, (&topic, 0), per_second);
    let mut seen = Seen::default();
    let produced = while_producing(&[load], |told| {
        let mut scene = Scene { stand, topic: &topic, told, turn };
        scene.faults((fault, times), &mut seen, edges)
    })?;
    if let Some(Still { before, meanwhile }) = produced.done {
        let (without, with) = (produced.within(before), produced.within(meanwhile));
        let (without_ms, with_ms) = (without.latency_ms(99.9), with.latency_ms(99.9));
        seen.figures.insert(figure::P999_WITHOUT, without_ms);
        seen.figures.insert(figure::P999_RATIO, with_ms / without_ms);
        seen.outcome.phases.push(with);
    }
    topic.check(produced.acknowledged, turn, &mut seen.outcome)?;
    topic.delete()?;
    Ok(seen)
}

/// When a follower stood still, and a time as long before that.
struct Still {
    before: (Instant, Instant),
    meanwhile: (Instant, Instant),
}

/// How long a fault to the leader lasted for others.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outage {
    /// Until a broker that lives named another leader.
    pub(super) known: Duration,
    /// Until another broker acknowledged a batch.
    pub(super) acknowledged: Duration,
}

impl Outage {
    /// What several come to.
    pub(super) fn figures(all: &[Self]) -> BTreeMap<&'static str, f64> {
        let of = |one: fn(&Self) -> Duration| all.iter().map(one).collect::<Vec<_>>();
        let acknowledged = of(|outage| outage.acknowledged);
        let longest = acknowledged.iter().max().copied().unwrap_or_default();
        BTreeMap::from([
            (figure::TAKEOVER, median_ms(acknowledged)),
            (figure::LONGEST_TAKEOVER, longest.as_secs_f64() * 1000.0),
            (figure::NEW_LEADER, median_ms(of(|outage| outage.known))),
        ])
    }
}

struct Scene<'s> {
    stand: &'s mut Stand,
    topic: &'s Topic,
    told: &'s Told,
    turn: Turn,
}

impl Scene<'_> {
    /// Gives when a follower stood still, if that is the fault.
    fn faults(
        &mut self,
        (fault, times): (Fault, u32),
        seen: &mut Seen,
        edges: &mut Edges<'_>,
    ) -> io::Result<Option<Still>> {
        self.told.listen(self.turn.warm_up)?;
        if let Fault::FollowerStandsStill(time) = fault {
            return self.follower_stands_still(time, edges).map(Some);
        }
        let mut outages = Vec::new();
        for _ in 0..times {
            self.told.caught_up()?;
            let leader = self.whole()?.leader;
            let began = Instant::now();
            if fault == Fault::LeaderIsKilled {
                self.stand.kill_one(leader).map_err(io::Error::other)?;
            } else {
                self.stand.pause_one(leader).map_err(io::Error::other)?;
            }
            let outage = self.outage(leader, began)?;
            if fault == Fault::LeaderIsKilled {
                self.stand.restart_one(leader).map_err(io::Error::other)?;
            } else {
                self.stand.resume_one(leader).map_err(io::Error::other)?;
            }
            outages.push(outage);
            self.whole()?;
            self.told.listen(self.turn.measured)?;
        }
        seen.figures = Outage::figures(&outages);
        Ok(None)
    }

    /// Waits until another broker leads, and until another one acknowledges a batch: those that the old leader acknowledged before
    /// may arrive late.
    fn outage(&self, old: i32, began: Instant) -> io::Result<Outage> {
        let living = self.addresses().into_iter().find(|(id, _)| *id != old);
        let (_, living) = living.ok_or_else(|| io::Error::other("there is no other broker"))?;
        let mut witness = Connection::open(&living.to_string(), CLIENT, None).map_err(io::Error::other)?;
        let (mut known, mut acknowledged) = (None, None);
        loop {
            if let (Some(known), Some(acknowledged)) = (known, acknowledged) {
                return Ok(Outage { known, acknowledged });
            }
            if began.elapsed() > OVER_WITHIN {
                let what = format!("no other broker took over from broker {old} within {OVER_WITHIN:?}");
                return Err(io::Error::new(io::ErrorKind::TimedOut, what));
            }
            if let Some(told) = self.told.next(LOOK_EVERY)?
                && told.by != old
            {
                acknowledged = acknowledged.or(Some(told.at.saturating_duration_since(began)));
            }
            // It may not know of a leader for a while.
            let led = |witness| Led::ask_over(witness, &self.topic.name, 0).map_or(-1, |led| led.leader);
            if known.is_none() && ![-1, old].contains(&led(&mut witness)) {
                known = Some(began.elapsed());
            }
        }
    }

    /// A replica that is in sync and does not lead is stopped for so long, after as long a time in which nothing happens.
    fn follower_stands_still(&mut self, time: Duration, edges: &mut Edges<'_>) -> io::Result<Still> {
        self.told.caught_up()?;
        let led = self.whole()?;
        let quiet = Instant::now();
        self.told.listen(time)?;
        let follower = led.in_sync.into_iter().find(|id| *id != led.leader);
        let follower = follower.ok_or_else(|| io::Error::other("the partition has no follower"))?;
        edges(Edge::Begin, PHASE);
        let began = Instant::now();
        self.stand.pause_one(follower).map_err(io::Error::other)?;
        let listened = self.told.listen(time);
        edges(Edge::End, PHASE);
        self.stand.resume_one(follower).map_err(io::Error::other)?;
        listened?;
        self.whole()?;
        Ok(Still { before: (quiet, quiet + time), meanwhile: (began, began + time) })
    }

    /// Waits until the partition has a leader, and all replicas are in sync.
    fn whole(&self) -> io::Result<Led> {
        let mut all = whole(self.stand, self.topic, |time| self.told.listen(time))?;
        all.pop().ok_or_else(|| io::Error::other("there is no partition"))
    }

    /// The ids and addresses of all brokers.
    fn addresses(&self) -> Vec<(i32, SocketAddr)> {
        (1..).zip(self.stand.addresses()).collect()
    }
}

/// The middle of some times, milliseconds; of an even number of them, the shorter one of both.
pub(super) fn median_ms(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    let middle = times.get(times.len().saturating_sub(1) / 2).copied().unwrap_or_default();
    middle.as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_outages_is_one_of_them() {
        let times = |ms: &[u64]| ms.iter().copied().map(Duration::from_millis).collect::<Vec<_>>();
        assert_eq!(median_ms(times(&[30, 10, 20])), 20.0);
        assert_eq!(median_ms(times(&[40, 10, 20, 30])), 20.0);
        assert_eq!(median_ms(times(&[7])), 7.0);
    }
}
