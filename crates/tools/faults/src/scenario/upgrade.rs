//! A live ensemble goes from one build to the next, one member at a time, and back again while it still may.

use std::path::Path;
use std::time::{Duration, Instant};

use tools_testbed::{Failure, Software};

use super::{Play, Setting};

/// How long clients work among members of two builds.
const BETWEEN: Duration = Duration::from_secs(1);
/// How long the level may take to rise when all members are new, and a build to see that it is of no use.
const RISE_MAX: Duration = Duration::from_secs(30);

/// Three members of an earlier build become members of this one; the first step is also taken back and taken again, once
/// in good order and once by a kill.
pub(super) fn upgrade(setting: &Setting) -> Result<Vec<String>, Failure> {
    let previous = setting.previous.as_deref();
    let missing =
        "no earlier build to start from: name a revision (`cargo xtask faults upgrade --from REVISION`)";
    let previous = previous.ok_or_else(|| Failure::Missing(String::from(missing)))?;
    let mut play = Play::open(&Setting { diwan: previous.to_owned(), ..setting.clone() }, 3)?;
    let present = setting.diwan.as_path();
    play.crowd.work_for(BETWEEN)?;
    let before = highest_level(&play);
    let mut writes = Vec::new();
    // Followers first, as operators are told to; then the same with the leader first.
    let leader = play.ensemble.leader()?;
    let mut order = play.ensemble.others(leader);
    order.push(leader);
    for (step, number) in order.iter().enumerate() {
        if highest_level(&play) > before {
            return Err(Failure::broken("the level rose before all members were new"));
        }
        writes.push(replace(&mut play, *number, present, false)?);
        if step < 2 {
            writes.push(replace(&mut play, *number, previous, step == 1)?);
            writes.push(replace(&mut play, *number, present, step == 1)?);
        }
    }
    play.note_all("a member's build replaced, until the next write", &writes);
    // The present build may have more to say, and says so as soon as all members are of it.
    play.crowd.work_for(BETWEEN * 2)?;
    if highest_level(&play) > before {
        expect_refusal(&mut play, previous, present)?;
        play.notes.push(String::from("the level rose: the earlier build refuses the data"));
    } else {
        let again = downgrade(&mut play, present, previous)?;
        play.note_all("all members taken back and forth again, until the next write", &again);
    }
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
    play.crowd.work_for(BETWEEN)?;
    let before = highest_level(&play);
    for number in play.ensemble.all() {
        if highest_level(&play) > before {
            return Err(Failure::broken("the level rose before all members were new"));
        }
        replace(&mut play, number, next, false)?;
    }
    let began = Instant::now();
    while play.ensemble.all().into_iter().any(|number| level(&play, number) <= before) {
        if began.elapsed() > RISE_MAX {
            return Err(Failure::broken("all members are new, and the level does not rise"));
        }
        play.crowd.work_for(Duration::from_millis(20))?;
    }
    play.note("all new, until the level rose", began.elapsed());
    expect_refusal(&mut play, &setting.diwan, next)?;
    play.close()
}

/// One member is taken back to the earlier build, which must refuse its data and say why; and forth again.
fn expect_refusal(play: &mut Play, earlier: &Path, present: &Path) -> Result<(), Failure> {
    play.ensemble.stop(1)?;
    play.ensemble.set_software(1, Software::Diwan(earlier.to_owned()));
    play.ensemble.launch([1])?;
    let began = Instant::now();
    while !play.ensemble.has_ended(1) {
        if began.elapsed() > RISE_MAX {
            return Err(Failure::broken("an earlier build serves data that it may not understand"));
        }
        play.crowd.work_for(Duration::from_millis(20))?;
    }
    if !play.ensemble.has_said(1, "understands levels up to") {
        let log = play.ensemble.log_tail(1);
        return Err(Failure::broken(format!("the earlier build ended without saying why:\n{log}")));
    }
    play.crowd.all_write()?;
    // It is gone already.
    play.ensemble.kill(1)?;
    play.ensemble.set_software(1, Software::Diwan(present.to_owned()));
    play.ensemble.start(1)?;
    play.crowd.all_write()
}

/// The highest feature level of the log that a member has told of.
fn level(play: &Play, number: usize) -> u32 {
    let told = play.ensemble.said(number, "the feature level of the log rose");
    let levels = told.iter().filter_map(|line| line.split_once(" level=")?.1.split(' ').next()?.parse().ok());
    levels.max().unwrap_or(0)
}

fn highest_level(play: &Play) -> u32 {
    play.ensemble.all().into_iter().map(|number| level(play, number)).max().unwrap_or(0)
}
