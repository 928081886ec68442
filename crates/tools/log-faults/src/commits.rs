//! The offsets of a group without members: one client commits rising numbers, another reads them over a connection that it keeps as
//! long as the coordinator lets it. What it reads is never from before the last commit that was answered when it asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use log_client::{Cluster, TopicPartition};

use crate::shared::{Shared, lock};

const GROUP: &str = "commits";
/// Between two: how much load there is, not a synchronisation.
const THINK: Duration = Duration::from_millis(3);

/// What both know.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    answered: AtomicI64,
    asked: AtomicI64,
    /// What was asked for and not answered may take effect later.
    doubtful: Mutex<BTreeSet<i64>>,
}

impl Commits {
    /// Commits one number after the other until it is told to stop.
    pub(crate) fn write(&self, mut cluster: Cluster, topic: &str, number: usize, shared: &Arc<Shared>) {
        let mut offset = 0;
        while !shared.is_stopping() {
            offset += 1;
            self.asked.store(offset, Ordering::SeqCst);
            let offsets = BTreeMap::from([((String::from(topic), 0), offset)]);
            let asked = Instant::now();
            match cluster.commit(GROUP, &offsets) {
                Ok(()) => {
                    self.answered.store(offset, Ordering::SeqCst);
                    shared.acknowledged(number, asked);
                }
                Err(error) if error.is_retriable() => drop(lock(&self.doubtful).insert(offset)),
                Err(error) => return shared.complain(format!("offsets cannot be committed: {error}")),
            }
            std::thread::sleep(THINK);
        }
    }

    /// Reads them until it is told to stop.
    pub(crate) fn read(&self, mut cluster: Cluster, topic: &str, number: usize, shared: &Arc<Shared>) {
        let mut coordinator = None;
        let place: TopicPartition = (topic.into(), 0);
        while !shared.is_stopping() {
            let (least, asked) = (self.answered.load(Ordering::SeqCst), Instant::now());
            let found = match coordinator {
                Some(broker) => Ok(broker),
                None => cluster.coordinator(GROUP),
            };
            let read = found.and_then(|broker| {
                coordinator = Some(broker);
                cluster.committed_at(broker, GROUP)
            });
            match read {
                Ok(offsets) => {
                    let most = self.asked.load(Ordering::SeqCst);
                    let offset = offsets.get(&place).copied().unwrap_or(0);
                    let is_old = offset < least && !lock(&self.doubtful).contains(&offset);
                    if is_old || offset > most {
                        let what = format!("broker {coordinator:?} has {offset}, of {least} to {most}");
                        return shared.complain(what);
                    }
                    shared.acknowledged(number, asked);
                }
                Err(error) if error.is_retriable() => coordinator = None,
                Err(error) => return shared.complain(format!("offsets cannot be read: {error}")),
            }
            std::thread::sleep(THINK);
        }
    }
}
