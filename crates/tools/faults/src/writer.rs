//! One client that writes, reads, holds an ephemeral node and leaves watches, and shows each answer it gets to its ledger.
//! What a lost connection left unknown is settled by a read in the same session.

use std::sync::Arc;
use std::time::{Duration, Instant};

use council_client::{Client, CreateMode, Error, ErrorCode, Events, Options, Pending, Watcher};
use tools_testbed::dice::Dice;

use crate::history::{Call, Kind, NODES, Outcome, contended};
use crate::ledger::{Ledger, ephemeral, register};
use crate::shared::Shared;

/// An operation without an answer for so long, or a session without a server, counts as stuck.
const STUCK: Duration = Duration::from_secs(60);
/// Creations that are under way at once.
const PIPELINE: usize = 4;
/// Between two operations: how much load there is, not a synchronisation.
const THINK: Duration = Duration::from_millis(2);

/// Why a writer cannot go on.
pub(super) struct Over;

pub(super) struct Writer {
    pub(super) ledger: Ledger,
    pub(super) client: Client,
    shared: Arc<Shared>,
    dice: Dice,
    watcher: Watcher,
    events: Events,
    /// Whether the neighbour's register is watched.
    watching: bool,
    /// How often it wrote a node that all write: no two writes are alike.
    contended: u64,
}

impl Writer {
    /// Opens a session; `servers` are tried in turn.
    pub(super) fn connect(
        name: usize,
        servers: &str,
        timeout: Duration,
        shared: Arc<Shared>,
    ) -> Result<Self, String> {
        let client = Options::new()
            .session_timeout(timeout)
            .connect(servers)
            .map_err(|error| format!("writer {name}: {error}"))?;
        let (watcher, events) = Watcher::new();
        let count = shared.writers();
        Ok(Self {
            ledger: Ledger::new(name, count),
            client,
            shared,
            dice: Dice::new(name as u64 + 1),
            watcher,
            events,
            watching: false,
            contended: 0,
        })
    }

    /// Makes what it needs.
    pub(super) fn settle(&mut self) -> Result<(), Over> {
        if !self.client.wait_connected(STUCK) {
            return Err(self.complain("no server took it at all"));
        }
        self.ledger.session = self.client.session_id().0;
        for (path, mode) in [
            (register(self.ledger.name), CreateMode::Persistent),
            (ephemeral(self.ledger.name), CreateMode::Ephemeral),
        ] {
            match self.ask(|client| client.create(&path, b"0", mode)) {
                Ok(_) => {}
                Err(error) if error.is(ErrorCode::NodeExists) => {}
                Err(error) => return Err(self.complain(&format!("cannot create {path}: {error}"))),
            }
        }
        Ok(())
    }

    /// Works until told to stop.
    pub(super) fn work(&mut self) -> Result<(), Over> {
        // What the others have made may not have come to its server yet.
        if let Err(error) = self.ask(|client| client.sync("/")) {
            return Err(self.complain(&format!("cannot sync: {error}")));
        }
        while !self.shared.is_stopping() {
            self.watch()?;
            match self.dice.below(20) {
                0..=5 => self.write()?,
                6..=8 => self.contend()?,
                9..=10 => self.queue()?,
                11..=13 => self.read_other()?,
                14..=17 => self.read_behind_sync()?,
                _ => self.look_for_ephemeral()?,
            }
            std::thread::sleep(THINK);
        }
        Ok(())
    }

    /// Waits until its watch has shown the last of what the neighbour wrote.
    pub(super) fn finish(&mut self) -> Result<(), Over> {
        let neighbour = self.neighbour();
        let last = self.shared.acknowledged(neighbour);
        let deadline = Instant::now() + STUCK / 3;
        self.watch()?;
        while self.ledger.seen(neighbour) < last {
            if Instant::now() > deadline {
                let seen = self.ledger.seen(neighbour);
                return Err(self.complain(&format!(
                    "its watch on {} showed {seen} last, and {last} was written",
                    register(neighbour)
                )));
            }
            if self.events.recv_timeout(Duration::from_millis(100)).is_ok() {
                self.watching = false;
            }
            self.watch()?;
        }
        self.look_for_ephemeral()
    }

    /// One more number into its register.
    fn write(&mut self) -> Result<(), Over> {
        let (now, path) = (self.ledger.register, register(self.ledger.name));
        let next = now + 1;
        for attempt in 0.. {
            let submitted = Instant::now();
            let pending = self.client.set_data(&path, next.to_string(), version(now));
            match self.wait(pending)? {
                Ok(stat) => {
                    let judged = self.ledger.written(stat.version);
                    self.judged(judged)?;
                    self.shared.acknowledge(self.ledger.name, next, submitted);
                    return Ok(());
                }
                Err(Error::ConnectionLost) => {
                    if attempt == 1 {
                        self.shared.failed_twice("a write");
                    }
                    if self.settle_own()? {
                        self.shared.acknowledge(self.ledger.name, next, submitted);
                        return Ok(());
                    }
                }
                // A server whose disk is full says so; the write must not take effect.
                Err(error) if error.is(ErrorCode::SystemError) => {
                    self.shared.refused();
                    std::thread::sleep(THINK * 10);
                    if self.settle_own()? {
                        return Err(self.complain("a write that was refused took effect"));
                    }
                    return Ok(());
                }
                Err(error) => {
                    return Err(self.complain(&format!("{next} could not be written over {now}: {error}")));
                }
            }
        }
        Ok(())
    }

    /// Whether a write whose answer was lost has taken effect.
    fn settle_own(&mut self) -> Result<bool, Over> {
        let found = self.read_register(self.ledger.name)?;
        let judged = self.ledger.settle(found);
        self.judged(judged)
    }

    /// Some nodes of the common queue, all at once.
    fn queue(&mut self) -> Result<(), Over> {
        let first = self.ledger.queued.len() as u64 + 1;
        let submitted: Vec<_> = (first..first + PIPELINE as u64)
            .map(|number| {
                let data = format!("{} {number}", self.ledger.name);
                self.client.create("/queue/n-", data, CreateMode::PersistentSequential)
            })
            .collect();
        for (number, pending) in (first..).zip(submitted) {
            let done = self.wait(pending)?;
            match done {
                Ok(_) => self.ledger.queued.push((number, true)),
                Err(Error::ConnectionLost) => self.ledger.queued.push((number, false)),
                Err(error) if error.is(ErrorCode::SystemError) => {
                    self.shared.refused();
                    self.ledger.queued.push((number, false));
                }
                Err(error) => return Err(self.complain(&format!("cannot create in the queue: {error}"))),
            }
        }
        Ok(())
    }

    fn read_other(&mut self) -> Result<(), Over> {
        let other = self.dice.below(self.ledger.clients());
        self.read_register(other).map(drop)
    }

    /// After a sync a read shows everything that was acknowledged before the sync began.
    fn read_behind_sync(&mut self) -> Result<(), Over> {
        let other = self.dice.below(self.ledger.clients());
        let least = self.shared.acknowledged(other);
        let path = register(other);
        // Both on one connection: a sync holds for the server that it was sent to.
        let (sync, read) = (self.client.sync(&path), self.client.data(&path));
        let (sync, read) = (self.wait(sync)?, self.wait(read)?);
        let (Ok(()), Ok((data, stat))) = (sync, read) else { return Ok(()) };
        let judged = self.ledger.shown_behind_sync(other, data.as_deref(), stat.version, least);
        self.judged(judged)
    }

    /// Reads a node that all write, writes it, or writes it over the version that it read; what came of it goes into the
    /// history.
    fn contend(&mut self) -> Result<(), Over> {
        let (client, node) = (self.ledger.name, self.dice.below(NODES));
        let path = contended(node);
        let mut over = -1;
        if !self.dice.once_in(3) {
            let began = Instant::now();
            let (sync, read) = (self.client.sync(&path), self.client.data(&path));
            let outcome = match (self.wait(sync)?, self.wait(read)?) {
                (Ok(()), Ok((data, stat))) => {
                    over = stat.version;
                    let data = String::from_utf8_lossy(&data.unwrap_or_default()).into_owned();
                    Outcome::Done { version: stat.version, data }
                }
                _ => Outcome::Unknown,
            };
            self.shared.history.add(Call { client, node, kind: Kind::Read, began, outcome });
        }
        if self.dice.once_in(3) {
            return Ok(());
        }
        self.contended += 1;
        let data = format!("{client} {}", self.contended);
        let began = Instant::now();
        let pending = self.client.set_data(&path, data.clone(), over);
        let outcome = match self.wait(pending)? {
            Ok(stat) => Outcome::Done { version: stat.version, data: String::new() },
            Err(error) if error.is(ErrorCode::BadVersion) => Outcome::Refused,
            // A server whose disk is full has refused it for another reason: that it never comes is not known here.
            Err(_) => Outcome::Unknown,
        };
        self.shared.history.add(Call { client, node, kind: Kind::Write { data, over }, began, outcome });
        Ok(())
    }

    fn look_for_ephemeral(&mut self) -> Result<(), Over> {
        let path = ephemeral(self.ledger.name);
        match self.ask(|client| client.exists(&path)) {
            Ok(found) => self.judged(self.ledger.ephemeral(found.as_ref())),
            Err(error) => Err(self.complain(&format!("cannot look for {path}: {error}"))),
        }
    }

    /// Hears of the neighbour's writes, one after the other.
    fn watch(&mut self) -> Result<(), Over> {
        while self.events.try_recv().is_some() {
            self.watching = false;
        }
        if self.watching {
            return Ok(());
        }
        let neighbour = self.neighbour();
        let pending = self.client.watch_data(&register(neighbour), &self.watcher);
        match self.wait(pending)? {
            Ok((data, stat)) => {
                self.watching = true;
                let judged = self.ledger.shown(neighbour, data.as_deref(), stat.version);
                self.judged(judged).map(drop)
            }
            Err(Error::ConnectionLost) => Ok(()),
            Err(error) => Err(self.complain(&format!("cannot watch: {error}"))),
        }
    }

    fn read_register(&mut self, of: usize) -> Result<u64, Over> {
        let path = register(of);
        match self.ask(|client| client.data(&path)) {
            Ok((data, stat)) => {
                let judged = self.ledger.shown(of, data.as_deref(), stat.version);
                self.judged(judged)
            }
            Err(error) => Err(self.complain(&format!("cannot read {path}: {error}"))),
        }
    }

    /// Asks again and again what may be asked twice.
    fn ask<T>(&mut self, operation: impl Fn(&Client) -> Pending<T>) -> Result<T, Error> {
        let deadline = Instant::now() + STUCK;
        for attempt in 0.. {
            let Ok(result) = operation(&self.client).wait_for(STUCK) else { break };
            match result {
                Err(Error::ConnectionLost) if Instant::now() < deadline => {
                    if attempt == 1 {
                        self.shared.failed_twice("a read");
                    }
                    let _ = self.client.wait_connected(STUCK);
                }
                other => return other,
            }
        }
        Err(Error::ConnectionLost)
    }

    fn wait<T>(&self, pending: Pending<T>) -> Result<Result<T, Error>, Over> {
        let result = pending.wait_for(STUCK).map_err(|_| self.complain("an operation is stuck"))?;
        if let Err(Error::ConnectionLost) = &result {
            let _ = self.client.wait_connected(STUCK);
        }
        Ok(result)
    }

    /// Complains of what the ledger refuses.
    fn judged<T>(&self, judged: Result<T, String>) -> Result<T, Over> {
        judged.map_err(|what| self.complain(&what))
    }

    fn complain(&self, what: &str) -> Over {
        let Ledger { name, session, .. } = &self.ledger;
        let (state, server) = (self.client.state(), self.client.server());
        self.shared.complain(format!("client {name} ({session:#x}, {state:?}, {server:?}): {what}"));
        Over
    }

    fn neighbour(&self) -> usize {
        (self.ledger.name + 1) % self.ledger.clients()
    }
}

fn version(number: u64) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
