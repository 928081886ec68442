//! A member's disk is damaged, within the budget. When the member starts again, it puts its data aside and asks the others for
//! theirs.

use sim_kit::damage::{Damage, LogEnd, strike};
use storage_raft_log::{Batch, Journal, JournalConfig};

use crate::disk::SimDisk;
use crate::ensemble::Ensemble;
use crate::random::Random;

impl Ensemble {
    /// The disk of a member is damaged, within the budget.
    pub(super) fn damage(&mut self, number: u64, damage: Damage, chance: &mut Random) {
        if !self.may_lose_disk(number) {
            return;
        }
        self.stop(number);
        let journal = self.config.journal.clone();
        let machine = self.machine(number);
        let Some(end) = end_of_log(&machine.host.disk, journal) else { return };
        let Some(words) = strike(&machine.host.disk, &end, damage, chance) else { return };
        machine.damaged = true;
        self.wiped = true;
        let what = match damage {
            Damage::Rot => "rotten bits",
            Damage::Misdirected => "misdirected write",
            Damage::Name => "lost file name",
        };
        self.tell(what, format_args!("member {number} is killed, and its disk is damaged: {words}"));
    }
}

/// The segment in which the log ends, and how much of it may be damaged so that what is left tells of it. Something more is
/// written to find that out: behind the end a segment holds zeros, or what it held when it was used before.
fn end_of_log(disk: &SimDisk, config: JournalConfig) -> Option<LogEnd> {
    let segments = |disk: &SimDisk| {
        let paths = disk.paths().into_iter().filter(|path| path.ends_with(".seg"));
        paths.filter_map(|path| Some((path.clone(), disk.content(&path)?))).collect::<Vec<_>>()
    };
    let before = segments(disk);
    let (mut journal, _) = Journal::open(disk.clone(), config).ok()?;
    let batch = Batch { hard_state: Some(journal.hard_state()), ..Batch::default() };
    journal.append_reserved(&batch).ok()?;
    journal.close().ok()?;
    let ends = segments(disk).into_iter().filter_map(|(path, content)| {
        let was = before.iter().find(|(known, _)| *known == path).map(|(_, content)| &content[..]);
        let was = was.unwrap_or_default();
        let last = (0..content.len()).rfind(|at| was.get(*at) != Some(&content[*at]) && content[*at] != 0)?;
        Some(LogEnd::behind(path, last))
    });
    ends.max()
}
