//! What must hold, one file a rule, numbered as the project's list of guarantees has them. A rule reads what clients saw
//! and what members applied, draws no chance and changes nothing.
//!
//! Two numbers of that list have no file. 29 is about local sessions: there are none here, every session is of the whole
//! ensemble. 44, that every reply is a real ZooKeeper's to the byte, cannot be judged without one: the differential
//! test (`crates/tools/differential`) plays the same scripts to both. Numbers above 44 are the simulator's own.

mod floors;
mod lives;
mod rule_01_zxid_order;
mod rule_02_agreement;
mod rule_03_durability;
mod rule_04_no_resurrection;
mod rule_05_at_most_once;
mod rule_06_linearizable_writes;
mod rule_07_fifo;
mod rule_08_read_your_writes;
mod rule_09_monotone_view;
mod rule_10_read_point;
mod rule_11_bounded_staleness;
mod rule_12_session_move;
mod rule_13_password;
mod rule_14_numbers;
mod rule_15_event_before_data;
mod rule_16_event_order;
mod rule_17_one_shot;
mod rule_18_no_lost_event;
mod rule_19_no_spurious_event;
mod rule_20_reconnect;
mod rule_21_persistent;
mod rule_22_acl_filter;
mod rule_23_registration;
mod rule_24_atomic_close;
mod rule_25_no_early_expiry;
mod rule_26_eventual_expiry;
mod rule_27_expired_is_final;
mod rule_28_no_orphans;
mod rule_30_sequence;
mod rule_31_children_of_stat;
mod rule_32_versions;
mod rule_33_times;
mod rule_34_lengths;
mod rule_35_shape;
mod rule_36_mortals;
mod rule_37_system_nodes;
mod rule_38_multi;
mod rule_39_access;
mod rule_40_membership;
mod rule_41_progress;
mod rule_42_no_stuck_request;
mod rule_43_bounded_memory;
mod rule_45_as_asked;
mod rule_46_grants;
mod rule_47_other_reads;
mod rule_48_full_disk;
mod rule_49_new_ensemble;
mod rule_50_one_of_a_number;
mod rule_51_memberships;
mod rule_52_pairs;
mod seen;
mod shown;
mod watching;
mod who;

use base::LogIndex;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use council_tree::Tree;
use council_wire::{Acl, Stat};
use sim_kit::DRIFT_MAX_PPM;
pub use sim_kit::Judged;

use crate::history::{Call, History};
use crate::oracle::Oracle;
use crate::oracle::model::Mortality;
use crate::record::Record;
pub use floors::FLOORS;
use lives::Lives;
use shown::Shown;

/// A rule.
pub struct Rule {
    /// Its number in the list of guarantees.
    pub number: u32,
    /// What it is called.
    pub name: &'static str,
    check: fn(&Evidence<'_>, &mut Findings),
}

/// All rules.
pub const RULES: &[Rule] = &[
    Rule { number: 1, name: "Zxid order", check: rule_01_zxid_order::check },
    Rule { number: 2, name: "Agreement", check: rule_02_agreement::check },
    Rule { number: 3, name: "Durability", check: rule_03_durability::check },
    Rule { number: 4, name: "No resurrection", check: rule_04_no_resurrection::check },
    Rule { number: 5, name: "At most once", check: rule_05_at_most_once::check },
    Rule { number: 6, name: "Linearizable writes", check: rule_06_linearizable_writes::check },
    Rule { number: 7, name: "FIFO execution", check: rule_07_fifo::check },
    Rule { number: 8, name: "Read your writes", check: rule_08_read_your_writes::check },
    Rule { number: 9, name: "Monotone view", check: rule_09_monotone_view::check },
    Rule { number: 10, name: "Read point", check: rule_10_read_point::check },
    Rule { number: 11, name: "Bounded staleness", check: rule_11_bounded_staleness::check },
    Rule { number: 12, name: "Session move", check: rule_12_session_move::check },
    Rule { number: 13, name: "Password", check: rule_13_password::check },
    Rule { number: 14, name: "Numbers", check: rule_14_numbers::check },
    Rule { number: 15, name: "Event before data", check: rule_15_event_before_data::check },
    Rule { number: 16, name: "Event order", check: rule_16_event_order::check },
    Rule { number: 17, name: "One-shot", check: rule_17_one_shot::check },
    Rule { number: 18, name: "No lost event", check: rule_18_no_lost_event::check },
    Rule { number: 19, name: "No spurious event", check: rule_19_no_spurious_event::check },
    Rule { number: 20, name: "Reconnect", check: rule_20_reconnect::check },
    Rule { number: 21, name: "Persistent", check: rule_21_persistent::check },
    Rule { number: 22, name: "ACL filter", check: rule_22_acl_filter::check },
    Rule { number: 23, name: "Registration on failure", check: rule_23_registration::check },
    Rule { number: 24, name: "Atomic close", check: rule_24_atomic_close::check },
    Rule { number: 25, name: "No early expiry", check: rule_25_no_early_expiry::check },
    Rule { number: 26, name: "Eventual expiry", check: rule_26_eventual_expiry::check },
    Rule { number: 27, name: "Expired is final", check: rule_27_expired_is_final::check },
    Rule { number: 28, name: "No orphans", check: rule_28_no_orphans::check },
    Rule { number: 30, name: "Sequence", check: rule_30_sequence::check },
    Rule { number: 31, name: "cversion and pzxid", check: rule_31_children_of_stat::check },
    Rule { number: 32, name: "version and aversion", check: rule_32_versions::check },
    Rule { number: 33, name: "Times", check: rule_33_times::check },
    Rule { number: 34, name: "numChildren and dataLength", check: rule_34_lengths::check },
    Rule { number: 35, name: "Shape", check: rule_35_shape::check },
    Rule { number: 36, name: "Containers and TTL nodes", check: rule_36_mortals::check },
    Rule { number: 37, name: "System nodes", check: rule_37_system_nodes::check },
    Rule { number: 38, name: "Multi", check: rule_38_multi::check },
    Rule { number: 39, name: "Access", check: rule_39_access::check },
    Rule { number: 40, name: "Membership", check: rule_40_membership::check },
    Rule { number: 41, name: "Progress", check: rule_41_progress::check },
    Rule { number: 42, name: "No stuck request", check: rule_42_no_stuck_request::check },
    Rule { number: 43, name: "Bounded memory", check: rule_43_bounded_memory::check },
    Rule { number: 45, name: "As asked", check: rule_45_as_asked::check },
    Rule { number: 46, name: "Grants", check: rule_46_grants::check },
    Rule { number: 47, name: "Other reads", check: rule_47_other_reads::check },
    Rule { number: 48, name: "Full disk", check: rule_48_full_disk::check },
    Rule { number: 49, name: "New ensemble", check: rule_49_new_ensemble::check },
    Rule { number: 50, name: "One of a number", check: rule_50_one_of_a_number::check },
    Rule { number: 51, name: "Memberships", check: rule_51_memberships::check },
    Rule { number: 52, name: "Pairs of connections", check: rule_52_pairs::check },
];

/// Findings of one rule that are told.
const FINDINGS_MAX: usize = 5;
/// What an election, a snapshot's way to a member and lost messages may take in a simulated ensemble, milliseconds, when
/// all is calm.
pub const CALM_ROOM_MS: u64 = 3_000;
/// What passes between two looks at what has happened, milliseconds.
const LOOK_MS: u64 = 50;
/// Rules of what only members themselves know: who led, who the members were at each entry, how much was kept in memory.
const INNER: [u32; 4] = [40, 43, 51, 52];

/// What the members were set to.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The length of a lease.
    pub lease_ms: u64,
    /// The grain of expiry.
    pub tick_ms: u64,
    /// How often containers are looked over; 0 for never.
    pub reap_interval_ms: u64,
    /// What an election and the like may take when all is calm: [`CALM_ROOM_MS`]; more where a machine may be busy.
    pub room_ms: u64,
    /// How long it may take until what is committed is known to have been.
    pub news_ms: u64,
    /// Whether others use the members, too, of whom there is no history.
    pub strangers: bool,
    /// The switches of all servers, by which writes are judged; nothing if they are not known.
    pub policy: Option<u8>,
    /// The least and the greatest timeout that members grant, milliseconds; nothing if that is not known.
    pub timeouts_ms: Option<(u64, u64)>,
    /// How much members remember of what has changed, bytes.
    pub history_bytes_max: usize,
    /// Bytes unsent at which a client that does not read is cut off when an event comes for it.
    pub unsent_bytes_max: usize,
}

impl Settings {
    /// How much longer or shorter a time is on a clock that strays, against another that strays the other way.
    const fn drift_ms(ms: u64) -> u64 {
        ms * 2 * DRIFT_MAX_PPM as u64 / 1_000_000 + 1
    }

    /// The shortest silence after which a session may end.
    const fn timeout_min_ms(&self, timeout_ms: u64) -> u64 {
        timeout_ms.saturating_sub(Self::drift_ms(timeout_ms + self.lease_ms))
    }

    /// The longest calm silence in which a session may live on: whoever was cut off may have heard of it until its
    /// lease was over.
    const fn timeout_max_ms(&self, timeout_ms: u64) -> u64 {
        let all = timeout_ms + 2 * self.lease_ms + 2 * self.tick_ms + self.room_ms;
        all + Self::drift_ms(all)
    }

    /// How long an answer may take when all is at rest.
    const fn answer_max_ms(&self) -> u64 {
        self.room_ms
    }

    /// How long it may take from the end of all faults, under a leader, until every member answers whom it serves.
    pub const fn recovery_max_ms(&self) -> u64 {
        2 * self.lease_ms + self.room_ms
    }

    /// How long a container may be idle, if any is ever removed: until it is looked for, and the removal done.
    fn reap_max_ms(&self) -> Option<u64> {
        let all = 3 * self.reap_interval_ms + self.room_ms;
        (self.reap_interval_ms > 0).then(|| all + Self::drift_ms(all))
    }

    /// How old what a member shows may be.
    const fn staleness_max_ms(&self) -> u64 {
        let all = 2 * self.lease_ms + self.news_ms + LOOK_MS;
        all + Self::drift_ms(all)
    }
}

/// A node in a member's tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its data.
    pub data: Vec<u8>,
    /// Whether it has none at all.
    pub is_null: bool,
    /// Its Stat.
    pub stat: Stat,
    /// Its ACL.
    pub acl: Vec<Acl>,
    /// What may end it.
    pub mortality: Mortality,
}

/// Where a member stood when all was at rest.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Which.
    pub member: u64,
    /// The last entry it applied.
    pub index: LogIndex,
    /// The last transaction in its tree.
    pub zxid: i64,
    /// Its nodes.
    pub nodes: BTreeMap<String, Held>,
    /// Its sessions, in order.
    pub sessions: Vec<i64>,
}

impl Standing {
    /// Of a member whose tree is that, behind the entry of that index.
    #[must_use]
    pub fn of(member: u64, index: LogIndex, tree: &Tree) -> Self {
        let mut nodes = BTreeMap::new();
        let mut paths = vec![String::from("/")];
        while let Some(path) = paths.pop() {
            let Some(found) = tree.node(&path) else { continue };
            let below = if path == "/" { String::new() } else { path.clone() };
            paths.extend(found.children().map(|name| format!("{below}/{name}")));
            let mortality = match found.ttl_ms() {
                Some(ttl_ms) => Mortality::Ttl(ttl_ms),
                None if found.is_container() => Mortality::Container,
                None => Mortality::None,
            };
            let (data, acl) = (found.data().unwrap_or_default().to_vec(), found.acl().to_vec());
            let is_null = found.data().is_none();
            nodes.insert(path, Held { data, is_null, stat: found.stat(), acl, mortality });
        }
        let mut sessions: Vec<_> = tree.sessions().map(|session| session.id.0).collect();
        sessions.sort_unstable();
        Self { member, index, zxid: tree.last_zxid().0, nodes, sessions }
    }
}

/// All that there is to judge by.
pub struct Evidence<'a> {
    /// What clients did and saw.
    pub history: &'a History,
    /// What members did.
    pub record: &'a Record,
    /// What should be.
    pub oracle: &'a Oracle,
    /// Where all members stood in the end; empty if there was no rest.
    pub standings: &'a [Standing],
    /// What the members were set to.
    pub settings: Settings,
    /// What several rules ask for, found out once.
    pub known: Known,
}

/// What several rules ask for.
#[derive(Default)]
pub struct Known {
    lives: OnceCell<Lives>,
    watching: OnceCell<watching::Watched>,
}

impl<'a> Evidence<'a> {
    /// The life of each node, by what clients were told.
    fn lives(&self) -> &Lives {
        self.known.lives.get_or_init(|| Lives::of(self))
    }

    /// Every Stat that was shown to anybody.
    fn shown(&self) -> Vec<Shown<'a>> {
        Shown::all(self)
    }

    /// What is wrong with watches by a rule.
    fn watching(&self, rule: u32, findings: &mut Findings) {
        let watched = self.known.watching.get_or_init(|| watching::walk(self));
        watched.wrongs.get(&rule).into_iter().flatten().for_each(|words| findings.add(words.clone()));
        findings.judged.extend(watched.judged.get(&rule).cloned().unwrap_or_default());
    }

    /// Whether a session may be judged by what clients asked for: a stranger's may not.
    fn is_known(&self) -> impl Fn(i64) -> bool {
        let grants = self.history.connections.iter().filter_map(|connection| connection.grant);
        let known: BTreeSet<_> = grants.map(|grant| grant.session).collect();
        let strangers = self.settings.strangers;
        move |session| !strangers || known.contains(&session)
    }

    /// When each session was last seen to live: when its client last sent anything that could arrive, or read anything.
    fn last_seen(&self) -> BTreeMap<i64, u64> {
        let mut latest: BTreeMap<i64, u64> = BTreeMap::new();
        for connection in &self.history.connections {
            let Some(grant) = &connection.grant else { continue };
            let times = connection.calls.iter().map(|call| self.history.calls[*call].heard_ms());
            let time = latest.entry(grant.session).or_default();
            *time = times.fold(grant.at_ms.max(*time), u64::max);
        }
        latest
    }
}

/// What a rule found.
#[derive(Debug, Default)]
pub struct Findings {
    words: Vec<String>,
    more: usize,
    judged: Judged,
}

impl Findings {
    fn add(&mut self, words: String) {
        if self.words.len() < FINDINGS_MAX {
            self.words.push(words);
        } else {
            self.more += 1;
        }
    }

    /// Something was judged that might have been wrong.
    fn judged(&mut self, what: &'static str) {
        self.judged_all(what, 1);
    }

    fn judged_all(&mut self, what: &'static str, count: usize) {
        *self.judged.entry(what).or_default() += count as u64;
    }
}

/// What all rules found, and how much each of them judged.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// A line for each thing that is wrong.
    pub wrongs: Vec<String>,
    /// By rule.
    pub judged: BTreeMap<u32, Judged>,
}

/// Applies all rules.
#[must_use]
pub fn judge(evidence: &Evidence<'_>) -> Verdict {
    apply(evidence, RULES.iter())
}

/// Applies those that need no word of what goes on within members: for a history of real processes, and the log that they
/// left behind.
#[must_use]
pub fn judge_from_outside(evidence: &Evidence<'_>) -> Vec<String> {
    apply(evidence, RULES.iter().filter(|rule| !INNER.contains(&rule.number))).wrongs
}

fn apply<'r>(evidence: &Evidence<'_>, rules: impl Iterator<Item = &'r Rule>) -> Verdict {
    let mut verdict = Verdict::default();
    for Rule { number, name, check } in rules {
        let mut findings = Findings::default();
        check(evidence, &mut findings);
        let lines = findings.words.into_iter().map(|words| format!("rule {number} ({name}): {words}"));
        verdict.wrongs.extend(lines);
        if findings.more > 0 {
            verdict.wrongs.push(format!("rule {number} ({name}): and {} more", findings.more));
        }
        verdict.judged.insert(*number, findings.judged);
    }
    verdict
}

/// A call, in words.
fn tell(history: &History, call: &Call) -> String {
    let connection = &history.connections[call.connection];
    format!(
        "{:?} of client {} to member {}, sent at {} ms and answered at {:?} ms,",
        call.ask,
        connection.client,
        connection.member,
        call.sent_ms,
        call.answer.as_ref().map(|answer| answer.at_ms)
    )
}
