//! What classic members of the protocol type `consumer` put into their metadata, and what they expect as their assignment. A
//! coordinator reads it only to know a group's topics, and where members of both protocols are in one group.

use std::collections::BTreeSet;

use log_wire::{Malformed, Reader, Writer};

use crate::{Blob, Partitions, Text, Topics};

/// The protocol type of consumers.
pub(crate) const PROTOCOL_TYPE: &str = "consumer";
/// The first version with the partitions that the member owns.
const OWNED: i16 = 1;
/// The first version with the generation.
const GENERATION: i16 = 2;
/// The first version with the rack.
const RACK: i16 = 3;
/// The least bytes of a topic with its partitions.
const TOPIC_BYTES_MIN: usize = 6;

/// What a member subscribes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subscription {
    pub(crate) version: i16,
    pub(crate) topics: BTreeSet<Text>,
    /// What the member owns, by topic.
    pub(crate) owned: Vec<(Text, Vec<i32>)>,
    pub(crate) rack: Option<Text>,
}

/// What a member is to own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub(crate) partitions: Vec<(Text, Vec<i32>)>,
    /// The leader's assignor has added something of its own.
    pub(crate) has_user_data: bool,
}

impl Subscription {
    /// # Errors
    /// The bytes are none.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes, false);
        let version = version(&mut reader)?;
        let count = reader.count(2)?;
        let topics = (0..count).map(|_| reader.text().map(Text::from)).collect::<Result<_, _>>()?;
        reader.nullable_bytes()?;
        let owned = if version >= OWNED { read_partitions(&mut reader)? } else { Vec::new() };
        if version >= GENERATION {
            reader.i32()?;
        }
        let rack = if version >= RACK { reader.nullable_text()?.map(Text::from) } else { None };
        Ok(Self { version, topics, owned, rack })
    }

    /// Whether the member owns anything.
    pub(crate) fn owns_any(&self) -> bool {
        self.owned.iter().any(|(_, numbers)| !numbers.is_empty())
    }

    /// What the member owns, of topics that there are.
    pub(crate) fn owned(&self, topics: &dyn Topics) -> Partitions {
        by_id(&self.owned, topics)
    }
}

impl Assignment {
    /// # Errors
    /// The bytes are none.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes, false);
        version(&mut reader)?;
        let partitions = read_partitions(&mut reader)?;
        let has_user_data = reader.nullable_bytes()?.is_some_and(|data| !data.is_empty());
        Ok(Self { partitions, has_user_data })
    }

    pub(crate) fn partitions(&self, topics: &dyn Topics) -> Partitions {
        by_id(&self.partitions, topics)
    }
}

/// The assignment in the form of this version. Topics that are gone are left out.
pub(crate) fn assignment(version: i16, partitions: &Partitions, topics: &dyn Topics) -> Blob {
    let named: Vec<_> =
        partitions.iter().filter_map(|(id, numbers)| Some((topics.name(id)?, numbers))).collect();
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, false);
    writer.i16(version).count(named.len());
    for (name, numbers) in named {
        writer.text(&name).count(numbers.len());
        for number in numbers {
            writer.i32(*number);
        }
    }
    writer.nullable_bytes(None);
    out.into()
}

/// The topics of a consumer's subscription; nothing if the bytes are none.
pub(crate) fn topics(metadata: &[u8]) -> Option<Vec<&str>> {
    let mut reader = Reader::new(metadata, false);
    reader.i16().ok()?;
    let count = reader.count(2).ok()?;
    (0..count).map(|_| reader.text().ok()).collect()
}

/// Whether a member owned, when it joined, what its assignment has taken from it.
pub(crate) fn was_giving_up(metadata: &[u8], assignment: &[u8]) -> bool {
    let (Ok(before), Ok(after)) = (Subscription::read(metadata), Assignment::read(assignment)) else {
        return false;
    };
    let kept: BTreeSet<_> = pairs(&after.partitions).collect();
    !pairs(&before.owned).all(|partition| kept.contains(&partition))
}

fn pairs(partitions: &[(Text, Vec<i32>)]) -> impl Iterator<Item = (&Text, i32)> {
    partitions.iter().flat_map(|(topic, numbers)| numbers.iter().map(move |number| (topic, *number)))
}

fn version(reader: &mut Reader<'_>) -> Result<i16, Malformed> {
    let version = reader.i16()?;
    if version >= 0 { Ok(version) } else { Err(Malformed("a version below zero")) }
}

fn read_partitions(reader: &mut Reader<'_>) -> Result<Vec<(Text, Vec<i32>)>, Malformed> {
    let mut partitions = Vec::new();
    for _ in 0..reader.count(TOPIC_BYTES_MIN)? {
        let topic = Text::from(reader.text()?);
        let count = reader.count(4)?;
        let numbers = (0..count).map(|_| reader.i32()).collect::<Result<_, _>>()?;
        partitions.push((topic, numbers));
    }
    Ok(partitions)
}

fn by_id(partitions: &[(Text, Vec<i32>)], topics: &dyn Topics) -> Partitions {
    let mut found = Partitions::new();
    for (name, numbers) in partitions {
        if let Some((id, _)) = topics.find(name).filter(|_| !numbers.is_empty()) {
            found.entry(id).or_default().extend(numbers);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscription(version: i16) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, false);
        writer.i16(version).count(1).text("t").nullable_bytes(None);
        if version >= OWNED {
            writer.count(1).text("t").count(2).i32(0).i32(3);
        }
        if version >= GENERATION {
            writer.i32(7);
        }
        if version >= RACK {
            writer.nullable_text(Some("r"));
        }
        out
    }

    #[test]
    fn subscription_of_each_version_is_read_and_refused_at_every_cut() {
        for version in 0..=4 {
            let bytes = subscription(version);
            let read = Subscription::read(&bytes).expect("it is one");
            let owned = if version >= OWNED { vec![("t".into(), vec![0, 3])] } else { vec![] };
            let rack = (version >= RACK).then(|| "r".into());
            assert_eq!(read, Subscription { version, topics: ["t".into()].into(), owned, rack });
            for cut in 0..bytes.len() {
                assert!(Subscription::read(&bytes[..cut]).is_err(), "version {version} cut at {cut}");
            }
        }
        assert!(Subscription::read(&subscription(-1)).is_err());
    }

    #[test]
    fn assignment_is_read_as_it_was_written() {
        struct One;
        impl Topics for One {
            fn version(&self) -> u64 {
                1
            }
            fn find(&self, name: &str) -> Option<([u8; 16], i32)> {
                (name == "t").then_some(([1; 16], 4))
            }
            fn name(&self, id: &[u8; 16]) -> Option<Text> {
                (*id == [1; 16]).then(|| "t".into())
            }
            fn each(&self, _: &mut dyn FnMut(&Text)) {}
        }
        let partitions: Partitions = [([1; 16], [1, 2].into())].into();
        let mut with_gone = partitions.clone();
        with_gone.insert([2; 16], [0].into());
        let bytes = assignment(1, &with_gone, &One);
        let read = Assignment::read(&bytes).expect("it is one");
        assert_eq!((read.partitions(&One), read.has_user_data), (partitions, false));
        for cut in 0..bytes.len() {
            assert!(Assignment::read(&bytes[..cut]).is_err(), "cut at {cut}");
        }
    }
}
