//! Time passing: what each component has to look at.

use base::{MonoTime, Now};
use consensus_raft::{Change, MemberId, Step};

use super::Replica;
use crate::reconfiguration::{NextStep, Reconfiguration};
use crate::state_machine::StateMachine;

impl<M: StateMachine> Replica<M> {
    /// Time has passed. Call it at least as often as [`Replica::next_deadline`] says.
    pub fn tick(&mut self, now: Now, state: &M::State) {
        self.group.view.now = now;
        self.pass_time(now);
        if self.fast_election.campaigns(self.group.view.own(), now.mono())
            && self.group.raft.leader().is_none()
        {
            self.group.raft.campaign();
        }
        let group = &mut self.group;
        if group.lease.tick(&group.leadership, &group.raft, &group.view, &mut group.out) {
            self.machine.serving(false);
        }
        self.start_serving();
        if self.machine.is_stuck(&self.group) {
            self.give_again();
        }
        let applied = self.group.applier.index();
        self.log_retention.tick(applied, &self.snapshots, &mut self.group.raft, &self.group.view);
        self.snapshots.tick(&mut self.group.raft, &self.group.view, &mut self.group.out);
        self.step_throttled();
        self.send_due();
        let is_connected = self.group.view.peers.connected().next().is_some();
        self.group.view.membership.doubt(&self.group.raft, is_connected, now);
        self.watch_disk();
        self.divergence.tick(&self.group.view, &mut self.group.out);
        if self.withdrawal.is_begun() {
            self.machine.disagrees(&mut self.group);
        }
        if self.group.leads() {
            self.reconfigure();
            self.machine.lead(state, &mut self.group);
        }
    }

    /// Tells the engine, and those who count on it that this process goes on.
    fn pass_time(&mut self, now: Now) {
        let elapsed = now.mono().since(self.ticked);
        if elapsed > self.group.view.config.stall_ms + self.tick_interval_ms() {
            // We stood still (a stopped process, a starved machine): that time counts against no client.
            self.machine.stood_still(elapsed, now);
        }
        if elapsed >= self.tick_interval_ms() || self.group.view.is_alone() {
            self.ticked = now.mono();
            self.group.raft.tick();
        }
    }

    /// One step from the members that there are to those that are to be.
    fn reconfigure(&mut self) {
        let (view, raft, leadership) = (&self.group.view, &self.group.raft, &self.group.leadership);
        match (Reconfiguration { view, raft, leadership }).next() {
            NextStep::Nothing => {}
            NextStep::Transfer => self.group.transfer_to_those_who_stay(),
            NextStep::Change(steps) => {
                let replaced = replaced_by(&steps);
                // Refused while another change is under way; tried again with the next tick.
                if self.group.raft.propose_change(&Change { steps }).is_ok() {
                    self.group.lease.replaced(replaced);
                }
            }
        }
    }

    fn watch_disk(&mut self) {
        if self.disk_watch.tick(self.lacks_applied(), &self.group.view) {
            self.step_aside();
        }
        if self.disk_watch.is_stalled(self.lacks_applied(), &self.group.view) {
            self.stop_serving();
        }
    }

    /// When [`Replica::tick`] should be called at the latest.
    #[must_use]
    pub fn next_deadline(&self) -> MonoTime {
        let tick = self.ticked.plus_ms(self.tick_interval_ms());
        let own = [
            self.fast_election.next_campaign(),
            self.group.read_index.next_question(),
            self.append_throttle.next_step(),
            self.deferred_appends.deadline(),
        ];
        own.into_iter()
            .flatten()
            .chain(self.machine.deadlines(self.group.view.now))
            .filter(|deadline| *deadline > self.ticked)
            .fold(tick, MonoTime::min)
    }

    /// A group of one needs no heartbeats; its ticks only find stalls and pace what the machine looks at.
    fn tick_interval_ms(&self) -> u64 {
        let config = &self.group.view.config;
        if self.group.view.is_alone() { config.alone_tick_ms } else { config.election_tick_ms }
    }
}

/// Members that these steps remove while another of the same number begins to vote.
fn replaced_by(steps: &[Step]) -> Vec<MemberId> {
    let begins = |number| steps.iter().any(|step| matches!(step, Step::Voter(id) if id.number() == number));
    let removed = steps.iter().filter_map(|step| match step {
        Step::Remove(id) => Some(*id),
        _ => None,
    });
    removed.filter(|id| begins(id.number())).collect()
}
