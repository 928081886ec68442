//! An ensemble is lost but for one member, and its operator makes a new one of that (`force-new-ensemble`). What the product
//! does there is pure and called here as its command calls it; what stands here is the operator and the disks.

use journal::{Identity, Journal};
use member::revival;

use super::machine::{Life, Seat};
use super::{Ensemble, Machine};
use crate::disk::SimDisk;
use crate::node::{council_entry, load};
use crate::random::Random;
use crate::record::Survivor;

/// How long a machine may be away after it was lost, milliseconds.
const AWAY_MAX_MS: u64 = 15_000;

impl Ensemble {
    /// The power of all machines fails at once. All that is on its way is lost.
    pub fn black_out(&mut self) {
        self.numbers().into_iter().for_each(|number| self.crash(number));
        self.changing = false;
        self.network.forget_all();
    }

    /// Of the machines that are down, one that has data: the survivor.
    #[must_use]
    pub fn survivor(&self, chance: &mut Random) -> Option<u64> {
        let has_data = |machine: &Machine| machine.seat.is_some() && !machine.damaged && !machine.off;
        let all = self.machines.iter().filter(|(_, machine)| has_data(machine));
        let all: Vec<_> = all.map(|(number, _)| *number).collect();
        all.get(chance.below(all.len() as u64) as usize).copied()
    }

    /// The survivor's operator makes an ensemble of it alone. Gives what it held, by its journal alone, and at which zxid the
    /// new ensemble begins. Nothing if it held nothing.
    pub fn force_new_ensemble(&mut self, number: u64, chance: &mut Random) -> Option<Survivor> {
        let (now_ms, config) = (self.now_ms, self.config.journal.clone());
        let machine = self.machine(number);
        let seat = machine.seat.clone()?;
        let opened = Journal::open(machine.disk.clone(), config.clone());
        let (mut journal, recovered) = opened.expect("its disk is well");
        // What its snapshot has replaced may have rotted since.
        let covered = recovered.snapshot.as_ref().map_or(0, |meta| meta.index);
        let index = recovered.last_index.max(covered);
        if index == 0 {
            return None;
        }
        let log = match index > covered {
            true => journal.entries(covered + 1, index + 1, u64::MAX).expect("its disk is well"),
            false => Vec::new(),
        };
        let log: Vec<_> = log.into_iter().map(council_entry).collect();

        let tree = load(&mut journal, [0; 32]).expect("its disk is well");
        let mut replay = revival::replay(&recovered, journal.membership(), tree);
        while let Some(wanted) = replay.wants() {
            let entries = journal.entries(wanted.start, wanted.end, u64::MAX).expect("its disk is well");
            replay.take(entries).expect("its log can be read");
        }
        let (applied, mut tree, _) = replay.finish();
        let before = Identity { cluster: seat.cluster, incarnation: [0; 16], member: seat.id };
        let mut name = || [chance.number().to_le_bytes(), chance.number().to_le_bytes()].concat();
        let [cluster, incarnation] = [name(), name()].map(|name| name.try_into().expect("16 bytes"));
        let identity = revival::identity(&before, cluster, incarnation);

        let disk = SimDisk::new(chance.number());
        let (mut journal, _) = Journal::open(disk.clone(), config).expect("a blank disk");
        let wall_ms = machine.now(now_ms).wall_ms;
        let meta = revival::begin(&mut tree, applied.applied(), number, wall_ms);
        let zxid = meta.zxid;
        revival::write_snapshot(&mut journal, &mut tree, meta).expect("a blank disk");
        journal.close().expect("a blank disk");
        machine.disk = disk;
        machine.seat = Some(Seat { id: identity.member, cluster: identity.cluster, founders: Vec::new() });
        (machine.outsider, machine.founds) = (false, false);
        self.tell(
            "forced new ensemble",
            format_args!("member {number} becomes a new ensemble of itself alone, behind entry {index}"),
        );
        Some(Survivor { member: number, index, zxid, log })
    }

    /// All machines but the survivor are lost. Most come back with blank disks, sooner or later; some, fewer than could
    /// decide anything in the ensemble that was, with the data that they had.
    pub fn lose_all_but(&mut self, survivor: u64, voters_min: usize, chance: &mut Random) {
        let mut outsiders_left = voters_min.saturating_sub(1) / 2;
        for number in self.numbers().into_iter().filter(|number| *number != survivor) {
            let away_ms = if chance.chance(50) { chance.below(AWAY_MAX_MS) } else { 0 };
            let until_ms = self.now_ms + away_ms;
            let machine = self.machine(number);
            let stays = machine.seat.is_some() && !machine.damaged && !machine.off;
            (machine.away_until_ms, machine.off, machine.founds) = (until_ms, false, false);
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
                let was_down = matches!(self.machine(number).life, Life::Down);
                self.empty(number);
                self.tell("outsider emptied", format_args!("the disk of machine {number} is emptied"));
                if !was_down {
                    self.start(number);
                }
            }
        }
    }
}
