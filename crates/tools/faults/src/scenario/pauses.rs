//! Members stand still, and go on as if nothing had been.

use std::time::{Duration, Instant};

use tools_testbed::Failure;

use super::{Play, Setting};

pub(super) fn leader_paused(setting: &Setting) -> Result<Vec<String>, Failure> {
    paused(setting, Duration::from_secs(3), true)
}

pub(super) fn leader_paused_long(setting: &Setting) -> Result<Vec<String>, Failure> {
    paused(setting, Duration::from_secs(10), true)
}

pub(super) fn follower_paused(setting: &Setting) -> Result<Vec<String>, Failure> {
    paused(setting, Duration::from_secs(10), false)
}

fn paused(setting: &Setting, time: Duration, leads: bool) -> Result<Vec<String>, Failure> {
    let mut play = Play::open(setting, 3)?;
    let mut writes = Vec::new();
    for _ in 0..setting.rounds {
        let leader = play.ensemble.leader()?;
        let number = if leads { leader } else { leader % 3 + 1 };
        let began = Instant::now();
        play.ensemble.pause(number)?;
        writes.push(play.next_write(began)?);
        if leads {
            play.next_leader(number)?;
        }
        play.crowd.work_for(time.saturating_sub(began.elapsed()))?;
        play.ensemble.resume(number)?;
        play.ensemble.settle()?;
        play.crowd.work_for(Duration::from_secs(1))?;
    }
    play.note_all("paused, until the next write", &writes);
    play.close()
}
