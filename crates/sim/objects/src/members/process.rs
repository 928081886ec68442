//! What members' processes do between their beginning and their core: each command of their lifecycle. Between two commands,
//! and within one, the power may fail.

use base::MemberNumber;
use consensus_replica::lifecycle::{self, Command, Ending, Event, NewMembership, Setup};
use sim_group::{NodeError, aside, storage};
use sim_kit::peers;
use storage_raft_log::Identity;

use super::Members;
use super::deaths::alive;
use super::machine::{Process, Stage};
use super::node::{Loaded, Node, NodeConfig};

/// How often, of a hundred moments, a process executes its next command.
const COMMANDS: u64 = 70;
/// How often, of a thousand commands, the power fails in one or right behind it.
const CRASHES: u64 = 40;
/// How many operations of the disk a command is given at the most until the power fails.
const OPERATIONS_MAX: u64 = 24;

impl Members {
    /// Processes that have a command to execute do so, most of them. The power of some fails meanwhile.
    pub(super) fn execute_commands(&mut self, may_crash: bool) {
        for number in self.numbers() {
            let now_ms = self.sim.now_ms();
            let machine = self.machine(number);
            let is_next = matches!(machine.stage(), Some(Stage::Next(_)));
            if machine.host.is_paused(now_ms) || !is_next || !self.sim.random.chance(COMMANDS) {
                continue;
            }
            let crash = if may_crash { self.sim.strike(CRASHES) } else { None };
            let crashes = crash.is_some();
            if let Some(mut chance) = crash {
                let disk = &self.machine(number).host.disk;
                disk.crash_at(disk.operations() + 1 + chance.below(OPERATIONS_MAX));
            }
            self.execute(number);
            if crashes {
                self.sim.count("crash in a start", 1);
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
        match done {
            Ok(None) => {}
            Ok(Some(event)) => self.answer(number, event),
            Err(error) => {
                let may_fail = self.machine(number).host.may_fail();
                assert!(may_fail, "member {number} does not come back: {error:?}");
                self.sim.tell("start failed", format_args!("member {number} does not start: {error:?}"));
                self.answer(number, Event::Failed);
            }
        }
    }

    /// The command that was under way is answered; what comes of it is executed later.
    pub(super) fn answer(&mut self, number: u64, event: Event) {
        let Some(process) = &mut self.machine(number).process else { return };
        let command = process.lifecycle.step(event);
        self.follow(number, command);
    }

    pub(super) fn follow(&mut self, number: u64, command: Command) {
        let Some(process) = &mut self.machine(number).process else { return };
        match command {
            Command::Stop => self.stop(number),
            Command::AskOthers(_) => process.stage = Stage::Asking,
            command => process.stage = Stage::Next(command),
        }
    }

    /// Gives the answer; that to a core which runs comes when it ends.
    fn perform(&mut self, number: u64, command: Command) -> Result<Option<Event>, NodeError> {
        let event = match command {
            Command::Open => self.open(number)?,
            Command::Forget => {
                self.process(number).opened = None;
                let disk = &mut self.machine(number).host.disk;
                lifecycle::storage::forget(disk).map_err(NodeError::of_disk)?;
                Event::Done
            }
            Command::PutAside(reason) => {
                self.process(number).opened = None;
                aside::put_aside(&mut self.machine(number).host.disk).map_err(NodeError::of_disk)?;
                let words = format_args!("member {number} has put its data aside: {reason:?}");
                self.sim.tell("data put aside", words);
                Event::Done
            }
            Command::Write(new) => self.write(number, &new)?,
            Command::Load => self.load(number)?,
            Command::Run(identity) => return self.run_core(number, identity).map(|()| None),
            Command::Restore | Command::AskOthers(_) | Command::Stop => {
                unreachable!("{command:?} is not executed")
            }
        };
        Ok(Some(event))
    }

    fn open(&mut self, number: u64) -> Result<Event, NodeError> {
        let config = self.config.journal.clone();
        let (content, opened) = storage::open(&mut self.machine(number).host.disk, config)?;
        self.process(number).opened = opened;
        Ok(Event::Opened(content))
    }

    fn write(&mut self, number: u64, new: &NewMembership) -> Result<Event, NodeError> {
        let disk = self.machine(number).host.disk.clone();
        self.process(number).opened = Some(storage::write(&disk, new, self.config.journal.clone())?);
        match &new.founders {
            Some(voters) => {
                let words = format_args!("member {number} bootstraps a group of {voters:?}");
                self.sim.tell("bootstrap", words);
            }
            None => {
                let words = format_args!("member {number} is admitted as {:x}", new.identity.member.0);
                self.sim.tell("admission", words);
            }
        }
        Ok(Event::Written(new.identity))
    }

    fn load(&mut self, number: u64) -> Result<Event, NodeError> {
        self.lives += 1;
        self.machine(number).life = self.lives;
        let life = self.lives;
        let uneven = self.uneven.get(&number).copied();
        let config = NodeConfig { uneven, ..self.config.clone() };
        let deaths = self.machine(number).deaths.clone();
        let (journal, recovered) =
            self.process(number).opened.take().expect("it is open before it is loaded");
        match alive(|| Loaded::of(journal, &recovered, &config, (life, &deaths))) {
            Some(loaded) => self.process(number).loaded = Some(loaded?),
            None => self.process_was_killed(number),
        }
        Ok(Event::Loaded)
    }

    fn run_core(&mut self, number: u64, identity: Identity) -> Result<(), NodeError> {
        let (mut config, now_ms) = (self.config.clone(), self.sim.now_ms());
        let wanted = (!self.is_alone).then(|| self.wanted());
        let chance = self.sim.random.fork();
        config.core.edges = 1 + self.sim.random.below(3) as u16;
        let replica = &mut config.core.replica;
        (replica.member, replica.cluster) = (identity.member, identity.cluster);
        let machine = self.machine(number);
        let (mut now, life) = (machine.host.now(now_ms), machine.life);
        now.wall = now.wall.plus_ms(machine.jumped_ms);
        let loaded = self.process(number).loaded.take().expect("it is loaded before it runs");
        // Runs that go on beside the commands are begun with the core.
        let begun = alive(|| Node::begin(loaded, &config, wanted, (seed_of(number, life), chance), now));
        let Some(node) = begun else {
            self.process_was_killed(number);
            return Ok(());
        };
        let torn = node.had_torn_tail();
        self.process(number).stage = Stage::Running(Box::new(node));
        self.sim.count("torn tail", u64::from(torn));
        self.sim.tell("start", format_args!("member {number} starts, life {life}"));
        peers::begin_anew(self, number, true);
        self.collect(number);
        Ok(())
    }

    /// A member's core has ended, and its process goes on.
    pub(super) fn core_ended(&mut self, number: u64, ending: Ending) {
        let words = format_args!("member {number} has lost its membership, and starts again: {ending:?}");
        self.sim.tell("membership lost", words);
        self.at_node(number, Node::core_ended);
        self.collect(number);
        self.end_life(number, true);
        self.process(number).stage = Stage::Asking;
        peers::begin_anew(self, number, false);
        self.answer(number, Event::Ended(ending));
    }

    fn process(&mut self, number: u64) -> &mut Process {
        self.machine(number).process.as_mut().expect("its process runs")
    }

    /// A member that is down comes back.
    pub(super) fn start(&mut self, number: u64) {
        self.lives += 1;
        let setup = match self.is_alone {
            true => Setup::Alone,
            false => Setup::OneOfSeveral {
                number: MemberNumber::of(number),
                // One that is not to bootstrap a group does not name itself.
                voters: self.founders.iter().copied().map(MemberNumber::of).collect(),
            },
        };
        self.peering.begin(number, self.lives);
        let process = Process::new(setup, self.lives);
        self.machine(number).was_killed = false;
        self.machine(number).process = Some(Box::new(process));
    }

    /// A member stops, and comes back.
    #[cfg(test)]
    pub(super) fn restart(&mut self, number: u64) {
        self.stop(number);
        self.start(number);
    }

    /// The member stops, its disk keeps what was written. Its system closes its connections.
    pub(super) fn stop(&mut self, number: u64) {
        self.collect(number);
        self.end_life(number, true);
        let machine = self.machine(number);
        machine.process = None;
        machine.host.end_process();
        machine.stalled_edges.clear();
        self.peering.end(number, true, &mut self.sim);
    }
}

/// What a process draws its numbers from: of each life another.
fn seed_of(number: u64, life: u64) -> [u8; 32] {
    let mut seed = [number as u8; 32];
    seed[..8].copy_from_slice(&life.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    seed[8..16].copy_from_slice(&life.to_le_bytes());
    seed
}
