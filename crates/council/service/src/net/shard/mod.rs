//! One shard: the clients of one reactor's thread, with [`council_frontend::ShardRound`], which decides what is done with
//! them.

mod driver;
mod troubles;

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use base::Now;
use council_frontend::{FromCore, Front, ShardRound, ToCore};
use council_tree::Tree;
use net_event_loop::Readiness;
use net_reactor::{Accepted, ClientSocket, Service, Sockets};
use node_threads::{Clock, Mailbox};
use parking_lot::RwLock;

use self::driver::Driver;
use crate::config::WordConfig;
use crate::core_loop::CouncilTurns;
use crate::messages::{ShardMail, WordQueue};
use crate::serving_state::ServingState;
use crate::session_clients::SessionClients;

/// What a shard shares with the other threads.
pub(crate) struct ShardLinks {
    pub(crate) mail: Arc<Mailbox<ShardMail>>,
    pub(crate) stream: Arc<Mailbox<FromCore>>,
    /// Whether any client of this shard watches anything.
    pub(crate) watches: Arc<AtomicBool>,
    pub(crate) to_core: Arc<Mailbox<ToCore>>,
    pub(crate) core_turns: Arc<CouncilTurns>,
    pub(crate) tree: Arc<RwLock<Tree>>,
    pub(crate) session_clients: Arc<SessionClients>,
    pub(crate) standing: Arc<ServingState>,
    pub(crate) word_queue: Arc<WordQueue>,
    pub(crate) clock: Clock,
}

/// How a shard treats its connections.
#[derive(Clone, Debug)]
pub(crate) struct ShardConfig {
    pub(crate) words: WordConfig,
    /// Whether what goes with its session is written to the audit log; the first shard does it for all.
    pub(crate) audit: bool,
}

/// See the module.
pub(crate) struct Shard {
    driver: Driver,
    round: ShardRound<ClientSocket>,
    mail: Vec<ShardMail>,
}

impl Shard {
    pub(crate) fn new(
        number: u16,
        config: ShardConfig,
        links: ShardLinks,
        sockets: Sockets,
        front: Front,
    ) -> Self {
        let driver = Driver::new(number, config, links, sockets);
        Self { driver, round: ShardRound::new(front), mail: Vec::new() }
    }

    fn take_in(&mut self, accepted: Accepted, now: Now) {
        let Some(socket) = self.driver.sockets.begin(accepted) else { return };
        let opening_ms = self.driver.sockets.opening_ms();
        self.round.accept(&mut self.driver, socket, opening_ms, now);
    }
}

impl Service for Shard {
    fn has_mail(&self) -> bool {
        self.driver.has_mail()
    }

    fn read_mail(&mut self, now: Now) {
        let mut mail = std::mem::take(&mut self.mail);
        self.driver.links.mail.take_all(&mut mail);
        for message in mail.drain(..) {
            match message {
                ShardMail::Accepted(accepted) => self.take_in(accepted, now),
                ShardMail::Word { conn, text, last } => self.round.front().word_reply(conn, &text, last),
                ShardMail::Ask(question) => question(self.round.front()),
                ShardMail::Part => self.round.begin_shutdown(false, now),
                ShardMail::Stop => self.round.begin_shutdown(true, now),
            }
        }
        self.mail = mail;
    }

    fn announced(&mut self, token: u32, readiness: Readiness) {
        self.round.announced(token, readiness);
    }

    fn turn(&mut self, now: Now) {
        self.round.turn(&mut self.driver, now);
    }

    fn wait_max_ms(&self) -> u64 {
        self.round.wait_max_ms()
    }

    fn is_done(&self) -> bool {
        self.round.is_done()
    }

    fn end(&mut self, now: Now) -> io::Result<()> {
        self.round.close_all(&mut self.driver, now);
        Ok(())
    }
}
