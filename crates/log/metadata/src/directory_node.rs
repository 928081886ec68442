//! Whose a broker's number is: a node of that number below `/log/brokers/directories`, whose data is JSON.
//!
//! The number belongs to one data directory for good. Each start of a broker on that directory raises the incarnation, before
//! the broker is announced: of two processes of one broker, everybody knows which is the later one.

use serde::{Deserialize, Serialize};

use crate::keeper::{Change, Decision, Found};
use crate::{id_text, paths};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryNode {
    /// The id of the directory, as a text.
    pub directory: String,
    /// Of the last start.
    pub incarnation: u64,
    /// What the process of the last start has drawn, as a text: it recognises its own write.
    pub process: String,
}

impl DirectoryNode {
    /// Reads the data of a node, if there is anything in it. Data of any other form is the id of a directory that has not
    /// counted its starts.
    #[must_use]
    pub fn read(data: &[u8]) -> Option<Self> {
        let of_text = |text| Self {
            directory: String::from_utf8_lossy(text).into(),
            incarnation: 0,
            process: String::new(),
        };
        (!data.is_empty()).then(|| serde_json::from_slice(data).unwrap_or_else(|_| of_text(data)))
    }

    /// The data of its node.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// A start of the broker of that number claims the number for its directory, and gets an incarnation above that of all
    /// earlier starts. It is `wall_ms` at least, the wall clock of the start in milliseconds: the number may have been taken
    /// from another directory by deleting this node.
    pub(crate) fn claim(broker: i32, directory: String, drawn: [u8; 16], wall_ms: u64) -> Change {
        let process = id_text(&drawn);
        let write = move |found: Found<'_>| match found.data.and_then(Self::read) {
            Some(node) if node.directory != directory || node.process == process => Decision::Keep,
            node => {
                let last = node.map_or(0, |node| node.incarnation);
                let incarnation = last.saturating_add(1).max(wall_ms);
                let (directory, process) = (directory.clone(), process.clone());
                Decision::Write(Self { directory, incarnation, process }.bytes())
            }
        };
        Change::new(paths::directory(broker), Change::NOBODY, write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claimed(data: Option<&[u8]>, directory: &str, wall_ms: u64) -> Option<DirectoryNode> {
        let mut claim = DirectoryNode::claim(1, directory.into(), [7; 16], wall_ms);
        match (claim.compute)(Found { data, may_be_done: false }) {
            Decision::Write(data) => DirectoryNode::read(&data),
            decision => {
                assert_eq!(decision, Decision::Keep);
                None
            }
        }
    }

    #[test]
    fn each_start_has_a_greater_incarnation_than_all_before() {
        let first = claimed(None, "d", 1_000).expect("nobody has it");
        assert_eq!((first.directory.as_str(), first.incarnation), ("d", 1_000));
        // The clock was set back.
        let mut other = first.clone();
        other.process = id_text(&[8; 16]);
        assert_eq!(claimed(Some(&other.bytes()), "d", 5).map(|node| node.incarnation), Some(1_001));
        assert_eq!(claimed(Some(&other.bytes()), "d", 2_000).map(|node| node.incarnation), Some(2_000));
        assert_eq!(claimed(Some(&first.bytes()), "d", 2_000), None, "its own write counts once");
    }

    #[test]
    fn number_of_another_directory_is_left_alone() {
        let other = DirectoryNode { directory: "e".into(), incarnation: 4, process: String::new() };
        assert_eq!(claimed(Some(&other.bytes()), "d", 0), None);
        assert_eq!(claimed(Some(b"e"), "d", 0), None);
        assert_eq!(claimed(Some(b"d"), "d", 0).map(|node| node.incarnation), Some(1));
        assert_eq!(claimed(Some(b""), "d", 0).map(|node| node.incarnation), Some(1));
    }
}
