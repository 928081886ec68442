//! One shard's thread: a poll, the sockets of its clients, and [`council_frontend::ShardRound`], which decides what is done with
//! them. The clock is read once a round.

mod client;
mod driver;
mod troubles;

use base::Now;
use net_event_loop::{ConnId, Readiness};
use node_threads::{Clock, Doorbell, Mailbox};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use council_frontend::{FromCore, Front, ShardRound, ToCore};
use council_tree::Tree;
use mio::{Events, Poll, Token, Waker};
use parking_lot::RwLock;

use self::client::Client;
use self::driver::Driver;
use super::listener::Accepted;
use crate::clerk::Clerk;
use crate::config::WordConfig;
use crate::metrics::network::NetworkMetrics;
use crate::session_clients::SessionClients;
use crate::standing::Standing;
use net_tls::TlsContext;

/// The token of the bell; sockets count up from 0.
const BELL: Token = Token(usize::MAX);

/// Something for a shard to do, besides the core's stream.
pub(crate) enum ShardMail {
    /// A new connection.
    Accepted(Accepted),
    /// A piece of the answer to a four-letter word.
    Word { conn: ConnId, text: Vec<u8>, last: bool },
    /// A question of another thread, to be answered from the front.
    Ask(Box<dyn FnOnce(&mut Front) + Send>),
    /// Answer what was asked, then close everything: this member was removed.
    Part,
    /// The same, and end.
    Stop,
}

/// What a shard shares with the other threads.
pub(crate) struct ShardLinks {
    pub(crate) mail: Arc<Mailbox<ShardMail>>,
    pub(crate) stream: Arc<Mailbox<FromCore>>,
    pub(crate) to_core: Arc<Mailbox<ToCore>>,
    pub(crate) tree: Arc<RwLock<Tree>>,
    pub(crate) session_clients: Arc<SessionClients>,
    pub(crate) standing: Arc<Standing>,
    pub(crate) clerk: Arc<Clerk>,
    pub(crate) tls: Option<Arc<TlsContext>>,
    pub(crate) clock: Clock,
    pub(crate) metrics: Arc<NetworkMetrics>,
}

/// How a shard treats its connections.
#[derive(Clone, Debug)]
pub(crate) struct ShardConfig {
    pub(crate) words: WordConfig,
    /// Whether plain connections may turn out to be encrypted.
    pub(crate) plain_takes_tls: bool,
    /// Whether what goes with its session is written to the audit log; the first shard does it for all.
    pub(crate) audit: bool,
}

/// See the module.
pub(crate) struct Shard {
    driver: Driver,
    bell: Arc<Doorbell>,
    round: ShardRound<Client>,
    mail: Vec<ShardMail>,
}

impl Shard {
    /// A poll and its bell, made before the mailboxes that ring it.
    pub(crate) fn poll() -> io::Result<(Poll, Arc<Doorbell>)> {
        let poll = Poll::new()?;
        let bell = Doorbell::of_poll(Waker::new(poll.registry(), BELL)?);
        Ok((poll, bell))
    }

    pub(crate) fn new(
        number: u16,
        config: ShardConfig,
        links: ShardLinks,
        (poll, bell): (Poll, Arc<Doorbell>),
        front: Front,
    ) -> Self {
        let driver = Driver::new(number, config, links, poll);
        Self { driver, bell, round: ShardRound::new(front), mail: Vec::new() }
    }

    /// Runs until [`ShardMail::Stop`].
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        let mut now = self.driver.links.clock.now();
        while !self.round.is_done() {
            self.wait(&mut events)?;
            now = self.driver.links.clock.now();
            for event in &events {
                if event.token() != BELL
                    && let Ok(token) = u32::try_from(event.token().0)
                {
                    self.round.announced(token, readiness(event));
                }
            }
            self.read_mail(now);
            self.round.turn(&mut self.driver, now);
        }
        self.round.close_all(&mut self.driver, now);
        Ok(())
    }

    fn wait(&mut self, events: &mut Events) -> io::Result<()> {
        self.bell.fall_asleep();
        let mut timeout_ms = self.round.wait_max_ms();
        if timeout_ms > 0 && self.driver.has_mail() {
            timeout_ms = 0;
        }
        let polled = self.driver.poll.poll(events, Some(Duration::from_millis(timeout_ms)));
        self.bell.wake_up();
        match polled {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                events.clear();
                Ok(())
            }
            other => other,
        }
    }

    fn read_mail(&mut self, now: Now) {
        let mut mail = std::mem::take(&mut self.mail);
        self.driver.links.mail.take_all(&mut mail);
        for letter in mail.drain(..) {
            match letter {
                ShardMail::Accepted(accepted) => self.take_in(accepted, now),
                ShardMail::Word { conn, text, last } => self.round.front().word_reply(conn, &text, last),
                ShardMail::Ask(question) => question(self.round.front()),
                ShardMail::Part => self.round.begin_farewell(false, now),
                ShardMail::Stop => self.round.begin_farewell(true, now),
            }
        }
        self.mail = mail;
    }

    fn take_in(&mut self, accepted: Accepted, now: Now) {
        let Some(client) = self.driver.client(accepted) else { return };
        let opening_ms = self.driver.links.tls.as_ref().map_or(0, |context| context.handshake_timeout_ms());
        self.round.accept(&mut self.driver, client, opening_ms, now);
    }
}

fn readiness(event: &mio::event::Event) -> Readiness {
    Readiness {
        readable: event.is_readable() || event.is_error() || event.is_write_closed(),
        writable: event.is_writable(),
        hung_up: event.is_read_closed(),
    }
}
