//! What befalls servers while clients write: done beside the load, at its moments.

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};
use std::{io, sync::mpsc};

use council_client::load::Patience;
use tools_testbed::meter::{Edge, Reading};

use super::gather::Meters;
use crate::experiment::Fate;
use crate::stand::{Performer, Stand, StandError};
use crate::task::{Outcome, Task};

/// Performs a timeline while these befall the servers; meters are read at its edges.
pub(super) fn perform(
    performer: &Performer,
    task: &Task,
    fates: &[(u64, Fate)],
    stand: &mut Stand,
    patience: &Patience,
    meters: &mut Meters,
) -> io::Result<Outcome> {
    let before = stand.pids();
    let (begin, begun) = mpsc::channel();
    let moments = Mutex::new(Vec::new());
    let outcome = thread::scope(|scope| {
        let fated = &mut *stand;
        let moments = &moments;
        let fate = scope.spawn(move || match begun.recv() {
            Ok(began) => befall(fates, fated, began, moments),
            // The load never came that far.
            Err(_) => Ok(()),
        });
        let outcome = performer.perform(task, None, patience, &mut |edge, phase| {
            meters.edge(edge, phase, Reading::of(&before));
            if edge == Edge::Begin {
                // Whoever waits for it waits no longer than this load.
                let _ = begin.send(Instant::now());
            }
        });
        drop(begin);
        let fate = fate.join().unwrap_or_else(|_| Err(StandError::Members("it panicked".into())));
        fate.map_err(io::Error::other)?;
        outcome
    });
    meters.moments = moments.into_inner().unwrap_or_default();
    outcome
}

fn befall(
    fates: &[(u64, Fate)],
    stand: &mut Stand,
    began: Instant,
    moments: &Mutex<Vec<Duration>>,
) -> Result<(), StandError> {
    for (at_ms, fate) in fates {
        // When it happens is what was asked for.
        thread::sleep(Duration::from_millis(*at_ms).saturating_sub(began.elapsed()));
        let leader = stand.leader()?;
        if let Ok(mut moments) = moments.lock() {
            moments.push(began.elapsed());
        }
        match fate {
            Fate::KillLeader => stand.kill(leader)?,
            Fate::PauseLeader(time) => stand.pause(leader, Duration::from_millis(*time))?,
            Fate::CutLeaderOff(time) => stand.cut_off(leader, Duration::from_millis(*time)),
            Fate::RollingRestart => {
                let others = (1..=stand.pids().len()).filter(|number| *number != leader);
                for number in others.chain([leader]).collect::<Vec<_>>() {
                    stand.stop(number)?;
                    stand.restart(number)?;
                }
            }
        }
    }
    Ok(())
}
