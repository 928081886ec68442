//! The published experiments, one module each: what is set up, what is varied, what is drawn, and what was published.
//!
//! An experiment is data. Its plan lists *blocks* (servers that are started together) of *specs* (a task, and where its
//! figures stand in the picture). It does not know what runs it, how often, and where figures are kept.

mod c1;
mod c2;
mod c3;
mod c4;
mod c5;
mod capacity;
mod k1;
mod k2;
mod k3;
mod log_delivery;
mod log_failover;
mod log_groups;
mod log_idle;
mod log_producers;
mod log_queue;
mod log_reassignment;
mod log_replicas;
mod log_rolling;
mod log_start;
mod log_takeover;
mod log_transactions;
mod plan;
#[cfg(test)]
mod published;
mod r1;
mod r2;
mod r3;
mod r4;
mod r5;
mod recipe_barrier;
mod recipe_counter;
mod recipe_handoff;
mod recipe_lock;
mod recipe_query;
mod scale;
mod spec;
mod text;
mod z1;
mod z2;
mod z3;
mod z4;
mod z5;
mod z6;

mod catalogue;

pub use capacity::Capacity;
pub use catalogue::CATALOGUE;
pub use plan::{Block, BrokerBlock, BrokerSpec, Plan};
pub use scale::Scale;
pub use spec::{Fate, Spec, Split};

use tools_lab_report::describe::{Description, Middle, Panel, Reference, Text};
use tools_lab_report::figure;

/// An experiment.
#[derive(Debug)]
pub struct Experiment {
    /// Its description for readers.
    pub about: &'static Description,
    /// What is to be done, on a machine that holds everything.
    plan: fn(&Scale) -> Plan,
}

impl Experiment {
    /// What is to be done, as far as the machine holds it.
    #[must_use]
    pub fn plan(&self, scale: &Scale) -> Plan {
        (self.plan)(scale).held_by(scale.capacity).counting_calls()
    }

    /// Whether it is on the log, and not on the council.
    #[must_use]
    pub fn is_on_log(&self) -> bool {
        !(self.plan)(&Scale::small()).brokers.is_empty()
    }

    /// Whether it compares live objects with the recipes of peers.
    #[must_use]
    pub fn is_on_recipes(&self) -> bool {
        (self.plan)(&Scale::small()).blocks.iter().any(|block| block.only.is_some())
    }
}

/// All of them, in the order of the papers.
pub const ALL: [&Experiment; 36] = [
    &z1::EXPERIMENT,
    &z2::EXPERIMENT,
    &z3::EXPERIMENT,
    &z4::EXPERIMENT,
    &z5::EXPERIMENT,
    &z6::EXPERIMENT,
    &c1::EXPERIMENT,
    &c2::EXPERIMENT,
    &c3::EXPERIMENT,
    &c4::EXPERIMENT,
    &c5::EXPERIMENT,
    &r1::EXPERIMENT,
    &r2::EXPERIMENT,
    &r3::EXPERIMENT,
    &r4::EXPERIMENT,
    &r5::EXPERIMENT,
    &k1::EXPERIMENT,
    &k2::EXPERIMENT,
    &k3::EXPERIMENT,
    &log_producers::EXPERIMENT,
    &log_delivery::EXPERIMENT,
    &log_transactions::EXPERIMENT,
    &log_idle::EXPERIMENT,
    &log_start::EXPERIMENT,
    &log_replicas::EXPERIMENT,
    &log_failover::EXPERIMENT,
    &log_takeover::EXPERIMENT,
    &log_rolling::EXPERIMENT,
    &log_reassignment::EXPERIMENT,
    &log_groups::EXPERIMENT,
    &log_queue::EXPERIMENT,
    &recipe_lock::EXPERIMENT,
    &recipe_handoff::EXPERIMENT,
    &recipe_barrier::EXPERIMENT,
    &recipe_counter::EXPERIMENT,
    &recipe_query::EXPERIMENT,
];

/// Those that are measured only if they are named, as are all on recipes: all together would take too long.
const ONLY_BY_NAME: [&str; 5] =
    ["log-takeover", "log-rolling", "log-reassignment", "log-groups", "log-queue"];

/// The systems of experiments on recipes that tell a client when its turn has come.
const WITH_WAITING: [&str; 5] = ["objects", "curator", "curator-diwan", "etcd", "hazelcast"];

/// What is measured if nothing is named.
pub fn by_default() -> impl Iterator<Item = &'static Experiment> {
    ALL.into_iter()
        .filter(|experiment| !ONLY_BY_NAME.contains(&experiment.about.id) && !experiment.is_on_recipes())
}

/// The experiment of that name, however it is written.
#[must_use]
pub fn named(id: &str) -> Option<&'static Experiment> {
    ALL.into_iter().find(|experiment| experiment.about.id.eq_ignore_ascii_case(id))
}

/// The experiments of a name: one, or all that are on the `council`, on the `log` or on `recipes`.
#[must_use]
pub fn all_named(name: &str) -> Vec<&'static Experiment> {
    match name.to_ascii_lowercase().as_str() {
        "council" => {
            let is_other = |one: &&Experiment| one.is_on_log() || one.is_on_recipes();
            ALL.into_iter().filter(|experiment| !is_other(experiment)).collect()
        }
        "log" => ALL.into_iter().filter(|experiment| experiment.is_on_log()).collect(),
        "recipes" => ALL.into_iter().filter(|experiment| experiment.is_on_recipes()).collect(),
        _ => named(name).into_iter().collect(),
    }
}

fn servers(count: usize) -> String {
    format!("{count} servers")
}

fn clients(count: usize) -> String {
    format!("{count} clients")
}

/// The same, where it may be one.
fn crowd_of(count: usize) -> String {
    if count == 1 { String::from("1 client") } else { clients(count) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::*;
    use crate::log::Contestant;

    #[test]
    fn every_experiment_says_everything_in_both_languages_and_has_work_at_both_scales() {
        let is_arabic = |text: &str| text.chars().any(|letter| ('\u{600}'..'\u{700}').contains(&letter));
        for experiment in ALL {
            let about = experiment.about;
            let mut texts = vec![about.title, about.source, about.setup, about.published];
            texts.extend(about.panels.iter().flat_map(|panel| [panel.title, panel.x]));
            for Text { en, ar } in texts {
                assert!(
                    !en.is_empty() && is_arabic(ar) && !is_arabic(en),
                    "{}: {en} {ar}",
                    experiment.about.id
                );
            }
            for scale in [Scale::small(), Scale::paper()] {
                let plan = experiment.plan(&scale.lasting(Duration::from_secs(1)));
                assert_ne!(plan.blocks.is_empty(), plan.brokers.is_empty(), "{}", experiment.about.id);
                assert!(!about.ratios.is_empty(), "{}", experiment.about.id);
                if experiment.is_on_log() {
                    continue;
                }
                let specs = plan.blocks.iter().flat_map(|block| &block.specs);
                let places: Vec<_> = specs.clone().map(|spec| (&spec.series, &spec.at)).collect();
                let distinct: BTreeSet<_> = places.iter().collect();
                assert_eq!(distinct.len(), places.len(), "{}: two points at one place", experiment.about.id);
                let counted: Vec<_> = specs.filter(|spec| spec.counts_calls).collect();
                assert_eq!(
                    counted.len(),
                    1,
                    "{}: system calls are counted in one point",
                    experiment.about.id
                );
                assert!(
                    counted[0].spares_servers(),
                    "{}: servers that are gone make no calls",
                    experiment.about.id
                );
            }
        }
    }

    #[test]
    fn jobs_on_the_log_have_places_of_their_own_and_contestants() {
        let diwan = Contestant::Diwan { name: String::from("diwan"), program: "diwan".into() };
        for experiment in all_named("log") {
            for scale in [Scale::small().lasting(Duration::from_millis(500)), Scale::small(), Scale::paper()]
            {
                let plan = experiment.plan(&scale);
                let specs = plan.brokers.iter().flat_map(|block| &block.specs);
                let places: Vec<_> = specs.clone().map(|spec| (&spec.series, &spec.at)).collect();
                let distinct: BTreeSet<_> = places.iter().collect();
                assert_eq!(distinct.len(), places.len(), "{}: two points at one place", experiment.about.id);
                assert!(specs.clone().all(|spec| spec.job.is_for(&diwan)), "{}", experiment.about.id);
            }
        }
    }

    #[test]
    fn concoord_takes_part_where_something_was_published_of_it() {
        let plans = ALL.iter().map(|experiment| (experiment.about.id, experiment.plan(&Scale::small())));
        let places: Vec<_> = plans
            .flat_map(|(id, plan)| plan.blocks.into_iter().map(move |block| (id, block)))
            .filter(|(_, block)| block.has_concoord)
            .collect();
        let ids: BTreeSet<_> = places.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, BTreeSet::from(["C1", "C2", "C3", "C4", "C5"]));
        let fates: Vec<_> =
            places.iter().flat_map(|(_, block)| &block.specs).flat_map(|spec| &spec.fates).collect();
        assert!(fates.iter().all(|(_, fate)| matches!(fate, Fate::KillLeader)), "{fates:?}");
    }

    #[test]
    fn an_experiment_is_found_by_its_name() {
        assert_eq!(named("z1").map(|experiment| experiment.about.id), Some("Z1"));
        assert!(named("V1").is_none());
        assert_eq!((all_named("log").len(), all_named("council").len()), (15, 16));
        assert_eq!(all_named("recipes").len(), 5);
        assert_eq!(all_named("k2").len(), 1);
    }
}
