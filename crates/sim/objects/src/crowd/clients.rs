//! Clients with sessions: their numbers of requests, and which replies they have had.

use base::Random;
use objects_state::{Command, Identity, NewSession, Ranges, SessionId};

use crate::model::Told;

/// Sessions that clients remember, also after their end.
const KNOWN_MAX: usize = 9;

#[derive(Debug)]
struct Client {
    new: NewSession,
    principal: String,
    /// The number of its last request.
    last: u64,
    /// Requests without a reply.
    open: Vec<u64>,
}

impl Client {
    /// What it says to have come above the first request that is open. It has come, as a rule.
    fn above(&self, random: &mut Random, first_open: u64, request: u64) -> Ranges {
        let mut above = Ranges::new();
        match random.below(60) {
            // All of it.
            0..25 => {
                for number in (first_open..request).filter(|number| !self.open.contains(number)) {
                    above.insert(number, number);
                }
            }
            // Anything near: what waits, what was never sent, itself.
            25..28 => {
                let first = first_open.saturating_sub(2) + random.below(12);
                above.insert(first, first + random.below(4));
            }
            // Many ranges: there is not room for all of them for long.
            28 => {
                for number in (2..80).step_by(2).map(|step| request + step) {
                    above.insert(number, number);
                }
            }
            _ => {}
        }
        above
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Clients {
    all: Vec<Client>,
    opened: u64,
    pub(super) origins: u64,
}

impl Clients {
    pub(super) fn any(&self, random: &mut Random) -> Option<SessionId> {
        Some(self.all.get(random.below(self.all.len() as u64) as usize)?.new.id)
    }

    pub(super) fn first(&self) -> Option<SessionId> {
        Some(self.all.first()?.new.id)
    }

    fn of(&mut self, session: SessionId) -> Option<&mut Client> {
        self.all.iter_mut().find(|client| client.new.id == session)
    }

    pub(super) fn principal(&self, session: SessionId) -> String {
        let client = self.all.iter().find(|client| client.new.id == session);
        client.map_or_else(String::new, |client| client.principal.clone())
    }

    pub(super) fn generation(&self, session: SessionId) -> u32 {
        self.all.iter().find(|client| client.new.id == session).map_or(0, |client| client.new.generation)
    }

    /// The next request of a session. What it says to have come has come, as a rule.
    pub(super) fn identity(&mut self, random: &mut Random, session: SessionId) -> Identity {
        let Some(client) = self.of(session) else {
            return Identity::Session { session, request: 1, acknowledged: 0, above: Ranges::new() };
        };
        client.last += 1;
        let request = client.last;
        let first_open = client.open.iter().min().copied().unwrap_or(request);
        client.open.push(request);
        let acknowledged = match random.below(60) {
            0 => request - 1,
            1 => request,
            2..12 => 0,
            // Acknowledgements overtake each other.
            12..18 => random.below(first_open),
            _ => first_open - 1,
        };
        let above = client.above(random, first_open, request);
        Identity::Session { session, request, acknowledged, above }
    }

    /// A session that nobody has.
    pub(super) fn new_session(&mut self, random: &mut Random, principal: &str) -> NewSession {
        self.opened += 1;
        let mut id = [0xab; 16];
        id[8..].copy_from_slice(&self.opened.to_be_bytes());
        let ttl_ms = [1_000, 10_000, 600_000, 999, 600_001, i64::MAX][random.below(6) as usize];
        let ttl_ms = if random.chance(92) { 10_000 } else { ttl_ms };
        let name = random.chance(10).then(|| "n".repeat(250 + random.below(8) as usize));
        let (id, secret_hash) = (SessionId(id), [self.opened as u8; 32]);
        let new = NewSession { id, secret_hash, generation: 1, ttl_ms, name };
        if self.all.len() >= KNOWN_MAX {
            self.all.remove(0);
        }
        let (new_, principal) = (new.clone(), principal.into());
        self.all.push(Client { new: new_, principal, last: 0, open: Vec::new() });
        new
    }

    /// One that there is, or was: continued, asked for again, or by somebody who does not know its secret.
    pub(super) fn again(&mut self, random: &mut Random, principal: &str) -> NewSession {
        let count = self.all.len() as u64;
        let Some(client) = self.all.get_mut(random.below(count) as usize) else {
            return self.new_session(random, principal);
        };
        match random.below(5) {
            0 => NewSession { secret_hash: [0; 32], ..client.new.clone() },
            1 => client.new.clone(),
            _ => {
                client.new.generation += 1;
                client.new.clone()
            }
        }
    }

    /// Replies come.
    pub(super) fn heard(&mut self, command: &Command, told: &[Told]) {
        let caller = match command {
            Command::Call(call) => &call.caller,
            Command::Batch(batch) => &batch.caller,
            Command::Create { caller, .. } | Command::Delete { caller, .. } => caller,
            _ => return,
        };
        let Identity::Session { session, request, .. } = caller.identity else { return };
        let is_answered = told.iter().any(|told| matches!(told, Told::Answered(..)));
        if is_answered && let Some(client) = self.of(session) {
            client.open.retain(|open| *open != request);
        }
        // A reply of what waits comes some time: clients give up on the oldest ones.
        if let Some(client) = self.of(session)
            && client.open.len() > 40
        {
            client.open.remove(0);
        }
    }
}
