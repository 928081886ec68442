//! What brokers have told of their partitions, as a text of lines: `diwan log balance` reads it.
//!
//! A line is a word and values, between tabs. A line that is not understood is left out: it is of a newer broker.

use core::fmt::Write as _;

use crate::rates::Rates;

/// What a broker has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BrokerRoom {
    /// Bytes of disk that replicas have and may have.
    pub disk_bytes: Option<u64>,
    /// Bytes a second in each direction.
    pub network_bytes_per_s: u64,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loads {
    /// The brokers that have told something.
    pub brokers: Vec<(i32, BrokerRoom)>,
    /// Partitions, by topic and number.
    pub partitions: Vec<(String, i32, Rates)>,
}

impl Loads {
    /// The text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (id, BrokerRoom { disk_bytes, network_bytes_per_s }) in &self.brokers {
            let disk = disk_bytes.map(|bytes| bytes.to_string()).unwrap_or_default();
            // Writing to a text cannot fail.
            let _ = writeln!(text, "broker\t{id}\t{disk}\t{network_bytes_per_s}");
        }
        for (topic, index, rates) in &self.partitions {
            let Rates { write_bytes_per_s, read_bytes_per_s, requests_per_s, stored_bytes } = rates;
            let rates = format!("{write_bytes_per_s}\t{read_bytes_per_s}\t{requests_per_s}\t{stored_bytes}");
            let _ = writeln!(text, "partition\t{topic}\t{index}\t{rates}");
        }
        text
    }

    /// What a text says.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let mut loads = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split('\t').collect();
            // One that is not understood is left out.
            let _ = loads.read_line(&words);
        }
        loads
    }

    fn read_line(&mut self, words: &[&str]) -> Option<()> {
        match *words {
            ["broker", id, disk, network] => {
                let room =
                    BrokerRoom { disk_bytes: disk.parse().ok(), network_bytes_per_s: network.parse().ok()? };
                self.brokers.push((id.parse().ok()?, room));
            }
            ["partition", topic, index, write, read, requests, stored] => {
                let rates = Rates {
                    write_bytes_per_s: write.parse().ok()?,
                    read_bytes_per_s: read.parse().ok()?,
                    requests_per_s: requests.parse().ok()?,
                    stored_bytes: stored.parse().ok()?,
                };
                self.partitions.push((topic.into(), index.parse().ok()?, rates));
            }
            _ => {}
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_read_back_and_lines_of_a_newer_broker_are_left_out() {
        let rates =
            Rates { write_bytes_per_s: 1, read_bytes_per_s: 2, requests_per_s: 3, stored_bytes: u64::MAX };
        let room = BrokerRoom { disk_bytes: Some(9), network_bytes_per_s: 10 };
        let loads = Loads {
            brokers: vec![(1, room), (2, BrokerRoom { disk_bytes: None, ..room })],
            partitions: vec![("a.b".into(), 0, rates), ("a.b".into(), 1, Rates::default())],
        };
        let text = loads.to_text();
        assert_eq!(Loads::read(&text), loads);
        assert_eq!(Loads::read(&format!("{text}partition\ta\tb\nrack\t1\n")), loads);
    }
}
