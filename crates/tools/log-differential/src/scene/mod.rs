//! What scripts are about: each scene is one script, written with the choices that its seed decides.

mod administration;
mod body;
mod brokers;
mod cluster;
mod commits;
mod configs;
mod consumer_groups;
mod fetch;
mod groups;
mod idempotence;
mod malformed;
mod metadata;
mod offsets;
mod produce;
mod random;
mod rights;
mod security;
mod sessions;
mod topics;
mod transactions;

use serde_json::json;
use tools_testbed::dice::Dice;

use crate::schema::Schemas;
use crate::script::{Fixture, Script};
use crate::served::Served;
use crate::story::{LeftOut, Story};

/// A kind of script.
#[derive(Clone, Copy)]
pub struct Scene {
    /// Its name.
    pub name: &'static str,
    /// Whether it changes what other scripts see, so that it is played when no other is.
    pub alone: bool,
    /// What it is played on.
    pub fixture: Fixture,
    write: fn(&mut Story<'_>),
}

impl Scene {
    const fn of(name: &'static str, write: fn(&mut Story<'_>)) -> Self {
        Self { name, alone: false, fixture: Fixture::Alone, write }
    }

    /// On three brokers that are a cluster.
    const fn of_a_cluster(name: &'static str, write: fn(&mut Story<'_>)) -> Self {
        Self { name, alone: false, fixture: Fixture::Cluster, write }
    }

    /// On the brokers that check rights, where rules hold for all connections.
    const fn secured(name: &'static str, write: fn(&mut Story<'_>)) -> Self {
        Self { name, alone: true, fixture: Fixture::Secured, write }
    }
}

/// All of them. Those that wait for a rebalance come first, so that the others fill the time.
pub const ALL: &[Scene] = &[
    Scene::of("two members of a classic group", groups::two_members),
    Scene::of("a classic group in every version", groups::every_version),
    Scene::of("refused joins", groups::refused_joins),
    Scene::of("refused members", groups::refused_members),
    Scene::of("static members", groups::static_members),
    Scene::of("groups are listed and deleted", groups::administration),
    Scene::of("commits of members", commits::of_members),
    Scene::of("commits before assignments", commits::before_assignments),
    Scene::of("commits without membership", commits::without_membership),
    Scene::of("commits in every version", commits::every_version),
    Scene::of("offsets of transactions", transactions::of_offsets),
    Scene::of("consumer groups are refused", consumer_groups::refused),
    Scene::of("offsets of groups are deleted", administration::deleted_offsets),
    Scene::of("coordinators", groups::coordinators),
    Scene::of("two members of a consumer group", consumer_groups::two_members),
    Scene::of("assignments wait", consumer_groups::assignments_wait),
    Scene::of("static members of a consumer group", consumer_groups::static_members),
    Scene::of("offsets of a consumer group", consumer_groups::offsets),
    Scene::of("patterns of a consumer group", consumer_groups::patterns),
    Scene::of("transactions of the old protocol", transactions::old),
    Scene::of("transactions of the new protocol", transactions::new),
    Scene::of("transactions in every version", transactions::every_version),
    Scene::of("refused transactions", transactions::refused),
    Scene::of("producers are initialised again", transactions::initialised_again),
    Scene::of("transactions are described", transactions::described),
    Scene::of("markers from outside", transactions::markers),
    Scene::of("versions of the APIs", cluster::api_versions),
    Scene::of("metadata of topics", metadata::topics),
    Scene::of("metadata in every version", metadata::every_version),
    Scene::of("topics are made on demand", metadata::made_on_demand),
    Scene::of("topics are made", topics::made),
    Scene::of("topics are not made", topics::refused),
    Scene::of("settings of new topics", topics::settings),
    Scene::of("topics are deleted", topics::deleted),
    Scene::of("produce in every version", produce::every_version),
    Scene::of("compressed batches", produce::compressed),
    Scene::of("refused batches", produce::refused_batches),
    Scene::of("refused requests to produce", produce::refused_requests),
    Scene::of("times of records", produce::times),
    Scene::of("nobody waits for the answer", produce::without_answer),
    Scene::of("sequences of a producer", idempotence::sequences),
    Scene::of("producer ids", idempotence::producer_ids),
    Scene::of("fetch in every version", fetch::every_version),
    Scene::of("offsets to fetch from", fetch::offsets),
    Scene::of("limits of a fetch", fetch::limits),
    Scene::of("a fetch waits", fetch::waiting),
    Scene::of("epochs of a fetch", fetch::epochs),
    Scene::of("fetch sessions", sessions::incremental),
    Scene::of("wrong fetch sessions", sessions::wrong),
    Scene::of("offsets by time", offsets::by_time),
    Scene::of("offsets in every version", offsets::every_version),
    Scene::of("ends of leader epochs", offsets::leader_epochs),
    Scene::of("settings are described", configs::described),
    Scene::of("settings are changed bit by bit", configs::changed_bit_by_bit),
    Scene::of("settings are replaced", configs::replaced),
    Scene::of("settings of groups", configs::of_groups),
    Scene { alone: true, ..Scene::of("settings of the broker", configs::of_the_broker) },
    Scene { alone: true, ..Scene::of("a group without a name", commits::without_name) },
    Scene::of("the cluster", administration::cluster),
    Scene::of("controllers", administration::quorum),
    Scene::of("features", administration::features),
    Scene::of("partitions of topics", administration::partitions_of_topics),
    Scene::of("more partitions", administration::more_partitions),
    Scene::of("records are deleted", administration::deleted_records),
    Scene::of("log directories", administration::log_directories),
    Scene::of("elections", administration::elections),
    Scene::of("reassignments", administration::reassignments),
    Scene::of("access without an authorizer", security::acls),
    Scene::of("authentication that is not asked for", security::authentication),
    Scene::of("delegation tokens", security::delegation_tokens),
    Scene::of("users", security::users),
    Scene::of("quotas", security::quotas),
    Scene::of("malformed requests", malformed::bodies),
    Scene::of("unknown APIs and versions", malformed::headers),
    Scene::of("bytes that are no request", malformed::frames),
    Scene::of("drawn requests about topics", random::administration),
    Scene::of("drawn requests about records", random::records),
    Scene::of("drawn requests about groups", random::of_groups),
    Scene::of("drawn requests about transactions", random::of_transactions),
    Scene::of("drawn requests about users", random::cluster),
    Scene::secured("who somebody is", rights::authentication),
    Scene::secured("rules of access", rights::administration),
    Scene::secured("somebody without rights", rights::none),
    Scene::secured("one right at a time", rights::one_each),
    Scene::secured("rights of transactions", rights::transactions),
    Scene::secured("drawn rules of access", rights::drawn),
];

/// Scenes of which each seed shows something else. A long run goes on with them when all have been played twice.
const DRAWN: &str = "drawn ";

/// Whether all scenes have been played often enough before that script.
#[must_use]
pub fn is_beyond_rounds(number: usize) -> bool {
    const ROUNDS: usize = 2;
    number >= ROUNDS * ALL.len()
}

/// The scene of a script.
#[must_use]
pub fn of(number: usize) -> Scene {
    if !is_beyond_rounds(number) {
        return ALL[number % ALL.len()];
    }
    let drawn: Vec<&Scene> = ALL.iter().filter(|scene| scene.name.starts_with(DRAWN)).collect();
    *drawn[number % drawn.len()]
}

/// Whether scripts of that scene are played when no other is.
#[must_use]
pub fn is_alone(name: &str) -> bool {
    ALL.iter().chain(brokers::ALL).any(|scene| scene.alone && scene.name == name)
}

/// The script of that number.
///
/// # Errors
/// It needs APIs that are not served.
pub fn script(seed: u64, number: usize, served: &Served, schemas: &Schemas) -> Result<Script, LeftOut> {
    let scene = of(number);
    let dice = Dice::new(Dice::new(seed).roll() ^ number as u64);
    let story = Story::new(dice, served, schemas);
    written(&scene, story, (seed, number))
}

/// The script of that number among those of a cluster, one of each scene, or why there is none; and the scene's name.
pub fn script_of_a_cluster(
    seed: u64,
    number: usize,
    served: &Served,
    schemas: &Schemas,
) -> (&'static str, Result<Script, LeftOut>) {
    let scene = &brokers::ALL[number % brokers::ALL.len()];
    let dice = Dice::new(Dice::new(!seed).roll() ^ number as u64);
    (scene.name, written(scene, Story::new(dice, served, schemas), (seed, number)))
}

fn written(scene: &Scene, mut story: Story<'_>, (seed, number): (u64, usize)) -> Result<Script, LeftOut> {
    (scene.write)(&mut story);
    let script = story.end(seed, number, scene.name)?;
    Ok(Script { fixture: scene.fixture, ..script })
}

/// Whether that scene is played on a cluster.
#[must_use]
pub fn is_of_a_cluster(name: &str) -> bool {
    brokers::ALL.iter().any(|scene| scene.name == name)
}

/// Whether brokers end in that scene.
#[must_use]
pub fn has_deaths(name: &str) -> bool {
    brokers::ALL.iter().any(|scene| scene.alone && scene.name == name)
}

/// Whether that scene is played only if it is named: brokers end in it and start again, which takes Kafka's half a minute each time.
#[must_use]
pub fn is_only_by_name(name: &str) -> bool {
    has_deaths(name)
}

/// How many scenes a cluster has.
#[must_use]
pub fn count_of_a_cluster() -> usize {
    brokers::ALL.len()
}

pub(crate) use brokers::first_answers as first_answers_of_a_cluster;

/// Asks for all that a fresh broker does not have at once.
pub(crate) fn first_answers(story: &mut Story<'_>) {
    story.call("InitProducerId", json!({"TransactionalId": null, "TransactionTimeoutMs": 60_000}));
    for group in 0..8 {
        let group = format!("@{group}");
        story.call("FindCoordinator", json!({"Key": group, "CoordinatorKeys": [group]}));
        story.call(
            "OffsetFetch",
            json!({"GroupId": group, "Topics": [], "Groups": [{"GroupId": group, "Topics": []}]}),
        );
        if story.serves("EndTxn") {
            let id = json!({"TransactionalId": group, "TransactionTimeoutMs": 60_000});
            story.call("FindCoordinator", json!({"Key": group, "CoordinatorKeys": [group], "KeyType": 1}));
            story.call("InitProducerId", id).retry(&[51]);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::codes::CODES;

    fn everything() -> Served {
        Served::everything(CODES.iter().map(|(api, _)| *api))
    }

    #[test]
    fn names_of_scenes_differ() {
        let all = || ALL.iter().chain(brokers::ALL).map(|scene| scene.name);
        assert_eq!(all().collect::<BTreeSet<&str>>().len(), all().count());
    }

    #[test]
    fn a_seed_decides_every_script_and_a_number_its_scene() {
        let served = everything();
        for number in 0..ALL.len() {
            let one =
                |seed| script(seed, number, &served, &Schemas::default()).expect("everything is served");
            assert_eq!(one(5), one(5));
            assert_eq!(one(5).scene, of(number).name);
        }
        let all = |seed| {
            (0..ALL.len())
                .map(|number| script(seed, number, &served, &Schemas::default()).ok())
                .collect::<Vec<_>>()
        };
        assert_ne!(all(5), all(6));
    }

    #[test]
    fn a_seed_decides_every_script_of_a_cluster() {
        // The scene of share groups uses more than those whose codes are expected.
        let of_shares = [
            "ShareAcknowledge",
            "ShareFetch",
            "ShareGroupDescribe",
            "ShareGroupHeartbeat",
            "DescribeShareGroupOffsets",
            "DeleteShareGroupOffsets",
        ];
        let names = CODES.iter().chain(crate::codes_of_a_cluster::CODES).map(|(api, _)| *api);
        let served = Served::everything(names.chain(of_shares));
        let all = |seed: u64| -> Vec<Script> {
            let script = |number| script_of_a_cluster(seed, number, &served, &Schemas::default()).1;
            (0..count_of_a_cluster()).map(|number| script(number).expect("everything is served")).collect()
        };
        assert_eq!(all(5), all(5));
        assert_ne!(all(5), all(6));
        let ends = all(5).into_iter().filter(|script| {
            script.steps.iter().any(|step| matches!(step.action, crate::script::Action::End(_)))
        });
        assert!(
            ends.map(|script| script.scene).all(|scene| is_alone(&scene)),
            "others would miss the broker"
        );
    }

    #[test]
    fn every_api_whose_codes_are_expected_is_asked_in_every_version() {
        let served = everything();
        let scripts: Vec<Script> = (0..ALL.len())
            .map(|number| script(1, number, &served, &Schemas::default()).expect("everything is served"))
            .collect();
        let calls = scripts.iter().flat_map(|script| script.asked().into_iter().flatten());
        let asked: BTreeSet<(&str, i16)> = calls.map(|call| (call.api.as_str(), call.version)).collect();
        let all = CODES.iter().flat_map(|(api, _)| (0..=20).map(move |version| (*api, version)));
        let missing: Vec<_> = all.filter(|cell| !asked.contains(cell)).collect();
        assert_eq!(missing, [], "API and version");
    }

    #[test]
    fn script_of_an_api_that_is_not_served_is_left_out_with_its_reason() {
        let served = Served::everything(["Metadata"].into_iter());
        let number = ALL.iter().position(|scene| scene.name == "topics are made").expect("it is a scene");
        let why = script(1, number, &served, &Schemas::default()).expect_err("CreateTopics is not served");
        assert!(why.lacks.contains("CreateTopics") && why.uses.contains("CreateTopics"));
    }
}
