//! Lays two records of one script side by side and finds the first difference that nothing excuses.

use std::collections::BTreeMap;
use std::fmt;

use council_wire::OpCode;

use super::coverage::Coverage;
use super::normalise::{self, Normal, Results, Side};
use super::op::Op;
use super::page;
use super::play::{Record, Seen, What, int_at};
use super::script::{Action, Script, Step};
use super::table::{self, GONE, REPLACED_CUT, REPLACED_LEFT};
use super::words;

/// One thing seen, ready to compare and to show.
#[derive(Clone, Debug)]
pub struct Line {
    /// The client that saw it.
    pub client: usize,
    /// Whether it is a watch event.
    pub event: bool,
    /// What is compared, and its text.
    pub normal: Normal,
    /// The bytes as they came.
    pub raw: Vec<u8>,
}

/// Which of two servers is ours: only then may a difference be on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ours {
    /// Two of the same kind: no excuses.
    Neither,
    /// The left one.
    Left,
    /// The right one.
    Right,
}

/// The first difference that nothing excuses.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The block it is in.
    pub block: usize,
    /// The step.
    pub step: Step,
    /// The scene of the block.
    pub scene: &'static str,
    /// What the left server showed in this step.
    pub left: Vec<Line>,
    /// What the right server showed in this step.
    pub right: Vec<Line>,
}

/// What comparing a script found.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Differences that the table excuses, by entry.
    pub on_purpose: BTreeMap<&'static str, usize>,
    /// The first that it does not.
    pub difference: Option<Difference>,
    /// What the left server answered.
    pub coverage: Coverage,
}

/// Compares what two servers showed of one script.
#[must_use]
pub fn compare(script: &Script, left: &Record, right: &Record, ours: Ours) -> Verdict {
    let mut verdict = Verdict::default();
    let steps = script
        .blocks
        .iter()
        .enumerate()
        .flat_map(|(index, block)| block.steps.iter().map(move |step| (index, step)));
    for (number, (block, step)) in steps.enumerate() {
        let (Some(seen_left), Some(seen_right)) = (left.steps.get(number), right.steps.get(number)) else {
            break;
        };
        let (lines_left, results) = lines(number, step, seen_left, left);
        let (lines_right, _) = lines(number, step, seen_right, right);
        verdict.coverage.add(&results);
        if same(&lines_left, &lines_right) {
            continue;
        }
        let purpose = script.blocks[block].purpose;
        let excuse = match ours {
            Ours::Neither => None,
            Ours::Left => table::excuse(purpose, &lines_right, &lines_left),
            Ours::Right => table::excuse(purpose, &lines_left, &lines_right),
        };
        match excuse {
            Some(entry) => *verdict.on_purpose.entry(entry).or_default() += 1,
            None => {
                let scene = script.blocks[block].scene;
                verdict.difference = Some(Difference {
                    block,
                    step: step.clone(),
                    scene,
                    left: lines_left,
                    right: lines_right,
                });
                break;
            }
        }
    }
    verdict
}

fn same(left: &[Line], right: &[Line]) -> bool {
    left.len() == right.len()
        && left
            .iter()
            .zip(right)
            .all(|(l, r)| l.client == r.client && l.event == r.event && l.normal.bytes == r.normal.bytes)
}

fn lines(number: usize, step: &Step, seen: &[Seen], record: &Record) -> (Vec<Line>, Results) {
    let side = Side { marks: &record.marks, step: number, sessions: &record.sessions };
    let mut results = Results::new();
    let mut lines: Vec<Line> = seen
        .iter()
        .map(|seen| {
            let (normal, mut found) = normal(step, seen, side);
            if !matches!(seen.what, What::Barrier(_)) {
                results.append(&mut found);
            }
            Line {
                client: seen.client,
                event: matches!(seen.what, What::Event(_)),
                normal,
                raw: raw(&seen.what),
            }
        })
        .collect();
    if ends_a_session(step) {
        // A session's nodes end in no particular order.
        lines.chunk_by_mut(|a, b| a.event && b.event && a.client == b.client).for_each(|events| {
            if events[0].event {
                events.sort_by(|a, b| a.normal.bytes.cmp(&b.normal.bytes));
            }
        });
    }
    (lines, results)
}

fn normal(step: &Step, seen: &Seen, side: Side<'_>) -> (Normal, Results) {
    match &seen.what {
        What::Reply(index, frame) => normalise::reply(side, opcode(step, *index), frame),
        What::Barrier(frame) => normalise::reply(side, OpCode::Ping.code(), frame),
        What::Event(frame) => normalise::event(side, frame),
        What::Handshake(frame) => normalise::handshake(side, frame),
        What::Word(text) => (shown(&words::normal(step, text, side)), Results::new()),
        What::Page(text) => (shown(&page::normal(text)), vec![("page".to_owned(), 0)]),
        What::Gone => (shown(GONE), vec![(format!("{} then close", first_name(step)), 0)]),
        What::Broken => (shown("closed within a frame"), Results::new()),
        What::Silence => (shown("silence"), Results::new()),
        What::Replaced(true) => (shown(REPLACED_CUT), Results::new()),
        What::Replaced(false) => (shown(REPLACED_LEFT), Results::new()),
        What::NotConnected => (shown("not connected"), Results::new()),
    }
}

fn shown(text: &str) -> Normal {
    Normal { bytes: text.as_bytes().to_vec(), text: text.to_owned() }
}

fn raw(what: &What) -> Vec<u8> {
    match what {
        What::Reply(_, frame) | What::Barrier(frame) | What::Event(frame) | What::Handshake(frame) => {
            frame.clone()
        }
        _ => Vec::new(),
    }
}

fn opcode(step: &Step, index: usize) -> i32 {
    step.action.requests().and_then(|requests| requests.get(index)).map_or(0, |request| request.op.opcode())
}

/// What a closed connection is counted under.
fn first_name(step: &Step) -> &'static str {
    match &step.action {
        Action::Send(requests) | Action::Reap(requests, _) => {
            requests.last().map_or("nothing", |request| match request.op {
                Op::Raw { .. } => "unknown",
                _ => request.op.name(),
            })
        }
        Action::Connect(_) => "connect",
        Action::Bytes(_) => "bytes",
        Action::Drop => "drop",
        Action::Word(_) => "word",
        Action::Page(_) => "page",
    }
}

fn ends_a_session(step: &Step) -> bool {
    matches!(&step.action, Action::Send(requests)
        if requests.iter().any(|request| request.op.opcode() == OpCode::CloseSession.code()))
}

impl Line {
    /// Whether the same client saw the same thing.
    #[must_use]
    pub fn same(&self, other: &Line) -> bool {
        self.client == other.client && self.event == other.event && self.normal.bytes == other.normal.bytes
    }
}

impl Line {
    /// The error code of a reply.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        if self.event { None } else { int_at(&self.raw, 12) }
    }

    /// Whether it is the same reply, except for the number of zxids that the server had given by then.
    #[must_use]
    pub fn same_but_for_zxid(&self, other: &Line) -> bool {
        let rest =
            |line: &Line| Some((line.normal.bytes.get(..4)?.to_vec(), line.normal.bytes.get(12..)?.to_vec()));
        let reply = !self.event && !other.event && self.raw.len() >= 16 && other.raw.len() >= 16;
        reply && self.client == other.client && rest(self).is_some() && rest(self) == rest(other)
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client {}: {}", self.client, self.normal.text)?;
        if !self.raw.is_empty() {
            f.write_str("\n        ")?;
            self.raw.iter().take(400).try_for_each(|byte| write!(f, "{byte:02x}"))?;
        }
        Ok(())
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  in block {} ({}), {}", self.block, self.scene, self.step)?;
        for (name, lines) in [("left", &self.left), ("right", &self.right)] {
            writeln!(f, "  {name}:")?;
            let other = if name == "left" { &self.right } else { &self.left };
            for (index, line) in lines.iter().enumerate() {
                let same = other.get(index).is_some_and(|other| other.same(line));
                writeln!(f, "    {} {line}", if same { ' ' } else { '!' })?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Block, Profile, Request};

    /// One client reads a node, another gets an event of its change.
    fn script(purpose: Option<&'static str>) -> Script {
        let read = Op::Watching { opcode: OpCode::Exists, path: "/a".into(), watch: true };
        let step = Step { client: 0, action: Action::Send(vec![Request { xid: 1, op: read }]) };
        Script {
            seed: 1,
            profile: Profile::Plain,
            blocks: vec![Block { scene: "a test", purpose, steps: vec![step] }],
        }
    }

    fn header(xid: i32, zxid: i64, err: i32) -> Vec<u8> {
        let mut frame = Vec::new();
        council_wire::Writer::new(&mut frame).i32(xid).i64(zxid).i32(err);
        frame
    }

    fn event(zxid: i64) -> What {
        let mut frame = header(-1, zxid, 0);
        council_wire::Writer::new(&mut frame).i32(3).i32(3).text("/a");
        What::Event(frame)
    }

    fn record(base: i64, seen: Vec<(usize, What)>) -> Record {
        let seen = seen.into_iter().map(|(client, what)| Seen { client, what }).collect();
        Record { marks: vec![base, base + 2], sessions: vec![base + 1], steps: vec![seen] }
    }

    fn usual(base: i64) -> Vec<(usize, What)> {
        vec![
            (0, What::Reply(0, header(1, base + 2, -101))),
            (1, event(base + 2)),
            (1, What::Barrier(header(-2, base + 2, 0))),
        ]
    }

    fn differs(other: Vec<(usize, What)>) -> bool {
        let verdict = compare(&script(None), &record(10, usual(10)), &record(50, other), Ours::Right);
        verdict.difference.is_some()
    }

    #[test]
    fn servers_with_different_histories_and_the_same_answers_are_equal() {
        assert!(!differs(usual(50)));
    }

    #[test]
    fn every_planted_difference_is_found() {
        let plant = |at: usize, what: What| {
            let mut seen = usual(50);
            seen[at].1 = what;
            differs(seen)
        };
        assert!(plant(0, What::Reply(0, header(1, 52, -102))), "another error");
        assert!(plant(0, What::Reply(0, header(2, 52, -101))), "another xid");
        assert!(plant(0, What::Reply(0, header(1, 51, -101))), "another zxid");
        assert!(plant(0, What::Gone), "a closed connection");
        assert!(plant(1, event(-1)), "an event without its zxid");
        let mut early = usual(50);
        early.swap(1, 2);
        assert!(differs(early), "an event behind the reply that shows its cause");
        let mut silent = usual(50);
        silent.remove(1);
        assert!(differs(silent), "a missing event");
        let mut twice = usual(50);
        twice.insert(1, (1, event(52)));
        assert!(differs(twice), "an event too many");
        let mut elsewhere = usual(50);
        elsewhere[1].0 = 0;
        assert!(differs(elsewhere), "an event for another client");
    }

    #[test]
    fn the_table_excuses_its_own_blocks_and_our_side_only() {
        let mut more = usual(50);
        more.insert(1, (1, event(52)));
        let verdict = |purpose, ours| {
            compare(&script(purpose), &record(10, usual(10)), &record(50, more.clone()), ours)
        };
        assert!(verdict(None, Ours::Right).difference.is_some());
        assert!(verdict(Some("catch-up"), Ours::Neither).difference.is_some());
        assert!(verdict(Some("wrong password"), Ours::Right).difference.is_some(), "another entry's excuse");
        let excused = verdict(Some("catch-up"), Ours::Right);
        assert!(excused.difference.is_none());
        assert_eq!(excused.on_purpose.get("catch-up"), Some(&1));
    }
}
