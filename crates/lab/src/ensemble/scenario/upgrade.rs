//! A live ensemble goes from one build to the next, one member at a time, and back again while it still may.

use std::path::Path;
use std::time::{Duration, Instant};

use super::{Play, Setting};
use crate::ensemble::Failure;
use crate::peer::Software;

/// How long clients work among members of two builds.
const BETWEEN: Duration = Duration::from_secs(1);

/// Three members of an earlier build become members of this one; the first step is also taken back and taken again, once
/// in good order and once by a kill.
pub(super) fn upgrade(setting: &Setting) -> Result<Vec<String>, Failure> {
    let previous = setting.previous.as_deref();
    let missing =
        "no earlier build to start from: name a revision (`cargo xtask faults upgrade --from REVISION`)";
    let previous = previous.ok_or_else(|| Failure::Missing(String::from(missing)))?;
    let mut play = Play::open(&Setting { diwan: previous.to_owned(), ..setting.clone() }, 3)?;
    let present = setting.diwan.as_path();
    let mut writes = Vec::new();
    // Followers first, as operators are told to; then the same with the leader first.
    let leader = play.ensemble.leader()?;
    let mut order = play.ensemble.others(leader);
    order.push(leader);
    for (step, number) in order.iter().enumerate() {
        writes.push(replace(&mut play, *number, present, false)?);
        if step < 2 {
            writes.push(replace(&mut play, *number, previous, step == 1)?);
            writes.push(replace(&mut play, *number, present, step == 1)?);
        }
    }
    play.note_all("a member's build replaced, until the next write", &writes);
    let again = downgrade(&mut play, present, previous)?;
    play.note_all("all members taken back and forth again, until the next write", &again);
    let failed = play.crowd.failed_twice();
    if failed > 0 {
        return Err(Failure::broken(format!("{failed} operations failed, and again when tried once more")));
    }
    play.close()
}

/// While the log's feature level has not risen, a whole ensemble can go back, leader first; and forth again.
fn downgrade(play: &mut Play, present: &Path, previous: &Path) -> Result<Vec<Duration>, Failure> {
    let mut writes = Vec::new();
    for build in [previous, present] {
        let leader = play.ensemble.leader()?;
        let mut order = vec![leader];
        order.extend(play.ensemble.others(leader));
        for number in order {
            writes.push(replace(play, number, build, false)?);
        }
    }
    Ok(writes)
}

/// Another build in place of the one that a member runs.
fn replace(play: &mut Play, number: usize, build: &Path, by_kill: bool) -> Result<Duration, Failure> {
    let began = Instant::now();
    if by_kill {
        play.ensemble.kill(number)?;
    } else {
        play.ensemble.stop(number)?;
    }
    let write = play.next_write(began)?;
    play.ensemble.set_software(number, Software::Diwan(build.to_owned()));
    play.ensemble.start(number)?;
    play.crowd.all_write()?;
    play.ensemble.settle()?;
    play.crowd.work_for(BETWEEN)?;
    Ok(write)
}

/// The same where the next build can say more in the log: the level rises when the last member is of it, not before,
/// and from then on the earlier build refuses the data, and says why.
pub(super) fn upgrade_level(setting: &Setting) -> Result<Vec<String>, Failure> {
    let next = setting.next.as_deref();
    let missing = "no later build to go to: `cargo xtask faults upgrade-level` makes one";
    let next = next.ok_or_else(|| Failure::Missing(String::from(missing)))?;
    let mut play = Play::open(setting, 3)?;
    for number in play.ensemble.all() {
        if let Some(early) = play.ensemble.all().into_iter().find(|number| has_risen(&play, *number)) {
            return Err(Failure::broken(format!("the level rose at member {early} before all were new")));
        }
        replace(&mut play, number, next, false)?;
    }
    let began = Instant::now();
    while !play.ensemble.all().into_iter().all(|number| has_risen(&play, number)) {
        if began.elapsed() > Duration::from_secs(30) {
            return Err(Failure::broken("all members are new, and the level does not rise"));
        }
        play.crowd.work_for(Duration::from_millis(20))?;
    }
    play.note("all new, until the level rose", began.elapsed());
    play.ensemble.stop(1)?;
    play.ensemble.set_software(1, Software::Diwan(setting.diwan.clone()));
    play.ensemble.launch([1])?;
    let began = Instant::now();
    while !play.ensemble.has_ended(1) {
        if began.elapsed() > Duration::from_secs(30) {
            return Err(Failure::broken("an earlier build serves data that it may not understand"));
        }
        play.crowd.work_for(Duration::from_millis(20))?;
    }
    if !play.ensemble.has_said(1, "this build understands levels up to") {
        return Err(Failure::broken(format!(
            "the earlier build ended without saying why:\n{}",
            play.ensemble.log_tail(1)
        )));
    }
    play.crowd.all_write()?;
    play.ensemble.stop(1)?;
    play.ensemble.set_software(1, Software::Diwan(next.to_owned()));
    play.close()
}

/// Whether a member has said that the log's feature level rose.
fn has_risen(play: &Play, number: usize) -> bool {
    play.ensemble.has_said(number, "the feature level of the log rose")
}
