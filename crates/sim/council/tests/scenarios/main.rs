//! Plays scenarios of agreement, membership, leases, leadership transfer and catch-up over whole simulated members: one
//! behaviour a file, as commands, and below them what happened. Each file is a test of its own, named `GROUP/FILE`.
//! `UPDATE_GOLDENFILES=1 cargo test -p sim-council --test scenarios NAME` writes what happened anew; review it.
//!
//! Nothing happens by chance: the same commands give the same lines. A member that is named by its number and a letter
//! (`3b`) has that number's second disk.
//!
//! ```text
//! members 1 2 3 [lease=MS] [tick=MS] [window=BYTES] [chunk=BYTES] [lag=ENTRIES] [snapshot_rate=BYTES]
//!                                  founders start on blank disks, connected to each other
//! show [1 ..]                      each member: its leader, term, log, what it has applied, whether it serves clients, and
//!                                  for how long yet if most of its lease is over
//! voters [1 ..]                    each member: who votes and who learns, as far as it has applied that
//! log [1 ..]                       each member: the terms of the entries on its disk
//! pass 500ms                       time passes, in steps of 2 ms, and messages arrive
//! until "1 leads"                  time passes until something is told that contains this
//! stabilize                        messages arrive until there are none, and no time passes
//! turn 1                           a member does what it has to do, and no time passes
//! campaign 1                       time passes for this member alone until it asks for votes
//! transfer 1                       a leader that is about to stop transfers its leadership
//! snapshot 1                       a member takes a snapshot
//!
//! cut 1 [2 ..] [noticed=true]      these members hear no others and are not heard; `noticed`: connections end
//! cut 1 to 2 [kind=append] [count=1]  one direction; one kind of message; that many of them
//! heal                             everything cut comes through again
//! hold [1 [2 ..] | 1 to 2] [kind=append]  messages stay under way: all, between these and others, from one to another
//! release                          nothing stays under way any more
//! messages                         what is under way, but for heartbeats, leases and the like
//! deliver 1 to 2 [kind=append] [count=1] [last=true] [copy=true]  held messages arrive: all or some, from the oldest or
//!                                  the newest; a copy stays under way
//! drop 1 to 2 [kind=append] [count=1]  held messages are lost
//!
//! stall 1 | flush 1                a disk stands still, and does what it was asked meanwhile
//! crash 1                          power fails: what was not flushed is lost, connections end
//! restart 1                        a member starts on the disk that it had
//! blank 3                          an empty disk of that number asks the others to be let in
//! pause 1 | resume 1               a process stands still; when it goes on, its shards run before its core does
//!
//! client a 1 | move a 2            a client opens a session at a member; takes it up at another one
//! write a x data [bytes=N]        creates a znode          read a x     sync a     ping a
//! fill a x count=N bytes=N        creates znodes one after the other
//! super a                          authenticates as the superuser
//! reconfig a add=4 remove=3        changes the members that are to be
//! ```

mod client;
mod member;
mod message;
mod network;
mod player;
mod world;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

use crate::player::Player;

/// The folders with scenarios.
const GROUPS: [&str; 5] = ["agreement", "membership", "leases", "transfer", "catch_up"];

fn main() -> ExitCode {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut tests: Vec<_> = GROUPS.iter().flat_map(|group| scenarios(&folder.join(group), group)).collect();
    assert!(tests.len() >= 40, "only {} scenarios were found", tests.len());
    tests.sort_by(|one, other| one.name().cmp(other.name()));
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}

fn scenarios(folder: &Path, group: &str) -> Vec<Trial> {
    let files = std::fs::read_dir(folder).expect("the scenarios are there");
    files.map(|file| scenario(group, file.expect("a folder's entry can be read").path())).collect()
}

fn scenario(group: &str, file: PathBuf) -> Trial {
    let name = file.file_name().expect("a file").to_string_lossy().into_owned();
    Trial::test(format!("{group}/{name}"), move || Ok(goldenscript::run(&mut Player::default(), file)?))
}
