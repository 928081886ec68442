//! Where services keep their data: each in a directory of its own below the data directory.

use std::path::Path;

use council_service::config::StorageConfig;

use node_config::{Checked, Problem};

/// The council's directory, below the data directory and below the log directory.
const COUNCIL: &str = "council";
/// What the council had in the data directory itself before it had a directory of its own.
const EARLIER: [&str; 5] = ["meta", "log", "snapshot", "lock", "put-aside"];
/// The data of a ZooKeeper server.
const ZOOKEEPER: &str = "version-2";

/// Turns the directories that the configuration names into the council's own.
///
/// # Errors
/// If one of them holds data that would be ignored silently: the data of a ZooKeeper server, or Diwan's data from
/// before each service had its directory. Nothing is changed then.
pub(crate) fn give_to_council(storage: &mut StorageConfig) -> Checked<()> {
    let data_dir = &storage.data_dir;
    if !storage.create_dir && !data_dir.is_dir() {
        return Err(Problem::new(format!("the data directory `{}` is missing", data_dir.display()))
            .hint("make it, or let it be made with `datadir.autocreate=true` (`node.create-dir`)"));
    }
    storage.create_dir = true;
    for directory in [Some(data_dir), storage.log_dir.as_ref()].into_iter().flatten() {
        refuse_zookeepers(directory)?;
        refuse_earlier(directory)?;
    }
    storage.data_dir.push(COUNCIL);
    if let Some(log_dir) = &mut storage.log_dir {
        log_dir.push(COUNCIL);
    }
    Ok(())
}

/// A server beside such data would begin with an empty tree.
fn refuse_zookeepers(directory: &Path) -> Checked<()> {
    if !directory.join(ZOOKEEPER).exists() {
        return Ok(());
    }
    let what = format!(
        "`{}` holds the data of a ZooKeeper server (`{ZOOKEEPER}`), which was left untouched",
        directory.display()
    );
    Err(Problem::new(what).hint("choose an empty directory; importing such data is not there yet"))
}

/// Whether a directory is the log of a council in the earlier layout: it has files. That of a broker has the same name, and
/// files only beside its own `log`.
fn is_earlier_log(directory: &Path) -> bool {
    let is_brokers = directory.join("meta").is_file() || directory.join("log").is_dir();
    let has_files = || std::fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some());
    directory.is_dir() && !is_brokers && has_files()
}

fn refuse_earlier(directory: &Path) -> Checked<()> {
    if !directory.join("meta").is_file() && !is_earlier_log(&directory.join("log")) {
        return Ok(());
    }
    let found = EARLIER.iter().map(|name| directory.join(name)).filter(|path| path.exists());
    let names: Vec<_> = found.map(|path| path.display().to_string()).collect();
    let directory = directory.display();
    Err(Problem::new(format!("`{directory}` holds data of an earlier layout")).hint(format!(
        "the council's data lies in `{directory}/{COUNCIL}` now: `mkdir {directory}/{COUNCIL} && mv {} \
         {directory}/{COUNCIL}/`",
        names.join(" ")
    )))
}
