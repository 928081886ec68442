//! Each connection's watches, followed from reply to reply and event to event beside what the oracle says happened: which
//! events should have come, in which order. What is wrong is told by the number of the rule that it breaks; rules 15
//! to 23 have this in common.

mod renewal;
mod table;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use council_wire::{ErrorCode, EventType, WatchMode, permission};

use crate::history::{Answer, Ask, Call, Connection, Delivery};
use crate::oracle::access::Identities;
use crate::oracle::model::{Change, Happening};
use crate::rules::{Evidence, Judged, who};
use renewal::{Renewal, Told};
use table::{Kind, Left, Table};

/// What was seen, by rule.
#[derive(Debug, Default)]
pub(super) struct Watched {
    /// What is wrong.
    pub(super) wrongs: BTreeMap<u32, Vec<String>>,
    /// What was judged.
    pub(super) judged: BTreeMap<u32, Judged>,
}

/// Follows all connections.
pub(super) fn walk(evidence: &Evidence<'_>) -> Watched {
    let mut watched = Watched::default();
    for (number, connection) in evidence.history.connections.iter().enumerate() {
        let mut walk = Walk::of(evidence, connection);
        walk.all();
        for (rule, words) in walk.wrongs {
            let words = format!("connection {number} to member {}: {words}", connection.member);
            watched.wrongs.entry(rule).or_default().push(words);
        }
        for (rule, what) in walk.judged {
            *watched.judged.entry(rule).or_default().entry(what).or_default() += 1;
        }
    }
    watched
}

/// Something that is to be told.
struct Due<'a> {
    happening: &'a Happening,
    left: Left,
    /// Whether it need not be told: who its client is was being changed.
    optional: bool,
}

/// One connection, as far as it was followed.
struct Walk<'a> {
    evidence: &'a Evidence<'a>,
    connection: &'a Connection,
    table: Table,
    /// Up to which transaction everything has fired.
    fired_zxid: i64,
    due: VecDeque<Due<'a>>,
    /// What came too late already, and what fired for somebody who may not know of it.
    late: Vec<(i64, EventType, String)>,
    filtered: BTreeSet<(i64, i32, String)>,
    /// What came before the answer to a setWatches.
    renewed: Told,
    /// Who the client was by its last answered auth, when a zxid was last shown, and by each auth that it had sent.
    certain: Identities,
    settled: Identities,
    shown: Vec<(u64, Identities)>,
    wrongs: Vec<(u32, String)>,
    /// What was judged, by rule.
    judged: Vec<(u32, &'static str)>,
}

impl<'a> Walk<'a> {
    fn of(evidence: &'a Evidence<'a>, connection: &'a Connection) -> Self {
        let mut shown = Vec::new();
        if who::says_who(evidence.history, connection) {
            for (call, who) in who::auths(evidence.history, connection) {
                shown.push((evidence.history.calls[call].sent_ms, who));
            }
        }
        Self {
            evidence,
            connection,
            table: Table::default(),
            fired_zxid: 0,
            due: VecDeque::new(),
            late: Vec::new(),
            filtered: BTreeSet::new(),
            renewed: Told::new(),
            certain: who::stranger(connection),
            settled: who::stranger(connection),
            shown,
            wrongs: Vec::new(),
            judged: Vec::new(),
        }
    }

    fn all(&mut self) {
        let (evidence, connection) = (self.evidence, self.connection);
        let calls = &evidence.history.calls;
        for (place, (at_ms, delivery)) in connection.deliveries.iter().enumerate() {
            match delivery {
                Delivery::Event { zxid, kind, path } if *zxid < 0 => {
                    self.renewed.push((kind.code(), path.clone()));
                }
                Delivery::Event { zxid, kind, path } => {
                    self.fire(*zxid, *at_ms);
                    self.event(*zxid, *kind, path);
                }
                Delivery::Stray { .. } => {}
                Delivery::Reply(call) => {
                    let call = &calls[*call];
                    let Some(answer) = &call.answer else { continue };
                    match call.ask {
                        // It shows nothing, and the connection ends with it: a member that was given a whole tree
                        // meanwhile knows of no events before it.
                        Ask::Close => break,
                        Ask::Auth { ref credentials } => self.certain.show(credentials, crate::load::SUPER),
                        _ => {
                            self.fire(answer.zxid, *at_ms);
                            self.missed(answer.zxid, place);
                            self.leave(call, answer);
                        }
                    }
                }
            }
        }
    }

    /// Everything up to there has happened, when something at that time shows it.
    fn fire(&mut self, zxid: i64, at_ms: u64) {
        // What happened since the last zxid may have happened before an auth that was answered since.
        let settled = std::mem::replace(&mut self.settled, self.certain.clone());
        if zxid <= self.fired_zxid {
            return;
        }
        let behind = std::mem::replace(&mut self.fired_zxid, zxid);
        if self.table.is_empty() {
            return;
        }
        let sent = self.shown.iter().rev().find(|(sent_ms, _)| *sent_ms <= at_ms);
        let possible = sent.map_or(&self.certain, |(_, who)| who);
        let evidence = self.evidence;
        for happening in evidence.oracle.model.happenings(behind, zxid) {
            let Some(left) = self.table.fire(happening) else { continue };
            let certain = settled.may(permission::READ, &happening.acl);
            self.judged.push((22, if certain { "events for who may know" } else { "events for others" }));
            if certain || possible.may(permission::READ, &happening.acl) {
                self.due.push_back(Due { happening, left, optional: !certain });
            } else {
                let kind = event_of(happening.change).code();
                self.filtered.insert((happening.zxid, kind, happening.path.clone()));
            }
        }
    }

    /// An event came.
    #[expect(clippy::too_many_lines, reason = "the ways in which one event may be due, the likeliest first")]
    fn event(&mut self, zxid: i64, kind: EventType, path: &str) {
        let is_it = |due: &Due<'_>| {
            let Happening { zxid: due_zxid, path: due_path, change, .. } = due.happening;
            *due_zxid == zxid && due_path == path && event_of(*change) == kind
        };
        self.judged.push((19, "events"));
        if let Some(at) = self.due.iter().position(is_it) {
            let left = self.due[at].left;
            let due_then = self.due.iter().filter(|due| !due.optional).count();
            self.judged.push((16, if due_then > 1 { "events while others were due" } else { "events" }));
            self.judged.push((15, "events"));
            self.judged.push((18, "events"));
            match left.kind {
                Kind::Persistent | Kind::Recursive => self.judged.push((21, "events")),
                _ => self.judged.push((17, "events")),
            }
            if left.of_nothing {
                self.judged.push((23, "events of nodes that were missing"));
            }
            let unordered = |due: &Due<'_>| due.happening.unordered && due.happening.zxid == zxid;
            let overtaken = self.due.iter().take(at).find(|due| !due.optional && !unordered(due));
            if let Some(Due { happening, .. }) = overtaken {
                let (before, change) = (&happening.path, happening.change);
                let words = format!("`{path}` {kind:?} at {zxid:x} came before `{before}` {change:?}");
                self.wrongs.push((16, words));
            }
            self.due.remove(at);
            return;
        }
        let known = self.late.iter().position(|(late_zxid, late_kind, late_path)| {
            *late_zxid == zxid && *late_kind == kind && late_path == path
        });
        if let Some(known) = known {
            self.late.swap_remove(known);
            return;
        }
        let words = format!("`{path}` {kind:?} at {zxid:x} was told");
        let model = &self.evidence.oracle.model;
        let happened = model
            .happenings(zxid - 1, zxid)
            .iter()
            .find(|happening| happening.path == path && event_of(happening.change) == kind);
        let (rule, why) = match happened {
            None => (19, "did not happen"),
            Some(_) if self.filtered.contains(&(zxid, kind.code(), path.into())) => {
                (22, "was none of its business")
            }
            Some(happening) => (self.table.blame(path, happening.change), "nobody waited for it"),
        };
        self.wrongs.push((rule, format!("{words}, and {why}")));
    }

    /// A reply shows the tree as of `zxid`: all that was to be told up to there has to have been told.
    fn missed(&mut self, zxid: i64, place: usize) {
        for Due { happening, left, optional } in std::mem::take(&mut self.due) {
            if optional {
                continue;
            }
            let (path, kind, at) = (&happening.path, event_of(happening.change), happening.zxid);
            let words = format!(
                "`{path}` {kind:?} at {at:x}, {:?} since {:x}, reply at {zxid:x}",
                left.kind, left.since
            );
            let comes = self.connection.deliveries[place..].iter().any(|(_, later)| {
                matches!(later, Delivery::Event { zxid, kind: told, path: of }
                    if *zxid == at && *told == kind && of == path)
            });
            if comes {
                self.late.push((at, kind, path.clone()));
                self.wrongs.push((15, words));
                continue;
            }
            if matches!(left.kind, Kind::Persistent | Kind::Recursive) {
                self.wrongs.push((21, words.clone()));
            }
            if left.of_nothing {
                self.wrongs.push((23, words.clone()));
            }
            self.wrongs.push((18, words));
        }
    }

    /// What a call that was answered leaves or takes away.
    fn leave(&mut self, call: &Call, answer: &Answer) {
        let (ask, err, since) = (&call.ask, answer.err, answer.zxid);
        match ask {
            Ask::SetWatches { .. } => self.renew(call, answer),
            Ask::AddWatch { path, mode } if err == 0 => {
                let kind = match mode {
                    WatchMode::Persistent => Kind::Persistent,
                    WatchMode::PersistentRecursive => Kind::Recursive,
                };
                self.table.leave(path, Left { kind, since, of_nothing: false });
            }
            Ask::CheckWatches { path, watcher } | Ask::RemoveWatches { path, watcher } => {
                let kinds = Kind::meant(*watcher);
                let expected = if self.table.has(path, kinds) { 0 } else { ErrorCode::NoWatcher.code() };
                if err != expected {
                    self.wrongs.push((17, format!("{ask:?} was told {err}, expected {expected}")));
                }
                if matches!(ask, Ask::RemoveWatches { .. }) {
                    self.table.take_away(path, kinds);
                }
            }
            _ => {
                let Some((path, true)) = ask.reads() else { return };
                let kind = if matches!(ask, Ask::Children { .. }) { Kind::Children } else { Kind::Node };
                let of_nothing = matches!(ask, Ask::Exists { .. }) && err == ErrorCode::NoNode.code();
                match err == 0 || of_nothing {
                    true => self.table.leave(path, Left { kind, since, of_nothing }),
                    false => self.table.refuse(path, kind),
                }
            }
        }
    }

    fn renew(&mut self, call: &Call, answer: &Answer) {
        let Ask::SetWatches { relative_zxid, data, exist, child, persistent, recursive } = &call.ask else {
            return;
        };
        let renewal = Renewal {
            model: &self.evidence.oracle.model,
            behind: *relative_zxid,
            up_to: answer.zxid,
            began_zxid: call.began_zxid,
            history_bytes_max: self.evidence.settings.history_bytes_max,
            who: &self.certain,
            data,
            exist,
            child,
            persistent,
            recursive,
        };
        let expected = renewal.expected(&mut self.table);
        let told = std::mem::take(&mut self.renewed);
        self.judged.push((20, "renewals"));
        if expected.caught_up() > 0 {
            let what =
                if expected.has_to { "renewals that must catch up" } else { "renewals that may catch up" };
            self.judged.push((20, what));
        }
        if !expected.is(&told) {
            let told: Vec<_> = told.iter().map(|(kind, path)| (EventType::from_code(*kind), path)).collect();
            let words = format!(
                "setWatches of {relative_zxid:x} at {:x} told {told:?}, expected {expected:?}",
                answer.zxid
            );
            self.wrongs.push((20, words));
        }
    }
}

const fn event_of(change: Change) -> EventType {
    match change {
        Change::Created => EventType::NodeCreated,
        Change::Deleted => EventType::NodeDeleted,
        Change::Data => EventType::NodeDataChanged,
        Change::Children => EventType::NodeChildrenChanged,
    }
}
