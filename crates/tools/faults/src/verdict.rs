//! What witnesses saw of real members, and the logs that those left behind, before the rules that judge simulated ones.
//!
//! From outside less is known than in a simulation. When an entry was first applied is not: it was at the latest when
//! anybody was told of it, and not before its leader stamped it. Who led and how much members kept in memory is known to
//! themselves alone. docs/simulator.md says which rules judge nevertheless.

use std::path::PathBuf;
use std::time::{Duration, Instant};
use storage_raft_log::{LogIndex, Term};

use council_replica::commands_of;
use council_service::config::MemberNumber;
use council_tree::Roster;
use sim_council::history::{Delivery, History};
use sim_council::oracle::Oracle;
use sim_council::oracle::model::CONFIG;
use sim_council::record::{Committed, Record};
use sim_council::rules::{Evidence, Known, Settings, Standing, judge_from_outside};
use tools_testbed::{Ensemble, Failure, word};

use crate::link::link;
use crate::logs::{Log, council_data, record};
use crate::witnesses::Testimony;

/// What members are set to unless told otherwise, and room enough for a machine that does much besides.
const SETTINGS: Settings = Settings {
    lease_ms: 2_000,
    tick_ms: 2_000,
    reap_interval_ms: 60_000,
    room_ms: 30_000,
    news_ms: 3_000,
    strangers: true,
    policy: None,
    timeouts_ms: None,
    history_bytes_max: 0,
    unsent_bytes_max: usize::MAX,
};
/// How long a member may take to hear of the last that anybody was told.
const CATCH_UP_MAX: Duration = Duration::from_secs(30);
/// Between two looks. Not a synchronisation: only how often we look.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Where the log of a member lies that its present log goes on from.
pub(super) struct Earlier {
    pub(super) member: usize,
    pub(super) data: PathBuf,
}

/// All that there is to judge by.
#[derive(Clone)]
pub(super) struct Case {
    pub(super) history: History,
    pub(super) record: Record,
    pub(super) standings: Vec<Standing>,
    /// When the witnesses' time began, by the clock that all members stamp with; nothing if they have clocks of their own.
    began_wall_ms: Option<i64>,
}

impl Case {
    /// Stops all members when they know of everything, and reads what is on their disks. Nothing if none of those has the
    /// log from its beginning, be it with an `earlier` one before it.
    pub(super) fn close(
        ensemble: &mut Ensemble,
        testimony: &Testimony,
        earlier: Option<&Earlier>,
    ) -> Result<Option<Self>, Failure> {
        let answers = testimony.history.calls.iter().filter_map(|call| call.answer.as_ref());
        let told = answers.map(|answer| answer.zxid).max().unwrap_or(0);
        let up: Vec<_> = ensemble.all().into_iter().filter(|number| ensemble.is_up(*number)).collect();
        // A refusal carries no zxid: who refuses a session has applied its end, so all are to have what any has now.
        let told = up.iter().map(|number| zxid_of(ensemble, *number)).fold(told, i64::max);
        let deadline = Instant::now() + CATCH_UP_MAX;
        while up.iter().any(|number| zxid_of(ensemble, *number) < told) && Instant::now() < deadline {
            std::thread::sleep(LOOK_EVERY);
        }
        up.into_iter().try_for_each(|number| ensemble.stop(number))?;
        Self::of_disks(ensemble, testimony, earlier)
    }

    /// The same of members that have stopped.
    pub(super) fn of_disks(
        ensemble: &Ensemble,
        testimony: &Testimony,
        earlier: Option<&Earlier>,
    ) -> Result<Option<Self>, Failure> {
        let numbers =
            ensemble.all().into_iter().filter(|number| council_data(ensemble, *number).join("log").exists());
        let logs = numbers.map(|number| {
            let log = Log::read(number as u64, &council_data(ensemble, number))?;
            match earlier.filter(|earlier| earlier.member == number) {
                Some(earlier) => log.behind(Log::read(number as u64, &earlier.data)?),
                None => Ok(log),
            }
        });
        let mut logs: Vec<_> = logs.collect::<Result<_, _>>()?;
        let longest = logs.iter().map(Log::last_index).max().unwrap_or_default();
        let Some(all) = record(&logs, longest) else { return Ok(None) };
        // Members stop one after the other: what only some have came behind everything that was told.
        let model = Oracle::of(&all).model;
        let roster = model.at(CONFIG, model.zxid).and_then(|node| Roster::parse(&node.data));
        let is_member = |number| {
            let number = MemberNumber::of(number);
            roster.as_ref().is_none_or(|roster| roster.member(number).is_some())
        };
        logs.retain(|log| is_member(log.member()));
        let index = logs.iter().map(Log::last_index).min().unwrap_or_default();
        let Some(record) = record(&logs, index) else { return Ok(None) };
        let standings = logs.iter_mut().map(|log| log.standing(index)).collect::<Result<_, _>>()?;
        let began_wall_ms = (!ensemble.has_own_clocks()).then_some(testimony.began_wall_ms);
        Ok(Some(Self { history: testimony.history.clone(), record, standings, began_wall_ms }))
    }

    /// What is wrong.
    pub(super) fn judge(mut self) -> Vec<String> {
        let oracle = Oracle::of(&self.record);
        let told = Told::of(&self.history, &oracle);
        for (committed, zxid) in self.record.entries.iter_mut().zip(&oracle.zxids) {
            committed.at_ms = told.when(*zxid).unwrap_or(self.history.ended_ms);
        }
        let stamps: Vec<_> =
            self.record.entries.iter().map(|committed| stamp_ms(committed, self.began_wall_ms?)).collect();
        for (committed, stamp_ms) in self.record.entries.iter().zip(&stamps) {
            let key = (committed.entry.index, committed.entry.term);
            self.record.made_ms.extend(stamp_ms.map(|stamp_ms| (key, stamp_ms)));
        }
        let term = self.record.entries.last().map_or(Term::ZERO, |last| last.entry.term);
        let reign = self.record.entries.partition_point(|committed| committed.entry.term < term);
        self.record.reign_began_ms = stamps.iter().skip(reign).find_map(|stamp| *stamp).unwrap_or(0);
        let mut oracle = Oracle::of(&self.record);
        let stamp = |index: LogIndex| stamps.get(index.since(LogIndex::FIRST) as usize).copied().flatten();
        for story in oracle.sessions.values_mut() {
            // A session that was taken up has been heard of then at the earliest.
            for (_, index, at_ms) in &mut story.generations {
                *at_ms = stamp(*index).unwrap_or(0);
            }
            if let Some(end) = &mut story.ended {
                // Its entry may hold more than the end, and be told of as a whole later.
                end.at_ms = stamp(end.index).or_else(|| told.when(end.zxid)).unwrap_or(end.at_ms);
            }
        }
        link(&mut self.history, &oracle);
        judge_from_outside(&Evidence {
            history: &self.history,
            record: &self.record,
            oracle: &oracle,
            standings: &self.standings,
            settings: SETTINGS,
            known: Known::default(),
        })
    }

    /// What was judged, in words.
    pub(super) fn describe(&self) -> String {
        let answered = self.history.calls.iter().filter(|call| call.answer.is_some()).count();
        let connections = self.history.connections.len();
        format!(
            "{answered} answers on {connections} connections judged by {} entries",
            self.record.entries.len()
        )
    }
}

/// When its leader stamped an entry, on the witnesses' clock.
fn stamp_ms(committed: &Committed, began_wall_ms: i64) -> Option<u64> {
    let (stamp, commands) = commands_of(&committed.entry).ok()?;
    (!commands.is_empty()).then(|| u64::try_from(stamp.time.ms() - began_wall_ms).unwrap_or(0))
}

/// The last zxid that a member has applied, as it says.
fn zxid_of(ensemble: &Ensemble, number: usize) -> i64 {
    let text = word(ensemble.address(number), "srvr", Duration::from_secs(1)).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Zxid: 0x"));
    line.and_then(|digits| i64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0)
}

/// What anybody was told, and when: times, and the highest zxid by then.
struct Told(Vec<(u64, i64)>);

impl Told {
    fn of(history: &History, oracle: &Oracle) -> Self {
        let answers = history.calls.iter().filter_map(|call| call.answer.as_ref());
        let mut all: Vec<_> = answers.map(|answer| (answer.at_ms, answer.zxid)).collect();
        for connection in &history.connections {
            all.extend(connection.deliveries.iter().filter_map(|(at_ms, delivery)| match delivery {
                Delivery::Event { zxid, .. } => Some((*at_ms, *zxid)),
                _ => None,
            }));
            // That a session is gone tells of its end.
            let story = oracle.sessions.get(&connection.asked);
            let end = story.and_then(|story| story.ended.as_ref());
            all.extend(connection.refused_ms.zip(end.map(|end| end.zxid)));
        }
        all.sort_unstable();
        let mut highest = 0;
        for (_, zxid) in &mut all {
            highest = highest.max(*zxid);
            *zxid = highest;
        }
        Self(all)
    }

    /// When somebody was first told of that transaction or a later one.
    fn when(&self, zxid: i64) -> Option<u64> {
        let at = self.0.partition_point(|(_, highest)| *highest < zxid);
        self.0.get(at).map(|(at_ms, _)| *at_ms)
    }
}
