//! What members of a classic group say of themselves, and what their leader gives them: the bytes that no broker reads.

use std::collections::BTreeMap;

use log_wire::{Reader, Writer};

use crate::topics::TopicPartition;

/// What a member says of itself: the topics, and nothing else.
pub(crate) fn subscription(topics: &[String]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, false);
    writer.i16(0).count(topics.len());
    for topic in topics {
        writer.text(topic);
    }
    writer.nullable_bytes(None);
    out
}

pub(crate) fn read_subscription(bytes: &[u8]) -> Option<Vec<String>> {
    let mut reader = Reader::new(bytes, false);
    reader.i16().ok()?;
    (0..reader.count(2).ok()?).map(|_| reader.text().ok().map(String::from)).collect()
}

pub(crate) fn read_assignment(bytes: &[u8]) -> Option<Vec<TopicPartition>> {
    let mut partitions = Vec::new();
    if bytes.is_empty() {
        return Some(partitions);
    }
    let mut reader = Reader::new(bytes, false);
    reader.i16().ok()?;
    for _ in 0..reader.count(2).ok()? {
        let topic = reader.text().ok()?;
        for _ in 0..reader.count(4).ok()? {
            partitions.push((topic.to_owned(), reader.i32().ok()?));
        }
    }
    Some(partitions)
}

pub(crate) fn assignment(topics: &BTreeMap<&str, Vec<i32>>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, false);
    writer.i16(0).count(topics.len());
    for (topic, partitions) in topics {
        writer.text(topic).count(partitions.len());
        for partition in partitions {
            writer.i32(*partition);
        }
    }
    writer.nullable_bytes(None);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let topics = BTreeMap::from([("a", vec![0, 1]), ("b", vec![5])]);
        let read = read_assignment(&assignment(&topics)).expect("it is one");
        assert_eq!(read, [("a".into(), 0), ("a".into(), 1), ("b".into(), 5)]);
        let topics = [String::from("a"), String::from("b")];
        assert_eq!(read_subscription(&subscription(&topics)), Some(topics.to_vec()));
        assert_eq!(read_assignment(&[0, 0, 0, 0, 0, 9]), None);
    }
}
