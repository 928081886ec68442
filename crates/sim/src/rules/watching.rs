//! A connection's watches, followed from reply to reply and event to event beside what the oracle says happened: what
//! rules 15, 17, 18 and 20 have in common.

use std::collections::{BTreeMap, BTreeSet};

use jute::EventType;

use crate::history::{Ask, Connection, Delivery};
use crate::oracle::model::{Change, Model};
use crate::rules::Evidence;

/// What is wrong with a connection's events.
pub(super) enum Wrong {
    /// An event came behind data that it should have come before.
    Late(String),
    /// An event never came.
    Lost(String),
    /// An event came that nobody waited for, or of what did not happen.
    Spurious(String),
    /// A setWatches told too much or too little.
    Reconnect(String),
}

/// What a watch waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// The node itself.
    Node,
    /// Its children, and its end.
    Children,
}

impl Kind {
    const fn fires(self, change: Change) -> bool {
        match self {
            Self::Node => !matches!(change, Change::Children),
            Self::Children => matches!(change, Change::Children | Change::Deleted),
        }
    }
}

/// Where each watch was left: behind which transaction.
type Watches = BTreeMap<(Kind, String), i64>;

/// Follows a connection.
pub(super) fn walk(evidence: &Evidence<'_>, connection: &Connection) -> Vec<Wrong> {
    let (history, model) = (evidence.history, &evidence.oracle.model);
    let (mut wrongs, mut watches, mut told) = (Vec::new(), Watches::new(), BTreeSet::new());
    for (place, (_, delivery)) in connection.deliveries.iter().enumerate() {
        match delivery {
            Delivery::Event { zxid, kind, path } => {
                told.insert((kind.code(), path.clone()));
                wrongs.extend(spurious(model, &watches, (*zxid, *kind), path).map(Wrong::Spurious));
                if *kind != EventType::NodeChildrenChanged {
                    watches.remove(&(Kind::Node, path.clone()));
                }
                if matches!(kind, EventType::NodeChildrenChanged | EventType::NodeDeleted) {
                    watches.remove(&(Kind::Children, path.clone()));
                }
            }
            Delivery::Stray { .. } => {}
            Delivery::Reply(call) => {
                let call = &history.calls[*call];
                let Some(answer) = &call.answer else { continue };
                if matches!(call.ask, Ask::Close) {
                    // It shows nothing, and the connection ends with it: a member that was given a whole tree meanwhile
                    // knows of no events before it.
                    break;
                }
                let rest = &connection.deliveries[place..];
                missed(model, &mut watches, answer.zxid, rest, &mut wrongs);
                match &call.ask {
                    Ask::SetWatches { relative_zxid, data, exist, child } => {
                        let lists = [data, exist, child];
                        let wrong = renewed(
                            model,
                            &mut watches,
                            (*relative_zxid, answer.zxid),
                            call.remembered,
                            lists,
                            &told,
                        );
                        wrongs.extend(wrong.map(Wrong::Reconnect));
                    }
                    ask => {
                        let left = ask.reads().filter(|(_, watch)| *watch);
                        let kind = match ask {
                            Ask::Children { .. } => Kind::Children,
                            _ => Kind::Node,
                        };
                        // What is missing is watched by exists alone.
                        if let Some((path, _)) = left
                            && (answer.err == 0 || matches!(ask, Ask::Exists { .. }))
                        {
                            watches.entry((kind, path.into())).or_insert(answer.zxid);
                        }
                    }
                }
            }
        }
    }
    wrongs
}

/// A reply shows the tree as of `zxid`: every watch that something up to there should have fired has to have fired.
fn missed(
    model: &Model,
    watches: &mut Watches,
    zxid: i64,
    rest: &[(u64, Delivery)],
    wrongs: &mut Vec<Wrong>,
) {
    watches.retain(|(kind, path), since| {
        let mut changes = model.changes(path, *since, zxid).filter(|(_, change)| kind.fires(*change));
        let Some((changed, change)) = changes.next() else { return true };
        let words = format!("`{path}` {change:?} at {changed:x}, watched since {since:x}, reply at {zxid:x}");
        let comes = rest.iter().any(
            |(_, later)| matches!(later, Delivery::Event { zxid, path: told, .. } if *zxid == changed && told == path),
        );
        wrongs.push(if comes { Wrong::Late(words) } else { Wrong::Lost(words) });
        false
    });
}

/// What is wrong with an event: each is of a change, and of a watch that was left before it and has not fired yet.
fn spurious(model: &Model, watches: &Watches, (zxid, kind): (i64, EventType), path: &str) -> Option<String> {
    // Those that a setWatches tells carry no zxid; they are compared with what it should tell.
    if zxid < 0 {
        return None;
    }
    let change = match kind {
        EventType::NodeCreated => Change::Created,
        EventType::NodeDeleted => Change::Deleted,
        EventType::NodeDataChanged => Change::Data,
        EventType::NodeChildrenChanged => Change::Children,
        EventType::None => return Some(format!("an event of nothing at {zxid:x}")),
    };
    if !model.changes(path, zxid - 1, zxid).any(|(_, done)| done == change) {
        return Some(format!("`{path}` {change:?} at {zxid:x} was told, and did not happen"));
    }
    let left = |kind| watches.get(&(kind, path.to_owned())).is_some_and(|since| *since < zxid);
    let waited = [Kind::Node, Kind::Children].into_iter().any(|kind| kind.fires(change) && left(kind));
    (!waited).then(|| format!("`{path}` {change:?} at {zxid:x} was told, and nobody waited for it"))
}

/// A setWatches was answered at `up_to` by a client that had seen everything up to `behind`. Gives what it told wrongly.
fn renewed(
    model: &Model,
    watches: &mut Watches,
    (behind, up_to): (i64, i64),
    remembered: i64,
    [data, exist, child]: [&Vec<String>; 3],
    told: &BTreeSet<(i32, String)>,
) -> Option<String> {
    let mut expected = BTreeSet::new();
    let mut expect = |kind: EventType, path: &String| {
        expected.insert((kind.code(), path.clone()));
    };
    for path in data {
        match model.at(path, up_to) {
            None => expect(EventType::NodeDeleted, path),
            Some(node) if node.stat.mzxid > behind => expect(EventType::NodeDataChanged, path),
            Some(_) => drop(watches.insert((Kind::Node, path.clone()), up_to)),
        }
    }
    for path in exist {
        if model.at(path, up_to).is_some() {
            expect(EventType::NodeCreated, path);
            continue;
        }
        // What came and went meanwhile only a member knows that remembers it.
        let came = model.changes(path, behind, up_to).any(|(_, change)| change == Change::Created);
        if came && remembered <= behind {
            expect(EventType::NodeDeleted, path);
        }
        watches.insert((Kind::Node, path.clone()), up_to);
    }
    for path in child {
        match model.at(path, up_to) {
            None => expect(EventType::NodeDeleted, path),
            Some(node) if node.stat.pzxid > behind => expect(EventType::NodeChildrenChanged, path),
            Some(_) => drop(watches.insert((Kind::Children, path.clone()), up_to)),
        }
    }
    let says = |all: &BTreeSet<(i32, String)>, other: &BTreeSet<(i32, String)>| {
        let only = all.difference(other).map(|(kind, path)| (EventType::from_code(*kind), path.clone()));
        only.collect::<Vec<_>>()
    };
    (expected != *told).then(|| {
        let (missing, excess) = (says(&expected, told), says(told, &expected));
        format!("setWatches of {behind:x} at {up_to:x} did not tell {missing:?}, and told {excess:?}")
    })
}
