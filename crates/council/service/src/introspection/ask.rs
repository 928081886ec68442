//! Questions to the threads that hold what is asked for, by message, with a deadline.

use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use council_frontend::{ConnectionInfo, Front, FrontStats};
use council_replica::{Core, CoreStatus};

use super::Introspection;
use crate::messages::CoreMail;
use crate::messages::ShardMail;
use crate::metrics::catalog;

/// How long an answer may take altogether.
const DEADLINE: Duration = Duration::from_secs(2);

impl Introspection {
    /// Asks every shard the same; what does not answer in time is missing.
    pub(super) fn ask_shards<T: Send + 'static>(
        &self,
        question: impl Fn(&mut Front) -> T + Clone + Send + 'static,
    ) -> Vec<T> {
        let (sender, answers) = channel();
        for shard in &self.shards {
            let (sender, question) = (sender.clone(), question.clone());
            shard.put(ShardMail::Ask(Box::new(move |front| {
                // Whoever asked may have given up.
                let _ = sender.send(question(front));
            })));
        }
        drop(sender);
        let deadline = Instant::now() + DEADLINE;
        let mut collected = Vec::new();
        while collected.len() < self.shards.len() {
            match answers.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(answer) => collected.push(answer),
                Err(_) => {
                    self.unanswered.fetch_add(1, Ordering::Relaxed);
                    break;
                }
            }
        }
        collected
    }

    pub(super) fn ask_core<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Core) -> T + Send + 'static,
    ) -> Option<T> {
        let (sender, answer) = channel();
        self.core.put(CoreMail::Ask(Box::new(move |core| {
            let _ = sender.send(question(core));
        })));
        let answer = answer.recv_timeout(DEADLINE);
        if answer.is_err() {
            self.unanswered.fetch_add(1, Ordering::Relaxed);
        }
        answer.ok()
    }

    /// All shards' figures, and whether all answered.
    pub(super) fn front_stats(&self) -> (FrontStats, bool) {
        let answers = self.ask_shards(|front| front.stats());
        let mut all = FrontStats::default();
        answers.iter().for_each(|one| catalog::add(&mut all, one));
        (all, answers.len() == self.shards.len())
    }

    pub(super) fn core_status(&self) -> CoreStatus {
        self.ask_core(|core| core.status()).unwrap_or_default()
    }

    pub(super) fn connection_infos(&self) -> Vec<ConnectionInfo> {
        self.ask_shards(|front| front.connections().collect::<Vec<_>>()).into_iter().flatten().collect()
    }
}
