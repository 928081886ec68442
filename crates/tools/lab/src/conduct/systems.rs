//! Which systems take part in a run, and why others do not. An experiment on the council has others than one on the log.

use tools_testbed::PeerError;

use super::{News, Options, Tell};
use crate::experiment::{Experiment, Plan};
use crate::log::Contestant;
use crate::measure::System;

/// The systems of a run.
#[derive(Default)]
pub(super) struct Found {
    /// Those of experiments on the council.
    pub(super) systems: Vec<System>,
    /// Those of experiments on the log.
    pub(super) contestants: Vec<Contestant>,
    missing_systems: Vec<(String, PeerError)>,
    missing_contestants: Vec<(String, PeerError)>,
}

impl Found {
    /// Finds those that the experiments need.
    pub(super) fn of(options: &Options, plans: &[(&Experiment, Plan)], tell: &mut Tell<'_>) -> Self {
        let has_council = plans.iter().any(|(_, plan)| !plan.blocks.is_empty());
        let has_log = plans.iter().any(|(_, plan)| !plan.brokers.is_empty());
        let sources = &options.sources;
        let mut found = Self::default();
        for name in &options.systems {
            let is_contestant = Contestant::NAMES.contains(&name.as_str())
                || sources.brokers.iter().any(|(known, _)| known == name);
            let is_system = System::NAMES.contains(&name.as_str())
                || System::OF_RECIPES.contains(&name.as_str())
                || System::FLOORS_OF_RECIPES.contains(&name.as_str())
                || sources.addresses.iter().any(|(known, _)| known == name);
            let is_unknown = !is_system && !is_contestant;
            let (of_council, of_log) =
                (has_council && (is_system || is_unknown), has_log && (is_contestant || is_unknown));
            if of_council || of_log {
                tell(News::Doing(&format!("finding {name}")));
            }
            if of_council {
                match sources.find(name) {
                    Ok(system) => found.systems.push(system),
                    Err(error) => found.missing_systems.push((name.clone(), error)),
                }
            }
            if of_log {
                match Contestant::find(name, sources) {
                    Ok(contestant) => found.contestants.push(contestant),
                    Err(error) => found.missing_contestants.push((name.clone(), error)),
                }
            }
        }
        found
    }

    /// What cannot take part in that plan, and why.
    pub(super) fn missing(&self, plan: &Plan) -> &[(String, PeerError)] {
        if plan.brokers.is_empty() { &self.missing_systems } else { &self.missing_contestants }
    }

    /// Each by its name.
    pub(super) fn versions(&self) -> Vec<(String, String)> {
        let systems = self.systems.iter().map(|system| (system.name().to_owned(), system.version()));
        let mut versions: Vec<_> = systems.collect();
        for contestant in &self.contestants {
            if !versions.iter().any(|(name, _)| name == contestant.name()) {
                versions.push((contestant.name().to_owned(), contestant.version()));
            }
        }
        versions
    }
}
