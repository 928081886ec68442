//! Members end: killed, stopped, or with the loss of their disk.

use std::time::{Duration, Instant};

use tools_testbed::Failure;

use super::{Play, Setting};

/// How long clients work between two faults.
const BETWEEN: Duration = Duration::from_millis(700);

pub(super) fn leader_killed(setting: &Setting) -> Result<Vec<String>, Failure> {
    let mut play = Play::open(setting, 3)?;
    let (mut writes, mut returns) = (Vec::new(), Vec::new());
    for _ in 0..setting.rounds * 4 {
        let leader = play.ensemble.leader()?;
        let killed = Instant::now();
        play.ensemble.kill(leader)?;
        writes.push(play.next_write(killed)?);
        play.crowd.work_for(BETWEEN)?;
        returns.push(play.ensemble.start(leader)?);
        play.crowd.work_for(BETWEEN)?;
    }
    play.note_all("leader killed, until the next write", &writes);
    play.note_all("started again, until it serves", &returns);
    play.close()
}

pub(super) fn each_killed(setting: &Setting) -> Result<Vec<String>, Failure> {
    let mut play = Play::open(setting, 3)?;
    let mut writes = Vec::new();
    for _ in 0..setting.rounds * 2 {
        for number in play.ensemble.all() {
            let killed = Instant::now();
            play.ensemble.kill(number)?;
            writes.push(play.next_write(killed)?);
            play.crowd.work_for(BETWEEN)?;
            play.ensemble.start(number)?;
        }
    }
    play.note_all("any member killed, until the next write", &writes);
    play.close()
}

pub(super) fn all_killed(setting: &Setting) -> Result<Vec<String>, Failure> {
    let mut play = Play::open(setting, 3)?;
    let mut writes = Vec::new();
    for _ in 0..setting.rounds {
        for number in play.ensemble.all() {
            play.ensemble.kill(number)?;
        }
        let began = Instant::now();
        play.ensemble.start_all()?;
        writes.push(play.next_write(began)?);
        play.crowd.work_for(BETWEEN)?;
    }
    play.note_all("all started, until the next write", &writes);
    play.close()
}

pub(super) fn rolling_restart(setting: &Setting) -> Result<Vec<String>, Failure> {
    let mut play = Play::open(setting, 3)?;
    let mut writes = Vec::new();
    for _ in 0..setting.rounds {
        for number in play.ensemble.all() {
            let began = Instant::now();
            play.ensemble.stop(number)?;
            writes.push(play.next_write(began)?);
            play.ensemble.start(number)?;
            // An operation may be met by one restart, not by two.
            play.crowd.all_write()?;
        }
    }
    play.note_all("a member stopped, until the next write", &writes);
    let failed = play.crowd.failed_twice();
    if failed > 0 {
        return Err(Failure::broken(format!("{failed} operations failed, and again when tried once more")));
    }
    play.close()
}

pub(super) fn two_of_five_killed(setting: &Setting) -> Result<Vec<String>, Failure> {
    let mut play = Play::open(setting, 5)?;
    let mut writes = Vec::new();
    for _ in 0..setting.rounds {
        let leader = play.ensemble.leader()?;
        let other = leader % 5 + 1;
        let killed = Instant::now();
        play.ensemble.kill(leader)?;
        play.ensemble.kill(other)?;
        writes.push(play.next_write(killed)?);
        play.crowd.work_for(BETWEEN)?;
        play.ensemble.start_all()?;
        play.crowd.work_for(BETWEEN)?;
    }
    play.note_all("two of five killed, until the next write", &writes);
    play.close()
}

/// So each member dies once with either neighbour: with the leader or without, with those who have the newest log or not.
pub(super) fn five_killed_in_turn(setting: &Setting) -> Result<Vec<String>, Failure> {
    let mut play = Play::open(setting, 5)?;
    let mut writes = Vec::new();
    for _ in 0..setting.rounds {
        for number in play.ensemble.all() {
            let killed = Instant::now();
            play.ensemble.kill(number)?;
            play.ensemble.kill(number % 5 + 1)?;
            writes.push(play.next_write(killed)?);
            play.crowd.work_for(BETWEEN)?;
            play.ensemble.start_all()?;
            play.crowd.all_write()?;
        }
    }
    play.note_all("two of five killed, until the next write", &writes);
    play.close()
}

pub(super) fn disk_wiped(setting: &Setting) -> Result<Vec<String>, Failure> {
    let mut play = Play::open(setting, 3)?;
    let mut times = Vec::new();
    // First the leader's disk, then a follower's that may hold that leader's second life up.
    for round in 0..setting.rounds + 1 {
        let leader = play.ensemble.leader()?;
        let number = if round == 0 { leader } else { leader % 3 + 1 };
        play.ensemble.kill(number)?;
        play.ensemble.wipe(number)?;
        times.push(play.ensemble.start(number)?);
        play.crowd.work_for(BETWEEN)?;
    }
    play.note_all("an empty disk, until it serves", &times);
    play.close()
}
