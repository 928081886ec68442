//! A producer at a steady rate, and one broker of a cluster that is killed or stands still meanwhile.

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use log_client::Connection;
use log_client::load::{Acknowledged, Led, Steady, steady};
use tools_lab_report::figure;
use tools_testbed::meter::{Edge, Edges};

use super::{CLIENT, PHASE, Seen, Topic, Turn};
use crate::log::job::{Fault, MESSAGE_BYTES};
use crate::log::{Mode, Stand};
use crate::measure::Phase;

/// Messages that are due together: what a producer with the rate of the job gathers within `linger.ms`, by default 5.
const GROUP: usize = 5;
/// How long a fault may keep producers from the partition, and a broker from coming back: a client waits 30 s for an answer, and a
/// cold JVM that starts beside two others needs most of a minute.
const OVER_WITHIN: Duration = Duration::from_secs(150);
/// How old a message may be when it is acknowledged by a producer that has caught up: more waits after an outage.
const CAUGHT_UP: Duration = Duration::from_millis(100);
/// Between two looks who leads. Not a synchronisation: only how often we look.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Does the fault so many times, each time to whoever leads or follows then.
pub(super) fn perform(
    (fault, times, per_second): (Fault, u32, f64),
    stand: &mut Stand,
    turn: Turn,
    edges: &mut Edges<'_>,
) -> io::Result<Seen> {
    let topic = Topic::make(stand, (turn, "failover"), 1, Mode::PageCache)?;
    let load = Steady {
        brokers: stand.addresses(),
        topic: topic.name.clone(),
        partition: 0,
        per_second: per_second / GROUP as f64,
        group: GROUP,
        message_bytes: MESSAGE_BYTES,
    };
    let mut seen = Seen::default();
    let (is_over, (sender, receiver)) = (AtomicBool::new(false), mpsc::channel());
    let (faulted, produced) = thread::scope(|scope| {
        let over = &is_over;
        let running = scope.spawn(move || steady(&load, over, &sender));
        let mut scene = Scene { stand, topic: topic.name.clone(), told: receiver, turn };
        let faulted = scene.faults((fault, times), &mut seen, edges);
        is_over.store(true, Ordering::Relaxed);
        (faulted, running.join().unwrap_or_else(|_| Err(io::Error::other("the producer has panicked"))))
    });
    // Why the producer has ended says more than that it has.
    let acknowledged = produced?;
    faulted?;
    topic.check(acknowledged, turn, &mut seen.outcome)?;
    topic.delete()?;
    Ok(seen)
}

/// How long a fault to the leader lasted for others.
#[derive(Clone, Copy, Debug, Default)]
struct Outage {
    /// Until a broker that lives named another leader.
    known: Duration,
    /// Until another broker acknowledged a batch.
    acknowledged: Duration,
}

struct Scene<'s> {
    stand: &'s mut Stand,
    topic: String,
    told: Receiver<Acknowledged>,
    turn: Turn,
}

impl Scene<'_> {
    fn faults(
        &mut self,
        (fault, times): (Fault, u32),
        seen: &mut Seen,
        edges: &mut Edges<'_>,
    ) -> io::Result<()> {
        self.listen(self.turn.warm_up, |_| ())?;
        if let Fault::FollowerStandsStill(time) = fault {
            seen.outcome.phases.push(self.follower_stands_still(time, edges)?);
            return Ok(());
        }
        let mut outages = Vec::new();
        for _ in 0..times {
            self.caught_up()?;
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
            self.listen(self.turn.measured, |_| ())?;
        }
        let of = |one: fn(&Outage) -> Duration| outages.iter().map(one).collect::<Vec<_>>();
        let acknowledged = of(|outage| outage.acknowledged);
        let longest = acknowledged.iter().max().copied().unwrap_or_default();
        seen.figures.insert(figure::TAKEOVER, median_ms(acknowledged));
        seen.figures.insert(figure::LONGEST_TAKEOVER, longest.as_secs_f64() * 1000.0);
        seen.figures.insert(figure::NEW_LEADER, median_ms(of(|outage| outage.known)));
        Ok(())
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
            if let Some(told) = self.next(LOOK_EVERY)?
                && told.by != old
            {
                acknowledged = acknowledged.or(Some(told.at.saturating_duration_since(began)));
            }
            // It may not know of a leader for a while.
            let led = |witness| Led::ask_over(witness, &self.topic, 0).map_or(-1, |led| led.leader);
            if known.is_none() && ![-1, old].contains(&led(&mut witness)) {
                known = Some(began.elapsed());
            }
        }
    }

    /// What the producer saw while a replica that is in sync and does not lead was stopped for so long.
    fn follower_stands_still(&mut self, time: Duration, edges: &mut Edges<'_>) -> io::Result<Phase> {
        self.caught_up()?;
        let led = self.whole()?;
        let follower = led.in_sync.into_iter().find(|id| *id != led.leader);
        let follower = follower.ok_or_else(|| io::Error::other("the partition has no follower"))?;
        let mut phase = Phase::new(PHASE);
        edges(Edge::Begin, PHASE);
        let began = Instant::now();
        self.stand.pause_one(follower).map_err(io::Error::other)?;
        let until = began + time;
        let last = Cell::new(began);
        let mut note = |told: Acknowledged| {
            last.set(told.due);
            if (began..until).contains(&told.due) {
                phase.record(told.at.saturating_duration_since(told.due));
            }
        };
        let listened = self.listen(time, &mut note);
        edges(Edge::End, PHASE);
        self.stand.resume_one(follower).map_err(io::Error::other)?;
        listened?;
        // What was due meanwhile may be acknowledged later.
        let within = Instant::now() + OVER_WITHIN;
        while last.get() < until && Instant::now() < within {
            self.next(LOOK_EVERY)?.into_iter().for_each(&mut note);
        }
        phase.operations *= GROUP as u64;
        phase.elapsed = time;
        self.whole()?;
        Ok(phase)
    }

    /// Waits until the producer has no messages left of the outage before: what it still sends of them would count for the next one.
    fn caught_up(&self) -> io::Result<()> {
        let began = Instant::now();
        while began.elapsed() < OVER_WITHIN {
            if self.next(LOOK_EVERY)?.is_some_and(|told| told.at > began && told.at - told.due < CAUGHT_UP) {
                return Ok(());
            }
        }
        let what = format!("the producer did not catch up within {OVER_WITHIN:?}");
        Err(io::Error::new(io::ErrorKind::TimedOut, what))
    }

    /// Waits until the partition has a leader, and all replicas are in sync.
    fn whole(&self) -> io::Result<Led> {
        let (all, began) = (self.addresses(), Instant::now());
        loop {
            let led = all.iter().find_map(|(_, address)| Led::ask(*address, &self.topic, 0).ok());
            match led {
                Some(led) if led.leader >= 0 && led.in_sync.len() == all.len() => return Ok(led),
                _ if began.elapsed() > OVER_WITHIN => {
                    let what = format!("not all replicas are in sync within {OVER_WITHIN:?}: {led:?}");
                    return Err(io::Error::new(io::ErrorKind::TimedOut, what));
                }
                _ => self.listen(LOOK_EVERY * 10, |_| ())?,
            }
        }
    }

    /// The ids and addresses of all brokers.
    fn addresses(&self) -> Vec<(i32, SocketAddr)> {
        (1..).zip(self.stand.addresses()).collect()
    }

    /// Takes what the producer tells for so long.
    fn listen(&self, time: Duration, mut each: impl FnMut(Acknowledged)) -> io::Result<()> {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.next(left)? {
                Some(told) => each(told),
                None if left.is_zero() => return Ok(()),
                None => {}
            }
        }
    }

    /// The next acknowledgement, if one comes within that time.
    fn next(&self, within: Duration) -> io::Result<Option<Acknowledged>> {
        match self.told.recv_timeout(within) {
            Ok(told) => Ok(Some(told)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("the producer has ended")),
        }
    }
}

/// The middle of some times, milliseconds; of an even number of them, the shorter one of both.
fn median_ms(mut times: Vec<Duration>) -> f64 {
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
