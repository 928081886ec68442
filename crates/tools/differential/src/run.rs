//! Plays many seeds on one pair of servers after another, shrinks what fails, and adds up.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tools_testbed::PeerError;

use super::compare::{Ours, Verdict, compare};
use super::coverage::Coverage;
use super::generate;
use super::pair::{Contestants, Pair};
use super::script::{Profile, Script};

/// How often a failing script is played again in search of a shorter one.
const SHRINK_ATTEMPTS: usize = 60;

/// What to play.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seeds.
    pub seeds: Vec<u64>,
    /// Only these blocks of each script; all if `None`.
    pub blocks: Option<Vec<usize>>,
    /// Whether to go on after a failure.
    pub keep_going: bool,
    /// Which side is ours.
    pub ours: Ours,
    /// How to play a seed again: the start of the command.
    pub command: String,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Seeds without an unexcused difference.
    pub passed: usize,
    /// Seeds with one.
    pub failed: usize,
    /// Requests sent to each server.
    pub operations: usize,
    /// Excused differences, by entry of the table.
    pub on_purpose: BTreeMap<&'static str, usize>,
    /// What the left server answered.
    pub coverage: Coverage,
}

/// Seeds from 1 on, until their scripts hold at least so many operations.
#[must_use]
pub fn seeds_for(operations: usize) -> Vec<u64> {
    let mut total = 0;
    (1..)
        .take_while(|seed| {
            let more = total < operations;
            total += generate::script(*seed).operations();
            more
        })
        .collect()
}

/// Plays the plan; reports of failures go to `report` as they happen.
///
/// # Errors
/// A server does not start.
pub fn run(plan: &Plan, contestants: &Contestants, report: &mut dyn FnMut(&str)) -> Result<Tally, PeerError> {
    let mut tally = Tally::default();
    for profile in Profile::ALL {
        let scripts: Vec<Script> =
            plan.seeds.iter().map(|seed| script(plan, *seed)).filter(|s| s.profile == profile).collect();
        if scripts.is_empty() {
            continue;
        }
        let mut pair = Pair::start(contestants, profile)?;
        for script in scripts {
            tally.operations += script.operations();
            let (verdict, clean) = judge(&pair, &script, plan.ours);
            tally.coverage.merge(&verdict.coverage);
            for (entry, count) in &verdict.on_purpose {
                *tally.on_purpose.entry(entry).or_default() += count;
            }
            let Err(failure) = clean else {
                tally.passed += 1;
                continue;
            };
            tally.failed += 1;
            report(&failure);
            pair.afresh()?;
            shrink(&mut pair, &script, plan, report)?;
            if !plan.keep_going {
                return Ok(tally);
            }
        }
    }
    Ok(tally)
}

fn script(plan: &Plan, seed: u64) -> Script {
    let whole = generate::script(seed);
    plan.blocks.as_ref().map_or_else(|| whole.clone(), |blocks| whole.only(blocks))
}

/// Plays one script: what was seen, and the failure as text if there is one.
fn judge(pair: &Pair, script: &Script, ours: Ours) -> (Verdict, Result<(), String>) {
    let [left, right] = pair.play(script);
    let (left, right) = match (left, right) {
        (Ok(left), Ok(right)) => (left, right),
        (left, right) => {
            let [log_left, log_right] = pair.logs();
            let mut text = format!("seed {}: a server cannot be put in order after the script", script.seed);
            for (name, result, log) in [("left", left, log_left), ("right", right, log_right)] {
                if let Err(error) = result {
                    let _ = write!(text, "\n  {name}: {error}\n{log}");
                }
            }
            return (Verdict::default(), Err(text));
        }
    };
    let verdict = compare(script, &left, &right, ours);
    let failure = verdict
        .difference
        .as_ref()
        .map(|difference| format!("seed {}: the servers differ\n{difference}", script.seed));
    (verdict, failure.map_or(Ok(()), Err))
}

/// Drops blocks as long as the rest still fails, then says how to play what is left.
fn shrink(
    pair: &mut Pair,
    script: &Script,
    plan: &Plan,
    report: &mut dyn FnMut(&str),
) -> Result<(), PeerError> {
    let all = plan.blocks.clone().unwrap_or_else(|| (0..script.blocks.len()).collect());
    let whole = generate::script(script.seed);
    let mut shortest = None;
    let keep = tools_testbed::shrink(all, SHRINK_ATTEMPTS, |candidate| {
        let Err(failure) = judge(pair, &whole.only(candidate), plan.ours).1 else { return Ok(false) };
        shortest = Some(failure);
        pair.afresh()?;
        Ok::<bool, PeerError>(true)
    })?;
    let blocks: Vec<String> = keep.iter().map(ToString::to_string).collect();
    let mut text = String::new();
    if let Some(shortest) = shortest {
        let _ = writeln!(text, "shrunk to {} of {} blocks:\n{shortest}", keep.len(), whole.blocks.len());
        for index in &keep {
            for step in &whole.blocks[*index].steps {
                let _ = writeln!(text, "    [{index}] {step}");
            }
        }
    }
    let _ = write!(text, "replay: {} --seeds {} --blocks {}", plan.command, script.seed, blocks.join(","));
    report(&text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_hold_as_many_operations_as_asked_for_and_no_seed_more() {
        let seeds = seeds_for(1000);
        let count =
            |seeds: &[u64]| seeds.iter().map(|seed| generate::script(*seed).operations()).sum::<usize>();
        assert!(count(&seeds) >= 1000 && count(&seeds[..seeds.len() - 1]) < 1000);
    }
}
