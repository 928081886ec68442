//! A member's process: it executes what its [`MemberLifecycle`] commands, as the server's `boot` does, one command at a
//! time. Between two commands, and within one, the power may fail. Knows no rule of which command follows which.

use base::MemberNumber;
use consensus_replica::lifecycle::{
    self, Command, DiskContent, Ending, Event, MemberLifecycle, NewMembership, Reason, Setup,
};
use sim_group::storage::{self, Opened};
use sim_group::{NodeError, aside};
use sim_kit::peers;
use sim_kit::peers::NUMBERS;
use storage_raft_log::{Identity, Journal};

use super::{Ensemble, Faults};
use crate::disk::{Loss, SimDisk};
use crate::loaded::Loaded;
use crate::node::{Node, NodeConfig};

/// How many shards a member serves clients with at most.
const SHARDS_MAX: u64 = 4;
/// How often, of a hundred moments, a process executes its next command.
const COMMANDS: u64 = 70;
/// How often, of a thousand commands, the power fails in one or right behind it.
const CRASHES: u64 = 40;
/// How often in one that changes whose a disk is.
const CRASHES_IN_CHANGES: u64 = 200;
/// How many operations of the disk a command is given at the most until the power fails.
const OPERATIONS_MAX: u64 = 24;

/// How far a process is.
pub(super) enum Stage {
    /// It executes this next.
    Next(Command),
    /// It asks the other members.
    Asking,
    /// Its core runs.
    Running(Box<Node<SimDisk>>),
}

/// See the module.
pub(super) struct Process {
    pub(super) lifecycle: MemberLifecycle,
    pub(super) stage: Stage,
    /// What commands leave to later ones.
    opened: Option<Opened>,
    loaded: Option<Loaded<SimDisk>>,
    /// Its core doubted its membership, and nobody was asked since.
    doubts: bool,
}

impl Process {
    pub(super) fn new(setup: Setup, started: u64) -> Self {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&started.to_le_bytes());
        Self {
            lifecycle: MemberLifecycle::new(setup, seed),
            stage: Stage::Next(Command::Open),
            opened: None,
            loaded: None,
            doubts: false,
        }
    }
}

impl Ensemble {
    /// Processes that have a command to execute do so, most of them. The power of some fails meanwhile.
    pub(super) fn execute_commands(&mut self, faults: &Faults) {
        for number in self.numbers() {
            let now_ms = self.sim.now_ms();
            let machine = self.machine(number);
            if machine.host.is_paused(now_ms) {
                continue;
            }
            let Some(Stage::Next(command)) = machine.stage() else { continue };
            let often = match command {
                Command::Write(_) | Command::PutAside(_) | Command::Forget => CRASHES_IN_CHANGES,
                _ => CRASHES,
            };
            if !self.sim.random.chance(COMMANDS) {
                continue;
            }
            let crash = if faults.crash > 0 { self.sim.strike(often) } else { None };
            let crashes = crash.is_some();
            if let Some(mut chance) = crash {
                let disk = &self.machine(number).host.disk;
                disk.crash_at(disk.operations() + 1 + chance.below(OPERATIONS_MAX));
            }
            self.execute(number);
            if crashes {
                self.count("crash in a start", 1);
                self.crash(number);
            }
            self.sim.end_fault();
        }
    }

    fn execute(&mut self, number: u64) {
        let Some(process) = &mut self.machine(number).process else { return };
        let Stage::Next(command) = std::mem::replace(&mut process.stage, Stage::Asking) else { return };
        let done = self.perform(number, command);
        if self.machine(number).host.disk.crashed() {
            return;
        }
        let event = done.unwrap_or_else(|error| Some(self.failed(number, &error)));
        if let Some(event) = event {
            self.answer(number, event);
        }
    }

    /// The command that was under way is answered; what comes of it is executed later.
    pub(super) fn answer(&mut self, number: u64, event: Event) {
        let Some(process) = &mut self.machine(number).process else { return };
        let command = process.lifecycle.step(event);
        self.follow(number, command);
    }

    /// What each process does, for people.
    pub fn describe(&self) -> Vec<(u64, String)> {
        let of = |machine: &super::machine::Machine| match &machine.process {
            Some(process) => process.lifecycle.describe(),
            None => String::from("down"),
        };
        self.machines.iter().map(|(number, machine)| (*number, of(machine))).collect()
    }

    pub(super) fn follow(&mut self, number: u64, command: Command) {
        let Some(process) = &mut self.machine(number).process else { return };
        match command {
            Command::Stop => self.stop(number),
            Command::AskOthers(_) => {
                (process.stage, process.doubts) = (Stage::Asking, false);
            }
            command => process.stage = Stage::Next(command),
        }
    }

    /// Gives the answer; that to a core which runs comes when it ends.
    fn perform(&mut self, number: u64, command: Command) -> Result<Option<Event>, NodeError> {
        let event = match command {
            Command::Open => self.open(number)?,
            Command::Forget => self.forget(number)?,
            Command::PutAside(reason) => self.put_aside(number, reason)?,
            Command::Write(new) => self.write(number, &new)?,
            Command::Load => self.load(number)?,
            Command::Run(identity) => return self.run_core(number, identity).map(|()| None),
            Command::Restore | Command::AskOthers(_) | Command::Stop => {
                unreachable!("{command:?} is not executed")
            }
        };
        Ok(Some(event))
    }

    fn forget(&mut self, number: u64) -> Result<Event, NodeError> {
        let opened = self.process(number).opened.take();
        // The others know an identity that they admitted, and may count on it.
        let was_admitted = opened.is_some_and(|(_, recovered)| !recovered.identity.member.is_founder());
        let machine = self.machine(number);
        // A crash may come in the middle: the core sets it again if the identity is still there.
        machine.was_member =
            was_admitted || aside::had_data(&mut machine.host.disk).map_err(NodeError::of_disk)?;
        lifecycle::storage::forget(&mut machine.host.disk).map_err(NodeError::of_disk)?;
        self.tell(
            "identity forgotten",
            format_args!("member {number} removes an identity that it never used"),
        );
        Ok(Event::Done)
    }

    fn open(&mut self, number: u64) -> Result<Event, NodeError> {
        let config = self.config.journal.clone();
        let (content, opened) = storage::open(&mut self.machine(number).host.disk, config)?;
        self.process(number).opened = opened;
        Ok(Event::Opened(content))
    }

    fn put_aside(&mut self, number: u64, reason: Reason) -> Result<Event, NodeError> {
        self.process(number).opened = None;
        let machine = self.machine(number);
        aside::put_aside(&mut machine.host.disk).map_err(NodeError::of_disk)?;
        // Nothing of a lost ensemble is left to serve.
        (machine.damaged, machine.outsider) = (false, false);
        self.count("nothing received", u64::from(reason == Reason::NothingReceived));
        self.count("doubt ended by another ensemble", u64::from(reason == Reason::AnotherEnsemble));
        self.tell("data put aside", format_args!("member {number} has put its data aside: {reason:?}"));
        Ok(Event::Done)
    }

    fn write(&mut self, number: u64, new: &NewMembership) -> Result<Event, NodeError> {
        let disk = self.machine(number).host.disk.clone();
        let opened = storage::write(&disk, new, self.config.journal.clone())?;
        self.process(number).opened = Some(opened);
        match &new.founders {
            Some(voters) => {
                self.tell("bootstrap", format_args!("member {number} bootstraps an ensemble of {voters:?}"));
            }
            None => {
                self.tell(
                    "admission",
                    format_args!("member {number} is admitted as {:x}", new.identity.member.0),
                );
                self.count("second machine admitted", u64::from(number >= NUMBERS));
            }
        }
        Ok(Event::Written(new.identity))
    }

    fn load(&mut self, number: u64) -> Result<Event, NodeError> {
        self.lives += 1;
        let born = self.lives;
        self.machine(number).born = born;
        let config = self.node_config(number, None);
        let process = self.process(number);
        let (journal, recovered) = process.opened.take().expect("it is open before it is loaded");
        process.loaded = Some(Loaded::of(journal, &recovered, &config)?);
        let did_no_harm = std::mem::take(&mut self.machine(number).damaged);
        self.count("damage that did no harm", u64::from(did_no_harm));
        Ok(Event::Loaded)
    }

    fn run_core(&mut self, number: u64, identity: Identity) -> Result<(), NodeError> {
        self.judge_identity(number, identity);
        let (config, now_ms) = (self.node_config(number, Some(identity)), self.sim.now_ms());
        let chance = self.sim.random.fork();
        let machine = self.machine(number);
        let (now, life, outsider) = (machine.host.now(now_ms), machine.born, machine.outsider);
        machine.was_member = true;
        let loaded = self.process(number).loaded.take().expect("it is loaded before it runs");
        let mut node = Node::begin(loaded, &config, now)?;
        node.read_in_parts(chance);
        let torn = node.had_torn_tail();
        self.process(number).stage = Stage::Running(Box::new(node));
        if !outsider {
            self.record.begun(number, life);
        }
        self.count("several shards", u64::from(config.core.shards > 1));
        self.count("torn tail", u64::from(torn));
        self.tell(
            "start",
            format_args!("member {number} starts{}", if torn { ", with a torn end of its log" } else { "" }),
        );
        peers::begin_anew(self, number, true);
        self.collect(number);
        Ok(())
    }

    fn node_config(&mut self, number: u64, identity: Option<Identity>) -> NodeConfig {
        let mut config = self.config.clone();
        if let Some(identity) = identity {
            let replica = &mut config.core.replica;
            (replica.member, replica.cluster) = (identity.member, identity.cluster);
            config.journal_seed = Some(self.sim.random.number());
            config.core.shards = 1 + self.sim.random.below(SHARDS_MAX) as u16;
        }
        let machine = self.machine(number);
        config.core.replica.feature_level = machine.level;
        config.seed = [(machine.born % 251) as u8; 32];
        config.seed[1] = MemberNumber::of(number).0;
        config
    }

    /// What is told to others is on the disk for good, and was asked about if it was in doubt.
    fn judge_identity(&mut self, number: u64, identity: Identity) {
        let config = self.config.journal.clone();
        let machine = self.machine(number);
        let disk = machine.host.disk.fork(0);
        disk.repair();
        disk.crash(Loss::All);
        let is_durable = Journal::open(disk, config).is_ok_and(|(_, recovered)| {
            let content = DiskContent::of(&recovered);
            let is_founder = identity.member.is_founder();
            recovered.identity == identity && (!is_founder || content == DiskContent::Data(identity))
        });
        let doubts = self.process(number).doubts;
        self.record.identities_told += 1;
        if !is_durable {
            let words = format!("member {number} announces an identity that is not durable yet");
            self.record.misused_memberships.push(words);
        }
        if doubts {
            let words =
                format!("member {number} uses a membership that is in doubt, and has asked no other member");
            self.record.misused_memberships.push(words);
        }
    }

    /// What came of a command that failed.
    fn failed(&mut self, number: u64, error: &NodeError) -> Event {
        let machine = self.machine(number);
        if machine.damaged && error.is_damage() {
            self.tell(
                "damage found",
                format_args!("member {number} finds its data damaged: {}", error.words()),
            );
            return Event::Damaged;
        }
        assert!(machine.host.may_fail(), "member {number} does not come back: {error:?}");
        self.tell("start failed", format_args!("member {number} does not start: {error:?}"));
        Event::Failed
    }

    /// A member's core has ended, and its process goes on.
    pub(super) fn core_ended(&mut self, number: u64, ending: Ending) {
        let (what, words) = match ending {
            Ending::Unconfirmed => ("membership in doubt", "doubts that its ensemble was bootstrapped"),
            _ => ("membership lost", "has lost its membership, and starts again"),
        };
        self.tell(what, format_args!("member {number} {words}"));
        let to_another = ending == Ending::Evicted && self.was_doubled == Some(number % NUMBERS);
        self.count("membership lost to another machine", u64::from(to_another));
        let process = self.process(number);
        (process.stage, process.doubts) = (Stage::Asking, ending == Ending::Unconfirmed);
        peers::begin_anew(self, number, false);
        self.answer(number, Event::Ended(ending));
    }

    fn process(&mut self, number: u64) -> &mut Process {
        self.machine(number).process.as_mut().expect("its process runs")
    }
}
