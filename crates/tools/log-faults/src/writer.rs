//! A client that writes numbered records to all partitions, a few at a time, and waits for each acknowledgement.

use std::sync::Arc;
use std::time::{Duration, Instant};

use log_client::{Cluster, NewRecord, Producer, Result};
use tools_testbed::dice::Dice;

use crate::ledger::{Ledger, Series};
use crate::shared::Shared;

/// Records that are sent together.
const RECORDS_MAX: usize = 5;
/// Between two: how much load there is, not a synchronisation.
const THINK: Duration = Duration::from_millis(3);

pub(crate) struct Writer {
    number: usize,
    producer: Producer,
    partitions: i32,
    dice: Dice,
    shared: Arc<Shared>,
}

impl Writer {
    pub(crate) fn new(
        number: usize,
        cluster: Cluster,
        (topic, partitions): (&str, i32),
        shared: Arc<Shared>,
    ) -> Result<Self> {
        let producer = Producer::new(cluster, topic)?;
        Ok(Self { number, producer, partitions, dice: Dice::new(number as u64), shared })
    }

    /// Works until it is told to stop. Gives what it has written.
    pub(crate) fn work(mut self) -> Ledger {
        let mut ledger = Ledger::default();
        while !self.shared.is_stopping() {
            let asked = Instant::now();
            if let Err(error) = self.write(&mut ledger) {
                self.shared.complain(format!("writer {} cannot go on: {error}", self.number));
                break;
            }
            ledger.acknowledged();
            self.shared.acknowledged(self.number, asked);
            std::thread::sleep(THINK);
        }
        ledger
    }

    fn write(&mut self, ledger: &mut Ledger) -> Result<()> {
        for _ in 0..=self.dice.below(RECORDS_MAX) {
            let partition =
                i32::try_from(self.dice.below(self.partitions.unsigned_abs() as usize)).unwrap_or(0);
            let entry = ledger.next(Series { writer: self.number, partition });
            let value = Some(entry.to_string().into_bytes());
            self.producer.send(&NewRecord { partition: Some(partition), value, ..NewRecord::default() })?;
        }
        self.producer.flush()
    }
}
