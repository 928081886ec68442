//! What clients did and saw: every call with its outcome, every reply and event in the order in which they came, every
//! connection. A call that was not answered is unknown, never absent. Judges nothing.

mod ask;

pub use ask::Ask;

use std::collections::BTreeMap;
use std::net::IpAddr;

use council_wire::EventType;

use crate::node::SocketId;

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// When it was read.
    pub at_ms: u64,
    /// What it reflects.
    pub zxid: i64,
    /// 0 or an error.
    pub err: i32,
    /// What stands behind the header.
    pub body: Vec<u8>,
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done.
    Ok,
    /// Refused with this code.
    Refused(i32),
    /// Not answered: it may or may not have taken effect.
    Unknown,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Call {
    /// On which connection.
    pub connection: usize,
    /// What was asked.
    pub ask: Ask,
    /// When it was sent.
    pub sent_ms: u64,
    /// When it reached its member, if that is known to have been later; 0 otherwise.
    pub reached_ms: u64,
    /// Whether its member, or the shard there, stood still when it reached it.
    pub reached_still: bool,
    /// The moment as of which its answer has to be fresh: when the answer left its member. If the member may have found it
    /// out earlier and kept it back (it stood still, or its client did not read), then when the request reached it.
    pub fresh_ms: u64,
    /// Its number on the wire.
    pub xid: i32,
    /// Which of the connection's commands it became; 0 if none.
    pub sequence: u64,
    /// The last transaction of the tree that its member's life had begun with, or was given since, when it was answered:
    /// that one may remember all changes behind it.
    pub began_zxid: i64,
    /// Its answer, if there was one.
    pub answer: Option<Answer>,
    /// Whether its client had not looked for a while when it read that: it may be older than it seems.
    pub overslept: bool,
}

impl Call {
    /// Just sent, and not answered.
    #[must_use]
    pub const fn sent(connection: usize, ask: Ask, sent_ms: u64, xid: i32) -> Self {
        Self {
            connection,
            ask,
            sent_ms,
            reached_ms: 0,
            reached_still: false,
            fresh_ms: 0,
            xid,
            sequence: 0,
            began_zxid: 0,
            answer: None,
            overslept: false,
        }
    }

    /// When its member heard of it, at the earliest.
    #[must_use]
    pub fn heard_ms(&self) -> u64 {
        self.sent_ms.max(self.reached_ms)
    }

    /// What became of it.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match &self.answer {
            None => Outcome::Unknown,
            Some(answer) if answer.err == 0 => Outcome::Ok,
            Some(answer) => Outcome::Refused(answer.err),
        }
    }
}

/// What came out of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The answer to a call.
    Reply(usize),
    /// A watch fired.
    Event {
        /// In which transaction.
        zxid: i64,
        /// Why.
        kind: EventType,
        /// Where.
        path: String,
    },
    /// A reply to nothing that was asked.
    Stray {
        /// Its number.
        xid: i32,
    },
}

/// A session that was granted or taken up.
#[derive(Clone, Copy, Debug)]
pub struct Grant {
    /// When the client read it.
    pub at_ms: u64,
    /// Which.
    pub session: i64,
    /// Its timeout, milliseconds.
    pub timeout_ms: u64,
    /// Which of the session's connections this is, as the member counts.
    pub generation: u32,
}

/// A connection.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Whose.
    pub client: usize,
    /// To which member.
    pub member: u64,
    /// The client's address, as the member sees it.
    pub address: IpAddr,
    /// In which of all lives.
    pub life: u64,
    /// To which of its shards, and as which of its connections.
    pub conn: SocketId,
    /// When it was opened.
    pub opened_ms: u64,
    /// The session asked for, or 0.
    pub asked: i64,
    /// The timeout asked for, milliseconds; 0 if that is not known.
    pub asked_timeout_ms: i32,
    /// Whether the password was that session's.
    pub rightful: bool,
    /// The last zxid that the client had seen then, as it told the server.
    pub seen_zxid: i64,
    /// The answer, if it was a good one.
    pub grant: Option<Grant>,
    /// When the client was told that there is no such session.
    pub refused_ms: Option<u64>,
    /// When the client took it to have ended.
    pub ended_ms: Option<u64>,
    /// Since when the client had heard nothing that it waited for, if that is why it ended it.
    pub silent_since_ms: Option<u64>,
    /// The calls on it, in order.
    pub calls: Vec<usize>,
    /// What came out of it, in order, and when.
    pub deliveries: Vec<(u64, Delivery)>,
}

impl Connection {
    /// Just opened, for a session that there is none of yet; nobody has told what the member calls it, and nothing was sent.
    #[must_use]
    pub const fn opened(client: usize, address: IpAddr, member: u64, opened_ms: u64) -> Self {
        Self {
            client,
            member,
            address,
            life: 0,
            conn: SocketId { shard: 0, number: 0 },
            opened_ms,
            asked: 0,
            asked_timeout_ms: 0,
            rightful: true,
            seen_zxid: 0,
            grant: None,
            refused_ms: None,
            ended_ms: None,
            silent_since_ms: None,
            calls: Vec::new(),
            deliveries: Vec::new(),
        }
    }
}

/// A member whose disk was full while all else was calm.
#[derive(Clone, Debug)]
pub struct Squeezed {
    /// Which.
    pub member: u64,
    /// In which of all lives.
    pub life: u64,
    /// The clients that tried it.
    pub clients: Vec<usize>,
    /// From when on it knew, and those that were left served.
    pub from_ms: u64,
    /// When it was first seen to take writes again.
    pub until_ms: Option<u64>,
    /// When there was room again.
    pub room_ms: Option<u64>,
}

impl Squeezed {
    /// Whether the member knew at that time that its disk was full.
    #[must_use]
    pub fn was_full(&self, at_ms: u64) -> bool {
        let before = |end_ms: Option<u64>| end_ms.is_none_or(|end_ms| at_ms < end_ms);
        at_ms >= self.from_ms && before(self.until_ms) && before(self.room_ms)
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// All connections, in the order of their opening.
    pub connections: Vec<Connection>,
    /// All calls, in the order of their sending.
    pub calls: Vec<Call>,
    /// When everything healed.
    pub healed_ms: Option<u64>,
    /// When everybody was asked to write once more, all being at rest.
    pub served_ms: Option<u64>,
    /// How many calls there were before.
    pub served_from: usize,
    /// When the calm was last disturbed on purpose, by deaths that cannot be told from silence for a lease; 0 if it never was.
    pub disturbed_ms: u64,
    /// The member that was tried with a full disk.
    pub squeezed: Option<Squeezed>,
    /// When the calm after that was over.
    pub ended_ms: u64,
}

impl History {
    /// From when on nothing went wrong any more, if it ever was so.
    #[must_use]
    pub fn calm_from_ms(&self) -> Option<u64> {
        self.healed_ms.map(|healed_ms| healed_ms.max(self.disturbed_ms))
    }

    /// The calls of a connection that were answered, in the order of the answers.
    pub fn replies(&self, connection: &Connection) -> impl Iterator<Item = (&Call, &Answer)> {
        connection.deliveries.iter().filter_map(|(_, delivery)| match delivery {
            Delivery::Reply(call) => {
                let call = &self.calls[*call];
                call.answer.as_ref().map(|answer| (call, answer))
            }
            _ => None,
        })
    }

    /// Writes down which calls became which commands.
    pub fn link(&mut self, sequences: &BTreeMap<(u64, SocketId, i32), u64>) {
        for call in &mut self.calls {
            let connection = &self.connections[call.connection];
            let key = (connection.life, connection.conn, call.xid);
            call.sequence = sequences.get(&key).copied().unwrap_or(0);
        }
    }

    /// The ensemble was lost but for a survivor: what was told of anything that it does not hold is as if it had never been
    /// answered. It holds all up to that zxid, of the connections of sessions those that are `held`, and of the ends of
    /// sessions those that `ended` knows.
    pub fn forget_behind(
        &mut self,
        zxid: i64,
        held: impl Fn(&Grant) -> bool,
        ended: impl Fn(i64) -> bool,
    ) -> usize {
        let mut lost = 0;
        for connection in &mut self.connections {
            let is_lost = connection.grant.is_some_and(|grant| !held(&grant));
            if is_lost {
                connection.grant = None;
            }
            if connection.refused_ms.is_some() && !ended(connection.asked) {
                connection.refused_ms = None;
            }
            let calls = &self.calls;
            let is_held = |(_, delivery): &(u64, Delivery)| match delivery {
                Delivery::Reply(call) => calls[*call].answer.as_ref().is_some_and(|one| one.zxid <= zxid),
                Delivery::Event { zxid: at, .. } => *at <= zxid,
                Delivery::Stray { .. } => true,
            };
            let kept = connection.deliveries.iter().take_while(|one| !is_lost && is_held(one)).count();
            for (_, delivery) in connection.deliveries.drain(kept..) {
                if let Delivery::Reply(call) = delivery {
                    let call = &mut self.calls[call];
                    lost += usize::from(call.ask.is_write() && call.outcome() == Outcome::Ok);
                    call.answer = None;
                }
            }
        }
        lost
    }

    /// Which command of the log a call is, if its connection had a session.
    #[must_use]
    pub fn origin(&self, call: &Call) -> Option<(i64, u32, u64)> {
        let grant = self.connections[call.connection].grant?;
        (call.sequence > 0).then_some((grant.session, grant.generation, call.sequence))
    }
}
