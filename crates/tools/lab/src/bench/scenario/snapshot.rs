//! Writes while snapshots are taken, beside writes while none is.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use council_client::load::{Load, Measured, Mix, Nodes, Pace, prepare};
use tools_testbed::Server;

use super::{Row, at_most};
use crate::bench::probe::{Beside, Probed};
use crate::bench::setting::{HEAP_MB, NO_SNAPSHOTS, keys};
use crate::bench::{Bench, Failure, Sheet, Spec};

/// Appends a second of the probe beside the load: enough to see every stall, too few to make one.
const PROBES_PER_SECOND: f64 = 100.0;
/// How long a snapshot may take to appear.
const PATIENCE: Duration = Duration::from_secs(120);
/// The heap for 2 GB of data, MiB.
const LARGE_HEAP_MB: u32 = 8192;

pub(super) const SNAPSHOT: Row = Row {
    name: "snapshot",
    about: "2,000 durable setData of 5 bytes a second while snapshots of 1,000,000 znodes are taken",
    floor: Some("flush probe beside the load, longest append"),
    figures: FIGURES,
    servers: 1,
    large: false,
    run: |bench, sheet| {
        let nodes = Nodes { count: bench.scale().many, value_bytes: 5 };
        run(bench, sheet, Tree { nodes, written: nodes, heap_mb: HEAP_MB })
    },
};

pub(super) const SNAPSHOT_2GB: Row = Row {
    name: "snapshot-2gb",
    about: "2,000 durable setData of 1 KiB a second while snapshots of 2 GB are taken (ZooKeeper's heap: 8 GB)",
    floor: Some("flush probe beside the load, longest append"),
    figures: FIGURES,
    servers: 1,
    large: true,
    run: |bench, sheet| {
        let nodes = Nodes { count: bench.scale().heavy, value_bytes: 100 << 10 };
        // Few of the large values are replaced by small ones, so that the tree keeps its size.
        let written = Nodes { count: bench.scale().heavy / 20, value_bytes: 1024 };
        run(bench, sheet, Tree { nodes, written, heap_mb: LARGE_HEAP_MB })
    },
};

const FIGURES: &[Spec] = &[
    Spec::held("p99.9 with, over without", "×", at_most(1.5), at_most(1.1)),
    Spec::held("longest gap with, beyond the probe's", "ms", at_most(100.0), at_most(20.0)),
    Spec::told("p99.9 without", "ms"),
    Spec::told("p99.9 with", "ms"),
    Spec::told("longest gap without", "ms"),
    Spec::told("longest gap with", "ms"),
    Spec::told("probe's longest append without", "ms"),
    Spec::told("probe's longest append with", "ms"),
    Spec::told("snapshots seen", ""),
];

#[derive(Clone, Copy)]
struct Tree {
    nodes: Nodes,
    written: Nodes,
    heap_mb: u32,
}

fn run(bench: &Bench, sheet: &mut Sheet, tree: Tree) -> Result<(), Failure> {
    let every = bench.scale().snapshot_every;
    sheet.notes.push(format!("snapshots by `snapCount={every}`; the phase without has none to take"));
    bench.in_turn(&mut bench.servers(), |who| {
        let folder = bench.folder(*who);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let mut server = bench.over(*who, tree.heap_mb, &NO_SNAPSHOTS)?;
        prepare(server.address(), tree.nodes)?;

        server.stop()?;
        server.restart_with(keys(&NO_SNAPSHOTS))?;
        let (without, probed_without) = phase(bench, &server, tree)?;

        server.stop()?;
        server.restart_with(keys(&[("snapCount", &every.to_string())]))?;
        let before = snapshots(&folder)?;
        let (with, probed_with) = phase(bench, &server, tree)?;
        wait_for_snapshot(&folder, before.len()).or_else(|failure| {
            // Old ones may have been purged meanwhile: a new name is what counts.
            if snapshots(&folder)?.is_subset(&before) { Err(failure) } else { Ok(()) }
        })?;
        let seen = snapshots(&folder)?.difference(&before).count();

        let [p_without, p_with] = [&without, &with].map(|measured| measured.latency_ms(99.9));
        let [gap_without, gap_with] =
            [&without, &with].map(|measured| measured.longest_gap.as_secs_f64() * 1e3);
        sheet.add("p99.9 with, over without", *who, p_with / p_without);
        let beyond = (gap_with - probed_with.longest_ms()).max(0.0);
        sheet.add("longest gap with, beyond the probe's", *who, beyond);
        sheet.add("p99.9 without", *who, p_without);
        sheet.add("p99.9 with", *who, p_with);
        sheet.add("longest gap without", *who, gap_without);
        sheet.add("longest gap with", *who, gap_with);
        sheet.add("probe's longest append without", *who, probed_without.longest_ms());
        sheet.add("probe's longest append with", *who, probed_with.longest_ms());
        sheet.add("snapshots seen", *who, seen as f64);
        Ok(())
    })
}

/// Writes at a fixed pace, the probe beside them.
fn phase(bench: &Bench, server: &Server, tree: Tree) -> Result<(Measured, Probed), Failure> {
    let scale = bench.scale();
    let load = Load {
        servers: server.address().into(),
        connections: 100,
        pace: Pace::Open { per_second: scale.paced_writes },
        mix: Mix::WRITES,
        nodes: tree.written,
        seed: 1,
        checks: false,
    };
    let probe = Beside::start(&bench.disk().join("probe"), PROBES_PER_SECOND)?;
    let measured = council_client::load::run(&load, scale.warm_up * 3, scale.measure * 2, || {});
    let probed = probe.finish()?;
    Ok((measured?, probed))
}

/// Waits until there are more snapshots than `before`.
pub(super) fn wait_for_snapshot(folder: &Path, before: usize) -> Result<(), Failure> {
    let began = Instant::now();
    while count_of_snapshots(folder)? <= before {
        if began.elapsed() > PATIENCE {
            return Err(Failure(format!("no snapshot was taken within {PATIENCE:?}")));
        }
        // Not a synchronisation: how often we look.
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// How many snapshots lie in a server's folder.
pub(super) fn count_of_snapshots(folder: &Path) -> Result<usize, Failure> {
    Ok(snapshots(folder)?.len())
}

/// ZooKeeper's `version-2/snapshot.*`, Diwan's `council/snapshot/*.snap`.
fn snapshots(folder: &Path) -> Result<BTreeSet<OsString>, Failure> {
    let mut found = BTreeSet::new();
    let data = folder.join("data");
    for (place, is_one) in [
        ("version-2", (|name| name.starts_with("snapshot.")) as fn(&str) -> bool),
        ("council/snapshot", |name| name.ends_with(".snap")),
    ] {
        let Ok(entries) = fs::read_dir(data.join(place)) else { continue };
        for entry in entries {
            let name = entry?.file_name();
            if name.to_str().is_some_and(is_one) {
                found.insert(name);
            }
        }
    }
    Ok(found)
}
