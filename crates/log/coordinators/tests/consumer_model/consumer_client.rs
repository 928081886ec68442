//! A client of KIP-848.

use log_coordinators::{Answer, ConsumerHeartbeat, ConsumerHeartbeatAnswer, Epoch, Partitions, Request};
use log_wire::ErrorCode;

use crate::client::{Client, INTERVAL_MS, REBALANCE_MS, Stage, flat};
use crate::world::{Asked, World};

impl World {
    pub(crate) fn act_as_consumer(&mut self, number: usize) {
        let client = self.clients[number].clone();
        let epoch = match client.stage {
            Stage::Leave(_) if client.instance.is_some() => Epoch::LEAVE_STATIC,
            Stage::Leave(_) => Epoch::LEAVE,
            _ => Epoch(client.epoch),
        };
        let all = client.says_all || client.epoch == 0;
        let leaves = epoch < Epoch::JOIN;
        let joins = client.epoch == 0;
        let request = ConsumerHeartbeat {
            group: "g".into(),
            member: client.member.clone(),
            epoch,
            instance: client.instance.clone(),
            rack: None,
            version: 1,
            client_id: "c".into(),
            client_host: "h".into(),
            rebalance_timeout_ms: all.then_some(REBALANCE_MS),
            topics: (all && client.regex.is_none()).then(|| client.topics.iter().cloned().collect()),
            regex: if all { Some(client.regex.clone().unwrap_or_else(|| "".into())) } else { None },
            assignor: client.range.then(|| "range".into()),
            owned: (all || client.says_owned).then(|| if joins { Partitions::new() } else { client.owned() }),
        };
        let request = match leaves {
            true => ConsumerHeartbeat {
                rebalance_timeout_ms: None,
                topics: None,
                regex: None,
                owned: None,
                ..request
            },
            false => request,
        };
        let says_owned = request.owned.is_some();
        let asked = if leaves { Asked::Leave } else { Asked::ConsumerHeartbeat { says_owned } };
        self.ask(number, asked, Request::ConsumerHeartbeat(request));
    }

    pub(crate) fn consumer_answered(&mut self, number: usize, answer: Answer) {
        match answer {
            Answer::ConsumerHeartbeat(answer) => self.led(number, answer),
            Answer::Failed(ErrorCode::UnknownMemberId | ErrorCode::GroupIdNotFound) => {
                self.clients[number].release();
            }
            Answer::Failed(ErrorCode::FencedMemberEpoch) => {
                self.oracle.count("fenced");
                self.clients[number].release();
            }
            Answer::Failed(ErrorCode::UnreleasedInstanceId) => {
                // The session of its predecessor has to end.
                self.clients[number].release();
                self.clients[number].next_at = self.ms() + 1_000;
            }
            Answer::Failed(ErrorCode::FencedInstanceId) => self.start_anew(number),
            Answer::Failed(ErrorCode::CoordinatorNotAvailable | ErrorCode::NotCoordinator) => {
                self.clients[number].says_all = true;
            }
            other => panic!("{other:?}"),
        }
    }

    fn led(&mut self, number: usize, answer: ConsumerHeartbeatAnswer) {
        let now = self.ms();
        let delay = self.random.below(4) * 700;
        let client = &mut self.clients[number];
        client.epoch = answer.epoch.0;
        client.stage = Stage::Member;
        (client.says_all, client.says_owned) = (false, false);
        client.next_at = now + INTERVAL_MS;
        if let Some(assignment) = &answer.assignment {
            let assigned = flat(assignment);
            client.giving_up = client.owned.difference(&assigned).copied().collect();
            client.gives_up_at = now + delay;
            let granted: Vec<_> = assigned.difference(&client.owned).copied().collect();
            client.owned.extend(&granted);
            client.says_owned |= !granted.is_empty();
            self.oracle.add("granted", granted.len() as u64);
        }
        give_up(client, now);
    }
}

/// Gives up what the client has to, once it is ready for it, and says so with the next heartbeat.
pub(crate) fn give_up(client: &mut Client, now: u64) -> bool {
    if client.giving_up.is_empty() || client.stubborn || now < client.gives_up_at {
        return false;
    }
    for partition in std::mem::take(&mut client.giving_up) {
        client.owned.remove(&partition);
    }
    client.says_owned = true;
    client.next_at = client.next_at.min(now);
    true
}
