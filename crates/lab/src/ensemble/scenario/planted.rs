//! A fault that no server could hide and no client may overlook: does the judging bite?

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{Play, Setting};
use crate::ensemble::Failure;
use crate::ensemble::judge::judge;

/// When all clients are done, all members are killed and their disks put back to what they held before: what was
/// acknowledged since then is lost, and whoever judges must say so.
pub(super) fn planted(setting: &Setting) -> Result<Vec<String>, Failure> {
    let mut play = Play::open(setting, 3)?;
    kill_all(&mut play)?;
    for number in play.ensemble.all() {
        copy(&play.ensemble.data(number), &before(setting, number))?;
    }
    play.ensemble.start_all()?;
    play.crowd.all_write()?;
    let Play { mut ensemble, crowd, .. } = play;
    let writers = crowd.stop()?;
    for number in ensemble.all() {
        ensemble.kill(number)?;
        ensemble.wipe(number)?;
        copy(&before(setting, number), &ensemble.data(number))?;
    }
    ensemble.start_all()?;
    let ledgers: Vec<_> = writers.iter().map(|writer| &writer.ledger).collect();
    let noticed = match judge(&ensemble, &ensemble.all(), &ledgers) {
        Err(Failure::Broken(noticed)) => noticed,
        Err(other) => return Err(other),
        Ok(_) => Vec::new(),
    };
    // No server takes a client that has seen more than it has.
    writers.iter().for_each(|writer| writer.client.abandon());
    let registers = noticed.iter().filter(|line| line.starts_with("the register of client ")).count();
    let queued =
        noticed.iter().filter(|line| line.ends_with("took effect 0 times; acknowledged: true")).count();
    if registers == writers.len() && queued > 0 {
        return Ok(vec![format!(
            "noticed: {registers} registers went back, {queued} acknowledged nodes are lost"
        )]);
    }
    Err(Failure::broken(format!("disks went back, and all that is noticed is:\n{}", noticed.join("\n"))))
}

fn kill_all(play: &mut Play) -> Result<(), Failure> {
    play.ensemble.all().into_iter().try_for_each(|number| play.ensemble.kill(number))
}

fn before(setting: &Setting, number: usize) -> std::path::PathBuf {
    setting.folder.join(format!("before-{number}"))
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir_all(to).map_err(Failure::io("a folder"))?;
    for entry in fs::read_dir(from).map_err(Failure::io("a data directory"))? {
        let entry = entry.map_err(Failure::io("a data directory"))?;
        let copied = Command::new("cp").arg("-a").arg(entry.path()).arg(to).status();
        if !copied.map_err(Failure::io("`cp`"))?.success() {
            return Err(Failure::broken("a data directory cannot be copied"));
        }
    }
    Ok(())
}
