//! Time passing: what each component has to look at.

use base::Now;
use consensus_raft::{Change, MemberId, Step};
use council_tree::{Operation, Tree};

use super::Core;
use crate::reconfiguration::{NextStep, Reconfiguration};
use crate::sessions::Condemned;

impl Core {
    /// Time has passed. Call it at least as often as [`Core::next_deadline_ms`] says.
    pub fn tick(&mut self, now: Now, tree: &Tree) {
        self.view.now = now;
        self.pass_time(now);
        if self.fast_election.campaigns(self.view.own(), now.mono_ms()) && self.raft.leader().is_none() {
            self.raft.campaign();
        }
        self.lease.tick(&self.leadership, &self.raft, &self.view, &mut self.out);
        self.start_serving();
        if self.proposer.is_stuck(&self.view) {
            self.give_again();
        }
        let applied = self.applier.index();
        self.log_retention.tick(applied, &self.snapshots, &mut self.raft, &self.view);
        self.snapshots.tick(&mut self.raft, &self.view, &mut self.out);
        self.step_throttled();
        self.view.membership.doubt(&self.raft, now);
        self.watch_disk();
        self.divergence.tick(&self.view, &mut self.out);
        if self.leadership.leads() {
            self.lead(tree);
        }
    }

    /// Tells raft, and those who count on it that this process goes on.
    fn pass_time(&mut self, now: Now) {
        let elapsed = now.mono_ms().saturating_sub(self.ticked_ms);
        if elapsed > self.view.config.stall_ms + self.tick_interval_ms() {
            // We stood still (a stopped process, a starved machine): that time counts against no client.
            self.sessions.forgive(elapsed, now);
        }
        if elapsed >= self.tick_interval_ms() || self.view.is_alone() {
            self.ticked_ms = now.mono_ms();
            self.raft.tick();
        }
    }

    /// What a leader looks at.
    fn lead(&mut self, tree: &Tree) {
        if self.view.membership.proposes_again(self.view.now) {
            self.propose_config(tree);
        }
        self.reconfigure();
        if self.leadership.renews_epoch(tree, &self.view) {
            self.proposer.propose(Operation::RaiseEpoch);
        }
        self.raise_level(tree);
        let condemned = self.sessions.tick(&self.leadership, &self.view, &mut self.out);
        self.expire(condemned);
        let never_used_ms = self.view.config.never_used_ms;
        for path in self.reaper.tick(tree, &self.view) {
            self.proposer.propose(Operation::Reap { path: &path, never_used_ms });
        }
    }

    /// The text of `/zookeeper/config`, if it is not what it is to be.
    pub(super) fn propose_config(&mut self, tree: &Tree) {
        let next = self.view.membership.config_to_propose(tree, &self.view.config, self.view.now);
        if let Some(next) = next {
            let text = next.text();
            self.proposer.propose(Operation::SetConfig { text: text.as_bytes(), version: next.version });
        }
    }

    /// One step from the members that there are to those that are to be.
    fn reconfigure(&mut self) {
        let (view, raft, leadership) = (&self.view, &self.raft, &self.leadership);
        match (Reconfiguration { view, raft, leadership }).next() {
            NextStep::Nothing => {}
            NextStep::Transfer => self.transfer_to_those_who_stay(),
            NextStep::Change(steps) => {
                let replaced = replaced_by(&steps);
                // Refused while another change is under way; tried again with the next tick.
                if self.raft.propose_change(&Change { steps }).is_ok() {
                    self.lease.replaced(replaced);
                }
            }
        }
    }

    /// The feature level of the log, if all members understand a higher one.
    pub(super) fn raise_level(&mut self, tree: &Tree) {
        if let Some(level) = self.feature_level.raise(tree, &self.view) {
            self.proposer.propose(Operation::FeatureLevel(level));
        }
    }

    /// These sessions have been silent for their whole timeout.
    pub(super) fn expire(&mut self, condemned: Vec<Condemned>) {
        for Condemned { session, generation } in condemned {
            self.proposer.propose(Operation::Expire { session, generation });
        }
    }

    fn watch_disk(&mut self) {
        if self.disk_watch.tick(self.lacks_applied(), &self.view) {
            self.leadership.transfer(&mut self.raft, &self.view, |_| true);
        }
        if self.disk_watch.is_stalled(self.lacks_applied(), &self.view) {
            self.lease.stop(&mut self.out);
        }
    }

    /// When [`Core::tick`] should be called at the latest.
    #[must_use]
    pub fn next_deadline_ms(&self) -> u64 {
        let tick = self.ticked_ms + self.tick_interval_ms();
        [
            self.sessions.next_ms(),
            self.reaper.next_ms(),
            self.fast_election.next_ms(),
            self.read_index.next_ms(),
            self.append_throttle.next_ms(),
            self.proposer.deadline_ms(self.view.now),
        ]
        .into_iter()
        .flatten()
        .filter(|deadline| *deadline > self.ticked_ms)
        .fold(tick, u64::min)
    }

    /// An ensemble of one needs no heartbeats; its ticks only find stalls and pace the expiry.
    fn tick_interval_ms(&self) -> u64 {
        let config = &self.view.config;
        if self.view.is_alone() { config.tick_ms.clamp(10, 200) } else { config.election_tick_ms }
    }
}

/// Members that these steps remove while another of the same number begins to vote.
fn replaced_by(steps: &[Step]) -> Vec<MemberId> {
    let begins =
        |number| steps.iter().any(|step| matches!(step, Step::Voter(id) if MemberId(*id).number() == number));
    let removed = steps.iter().filter_map(|step| match step {
        Step::Remove(id) => Some(MemberId(*id)),
        _ => None,
    });
    removed.filter(|id| begins(id.number())).collect()
}
