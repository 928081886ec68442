//! An ensemble is lost but for one member, and its operator makes a new one of that (`force-new-ensemble`). What the product
//! does there is pure and called here as its command calls it; what stands here is the operator and the disks.

use base::{LogIndex, WallTime};
use council_replica::{ReplayedTree, revival};
use storage_raft_log::{Identity, Journal, JournalConfig};

use super::{Ensemble, Machine};
use crate::disk::SimDisk;
use crate::loaded::load_tree;
use crate::node::raft_entry;
use crate::random::Random;
use crate::record::Survivor;
use sim_group::aside;

/// How long a machine may be away after it was lost, milliseconds.
const AWAY_MAX_MS: u64 = 15_000;

impl Ensemble {
    /// The power of all machines fails at once. All that is on its way is lost.
    pub fn black_out(&mut self) {
        self.numbers().into_iter().for_each(|number| self.crash(number));
        self.changing = false;
        self.peering.network.forget_all();
    }

    /// A machine that is to survive: any of those that have data, or the one whose tree is the oldest.
    #[must_use]
    pub fn survivor(&mut self, chance: &mut Random) -> Option<u64> {
        let has_data =
            |machine: &Machine| aside::holds_data(&machine.host.disk) && !machine.damaged && !machine.off;
        let all = self.machines.iter_mut().filter(|(_, machine)| has_data(machine));
        let zxid = |machine: &mut Machine| machine.node().map(|node| node.tree().last_zxid());
        let all: Vec<_> = all.map(|(number, machine)| (zxid(machine), *number)).collect();
        if chance.chance(40) {
            return all.iter().filter(|(zxid, _)| zxid.is_some()).min().map(|(_, number)| *number);
        }
        all.get(chance.below(all.len() as u64) as usize).map(|(_, number)| *number)
    }

    /// The survivor's operator makes an ensemble of it alone. Gives what it held. Nothing if it held nothing.
    pub fn force_new_ensemble(&mut self, number: u64, chance: &mut Random) -> Option<Survivor> {
        let (now_ms, config) = (self.sim.now_ms(), self.config.journal.clone());
        let machine = self.machine(number);
        aside::settle(&mut machine.host.disk).expect("its disk is well");
        if !aside::holds_data(&machine.host.disk) {
            return None;
        }
        let (journal, _) =
            Journal::open(machine.host.disk.clone(), config.clone()).expect("its disk is well");
        let before = *journal.identity();
        drop(journal);
        let wall = machine.host.now(now_ms).wall;
        let Forced { disk, survivor, .. } = force(&machine.host.disk, &config, &before, wall, chance)?;
        machine.replace_disk(disk);
        (machine.outsider, machine.founder) = (false, false);
        let index = survivor.index;
        self.tell(
            "forced new ensemble",
            format_args!("member {number} becomes a new ensemble of one, after entry {index}"),
        );
        Some(survivor)
    }

    /// All machines but the survivor are lost. Most come back with blank disks, sooner or later; some, fewer than could
    /// decide anything in the ensemble that was, with the data that they had.
    pub fn lose_all_but(&mut self, survivor: u64, voters_min: usize, chance: &mut Random) {
        let mut outsiders_left = voters_min.saturating_sub(1) / 2;
        for number in self.numbers().into_iter().filter(|number| *number != survivor) {
            let away_ms = if chance.chance(50) { chance.below(AWAY_MAX_MS) } else { 0 };
            let until_ms = self.sim.now_ms() + away_ms;
            let machine = self.machine(number);
            let stays = aside::holds_data(&machine.host.disk) && !machine.damaged && !machine.off;
            (machine.away_until_ms, machine.off, machine.founder) = (until_ms, false, false);
            if stays && outsiders_left > 0 && chance.chance(50) {
                outsiders_left -= 1;
                self.machine(number).outsider = true;
                self.tell("back with old data", format_args!("machine {number} keeps its old data"));
            } else {
                self.empty(number);
            }
        }
        self.wiped = true;
    }

    /// The operator notices that a machine has data of the ensemble that was, and empties its disk.
    pub fn empty_outsiders(&mut self) {
        for number in self.numbers() {
            if self.machine(number).outsider {
                let was_down = self.machine(number).is_down();
                self.empty(number);
                self.tell("outsider's disk emptied", format_args!("the disk of machine {number} is emptied"));
                if !was_down {
                    self.start(number);
                }
            }
        }
    }
}

/// A new ensemble on a disk.
pub struct Forced {
    /// Its only member's.
    pub disk: SimDisk,
    /// Who that is.
    pub identity: Identity,
    /// What it was made of.
    pub survivor: Survivor,
}

/// What `diwan force-new-ensemble --yes` makes of a survivor's disk, and what that held, by its journal alone. Nothing if it
/// held nothing.
///
/// # Panics
/// The disk is not well.
#[must_use]
pub fn force(
    disk: &SimDisk,
    config: &JournalConfig,
    before: &Identity,
    wall: WallTime,
    chance: &mut Random,
) -> Option<Forced> {
    let (mut journal, recovered) = Journal::open(disk.clone(), config.clone()).expect("its disk is well");
    // What its snapshot has replaced may have rotted since.
    let covered = recovered.snapshot.as_ref().map_or(LogIndex::ZERO, |meta| meta.index);
    let index = recovered.last_index.max(covered);
    if index == LogIndex::ZERO {
        return None;
    }
    let log = match index > covered {
        true => journal.entries(covered.next(), index.next(), u64::MAX).expect("its disk is well"),
        false => Vec::new(),
    };
    let log = log.into_iter().map(raft_entry).collect();
    let tree = load_tree(&mut journal, [0; 32]).expect("its disk is well");
    let mut replay = revival::replay(&recovered, journal.membership(), tree);
    while let Some(wanted) = replay.wants() {
        let entries = journal.entries(wanted.start, wanted.end, u64::MAX).expect("its disk is well");
        replay.take(entries).expect("its log can be read");
    }
    let (applied, ReplayedTree { mut tree, .. }) = replay.finish();

    let identity = revival::identity(before, name(chance), name(chance));
    let disk = SimDisk::new(chance.number());
    let config = JournalConfig { identity, ..config.clone() };
    let (mut journal, _) = Journal::open(disk.clone(), config).expect("a blank disk");
    let meta = revival::begin(&mut tree, applied.applied(), identity.member, wall);
    let survivor = Survivor { member: identity.member.number().into(), index, zxid: meta.position, log };
    revival::write_snapshot(&mut journal, &mut tree, meta).expect("a blank disk");
    journal.close().expect("a blank disk");
    Some(Forced { disk, identity, survivor })
}

fn name(chance: &mut Random) -> [u8; 16] {
    let mut name = [0; 16];
    name[..8].copy_from_slice(&chance.number().to_le_bytes());
    name
}
