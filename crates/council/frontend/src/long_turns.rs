//! The turns of long requests: one piece of one request at a time.

use council_tree::{Counted, Tree};
use council_wire::{ErrorCode, Request, Writer};

use crate::asker::asker;
use crate::connection::{Connection, Stage};
use crate::cost::TURN_WORK;
use crate::long::{Listed, Long, Progress, Question, Step, at_once, begin};
use crate::read;
use crate::read_effects::Immediate;
use crate::replies::{Answered, Slot};
use crate::shard_state::ShardState;
use crate::watch::Renewed;

/// A frame holds no more: its length is a signed number of 32 bits.
const FRAME_BYTES_MAX: usize = 1 << 30;
/// For how many microseconds nothing else is read as a whole, for each unit of work that something took so.
const REST_US_PER_WORK: u64 = 1;

impl ShardState {
    /// One piece of a request, for so much work.
    fn step(&mut self, connection: &mut Connection, long: &mut Long, tree: &Tree, work: &mut usize) -> Step {
        let body = core::mem::take(&mut long.body);
        let step = match read::decode(long.operation, &body) {
            Ok(Request::SetWatches(set) | Request::SetWatches2(set)) => {
                self.step_of_set(connection, long, &set, tree, work)
            }
            Ok(request) => self.step_of_read(connection, long, &request, tree, work),
            Err(_) => Step::Failed(ErrorCode::MarshallingError),
        };
        long.body = body;
        step
    }

    fn step_of_set(
        &mut self,
        connection: &mut Connection,
        long: &mut Long,
        set: &council_wire::SetWatches<'_>,
        tree: &Tree,
        work: &mut usize,
    ) -> Step {
        if let Progress::New = long.progress {
            if let Err(error) = self.may_set_watches(connection, set) {
                return Step::Failed(error);
            }
            long.progress = Progress::Set(Box::default());
        }
        let Progress::Set(progress) = &mut long.progress else {
            return Step::Failed(ErrorCode::SystemError);
        };
        match self.set_watches(connection, set, progress, tree, work) {
            Ok(Renewed::More) => Step::More,
            Ok(Renewed::Whole) => Step::Whole,
            Ok(Renewed::All) => {
                long.begin();
                Step::Done(ErrorCode::Ok)
            }
            Err(error) => Step::Failed(error),
        }
    }

    fn step_of_read(
        &mut self,
        connection: &Connection,
        long: &mut Long,
        request: &Request<'_>,
        tree: &Tree,
        work: &mut usize,
    ) -> Step {
        let (bytes_max, bytes_are_final) = self.reply_bytes_max(connection, long.counted);
        let who = asker(&self.config, connection.session, connection.identities.identities());
        let question = Question { tree, request, who, bytes_max, bytes_are_final };
        let mut trail = Immediate {
            watches: &mut self.watching.table,
            slot: connection.id.slot,
            reads: &mut self.stats.reads,
        };
        if let Progress::New = long.progress {
            long.begin();
            match begin(question) {
                Ok(progress) => long.progress = progress,
                Err(error) => return Step::Failed(error),
            }
        }
        let Long { frame, progress, .. } = long;
        match (progress, request) {
            (Progress::List(list), _) => match list.go_on(question, frame, &mut trail, work) {
                Listed::More => Step::More,
                Listed::Whole => Step::Whole,
                Listed::All(error) => Step::Done(error),
                Listed::Failed(error) => Step::Failed(error),
                Listed::Over => Step::Over,
            },
            (Progress::Count(descent), _) => {
                let counted = descent.go_on(tree, work);
                step_of_count(long, counted)
            }
            (Progress::Ephemerals(list), Request::GetEphemerals { prefix }) => {
                list.go_on(question, prefix, frame, work)
            }
            _ => at_once(question, long.xid, frame, &mut trail, work),
        }
    }

    /// Queues a request that takes long; it is begun when everything before it is answered.
    pub(crate) fn take_long(&mut self, connection: &mut Connection, long: Long) {
        self.enqueue(connection, Slot::Long(Box::new(long)));
        self.begin_long(connection);
    }

    /// Gives a long request its turns if it is the next to be answered.
    pub(crate) fn begin_long(&mut self, connection: &mut Connection) {
        if let Some(Slot::Long(long)) = connection.slots.front_mut()
            && !long.queued
        {
            long.queued = true;
            self.lines.ready.push_back(connection.id);
        }
    }

    /// Does a piece of a connection's long request.
    pub(crate) fn go_on(&mut self, connection: &mut Connection, tree: &Tree) {
        let Some(Slot::Long(mut long)) = connection.slots.pop_front_if(|slot| matches!(slot, Slot::Long(_)))
        else {
            return self.lines.leave(connection.id);
        };
        if long.bears_bytes() && !self.lines.lets(connection.id) {
            return connection.slots.push_front(Slot::Long(long));
        }
        let mut work = TURN_WORK;
        let mut step = self.step(connection, &mut long, tree, &mut work);
        self.turn.charge(TURN_WORK - work);
        if let Step::Whole = step {
            if self.now.mono_us < self.lines.whole_after_us {
                return self.put_off(connection, long);
            }
            let mut work = usize::MAX;
            step = self.step(connection, &mut long, tree, &mut work);
            let took = usize::MAX - work;
            self.turn.charge(took);
            self.lines.whole_after_us = self.now.mono_us + took as u64 * REST_US_PER_WORK;
        }
        if connection.stage == Stage::Closing {
            return self.drop_long(&long);
        }
        match step {
            Step::More | Step::Whole => {
                self.count_frame(&mut long);
                connection.slots.push_front(Slot::Long(long));
                self.lines.ready.push_back(connection.id);
            }
            Step::Over => match self.reply_bytes_max(connection, long.counted) {
                (_, true) => self.end_long(connection, *long, Err(ErrorCode::BadArguments), tree),
                (tried_bytes, false) => {
                    long.tried_bytes = tried_bytes;
                    self.put_off(connection, long);
                }
            },
            Step::Done(error) => self.end_long(connection, *long, Ok(error), tree),
            Step::Failed(error) => self.end_long(connection, *long, Err(error), tree),
        }
    }

    /// Lets others make their replies first.
    fn put_off(&mut self, connection: &mut Connection, mut long: Box<Long>) {
        if !matches!(long.progress, Progress::Count(_) | Progress::Set(_)) {
            long.reset();
        }
        self.count_frame(&mut long);
        connection.slots.push_front(Slot::Long(long));
        self.lines.waiting.push(connection.id);
        self.lines.leave(connection.id);
    }

    /// Counts what a long request keeps for its reply among what is not sent yet.
    fn count_frame(&mut self, long: &mut Long) {
        self.stats.unsent_bytes = self.stats.unsent_bytes + long.frame.len() - long.counted;
        long.counted = long.frame.len();
    }

    /// A long request is in the queue no more.
    fn drop_long(&mut self, long: &Long) {
        self.stats.in_flight_bytes -= long.body.len();
        self.stats.unsent_bytes -= long.counted;
    }

    fn end_long(
        &mut self,
        connection: &mut Connection,
        mut long: Long,
        result: Result<ErrorCode, ErrorCode>,
        tree: &Tree,
    ) {
        self.drop_long(&long);
        self.lines.leave(connection.id);
        let zxid = long.settled().unwrap_or(tree.last_zxid());
        match result {
            Ok(error) => long.end(zxid, error),
            Err(error) => {
                long.begin();
                long.end(zxid, error);
                self.stats.malformed += u64::from(error == ErrorCode::MarshallingError);
            }
        }
        connection.output.append(long.frame, &mut self.buffers);
        let answered = Answered { xid: long.xid, zxid, operation: Some(long.operation), close: None };
        self.answered(connection, answered, long.received_us);
        self.release(connection, tree);
    }

    /// Bytes that a long reply to this connection may have, and whether that is so however much room there is: while
    /// there is none, its share is left to each. `own` of the unsent bytes are this reply's.
    pub(super) fn reply_bytes_max(&self, connection: &Connection, own: usize) -> (usize, bool) {
        let most = self.config.reply_bytes_max.min(FRAME_BYTES_MAX);
        if self.has_room(own) {
            return (most, true);
        }
        let share = self.share_of(self.config.output_bytes_all_max).saturating_sub(connection.output.len());
        (most.min(share), most <= share)
    }

    /// Whether a long request that was put off may go on.
    pub(crate) fn may_go_on(&self, connection: &Connection) -> bool {
        let Some(Slot::Long(long)) = connection.slots.front() else { return true };
        let (bytes, _) = self.reply_bytes_max(connection, long.counted());
        // Not after each byte: a failed attempt starts again from its beginning.
        let is_worth_it = connection.output.len() == 0 || self.has_room(0) || bytes / 2 >= long.tried_bytes;
        bytes > long.tried_bytes && is_worth_it && self.now.mono_us >= self.lines.whole_after_us
    }
}

/// How a piece of counting descendants ended.
fn step_of_count(long: &mut Long, counted: Counted) -> Step {
    match counted {
        Counted::More => Step::More,
        Counted::Gone => Step::Failed(ErrorCode::NoNode),
        Counted::Replaced => {
            long.reset();
            Step::More
        }
        Counted::All(number) => {
            Writer::new(&mut long.frame).i32(i32::try_from(number).unwrap_or(i32::MAX));
            Step::Done(ErrorCode::Ok)
        }
    }
}
