//! What the coordinator says, held against the rules.

use log_coordinators::{Answer, ConsumerHeartbeatAnswer};
use log_wire::ErrorCode;

use crate::client::{Stage, flat};
use crate::world::{Asked, Pending, World};

impl World {
    /// What the coordinator says, whether it is heard or not.
    pub(crate) fn judge(&mut self, number: usize, pending: &Pending, answer: &Answer) {
        match (&pending.asked, answer) {
            (Asked::ConsumerHeartbeat { says_owned }, Answer::ConsumerHeartbeat(told)) => {
                self.judge_heartbeat(number, *says_owned, pending.counted, told);
            }
            (Asked::Join, Answer::Joined(joined)) => {
                self.oracle.told_epoch(&joined.member, joined.generation.0);
                // In a classic group it has to ask for its assignment in time.
                self.clients[number].asked_to_act = !joined.leader.is_empty();
                self.clients[number].asked_to_give_up = None;
            }
            (Asked::Sync, Answer::Synced(synced)) => {
                self.look();
                let assigned = self.read_assignment(&synced.assignment);
                let by_coordinator = self.group_type == "consumer";
                self.clients[number].asked_to_act = false;
                let client = &self.clients[number];
                self.oracle.granted(client, &assigned, &self.clients, self.counted, by_coordinator);
            }
            (Asked::Leave | Asked::Commit(_), _) => return,
            (_, Answer::Failed(ErrorCode::RebalanceInProgress)) => {
                self.look();
                self.clients[number].asked_to_act |= self.group_type == "classic";
                self.clients[number].asked_to_give_up.get_or_insert(pending.counted);
            }
            (_, Answer::Failed(ErrorCode::UnknownMemberId | ErrorCode::GroupIdNotFound)) => {
                if self.clients[number].epoch > 0 {
                    self.oracle.expelled(&self.clients[number], self.counted);
                }
                return;
            }
            (_, Answer::Failed(ErrorCode::NotCoordinator)) => {
                // It may have been asked to give up something, without having heard of it.
                self.clients[number].asked_to_give_up.get_or_insert(pending.counted);
                return;
            }
            (_, Answer::Failed(_)) => return,
            _ => {}
        }
        // A JoinGroup may wait for others. Its answer may wait for its record, which counts up to a limit.
        let waited = matches!(pending.asked, Asked::Join);
        let at_answer = if waited { self.counted.saturating_sub(self.limits.pause_ms_max) } else { 0 };
        let client = &mut self.clients[number];
        client.heard_at = client.heard_at.max(at_answer).max(pending.counted);
    }

    pub(crate) fn judge_heartbeat(
        &mut self,
        number: usize,
        says_owned: bool,
        handled_at: u64,
        told: &ConsumerHeartbeatAnswer,
    ) {
        self.oracle.told_epoch(&told.member, told.epoch.0);
        let mut client = self.clients[number].clone();
        let mut asks = !client.giving_up.is_empty();
        if let Some(assignment) = &told.assignment {
            let assigned = flat(assignment);
            self.oracle.granted(&client, &assigned, &self.clients, self.counted, true);
            asks = !client.owned.is_subset(&assigned);
        }
        if asks {
            client.asked_to_give_up = client.asked_to_give_up.or(Some(handled_at));
            let since = *client.slow_since.get_or_insert(self.counted);
            self.oracle.still_member(&client, self.counted - since);
        } else if says_owned {
            (client.asked_to_give_up, client.slow_since) = (None, None);
        }
        self.clients[number] = client;
    }

    /// The client has left, and comes back with another protocol.
    pub(crate) fn left(&mut self, number: usize, answer: &Answer) {
        let before = self.clients[number].clone();
        let Stage::Leave(next) = before.stage else { return };
        let again = [ErrorCode::CoordinatorNotAvailable, ErrorCode::NotCoordinator];
        if matches!(answer, Answer::Failed(code) if again.contains(code)) {
            return;
        }
        self.clients[number] = self.draw(number, next, Some(&before));
    }
}
