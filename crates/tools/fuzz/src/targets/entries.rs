//! Log entries of any content, in a log that is whole otherwise: what a later build may have written, or a bug.

use base::{LogIndex, Term};
use bytes::Bytes;
use sim_council::disk::SimDisk;
use sim_council::node::Node;
use storage_raft_log::{Entry, EntryKind, HardState, Journal};

use super::{command, connection, restart};
use crate::golden;
use crate::input::{Input, put_piece};

/// Pieces: the entries' contents. The first byte says which of them, if any, is a change of the membership.
pub(crate) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let membership_at = LogIndex(u64::from(input.byte().unwrap_or(u8::MAX)));
    let contents = std::iter::from_fn(|| input.piece());
    let entries: Vec<Entry> = LogIndex::FIRST
        .onward()
        .zip(contents)
        .map(|(index, content)| Entry {
            index,
            term: Term(1),
            kind: if index == membership_at { EntryKind::Membership } else { EntryKind::Normal },
            data: Bytes::copy_from_slice(content),
        })
        .collect();
    let disk = SimDisk::new(1);
    let config = connection::config();
    let (mut journal, _) = Journal::open(disk.clone(), config.journal.clone()).expect("the disk is empty");
    let mut founding = consensus_replica::start::founding(config.founders.clone(), Vec::new());
    founding.hard_state = Some(HardState {
        term: Term(1),
        vote: Some(base::MemberId(1)),
        commit: LogIndex::ZERO.plus(entries.len() as u64),
    });
    founding.entries = entries;
    if journal.append(&founding).is_err() {
        return;
    }
    drop(journal.close().expect("the disk is well"));
    let Ok(node) = Node::start(disk.clone(), &config, connection::START) else { return };
    restart::check(node, disk);
}

/// Batches as the member writes them: version, wall clock, then each command behind its length.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    // Once found: with a change of members still to be applied, a lone member waited for a timeout before it led.
    let a_change_that_changes_nothing = vec![1, 0, 4];
    let conversations = golden::conversations();
    let mut seeds: Vec<_> = conversations
        .iter()
        .map(|frames| {
            let mut out = vec![0];
            for commands in command::commands(frames).chunks(2) {
                let mut content = vec![1];
                content.extend_from_slice(&1_700_000_000_000_i64.to_le_bytes());
                for command in commands {
                    content.extend_from_slice(&(command.len() as u32).to_le_bytes());
                    content.extend_from_slice(command);
                }
                put_piece(&mut out, &content);
            }
            out
        })
        .collect();
    seeds.push(a_change_that_changes_nothing);
    seeds
}
