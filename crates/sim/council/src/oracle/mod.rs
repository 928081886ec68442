//! The oracle: one applied order of the log, replayed on the plain model. It knows what each transaction did, what each
//! session lived through, and the tree as of every zxid.

pub mod access;
pub mod command;
pub mod digest;
pub mod members;
pub mod model;

use base::{LogIndex, Term};
use std::collections::{BTreeMap, BTreeSet};

use consensus_raft::EntryKind;
use council_wire::{ErrorCode, OpCode, Request, Writer};

use crate::record::Record;
use access::Identities;
use command::Command;
use model::{Context, Done, Model};

/// Which command of which connection: session, generation, sequence.
pub type Origin = (i64, u32, u64);

/// A command that had an effect, or at least a zxid.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// Its zxid; that of the one before it if it took none.
    pub zxid: i64,
    /// Its entry.
    pub index: LogIndex,
    /// The term of its entry.
    pub term: Term,
    /// When it was first applied anywhere, as far as was seen.
    pub at_ms: u64,
    /// Who sent it, if a client did.
    pub origin: Option<Origin>,
    /// The leader's clock.
    pub time_ms: i64,
    /// What the ensemble itself did with it, if it did.
    pub deed: Option<Deed>,
    /// The switches of the server that took it.
    pub policy: u8,
    /// Who its client was.
    pub who: Identities,
    /// What it is.
    pub opcode: Option<OpCode>,
    /// The client's bytes.
    pub body: Vec<u8>,
    /// Whether a member refused it before it came into the log.
    pub refused: bool,
    /// What its client is to be answered: an error, or 0.
    pub error: i32,
    /// And the bytes behind the header.
    pub reply: Vec<u8>,
}

/// What the ensemble does of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// This session came to its end.
    Ended(i64),
    /// A container or TTL node of this path was to go; a container that never had a child after so many milliseconds.
    Reaped(String, i64),
    /// It wrote down its members.
    Configured,
}

/// What a session lived through.
#[derive(Clone, Debug, Default)]
pub struct SessionStory {
    /// Its timeout as of the last attach, milliseconds.
    pub timeout_ms: u64,
    /// Its first transaction.
    pub created_zxid: i64,
    /// Each generation, by which entry it began, and when that was first applied.
    pub generations: Vec<(u32, LogIndex, u64)>,
    /// What each of them began with, in the same order.
    pub beginnings: Vec<Beginning>,
    /// How it ended.
    pub ended: Option<End>,
    sequence: u64,
}

/// What the log gives a session's connection.
#[derive(Clone, Copy, Debug)]
pub struct Beginning {
    /// The timeout, milliseconds.
    pub timeout_ms: u64,
    /// The last transaction before it.
    pub behind_zxid: i64,
}

/// A session that was to be opened, with an id below that of one which its member had opened before.
#[derive(Clone, Copy, Debug)]
pub struct Late {
    /// Its id.
    pub session: i64,
    /// The entry that was to open it.
    pub index: LogIndex,
    /// When the latest before it was first seen open.
    pub latest_ms: u64,
}

/// How a session ended.
#[derive(Clone, Debug)]
pub struct End {
    /// By which transaction.
    pub zxid: i64,
    /// In which entry.
    pub index: LogIndex,
    /// First applied then.
    pub at_ms: u64,
    /// Because nobody had heard of it.
    pub expired: bool,
    /// What it owned.
    pub owned: Vec<String>,
}

/// See the module.
#[derive(Debug)]
pub struct Oracle {
    /// The tree, as of every zxid.
    pub model: Model,
    /// All transactions, in order.
    pub transactions: Vec<Transaction>,
    /// All sessions there ever were.
    pub sessions: BTreeMap<i64, SessionStory>,
    /// The last zxid behind each entry; that of index 1 comes first.
    pub zxids: Vec<i64>,
    /// The term of the first entry that raised the epoch to this, and of every entry with a transaction in it.
    pub epochs: BTreeMap<i64, Vec<Term>>,
    /// Transactions behind which something was done that took no zxid: two trees of such a zxid may differ.
    pub unsettled: BTreeSet<i64>,
    /// Sessions whose ids did not rise.
    pub late: Vec<Late>,
    by_origin: BTreeMap<Origin, usize>,
    /// The latest session that each member opened, and when.
    births: BTreeMap<u64, (i64, u64)>,
    /// All sessions that were to be opened.
    offered: BTreeSet<i64>,
    /// The log's feature level.
    level: u32,
    /// Commands that came again, or late.
    pub dropped: u64,
    /// What could not be made sense of.
    pub nonsense: Vec<String>,
}

impl Oracle {
    /// Replays everything that was applied.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        let mut oracle = Self {
            model: Model::new(),
            transactions: Vec::new(),
            sessions: BTreeMap::new(),
            zxids: Vec::new(),
            epochs: BTreeMap::new(),
            unsettled: BTreeSet::new(),
            late: Vec::new(),
            by_origin: BTreeMap::new(),
            births: BTreeMap::new(),
            offered: BTreeSet::new(),
            level: 0,
            dropped: 0,
            nonsense: Vec::new(),
        };
        for committed in &record.entries {
            let entry = &committed.entry;
            if entry.kind == EntryKind::Normal && !entry.data.is_empty() {
                match command::read_entry(&entry.data) {
                    Ok((time_ms, commands)) => {
                        for command in commands {
                            oracle.apply(time_ms, command, entry.index, entry.term, committed.at_ms);
                        }
                    }
                    Err(what) => oracle.nonsense.push(format!("entry {} holds {what}", entry.index)),
                }
            }
            if let Some(resumed) = record.resumed.as_ref().filter(|resumed| resumed.index == entry.index) {
                oracle.model.zxid = oracle.model.zxid.max(resumed.zxid);
            }
            oracle.zxids.push(oracle.model.zxid);
        }
        oracle
    }

    /// The transaction of that command, if it is in the log.
    #[must_use]
    pub fn of_origin(&self, origin: Origin) -> Option<&Transaction> {
        self.by_origin.get(&origin).and_then(|at| self.transactions.get(*at))
    }

    /// The transactions behind that zxid.
    #[must_use]
    pub fn behind(&self, zxid: i64) -> &[Transaction] {
        let from = self.transactions.partition_point(|transaction| transaction.zxid <= zxid);
        &self.transactions[from..]
    }

    /// The last zxid in the log.
    #[must_use]
    pub const fn last_zxid(&self) -> i64 {
        self.model.zxid
    }

    fn apply(&mut self, time_ms: i64, command: Command, index: LogIndex, term: Term, at_ms: u64) {
        let Command { origin, policy, who, deed } = command;
        if origin.is_some_and(|origin| !self.admit(origin)) {
            self.dropped += 1;
            return;
        }
        let before = self.model.zxid;
        let session = origin.map_or(0, |origin| origin.0);
        let by = Context { zxid: before + 1, time_ms, session, who: &who, policy };
        let mut transaction = Transaction {
            zxid: 0,
            index,
            term,
            at_ms,
            origin,
            time_ms,
            deed: None,
            policy,
            who: who.clone(),
            opcode: None,
            body: Vec::new(),
            refused: false,
            error: 0,
            reply: Vec::new(),
        };
        match deed {
            command::Deed::Client(opcode, body) => {
                match Request::decode(opcode, &body) {
                    Ok(request) => match self.model.write(&request, opcode, &by) {
                        Ok(done) => transaction.reply = reply(opcode, &done),
                        Err(error) => transaction.error = error.code(),
                    },
                    Err(error) => self.nonsense.push(format!("entry {index}: {error}")),
                }
                (transaction.opcode, transaction.body) = (Some(opcode), body);
            }
            command::Deed::Begin(session, timeout_ms) => {
                if !self.begin(session, timeout_ms, index, at_ms) {
                    return;
                }
            }
            command::Deed::Attach(session, generation, timeout_ms) => {
                self.attach(session, generation, timeout_ms, index, at_ms);
            }
            command::Deed::Close(session) => {
                transaction.opcode = Some(OpCode::CloseSession);
                transaction.deed = Some(Deed::Ended(session));
                if !self.end(session, by.zxid, index, at_ms, false) {
                    transaction.error = ErrorCode::SessionExpired.code();
                }
            }
            command::Deed::Expire(session, generation) => {
                let present = self.sessions.get(&session).and_then(|story| story.generations.last());
                if present.is_some_and(|(present, ..)| *present == generation) {
                    transaction.deed = Some(Deed::Ended(session));
                    self.end(session, by.zxid, index, at_ms, true);
                }
            }
            command::Deed::RaiseEpoch => {
                self.model.zxid = ((before >> 32) + 1) << 32;
                self.epochs.entry(self.model.zxid >> 32).or_default().push(term);
            }
            command::Deed::SetConfig(text) => {
                transaction.deed = Some(Deed::Configured);
                self.model.set_config(&text, &by);
            }
            command::Deed::Refuse(code) => (transaction.error, transaction.refused) = (code, true),
            command::Deed::FeatureLevel(level) => self.level = self.level.max(level),
            command::Deed::Reap(path, never_used_ms) => {
                self.model.reap(&path, never_used_ms, &by);
                transaction.deed = Some(Deed::Reaped(path, never_used_ms));
            }
        }
        transaction.zxid = self.model.zxid;
        if self.model.zxid == before {
            self.unsettled.insert(before);
        } else {
            let terms = self.epochs.entry(self.model.zxid >> 32).or_default();
            if terms.last() != Some(&term) {
                terms.push(term);
            }
        }
        if let Some(origin) = origin {
            self.by_origin.insert(origin, self.transactions.len());
        } else if self.model.zxid == before {
            return;
        }
        self.transactions.push(transaction);
    }

    /// Whether that command is the next of its session's living connection.
    fn admit(&mut self, (session, generation, sequence): Origin) -> bool {
        let Some(story) = self.sessions.get_mut(&session).filter(|story| story.ended.is_none()) else {
            return false;
        };
        let present = story.generations.last().map_or(0, |(generation, ..)| *generation);
        if generation != present || sequence != story.sequence + 1 {
            return false;
        }
        story.sequence = sequence;
        true
    }

    /// Opens a session, unless it is one that was opened before: each member's ids rise.
    fn begin(&mut self, session: i64, timeout_ms: i32, index: LogIndex, at_ms: u64) -> bool {
        let (latest, latest_ms) = self.births.entry(session as u64 >> 56).or_insert((i64::MIN, 0));
        let (is_late, is_new) = (self.level > 0 && session <= *latest, self.offered.insert(session));
        if is_late && is_new {
            self.late.push(Late { session, index, latest_ms: *latest_ms });
        }
        let open = self.sessions.get(&session).is_some_and(|story| story.ended.is_none());
        if open || is_late {
            return false;
        }
        if self.level > 0 {
            (*latest, *latest_ms) = (session, at_ms);
        }
        let behind_zxid = self.model.zxid;
        self.model.zxid += 1;
        let story = SessionStory {
            timeout_ms: timeout_ms as u64,
            created_zxid: self.model.zxid,
            generations: vec![(1, index, at_ms)],
            beginnings: vec![Beginning { timeout_ms: timeout_ms as u64, behind_zxid }],
            ended: None,
            sequence: 0,
        };
        self.sessions.insert(session, story);
        true
    }

    fn attach(&mut self, session: i64, generation: u32, timeout_ms: i32, index: LogIndex, at_ms: u64) {
        let Some(story) = self.sessions.get_mut(&session).filter(|story| story.ended.is_none()) else {
            return;
        };
        if story.generations.last().is_some_and(|(present, ..)| generation > *present) {
            story.generations.push((generation, index, at_ms));
            let behind_zxid = self.model.zxid;
            story.beginnings.push(Beginning { timeout_ms: timeout_ms as u64, behind_zxid });
            (story.sequence, story.timeout_ms) = (0, timeout_ms as u64);
        }
    }

    fn end(&mut self, session: i64, zxid: i64, index: LogIndex, at_ms: u64, expired: bool) -> bool {
        let Some(story) = self.sessions.get_mut(&session).filter(|story| story.ended.is_none()) else {
            return false;
        };
        let owned = self.model.close(session, zxid);
        story.ended = Some(End { zxid, index, at_ms, expired, owned });
        true
    }
}

/// The bytes behind the header of the reply to a write that was done.
fn reply(opcode: OpCode, done: &Done) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes);
    match done {
        Done::Created(path, stat) => {
            writer.text(path);
            if opcode != OpCode::Create {
                stat.write(&mut writer);
            }
        }
        Done::Set(stat) => stat.write(&mut writer),
        Done::Reconfigured(text, stat) => {
            writer.buffer(Some(text.as_bytes()));
            stat.write(&mut writer);
        }
        Done::Deleted | Done::Checked => {}
        Done::All(all) => {
            for (opcode, one) in all {
                // However a node is made, it is answered in one of two ways.
                let told = match opcode {
                    OpCode::CreateContainer | OpCode::CreateTtl => OpCode::Create2,
                    other => *other,
                };
                header(&mut writer, told.code(), 0);
                writer.raw(&reply(told, one));
            }
            end_of_multi(&mut writer);
        }
        Done::Nothing(codes) => {
            for code in codes {
                header(&mut writer, -1, *code);
                writer.i32(*code);
            }
            end_of_multi(&mut writer);
        }
    }
    bytes
}

fn header(writer: &mut Writer<'_>, operation: i32, err: i32) {
    council_wire::MultiHeader { operation, done: false, err }.write(writer);
}

fn end_of_multi(writer: &mut Writer<'_>) {
    council_wire::MultiHeader { operation: -1, done: true, err: -1 }.write(writer);
}
