//! The leader's disk hangs: a frozen file system that holds nothing but its data.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use tools_testbed::Ensemble;

use super::{MEMBERS, milliseconds, settled, two_writers};
use crate::bench::scenario::{Row, at_most};
use crate::bench::setting::HEAP_MB;
use crate::bench::{Bench, Failure, Sheet, Spec, Who};

/// Bytes of each file system.
const DISK_BYTES: u64 = 2 << 30;

pub(in crate::bench::scenario) const DISK_STALLED: Row = Row {
    name: "three-disk-stalled",
    about: "the leader's disk frozen for 10 s until the first new acknowledged write, default settings (needs root: loop devices, `mkfs.ext4`, `fsfreeze`)",
    floor: None,
    figures: &[
        Spec::held("client of a follower", "ms", at_most(1000.0), at_most(300.0)),
        Spec::held("client of the leader", "ms", at_most(1000.0), at_most(300.0)),
        Spec::held("sessions lost", "", at_most(0.0), at_most(0.0)),
    ],
    servers: 3,
    large: true,
    run,
};

fn run(bench: &Bench, sheet: &mut Sheet) -> Result<(), Failure> {
    bench.in_turn(&mut bench.servers(), |who| {
        let mut ensemble = bench.members(*who, MEMBERS, HEAP_MB, &[])?;
        let disks: Result<Vec<_>, _> =
            ensemble.all().into_iter().map(|number| Disk::mount(&ensemble.data(number))).collect();
        let disks = disks?;
        let measured = measure(bench, sheet, *who, &mut ensemble, &disks);
        // The processes end before what they write to goes.
        drop(ensemble);
        drop(disks);
        measured
    })
}

fn measure(
    bench: &Bench,
    sheet: &mut Sheet,
    who: Who,
    ensemble: &mut Ensemble,
    disks: &[Disk],
) -> Result<(), Failure> {
    ensemble.start_all()?;
    council_client::load::prepare(ensemble.address(1), bench.few_kib())?;
    let order = settled(ensemble)?;
    let writers = two_writers(ensemble, &order)?;
    let frozen = disks[order[0] - 1].freeze()?;
    // The command first writes out what there is, and clients do not wait for that alone.
    let since = Instant::now();
    let thaw = since + bench.scale().pause;
    thread::scope(|scope| {
        scope.spawn(move || {
            thread::sleep(thaw.saturating_duration_since(Instant::now()));
            drop(frozen);
        });
        let follower = writers[1].next_write(since)?;
        let leader = writers[0].next_write(since)?;
        sheet.add("client of a follower", who, milliseconds(follower - since));
        sheet.add("client of the leader", who, milliseconds(leader - since));
        Ok::<_, Failure>(())
    })?;
    settled(ensemble)?;
    let now = Instant::now();
    writers.iter().try_for_each(|writer| writer.next_write(now).map(drop))?;
    sheet.add("sessions lost", who, writers.iter().map(|writer| writer.expired() as f64).sum());
    Ok(())
}

/// A file system of its own, in a file beside where it is mounted.
struct Disk {
    mounted: PathBuf,
}

impl Disk {
    fn mount(at: &Path) -> Result<Self, Failure> {
        std::fs::create_dir_all(at)?;
        let image = at.with_extension("img");
        File::create(&image)?.set_len(DISK_BYTES)?;
        tool("mkfs.ext4", &["-q".as_ref(), image.as_ref()])?;
        tool("mount", &["-o".as_ref(), "loop".as_ref(), image.as_ref(), at.as_ref()])?;
        Ok(Self { mounted: at.to_owned() })
    }

    /// Nothing is written to it until what this gives is dropped.
    fn freeze(&self) -> Result<Frozen, Failure> {
        tool("fsfreeze", &["--freeze".as_ref(), self.mounted.as_ref()])?;
        Ok(Frozen(self.mounted.clone()))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // An error cannot be reported here; a mount that is left shows when the folder cannot be removed.
        let _ = tool("umount", &[self.mounted.as_ref()]);
    }
}

struct Frozen(PathBuf);

impl Drop for Frozen {
    fn drop(&mut self) {
        // It fails only where it is not frozen.
        let _ = tool("fsfreeze", &["--unfreeze".as_ref(), self.0.as_ref()]);
    }
}

fn tool(name: &str, arguments: &[&std::ffi::OsStr]) -> Result<(), Failure> {
    let output = Command::new(name).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| Failure(format!("`{name}`: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    Err(Failure(format!("`{name}`: {}", String::from_utf8_lossy(&output.stderr).trim())))
}
