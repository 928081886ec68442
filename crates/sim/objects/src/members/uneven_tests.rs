//! Whole members of which one is not as the others: its engine comes to other results, or its memory rots.

use std::collections::BTreeMap;

use base::Random;
use consensus_replica::lifecycle::Ending;
use objects_http::{HttpResponse, Say};
use objects_state::{DESCRIPTION_SECTION, ObjectName, type_named};

use crate::members::edge::{FromClient, HttpCall};
use crate::members::node::Modules;
use crate::members::{Members, setting};

/// How long anything may take, milliseconds.
const PATIENCE_MS: u64 = 120_000;
/// Calls of other objects: more than lie between two comparisons of members.
const OTHERS: u64 = 150;

/// Members without faults, and one who asks them.
struct Group {
    members: Members,
    random: Random,
    asked: u64,
    responses: BTreeMap<u64, HttpResponse>,
}

impl Group {
    fn new(count: u64, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut config = setting::draw(&mut random);
        config.modules = Modules::Words;
        let mut members = Members::new(count, config, random.fork());
        members.may_differ = true;
        let mut group = Self { members, random, asked: 0, responses: BTreeMap::new() };
        group.until("they serve", |members| members.is_at_rest());
        group
    }

    fn moment(&mut self) {
        self.members.moment(None);
        for (_, say) in std::mem::take(&mut self.members.record.says) {
            if let Say::Respond(attempt, response) = say {
                self.responses.insert(attempt, response);
            }
        }
    }

    fn until(&mut self, what: &str, holds: impl Fn(&mut Members) -> bool) {
        let until_ms = self.members.sim.now_ms() + PATIENCE_MS;
        while !holds(&mut self.members) {
            self.moment();
            let is_late = self.members.sim.now_ms() > until_ms;
            assert!(!is_late, "{what}: never{}", self.members.describe());
        }
    }

    fn pass(&mut self, ms: u64) {
        let until_ms = self.members.sim.now_ms() + ms;
        while self.members.sim.now_ms() < until_ms {
            self.moment();
        }
    }

    /// A request, until it is answered by a member that serves.
    fn ask(&mut self, at: u64, method: &'static str, path: &str, body: &[u8]) -> (u16, String) {
        let is_module = path.starts_with("types/");
        let fields =
            if is_module { vec![("content-type", String::from("application/wasm"))] } else { Vec::new() };
        let http = HttpCall { method, target: format!("/v1/{path}"), fields, body: body.to_vec() };
        let until_ms = self.members.sim.now_ms() + PATIENCE_MS;
        loop {
            self.asked += 1;
            let number = self.asked;
            if let Some(node) = self.members.node(at) {
                node.receive(0, FromClient::Request(number, http.clone()));
                for _ in 0..2_000 {
                    self.moment();
                    if let Some(response) = self.responses.remove(&number) {
                        let passes =
                            ["no-leader", "type-not-ready"].iter().any(|slug| response.body.contains(slug));
                        if passes {
                            break;
                        }
                        return (response.status, response.body);
                    }
                }
            }
            self.moment();
            assert!(
                self.members.sim.now_ms() < until_ms,
                "{path} is not answered{}",
                self.members.describe()
            );
        }
    }

    fn done(&mut self, at: u64, method: &'static str, path: &str, body: &[u8]) -> String {
        let (status, body) = self.ask(at, method, path, body);
        assert!((200..300).contains(&status), "{path}: {status} {body}");
        body
    }

    /// With objects `a` and `b` of a type of users.
    fn with_objects(count: u64, seed: u64) -> Self {
        let mut group = Self::new(count, seed);
        let description = r#"{"methods":{"add":{"kind":"command"},"get":{"kind":"query"}}}"#;
        let mut module = b"\0asm\x01\0\0\0".to_vec();
        module.extend([0, (1 + DESCRIPTION_SECTION.len() + description.len()) as u8]);
        module.push(DESCRIPTION_SECTION.len() as u8);
        module.extend([DESCRIPTION_SECTION.as_bytes(), description.as_bytes()].concat());
        group.done(1, "POST", "types/hits", &module);
        group.done(1, "PUT", "objects/hits/a", b"{}");
        group.done(1, "PUT", "objects/hits/b", b"{}");
        group
    }

    fn any(&mut self) -> u64 {
        1 + self.random.below(self.members.numbers().len() as u64)
    }

    fn quarantined(&mut self, at: u64, path: &str) -> bool {
        let described = self.done(at, "GET", path, b"");
        described.contains("members came to different results of its run at position")
    }

    fn values(&mut self, path: &str) -> Vec<String> {
        let numbers = self.members.numbers();
        numbers.into_iter().map(|at| self.done(at, "GET", path, b"")).collect()
    }

    /// Of the members' states, once they are at the same position.
    fn digests(&mut self) -> std::collections::BTreeSet<u64> {
        let positions = |members: &mut Members| -> Vec<u64> {
            let numbers = members.numbers();
            numbers.into_iter().filter_map(|number| Some(members.node(number)?.state().position())).collect()
        };
        self.until("all are equally far", |members| {
            positions(members).windows(2).all(|two| two[0] == two[1])
        });
        let numbers = self.members.numbers();
        numbers.into_iter().filter_map(|number| Some(self.members.node(number)?.state().digest())).collect()
    }

    fn ended(&self) -> &[(u64, Ending)] {
        &self.members.differed
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story, from the first run that differs to the repair")]
fn object_that_runs_differently_at_one_member_is_stopped_at_all_and_that_member_comes_back_once() {
    for seed in 0..12 {
        let mut group = Group::with_objects(3, seed);
        let odd = 1 + seed % 3;
        // Its engine stays as it is, whatever happens.
        group.members.uneven.insert(odd, 1);
        group.members.restart(odd);
        group.until("it serves again", |members| members.is_at_rest());
        let mut added = 0;
        for number in 0..20 {
            let args: &[u8] = if number == 7 { b"{\"uneven\":1}" } else { b"{}" };
            let sound = 1 + (odd + number % 2) % 3;
            added += 1;
            let result = group.done(sound, "POST", "objects/hits/a/add", args);
            assert_eq!(result, format!("{{\"value\":{added}}}"), "seed {seed}");
        }
        // All else goes on, at all members, and nothing that was answered is lost.
        let (mut counted, mut others) = (0, 0);
        while counted < OTHERS || !group.quarantined(1 + odd % 3, "objects/hits/a") {
            let sound = 1 + (odd + counted % 2) % 3;
            counted += 1;
            let result = group.done(sound, "POST", "objects/counter/c/increment", b"");
            assert_eq!(result, format!("{{\"value\":{counted}}}"), "seed {seed}");
            others += 1;
            let result = group.done(sound, "POST", "objects/hits/b/add", b"{}");
            assert_eq!(result, format!("{{\"value\":{others}}}"), "seed {seed}");
            assert!(counted < 20 * OTHERS, "seed {seed}: it is never stopped");
        }
        group.until("it is put aside", |members| !members.differed.is_empty());
        group.until("all rest", |members| members.is_at_rest());
        for at in 1..=3 {
            assert!(group.quarantined(at, "objects/hits/a"), "seed {seed}");
            let (status, refused) = group.ask(at, "POST", "objects/hits/a/add", b"{}");
            assert!(status == 503 && refused.contains("quarantined"), "seed {seed}: {refused}");
        }
        for _ in 0..OTHERS {
            let at = group.any();
            others += 1;
            assert_eq!(
                group.done(at, "POST", "objects/hits/b/add", b"{}"),
                format!("{{\"value\":{others}}}"),
                "seed {seed}"
            );
        }
        group.pass(5_000);
        assert_eq!(group.ended(), [(odd, Ending::Diverged)], "seed {seed}");
        group.until("all rest", |members| members.is_at_rest());
        assert_eq!(group.values("objects/counter/c/get"), vec![format!("{{\"value\":{counted}}}"); 3]);
        group.done(1, "POST", "objects/hits/a:release", b"{}");
        assert_eq!(
            group.values("objects/hits/a/get"),
            vec![format!("{{\"value\":{added}}}"); 3],
            "seed {seed}"
        );
        let at = group.any();
        assert_eq!(
            group.done(at, "POST", "objects/hits/a/add", b"{}"),
            format!("{{\"value\":{}}}", added + 1)
        );
        group.pass(3_000);
        assert_eq!(group.ended().len(), 1, "seed {seed}: what was released stays so");
        assert!(!group.quarantined(at, "objects/hits/a"), "seed {seed}");
    }
}

#[test]
fn object_that_runs_differently_at_each_member_is_stopped_and_no_member_is() {
    for seed in 0..12 {
        let mut group = Group::with_objects(3, seed);
        for number in 1..=3 {
            group.members.uneven.insert(number, number as u8);
            group.members.restart(number);
            group.until("it serves again", |members| members.is_at_rest());
        }
        for number in 0..20 {
            let args: &[u8] = if number == 7 { b"{\"uneven\":1}" } else { b"{}" };
            let at = group.any();
            group.done(at, "POST", "objects/hits/a/add", args);
        }
        let mut counted = 0;
        while counted < OTHERS || !group.quarantined(1, "objects/hits/a") {
            let at = group.any();
            counted += 1;
            let result = group.done(at, "POST", "objects/counter/c/increment", b"");
            assert_eq!(result, format!("{{\"value\":{counted}}}"), "seed {seed}");
            assert!(counted < 20 * OTHERS, "seed {seed}: it is never stopped");
        }
        for number in 1..=3 {
            let (status, refused) = group.ask(number, "POST", "objects/hits/a/add", b"{}");
            assert!(status == 503 && refused.contains("quarantined"), "seed {seed}: {refused}");
            assert!(!group.quarantined(number, "objects/hits/b"), "seed {seed}");
        }
        // What differs goes with the object.
        assert_eq!(group.digests().len(), 3, "seed {seed}: they do differ");
        group.done(1, "DELETE", "objects/hits/a", b"");
        group.until("all are equal", |members| members.is_at_rest());
        assert_eq!(group.ended(), [], "seed {seed}");
    }
}

#[test]
fn member_whose_memory_rots_reads_its_disk_again_and_keeps_its_vote() {
    for (seed, count) in [(0, 3), (1, 3), (2, 3), (3, 1), (4, 1), (5, 5)] {
        let mut group = Group::new(count, seed);
        let odd = 1 + seed % count;
        for number in 0..40 {
            let (at, path) = (group.any(), format!("objects/counter/{number}/increment"));
            group.done(at, "POST", &path, b"");
        }
        group.until("all rest", |members| members.is_at_rest());
        let kind = type_named("counter").expect("a built-in type");
        let node = group.members.node(odd).expect("it runs");
        let id = node.core().id();
        node.rot(&ObjectName { kind, name: String::from("17") });
        node.core().request_snapshot();
        group.until("it finds out", |members| !members.differed.is_empty());
        assert_eq!(group.ended(), [(odd, Ending::Rotten)], "seed {seed}");
        group.until("all rest", |members| members.is_at_rest());
        let node = group.members.node(odd).expect("it runs");
        assert_eq!(node.core().id(), id, "seed {seed}: it is the member that it was");
        node.core().request_snapshot();
        group.pass(3_000);
        assert_eq!(group.ended().len(), 1, "seed {seed}");
        for number in 0..40 {
            let path = format!("objects/counter/{number}/get");
            assert_eq!(group.done(odd, "GET", &path, b""), "{\"value\":1}", "seed {seed}");
        }
    }
}
