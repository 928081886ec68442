//! Faults of all kinds, one after another and beside each other, drawn from a seed.

use std::time::{Duration, Instant};

use tools_testbed::dice::Dice;
use tools_testbed::fault::Network;
use tools_testbed::{Failure, Place};

use super::{Play, Setting, members};

/// How long one run of faults goes on before all is healed and everybody must write.
const RUN: Duration = Duration::from_secs(12);
const MEMBERS: usize = 5;

/// What a member suffers from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ill {
    Down,
    Paused,
    CutOff,
}

/// Five members of whom any two may be ill; sometimes all are killed.
pub(super) fn chaos(setting: &Setting) -> Result<Vec<String>, Failure> {
    // Where there are no namespaces the network stays as it is.
    let network = Network::lay(MEMBERS).ok();
    let place = network.as_ref().map_or_else(Place::loopback, Network::place);
    let mut ensemble = members(setting, MEMBERS, &place)?;
    for number in ensemble.all() {
        // Many snapshots, so that members that lag are given one.
        ensemble.set_keys(number, [(String::from("snapCount"), String::from("400"))]);
    }
    ensemble.start_all()?;
    let mut play = Play::over(ensemble)?;
    let mut counts = std::collections::BTreeMap::<&str, u32>::new();
    for round in 0..setting.rounds {
        let mut dice = Dice::new(setting.seed + round as u64);
        play.notes.push(format!("seed {}", setting.seed + round as u64));
        let began = Instant::now();
        let mut ill: Vec<Option<Ill>> = vec![None; MEMBERS];
        while began.elapsed() < RUN {
            let what = step(&mut play, network.as_ref(), &mut dice, &mut ill)?;
            *counts.entry(what).or_default() += 1;
            let pause = Duration::from_millis(20 << dice.below(7));
            play.crowd.work_for(pause)?;
        }
        for number in play.ensemble.all() {
            cure(&mut play, network.as_ref(), &mut ill, number)?;
        }
        if let Some(network) = &network {
            network.heal();
        }
        let healed = Instant::now();
        play.crowd.all_write()?;
        play.ensemble.settle()?;
        play.note("healed, until all write and serve", healed.elapsed());
    }
    play.notes.push(format!("{counts:?}"));
    play.close()
}

#[expect(clippy::too_many_lines, reason = "one draw, and an arm for each fault that it may be")]
fn step(
    play: &mut Play,
    network: Option<&Network>,
    dice: &mut Dice,
    ill: &mut [Option<Ill>],
) -> Result<&'static str, Failure> {
    let number = dice.below(MEMBERS) + 1;
    if ill[number - 1].is_some() {
        cure(play, network, ill, number)?;
        return Ok("cured");
    }
    let ill_ones = ill.iter().flatten().count();
    let number = match play.ensemble.leader_now() {
        // Leaders are of more interest.
        Some(leader) if dice.once_in(3) && ill[leader - 1].is_none() => leader,
        _ => number,
    };
    if ill_ones == 0 && dice.once_in(12) {
        for number in play.ensemble.all() {
            play.ensemble.kill(number)?;
        }
        play.ensemble.launch(play.ensemble.all())?;
        return Ok("all killed");
    }
    // One that was wiped before must hold everything again before another loses what it had.
    if ill_ones == 0 && dice.once_in(6) {
        play.ensemble.settle()?;
        play.ensemble.kill(number)?;
        play.ensemble.wipe(number)?;
        ill[number - 1] = Some(Ill::Down);
        return Ok("wiped");
    }
    if ill_ones >= MEMBERS / 2 {
        return Ok("nothing");
    }
    let (what, is) = match (dice.below(7), network) {
        (0 | 1, _) => {
            play.ensemble.kill(number)?;
            ("killed", Ill::Down)
        }
        (2, _) => {
            play.ensemble.stop(number)?;
            ("stopped", Ill::Down)
        }
        (3, _) => {
            play.ensemble.pause(number)?;
            ("paused", Ill::Paused)
        }
        (4, Some(network)) => {
            network.cut_off(number);
            ("cut off", Ill::CutOff)
        }
        (5, Some(network)) => {
            network.cut(number, dice.below(MEMBERS + 1));
            ("cut one way", Ill::CutOff)
        }
        (6, Some(network)) if ill_ones == 0 => {
            network.impair(Duration::from_millis(dice.below(40) as u64), dice.below(4));
            return Ok("impaired");
        }
        _ => {
            play.ensemble.kill(number)?;
            play.ensemble.launch([number])?;
            return Ok("killed and started");
        }
    };
    ill[number - 1] = Some(is);
    Ok(what)
}

fn cure(
    play: &mut Play,
    network: Option<&Network>,
    ill: &mut [Option<Ill>],
    number: usize,
) -> Result<(), Failure> {
    match ill[number - 1].take() {
        None => {}
        Some(Ill::Down) => play.ensemble.launch([number])?,
        Some(Ill::Paused) => play.ensemble.resume(number)?,
        Some(Ill::CutOff) => {
            if let Some(network) = network {
                network.mend(number);
            }
        }
    }
    Ok(())
}
