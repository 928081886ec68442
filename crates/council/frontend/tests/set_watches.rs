//! A setWatches that takes many pieces, between which what it names changes: it happens at one moment, the zxid of its
//! reply. Events of changes up to there come before the reply, once; events of later changes come behind it, in order.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use council_frontend::FrontConfig;
use council_wire::{EventType, OpCode, Reader, ReplyHeader, WatcherEvent};
use support::rounds::Rounds;
use support::wire;

/// Nodes below `/r`, more than one piece can look at.
const NODES: usize = 9_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Created,
    Data,
    Deleted,
}

/// One change.
#[derive(Clone, Debug)]
struct Happened {
    zxid: i64,
    kind: Kind,
    path: String,
}

/// What a node's Stat says of its transactions.
#[derive(Clone, Copy, Debug)]
struct Node {
    czxid: i64,
    mzxid: i64,
    pzxid: i64,
}

/// The tree below `/r`, one change after the other.
#[derive(Clone, Debug, Default)]
struct World {
    nodes: BTreeMap<String, Node>,
}

impl World {
    fn apply(&mut self, Happened { zxid, kind, path }: &Happened) {
        let zxid = *zxid;
        match kind {
            Kind::Created => {
                self.nodes.insert(path.clone(), Node { czxid: zxid, mzxid: zxid, pzxid: zxid });
            }
            Kind::Data => self.nodes.get_mut(path).expect("a node that is there").mzxid = zxid,
            Kind::Deleted => drop(self.nodes.remove(path)),
        }
        if let Some(above) = self.nodes.get_mut(parent(path)).filter(|_| *kind != Kind::Data) {
            above.pzxid = zxid;
        }
    }
}

/// The lists of a setWatches2.
#[derive(Debug, Default)]
struct Lists {
    data: Vec<String>,
    exist: Vec<String>,
    child: Vec<String>,
    persistent: Vec<String>,
    recursive: Vec<String>,
}

type Event = (i64, EventType, String);

/// The events that a client must get: before the reply, and behind it. A front that remembers nothing knows only what
/// the tree shows.
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn promised(
    log: &[Happened],
    lists: &Lists,
    seen: i64,
    moment: i64,
    remembers: bool,
) -> (Vec<Event>, Vec<Event>) {
    let split = log.partition_point(|happened| happened.zxid <= moment);
    let (before, behind) = log.split_at(split);
    let mut world = World::default();
    before.iter().for_each(|happened| world.apply(happened));
    let missed = before.iter().filter(|happened| happened.zxid > seen && remembers);
    let went: BTreeSet<_> = missed
        .clone()
        .filter(|happened| happened.kind == Kind::Deleted)
        .map(|happened| &happened.path)
        .collect();
    let (mut told, mut data, mut child) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    let mut tell = |event, path: &String| told.push((-1, event, path.clone()));
    for path in &lists.data {
        match world.nodes.get(path) {
            None => tell(EventType::NodeDeleted, path),
            Some(node) if node.mzxid > seen => tell(EventType::NodeDataChanged, path),
            Some(_) => drop(data.insert(path.clone())),
        }
    }
    for path in &lists.exist {
        match world.nodes.contains_key(path) {
            true => tell(EventType::NodeCreated, path),
            false => {
                if went.contains(path) {
                    tell(EventType::NodeDeleted, path);
                }
                data.insert(path.clone());
            }
        }
    }
    for path in &lists.child {
        match world.nodes.get(path) {
            None => tell(EventType::NodeDeleted, path),
            Some(node) if node.pzxid > seen => tell(EventType::NodeChildrenChanged, path),
            Some(_) => drop(child.insert(path.clone())),
        }
    }
    let mut latest = BTreeMap::new();
    for (order, happened) in missed.enumerate() {
        let path = &happened.path;
        if covers(lists, path) {
            latest.insert((path.as_str(), false), (order, false));
        }
        if happened.kind != Kind::Data && lists.persistent.iter().any(|watched| watched == parent(path)) {
            latest.insert((parent(path), true), (order, true));
        }
    }
    let mut ordered: Vec<_> = latest.into_iter().map(|((path, _), order)| (order, path)).collect();
    ordered.sort_unstable();
    for ((_, of_children), path) in ordered {
        let event = match world.nodes.get(path) {
            None if of_children => continue,
            None => EventType::NodeDeleted,
            Some(_) if of_children => EventType::NodeChildrenChanged,
            Some(node) if node.czxid > seen => EventType::NodeCreated,
            Some(_) => EventType::NodeDataChanged,
        };
        told.push((-1, event, path.into()));
    }
    (told, fired(behind, lists, data, child))
}

/// The events of watches at the time of the change.
fn fired(
    log: &[Happened],
    lists: &Lists,
    mut data: BTreeSet<String>,
    mut child: BTreeSet<String>,
) -> Vec<Event> {
    let mut live = Vec::new();
    for Happened { zxid, kind, path } in log {
        let event = match kind {
            Kind::Created => EventType::NodeCreated,
            Kind::Data => EventType::NodeDataChanged,
            Kind::Deleted => EventType::NodeDeleted,
        };
        let by_data = data.remove(path);
        let by_child = *kind == Kind::Deleted && child.remove(path);
        if by_data || by_child || covers(lists, path) {
            live.push((*zxid, event, path.clone()));
        }
        let above = parent(path);
        if *kind != Kind::Data
            && (child.remove(above) || lists.persistent.iter().any(|watched| watched == above))
        {
            live.push((*zxid, EventType::NodeChildrenChanged, above.into()));
        }
    }
    live
}

fn covers(lists: &Lists, path: &str) -> bool {
    let below =
        |watched: &String| path.strip_prefix(watched.as_str()).is_some_and(|rest| rest.starts_with('/'));
    lists.persistent.iter().any(|watched| watched == path)
        || lists.recursive.iter().any(|watched| watched == path || below(watched))
}

fn parent(path: &str) -> &str {
    match path.rfind('/') {
        Some(at) if at > 0 => &path[..at],
        _ => "/",
    }
}

/// A client that comes back, and all that happens.
struct Story {
    rounds: Rounds,
    log: Vec<Happened>,
    there: BTreeSet<String>,
    dice: u64,
}

impl Story {
    fn new(config: &FrontConfig, seed: u64) -> Self {
        let rounds = Rounds::new(config);
        let mut story = Self { rounds, log: Vec::new(), there: BTreeSet::new(), dice: seed };
        story.change(Kind::Created, "/r");
        for node in 0..NODES {
            story.change(Kind::Created, &name(node));
        }
        story
    }

    fn seen(&self) -> i64 {
        self.rounds.house.core.tree.last_zxid().0
    }

    fn below(&mut self, most: usize) -> usize {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 33) as usize % most
    }

    fn change(&mut self, kind: Kind, path: &str) {
        match kind {
            Kind::Created => self.rounds.create(path),
            Kind::Deleted => self.rounds.delete(path),
            Kind::Data => {
                let body = wire::body(|writer| {
                    writer.text(path).buffer(Some(b"x")).i32(-1);
                });
                self.rounds.write(OpCode::SetData, &body);
            }
        }
        match kind {
            Kind::Created => drop(self.there.insert(path.into())),
            Kind::Deleted => drop(self.there.remove(path)),
            Kind::Data => {}
        }
        self.log.push(Happened { zxid: self.seen(), kind, path: path.into() });
    }

    /// Something happens to one of the nodes, or below it.
    fn any_change(&mut self) {
        let node = name(self.below(NODES));
        let child = format!("{node}/c");
        let (there, has_child) = (self.there.contains(&node), self.there.contains(&child));
        match self.below(4) {
            _ if !there => self.change(Kind::Created, &node),
            0 => self.change(Kind::Data, &node),
            _ if has_child => self.change(Kind::Deleted, &child),
            1 => self.change(Kind::Created, &child),
            _ => self.change(Kind::Deleted, &node),
        }
    }

    /// Sends a setWatches2, with so many changes between any two pieces; what came before the reply, its zxid, and
    /// what came behind it.
    fn renew(&mut self, lists: &Lists, seen: i64, changes: usize) -> (Vec<Event>, i64, Vec<Event>, usize) {
        let body = wire::body(|writer| {
            writer.i64(seen);
            for list in [&lists.data, &lists.exist, &lists.child, &lists.persistent, &lists.recursive] {
                writer.texts(list.iter().map(String::as_str).collect::<Vec<_>>().into_iter());
            }
        });
        self.rounds.send(&wire::request(-8, OpCode::SetWatches2.code(), &body));
        let mut got = Vec::new();
        let mut pieces = 0;
        loop {
            pieces += 1;
            got.extend(self.rounds.round());
            if !self.rounds.house.fronts[0].has_long() {
                break;
            }
            (0..changes).for_each(|_| self.any_change());
        }
        // Watches that are set fire from now on.
        (0..200).for_each(|_| self.any_change());
        got.extend(self.rounds.round());
        let (mut before, mut behind, mut moment) = (Vec::new(), Vec::new(), None);
        for frame in support::rounds::frames(&got) {
            let mut reader = Reader::new(&frame);
            let header = ReplyHeader::read(&mut reader).expect("a header");
            if header.xid == -8 {
                assert_eq!((header.err, moment.replace(header.zxid)), (0, None));
                continue;
            }
            let event = WatcherEvent::read(&mut reader).expect("an event");
            let list = if moment.is_some() { &mut behind } else { &mut before };
            list.push((header.zxid, event.event, event.path.to_owned()));
        }
        (before, moment.expect("a reply"), behind, pieces)
    }

    fn is_as_promised(&mut self, lists: &Lists, seen: i64, remembers: bool) {
        let (before, moment, behind, pieces) = self.renew(lists, seen, 300);
        assert!(pieces >= 5, "{pieces} pieces");
        let (told, live) = promised(&self.log, lists, seen, moment, remembers);
        for (got, due) in before.iter().zip(&told) {
            assert_eq!(got, due, "before the reply");
        }
        assert_eq!(before.len(), told.len());
        for (got, due) in behind.iter().zip(&live) {
            assert_eq!(got, due, "behind the reply of {moment}");
        }
        assert_eq!(behind.len(), live.len());
    }
}

fn name(node: usize) -> String {
    format!("/r/n{node}")
}

fn some(story: &mut Story, most: usize) -> Vec<String> {
    let mut names: Vec<_> = (0..most).map(|_| name(story.below(NODES))).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn one_shots(story: &mut Story) -> Lists {
    let [data, exist, child] = [(); 3].map(|()| some(story, NODES));
    Lists { data, exist, child, ..Lists::default() }
}

#[test]
fn set_watches_catch_up_of_persistent_watches_happens_at_one_moment() {
    for seed in 0..3 {
        let mut story = Story::new(&FrontConfig::default(), seed);
        let seen = story.seen();
        (0..NODES).for_each(|_| story.any_change());
        let mut lists = Lists { recursive: vec!["/r".into()], ..Lists::default() };
        lists.persistent = some(&mut story, 50);
        lists.persistent.push("/r".into());
        story.is_as_promised(&lists, seen, true);
    }
}

#[test]
fn set_watches_of_one_shot_watches_happens_at_one_moment() {
    for seed in 0..3 {
        let mut story = Story::new(&FrontConfig::default(), seed);
        let seen = story.seen();
        (0..2_000).for_each(|_| story.any_change());
        let lists = one_shots(&mut story);
        story.is_as_promised(&lists, seen, true);
    }
}

#[test]
fn set_watches_of_all_kinds_happens_at_one_moment() {
    for seed in 0..3 {
        let mut story = Story::new(&FrontConfig::default(), seed);
        let seen = story.seen();
        (0..4_000).for_each(|_| story.any_change());
        let mut lists = one_shots(&mut story);
        lists.persistent = some(&mut story, 2_000);
        lists.recursive = some(&mut story, 2_000);
        story.is_as_promised(&lists, seen, true);
    }
}

#[test]
fn set_watches_behind_a_history_that_loses_what_changes_meanwhile_is_done_as_a_whole() {
    let config = FrontConfig { history_bytes_max: 2_000, ..FrontConfig::default() };
    let mut story = Story::new(&config, 7);
    let seen = story.seen();
    let lists = one_shots(&mut story);
    story.is_as_promised(&lists, seen, false);
}

#[test]
fn set_watches_leaves_watches_from_before_as_they_are() {
    let mut story = Story::new(&FrontConfig::default(), 7);
    let body = wire::body(|writer| {
        writer.text(&name(8_999)).i32(0);
    });
    story.rounds.send(&wire::request(1, OpCode::AddWatch.code(), &body));
    story.rounds.round();
    let seen = story.seen();
    let lists = Lists { data: (0..8_000).map(name).collect(), ..Lists::default() };
    let body = wire::body(|writer| {
        writer.i64(seen).texts(lists.data.iter().map(String::as_str).collect::<Vec<_>>().into_iter());
        writer.texts(std::iter::empty()).texts(std::iter::empty());
    });
    story.rounds.send(&wire::request(-8, OpCode::SetWatches.code(), &body));
    let mut zxids = Vec::new();
    let (frames, made_in) = story.rounds.finish(|rounds, _| {
        rounds.write(
            OpCode::SetData,
            &wire::body(|writer| {
                writer.text(&name(8_999)).buffer(None).i32(-1);
            }),
        );
        zxids.push(rounds.house.core.tree.last_zxid().0);
    });
    assert!(made_in >= 3, "{made_in}");
    let headers: Vec<_> =
        frames.iter().map(|frame| ReplyHeader::read(&mut Reader::new(frame)).unwrap()).collect();
    let events: Vec<_> = headers.iter().filter(|header| header.xid == -1).map(|header| header.zxid).collect();
    assert_eq!(events, zxids, "each change is told once, in order");
    let reply = headers.iter().position(|header| header.xid == -8).expect("a reply");
    let behind = headers.iter().skip(reply).all(|header| header.zxid >= headers[reply].zxid);
    let before = headers.iter().take(reply).all(|header| header.zxid <= headers[reply].zxid);
    assert!(before && behind, "the reply is where its zxid says");
}

#[test]
fn set_watches_of_two_connections_are_done_one_after_the_other() {
    let mut story = Story::new(&FrontConfig::default(), 7);
    let seen = story.seen();
    (0..5_000).for_each(|_| story.any_change());
    let body = wire::body(|writer| {
        writer.i64(seen).texts(std::iter::empty()).texts(std::iter::empty()).texts(std::iter::empty());
        writer.texts(std::iter::empty()).texts(std::iter::once("/r"));
    });
    let request = wire::request(-8, OpCode::SetWatches2.code(), &body);
    story.rounds.house.connect("c");
    let c = story.rounds.house.clients["c"].conn.unwrap();
    story.rounds.send(&request);
    let Rounds { house, .. } = &mut story.rounds;
    house.fronts[0].receive(c, &request, &house.core.tree, house.now);
    let (mut of_a, mut of_c) = (Vec::new(), Vec::new());
    while story.rounds.house.fronts[0].has_long() {
        of_a.extend(story.rounds.round());
        let front = &mut story.rounds.house.fronts[0];
        of_c.extend(front.output(c).to_vec());
        front.sent(c, front.output(c).len());
        story.any_change();
    }
    of_a.extend(story.rounds.round());
    let front = &mut story.rounds.house.fronts[0];
    of_c.extend(front.output(c).to_vec());
    let lists = Lists { recursive: vec!["/r".into()], ..Lists::default() };
    for got in [of_a, of_c] {
        let frames = support::rounds::frames(&got);
        let zxids: Vec<_> = frames
            .iter()
            .map(|frame| ReplyHeader::read(&mut Reader::new(frame)).unwrap())
            .map(|header| (header.xid, header.zxid))
            .collect();
        let reply = zxids.iter().position(|(xid, _)| *xid == -8).expect("a reply");
        let (told, live) = promised(&story.log, &lists, seen, zxids[reply].1, true);
        assert_eq!((reply, zxids.len() - reply - 1), (told.len(), live.len()));
    }
}

#[test]
fn set_watches_of_a_lost_connection_leaves_nothing() {
    for pieces in 1..12 {
        let mut story = Story::new(&FrontConfig::default(), 7);
        let lists = Lists { data: (0..NODES).map(name).collect(), ..Lists::default() };
        let body = wire::body(|writer| {
            writer.i64(i64::MAX).texts(lists.data.iter().map(String::as_str).collect::<Vec<_>>().into_iter());
            writer.texts(std::iter::empty()).texts(std::iter::empty());
        });
        story.rounds.send(&wire::request(-8, OpCode::SetWatches.code(), &body));
        (0..pieces).for_each(|_| drop(story.rounds.round()));
        let conn = story.rounds.a;
        story.rounds.house.fronts[0].disconnected(conn);
        story.any_change();
        let front = &mut story.rounds.house.fronts[0];
        while front.sweep() {}
        let stats = front.stats();
        assert_eq!((stats.watch_count, stats.in_flight_bytes, stats.unsent_bytes), (0, 0, 0), "{pieces}");
    }
}
