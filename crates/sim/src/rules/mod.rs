//! What must hold, one file a rule, numbered as the project's list of guarantees has them. A rule reads what clients saw
//! and what members applied, draws no chance and changes nothing.

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
mod rule_15_event_before_data;
mod rule_17_one_shot;
mod rule_18_no_lost_event;
mod rule_20_reconnect;
mod rule_24_atomic_close;
mod rule_25_no_early_expiry;
mod rule_26_eventual_expiry;
mod rule_27_expired_is_final;
mod rule_28_no_orphans;
mod rule_40_membership;
mod seen;
mod watching;

use std::collections::BTreeMap;

use jute::Stat;

use crate::ensemble::DRIFT_MAX_PPM;
use crate::history::{Call, Grant, History};
use crate::oracle::Oracle;
use crate::record::Record;

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
    Rule { number: 15, name: "Event before data", check: rule_15_event_before_data::check },
    Rule { number: 17, name: "One-shot", check: rule_17_one_shot::check },
    Rule { number: 18, name: "No lost event", check: rule_18_no_lost_event::check },
    Rule { number: 20, name: "Reconnect", check: rule_20_reconnect::check },
    Rule { number: 24, name: "Atomic close", check: rule_24_atomic_close::check },
    Rule { number: 25, name: "No early expiry", check: rule_25_no_early_expiry::check },
    Rule { number: 26, name: "Eventual expiry", check: rule_26_eventual_expiry::check },
    Rule { number: 27, name: "Expired is final", check: rule_27_expired_is_final::check },
    Rule { number: 28, name: "No orphans", check: rule_28_no_orphans::check },
    Rule { number: 40, name: "Membership", check: rule_40_membership::check },
];

/// Findings of one rule that are told.
const FINDINGS_MAX: usize = 5;
/// What an election, a snapshot's way to a member and lost messages may take, milliseconds, when all is calm.
const CALM_ROOM_MS: u64 = 3_000;

/// What the members were set to.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The length of a lease.
    pub lease_ms: u64,
    /// The grain of expiry.
    pub tick_ms: u64,
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
        let all = timeout_ms + 2 * self.lease_ms + 2 * self.tick_ms + CALM_ROOM_MS;
        all + Self::drift_ms(all)
    }

    /// How old what a member shows may be.
    const fn staleness_max_ms(&self) -> u64 {
        2 * self.lease_ms + CALM_ROOM_MS
    }
}

/// Where a member stood when all was at rest.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Which.
    pub member: u64,
    /// The last entry it applied.
    pub index: u64,
    /// The last transaction in its tree.
    pub zxid: i64,
    /// Its nodes.
    pub nodes: BTreeMap<String, (Vec<u8>, Stat)>,
    /// Its sessions, in order.
    pub sessions: Vec<i64>,
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
}

impl Evidence<'_> {
    /// When each session was last heard of for certain: when the latest request was sent that was answered.
    fn heard_of(&self) -> BTreeMap<i64, u64> {
        self.latest(|grant, call| {
            call.map_or(Some(grant.1), |call| call.answer.as_ref().map(|_| call.sent_ms))
        })
    }

    /// When each session was last seen to live: when its client last sent or read anything.
    fn last_seen(&self) -> BTreeMap<i64, u64> {
        self.latest(|grant, call| Some(call.map_or(grant.0.at_ms, |call| call.sent_ms)))
    }

    fn latest(&self, when: impl Fn((&Grant, u64), Option<&Call>) -> Option<u64>) -> BTreeMap<i64, u64> {
        let mut latest: BTreeMap<i64, u64> = BTreeMap::new();
        for connection in &self.history.connections {
            let Some(grant) = &connection.grant else { continue };
            let calls = connection.calls.iter().map(|call| Some(&self.history.calls[*call]));
            let times = calls.chain([None]).filter_map(|call| when((grant, connection.opened_ms), call));
            let time = latest.entry(grant.session).or_default();
            *time = times.fold(*time, u64::max);
        }
        latest
    }
}

/// What a rule found.
#[derive(Debug, Default)]
pub struct Findings {
    words: Vec<String>,
    more: usize,
}

impl Findings {
    fn add(&mut self, words: String) {
        if self.words.len() < FINDINGS_MAX {
            self.words.push(words);
        } else {
            self.more += 1;
        }
    }
}

/// Applies all rules. Gives a line for each thing that is wrong.
#[must_use]
pub fn judge(evidence: &Evidence<'_>) -> Vec<String> {
    let mut wrongs = Vec::new();
    for Rule { number, name, check } in RULES {
        let mut findings = Findings::default();
        check(evidence, &mut findings);
        let lines = findings.words.into_iter().map(|words| format!("rule {number} ({name}): {words}"));
        wrongs.extend(lines);
        if findings.more > 0 {
            wrongs.push(format!("rule {number} ({name}): and {} more", findings.more));
        }
    }
    wrongs
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
