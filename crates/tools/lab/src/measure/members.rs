//! How servers that are measured are configured: the same for a row of the benchmark and for an experiment.

use std::path::Path;

use tools_testbed::{Ensemble, Place, Setting, Software};

/// The keys of every server: no limit on connections from one address, sessions that outlive a silent load, no AdminServer.
/// All else is as it is by default.
const EVERY_SERVER: [(&str, &str); 4] = [
    ("tickTime", "2000"),
    ("maxClientCnxns", "0"),
    ("maxSessionTimeout", "600000"),
    ("admin.enableServer", "false"),
];
/// What a ZooKeeper needs to know beyond the `server.` lines, as its own example has them.
const ENSEMBLE_OF_ZOOKEEPER: [(&str, &str); 2] = [("initLimit", "10"), ("syncLimit", "5")];

/// [`EVERY_SERVER`], and further ones.
pub(crate) fn keys_of_every_server(further: &[(&str, &str)]) -> Vec<(String, String)> {
    let all = EVERY_SERVER.iter().chain(further);
    all.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// Members of one ensemble, none of them started, with further keys of `zoo.cfg`.
pub(crate) fn ensemble(
    software: Software,
    setting: &Setting,
    folder: &Path,
    place: &Place,
    further: &[(&str, &str)],
) -> Ensemble {
    let is_diwan = matches!(software, Software::Diwan(_));
    let of_zookeeper: &[_] = if is_diwan { &[] } else { &ENSEMBLE_OF_ZOOKEEPER };
    let every = setting.snapshot_every.map(|every| every.to_string());
    let snapshots = every.iter().map(|every| ("snapCount", every.as_str()));
    let common = [("maxSessionTimeout", "600000")];
    let keys: Vec<_> =
        common.into_iter().chain(of_zookeeper.iter().chain(further).copied()).chain(snapshots).collect();
    let flags: Vec<_> = match is_diwan {
        true => ["-D", "metrics.listen=off"].map(String::from).to_vec(),
        false => Vec::new(),
    };
    let ensemble = Ensemble::of(software, folder, setting.members(), place, &keys, &flags);
    ensemble.with_heap(setting.heap_mb).with_observers(setting.observers)
}
