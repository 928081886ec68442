//! Faults of servers while clients write, at given moments of the load.

use std::io;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use council_client::load::Patience;
use tools_testbed::meter::{Edge, Reading};

use super::gather::Read;
use crate::experiment::Fate;
use crate::measure::{Stand, StandError, beside};
use crate::task::{Outcome, Performer, Task};

/// Performs a timeline beside these faults; meters are read at its edges.
pub(super) fn perform(
    performer: &Performer,
    task: &Task,
    fates: &[(u64, Fate)],
    stand: &mut Stand,
    patience: &Patience,
    read: &mut Read,
) -> io::Result<Outcome> {
    let before = stand.pids();
    let moments = Mutex::new(Vec::new());
    let meters = &mut read.meters;
    let (outcome, befell) = beside(
        |begun| {
            performer.perform(task, None, patience, &mut |edge, phase| {
                meters.edge(edge, phase, Reading::of(&before));
                if edge == Edge::Begin {
                    begun();
                }
            })
        },
        |began| inject(fates, stand, began, &moments),
    );
    befell?.unwrap_or(Ok(())).map_err(io::Error::other)?;
    read.moments = moments.into_inner().unwrap_or_default();
    outcome
}

fn inject(
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
