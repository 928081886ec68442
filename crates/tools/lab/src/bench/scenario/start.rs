//! From starting the process to its first answer, with a large tree on disk.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use council_client::load::{Load, Mix, Nodes, Pace, prepare};

use super::snapshot::{count_of_snapshots, wait_for_snapshot};
use super::{Row, at_most};
use crate::bench::setting::{HEAP_MB, NO_SNAPSHOTS, keys};
use crate::bench::{Bench, Failure, PEER, Sheet, Spec, Who};

pub(super) const START: Row = Row {
    name: "start",
    about: "start with 1,000,000 znodes of 5 bytes from a snapshot and a log of 100,000 writes behind it, page cache warm",
    floor: None,
    figures: &[
        Spec::held("until the first answer", "s", at_most(2.0), at_most(0.5)),
        Spec::told("CPU", "s"),
        Spec::held("resident", "MB", at_most(200.0), at_most(170.0)),
    ],
    servers: 1,
    large: false,
    run,
};

fn run(bench: &Bench, sheet: &mut Sheet) -> Result<(), Failure> {
    let nodes = Nodes { count: bench.scale().many, value_bytes: 5 };
    for who in bench.servers() {
        fill(bench, who, nodes)?;
    }
    bench.in_turn(&mut bench.servers(), |who| {
        let [folder, kept] = [bench.folder(*who), bench.disk().join(format!("{}-kept", who.name(PEER)))];
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        copy(&kept, &folder)?;
        let began = Instant::now();
        let server = bench.over(*who, HEAP_MB, &NO_SNAPSHOTS)?;
        let one = Load {
            servers: server.address().into(),
            connections: 1,
            pace: Pace::Closed { outstanding: 1 },
            mix: Mix::READS,
            nodes,
            seed: 1,
            checks: false,
        };
        let answered = council_client::load::run(&one, Duration::ZERO, Duration::from_millis(1), || {})?;
        let took = began.elapsed().as_secs_f64();
        if answered.errors > 0 {
            return Err(Failure("the tree was not there after the start".into()));
        }
        sheet.add("until the first answer", *who, took);
        sheet.add("CPU", *who, server.cpu_time()?.total().as_secs_f64());
        sheet.add("resident", *who, server.resident_bytes()? as f64 / 1e6);
        Ok(())
    })
}

/// Makes the tree, a snapshot of it and a log behind that, kills the server, and keeps its folder.
fn fill(bench: &Bench, who: Who, nodes: Nodes) -> Result<(), Failure> {
    let scale = bench.scale();
    let mut server = bench.fresh(who, &NO_SNAPSHOTS)?;
    prepare(server.address(), nodes)?;
    server.stop()?;
    let before = count_of_snapshots(&bench.folder(who))?;
    server.restart_with(keys(&[("snapCount", &scale.snapshot_every.to_string())]))?;
    write(&server, nodes, scale.snapshot_every + scale.snapshot_every / 4)?;
    wait_for_snapshot(&bench.folder(who), before)?;
    server.stop()?;
    server.restart_with(keys(&NO_SNAPSHOTS))?;
    write(&server, nodes, scale.writes_behind)?;
    server.kill()?;
    drop(server);
    fs::rename(bench.folder(who), bench.disk().join(format!("{}-kept", who.name(PEER))))?;
    bench.say(&format!("{} has its tree", who.name(PEER)));
    Ok(())
}

/// Overwrites so many nodes at the least.
fn write(server: &tools_testbed::Server, nodes: Nodes, count: u32) -> Result<(), Failure> {
    let mut written = 0;
    while written < u64::from(count) {
        let load = Load {
            servers: server.address().into(),
            connections: 10,
            pace: Pace::Closed { outstanding: 50 },
            mix: Mix::WRITES,
            nodes,
            seed: written,
            checks: false,
        };
        let measured = council_client::load::run(&load, Duration::ZERO, Duration::from_millis(100), || {})?;
        written += measured.operations + measured.drained;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
