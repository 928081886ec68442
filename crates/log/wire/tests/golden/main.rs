//! What a real Apache Kafka 4.3.1 was asked and answered, in every version of every API: read and written again to the same
//! bytes, and cut at every byte.
//!
//! `cargo run -p tools-log-differential --bin log-differential -- --capture FOLDER` writes the files.

mod file;
mod main_path;
mod tables;

use std::collections::BTreeSet;

use log_wire::Api;

use file::dialogues;

/// Of APIs of share groups no dialogue was captured: the scripts that are played to a real Kafka have no members of such groups. Their
/// messages are compared with another implementation instead.
const NOT_CAPTURED: &[i16] = &[76, 77, 78, 79, 90, 91, 92];

#[test]
fn golden_dialogues_are_there_for_every_version_of_every_api() {
    let seen: BTreeSet<(i16, i16)> =
        dialogues().iter().map(|dialogue| (dialogue.api.key as i16, dialogue.version)).collect();
    let all =
        Api::ALL.iter().flat_map(|api| (api.lowest..=api.highest).map(|version| (api.key as i16, version)));
    let missing: Vec<(i16, i16)> =
        all.filter(|cell| !seen.contains(cell) && !NOT_CAPTURED.contains(&cell.0)).collect();
    assert!(!seen.iter().any(|(api, _)| NOT_CAPTURED.contains(api)), "captured by now");
    assert_eq!(missing, [], "API and version");
}
