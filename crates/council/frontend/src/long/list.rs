//! Lists of children and multiReads, made in pieces and true at one moment.
//!
//! For each node that was read, the list keeps the transactions that made what was read. When all is read, each node is
//! checked again: if none has changed, everything read is what the tree shows now. What changed is read again, a few
//! times in pieces and then as a whole. A half-read list of children begins again if a child came or went, or if the
//! tree was replaced.

use council_tree::{ChildrenPause, NodeRef, Tree};
use council_wire::{ErrorCode, MultiHeader, MultiOperation, OpCode, Request, Writer, Zxid};

use super::{LIST_AT, Question, RESTARTS_MAX};
use crate::cost::BYTES_PER_WORK;
use crate::cost::DATA_OVERHEAD;
use crate::judge::Judge;
use crate::message::WatchKind;
use crate::namespace_stats::STAT_BYTES;
use crate::read::{ReadEffects, put_failed};

/// How far a list has come.
#[derive(Debug, Default)]
pub(crate) struct List {
    /// What was read of each part, in order.
    marks: Vec<Mark>,
    /// The list of children that is being read: where it begins, of which state it is, and how far it was read.
    under_way: Option<(usize, Mark, ChildrenPause)>,
    /// A part did not fit: all from there on are refused.
    full: bool,
    restarts: u8,
}

/// What shows whether a part would be read the same again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Read {
        czxid: Zxid,
        mzxid: Zxid,
        pzxid: Zxid,
        cversion: i32,
        aversion: i32,
    },
    /// It may not be read.
    Denied {
        czxid: Zxid,
        aversion: i32,
    },
    /// There is no such node.
    Absent,
    /// Beyond the limit, and so not looked at.
    Refused,
}

/// How a piece of a list ended.
pub(crate) enum Listed {
    More,
    /// It is whole, with this error in its header.
    All(ErrorCode),
    Failed(ErrorCode),
    /// It takes more bytes than there are.
    Over,
    /// It changes faster than it is read in pieces.
    Whole,
}

/// One thing to read.
#[derive(Clone, Copy)]
enum Part<'r> {
    Data(&'r str),
    Children(&'r str),
    /// A null path, where a multiRead is broken off.
    Broken,
}

/// How the reading of a part ended.
enum Read {
    All(Mark),
    More,
    Failed(ErrorCode),
    Over,
    Whole,
}

impl List {
    /// Continues reading for so much work. With unlimited work, it begins again and finishes.
    pub(crate) fn go_on(
        &mut self,
        question: Question<'_>,
        frame: &mut Vec<u8>,
        trail: &mut impl ReadEffects,
        work: &mut usize,
    ) -> Listed {
        if *work == usize::MAX {
            self.begin_anew(frame);
        }
        let is_one_of_many = matches!(question.request, Request::MultiRead(_));
        let judge = Judge::new(question.who, is_one_of_many);
        while let Some(part) = part(question.request, self.marks.len()) {
            if *work == 0 {
                return Listed::More;
            }
            *work -= 1;
            let read = match part {
                _ if self.full => Read::Over,
                Part::Broken => {
                    return self.finish(question, ErrorCode::MarshallingError, frame, trail, work);
                }
                Part::Data(path) => data(question, path, &judge, frame, trail, work),
                Part::Children(path) => self.children(question, path, &judge, frame, trail, work),
            };
            // Behind what was read: so each piece comes some way, however much there is to judge.
            *work = work.saturating_sub(judge.new_work());
            match read {
                Read::All(mark) => self.marks.push(mark),
                Read::More => return Listed::More,
                Read::Whole => {
                    self.begin_anew(frame);
                    return Listed::Whole;
                }
                Read::Failed(error) if is_one_of_many => {
                    put_failed(error, frame);
                    self.marks.push(Mark::of_failed(question, part));
                }
                Read::Failed(error) => return Listed::Failed(error),
                Read::Over if is_one_of_many && question.bytes_are_final => {
                    self.full = true;
                    put_failed(ErrorCode::BadArguments, frame);
                    self.marks.push(Mark::Refused);
                }
                Read::Over => return Listed::Over,
            }
        }
        self.finish(question, ErrorCode::Ok, frame, trail, work)
    }

    /// Looks at all that was read once more, and ends the list if it stands.
    fn finish(
        &mut self,
        question: Question<'_>,
        error: ErrorCode,
        frame: &mut Vec<u8>,
        trail: &mut impl ReadEffects,
        work: &mut usize,
    ) -> Listed {
        *work = work.saturating_sub(self.marks.len() / 2);
        let parts = (0..).map_while(|number| part(question.request, number));
        if !self.marks.iter().zip(parts).all(|(mark, part)| mark.stands(question, part)) {
            let often = self.restarts == RESTARTS_MAX;
            self.begin_anew(frame);
            return if often { Listed::Whole } else { Listed::More };
        }
        match question.request {
            Request::MultiRead(_) => MultiHeader::END.write(&mut Writer::new(frame)),
            Request::GetChildren2 { path, .. } => {
                let Some(node) = question.tree.node(path) else { return Listed::Failed(ErrorCode::NoNode) };
                node.stat().write(&mut Writer::new(frame));
            }
            _ => {}
        }
        if let Request::GetChildren { path, watch: true } | Request::GetChildren2 { path, watch: true } =
            question.request
        {
            trail.watch(path, WatchKind::Child);
        }
        Listed::All(error)
    }

    fn begin_anew(&mut self, frame: &mut Vec<u8>) {
        let restarts = (self.restarts + 1).min(RESTARTS_MAX);
        *self = Self { restarts, ..Self::default() };
        frame.truncate(LIST_AT);
    }

    fn children(
        &mut self,
        question: Question<'_>,
        path: &str,
        judge: &Judge<'_>,
        frame: &mut Vec<u8>,
        trail: &mut impl ReadEffects,
        work: &mut usize,
    ) -> Read {
        let under_way = self.under_way.take();
        let start = under_way.map_or(frame.len(), |(start, ..)| start);
        let node = match judge.readable(question.tree, path) {
            Ok(node) => node,
            Err(error) => {
                frame.truncate(start);
                return Read::Failed(error);
            }
        };
        let mark = Mark::of_node(&node);
        let unchanged = under_way.filter(|(_, before, _)| *before == mark);
        let mut children = match unchanged.and_then(|(_, _, pause)| node.children_behind(pause)) {
            Some(rest) => rest,
            None if under_way.is_some() && self.restarts == RESTARTS_MAX => return Read::Whole,
            None => {
                self.restarts += u8::from(under_way.is_some());
                frame.truncate(start);
                begin_children(&node, question.request, frame);
                node.children()
            }
        };
        loop {
            if *work == 0 {
                self.under_way = Some((start, mark, children.pause()));
                return Read::More;
            }
            *work -= 1;
            let Some(name) = children.next() else { break };
            if frame.len() + name.len() + DATA_OVERHEAD > question.bytes_max {
                frame.truncate(start);
                return Read::Over;
            }
            Writer::new(frame).text(name);
        }
        let lengths = 4 * (1 + node.num_children());
        trail.read(path, (frame.len() - start).saturating_sub(lengths) as u64 + STAT_BYTES);
        Read::All(mark)
    }
}

fn data(
    question: Question<'_>,
    path: &str,
    judge: &Judge<'_>,
    frame: &mut Vec<u8>,
    trail: &mut impl ReadEffects,
    work: &mut usize,
) -> Read {
    let node = match judge.readable(question.tree, path) {
        Ok(node) => node,
        Err(error) => return Read::Failed(error),
    };
    let bytes = node.data().map_or(0, <[u8]>::len);
    if frame.len() + bytes + DATA_OVERHEAD > question.bytes_max {
        return Read::Over;
    }
    *work = work.saturating_sub(bytes / BYTES_PER_WORK);
    trail.read(path, bytes as u64 + STAT_BYTES);
    let mut writer = Writer::new(frame);
    MultiHeader { operation: OpCode::GetData.code(), done: false, err: 0 }.write(&mut writer);
    writer.buffer(node.data());
    node.stat().write(&mut writer);
    Read::All(Mark::of_node(&node))
}

impl Part<'_> {
    fn node<'t>(&self, tree: &'t Tree) -> Option<NodeRef<'t>> {
        match self {
            Self::Data(path) | Self::Children(path) => tree.node(path),
            Self::Broken => None,
        }
    }
}

impl Mark {
    /// Of a part that could not be read.
    fn of_failed(question: Question<'_>, part: Part<'_>) -> Self {
        let Some(stat) = part.node(question.tree).map(|node| node.stat()) else { return Self::Absent };
        Self::Denied { czxid: Zxid(stat.czxid), aversion: stat.aversion }
    }

    /// Whether the part would be read the same now. The identities of a connection stay while its request is under way,
    /// so a node of the same ACL is judged the same.
    fn stands(&self, question: Question<'_>, part: Part<'_>) -> bool {
        match (self, part.node(question.tree)) {
            (Self::Refused, _) | (Self::Absent, None) => true,
            (Self::Read { .. }, Some(node)) => *self == Self::of_node(&node),
            (Self::Denied { .. }, Some(_)) => *self == Self::of_failed(question, part),
            _ => false,
        }
    }

    /// Everything that a part can show: data, Stat, children, and the ACL.
    fn of_node(node: &NodeRef<'_>) -> Self {
        let stat = node.stat();
        Self::Read {
            czxid: Zxid(stat.czxid),
            mzxid: Zxid(stat.mzxid),
            pzxid: Zxid(stat.pzxid),
            cversion: stat.cversion,
            aversion: stat.aversion,
        }
    }
}

fn begin_children(node: &NodeRef<'_>, request: &Request<'_>, frame: &mut Vec<u8>) {
    let mut writer = Writer::new(frame);
    if let Request::MultiRead(_) = request {
        MultiHeader { operation: OpCode::GetChildren.code(), done: false, err: 0 }.write(&mut writer);
    }
    writer.i32(i32::try_from(node.num_children()).unwrap_or(i32::MAX));
}

/// The part of this number, if the request has as many.
fn part<'r>(request: &Request<'r>, number: usize) -> Option<Part<'r>> {
    match request {
        Request::GetChildren { path, .. } | Request::GetChildren2 { path, .. } => {
            (number == 0).then_some(Part::Children(path))
        }
        Request::MultiRead(multi) => Some(match multi.operations.get(number)? {
            MultiOperation::GetData { path, .. } => path.map_or(Part::Broken, Part::Data),
            MultiOperation::GetChildren { path, .. } => path.map_or(Part::Broken, Part::Children),
            _ => Part::Broken,
        }),
        _ => None,
    }
}
