//! What disturbs the world, and what clients do besides their heartbeats.

use log_coordinators::{NewOffset, Offset, OffsetCommit, Request, Topic, Topics as _};

use crate::classic_client::who;
use crate::client::{Protocol, Stage};
use crate::oracle::Commit;
use crate::world::{Asked, World};

impl World {
    /// The coordinator does not run for a while, and requests have come meanwhile.
    pub(crate) fn pause(&mut self) {
        self.now.advance_ms(20_000 + self.random.below(60_000));
        self.say(|| "pause".into());
        self.oracle.count("paused");
        if self.random.chance(50) {
            self.coordinator.tick(self.now);
            self.take();
        }
        for client in &mut self.clients {
            (client.asked_at, client.gives_up_at) =
                (self.now.mono().ms(), client.gives_up_at.max(self.now.mono().ms()));
        }
    }

    pub(crate) fn disturb(&mut self) {
        let number = self.random.below(self.clients.len() as u64) as usize;
        match self.random.below(40 + self.calm) {
            0 if self.random.chance(60) => self.restart(),
            2 | 3 => self.settle_append(true),
            4 if self.random.chance(50) => self.pause(),
            5 if self.random.chance(50) => self.pass(10_000),
            6 | 7 => self.clients[number].silent ^= true,
            8 => self.clients[number].stubborn ^= true,
            9 | 10 => self.start_anew(number),
            11 | 12 => self.leave(number),
            13 => self.subscribe(number),
            14 => self.change_topics(),
            15..20 => self.commit(number),
            20 | 21 => self.late_commit(),
            22..25 => self.look(),
            _ => {}
        }
    }

    /// The client gives up everything and leaves, to come back with any protocol.
    pub(crate) fn leave(&mut self, number: usize) {
        let next = if self.random.chance(50) { Protocol::Consumer } else { Protocol::Classic };
        let client = &mut self.clients[number];
        if client.waits_for.is_none() && client.stage == Stage::Member && client.epoch > 0 {
            client.owned.clear();
            client.giving_up.clear();
            client.stage = Stage::Leave(next);
        }
    }

    pub(crate) fn subscribe(&mut self, number: usize) {
        let mut client = self.clients[number].clone();
        if client.waits_for.is_some() || client.stage != Stage::Member {
            return;
        }
        self.draw_subscription(&mut client);
        client.says_all = true;
        if client.protocol == Protocol::Classic {
            client.stage = Stage::Join;
        }
        self.clients[number] = client;
    }

    pub(crate) fn change_topics(&mut self) {
        match self.random.below(4) {
            0 => drop(self.topics.put("t3", 3)),
            // Only a regular expression matches it.
            1 => drop(self.topics.put("t4", 2)),
            2 => {
                let (_, partitions) = self.topics.topics["t1"];
                self.topics.put("t1", (partitions + 1).min(8));
            }
            _ => self.topics.remove("t3"),
        }
    }

    pub(crate) fn commit_of(&mut self, number: usize) -> Option<(i64, Request)> {
        let client = &self.clients[number];
        let (id, index) = *client.owned.iter().next()?;
        let name = self.topics.name(&id).filter(|_| client.epoch > 0)?;
        let (value, sent) = (self.oracle.commits.len() as i64 + 1, self.oracle.tick());
        let client = &self.clients[number];
        let commit = Commit {
            partition: (id, index),
            client: client.incarnation,
            member: client.member.clone(),
            epoch: client.epoch,
            sent,
            handled: None,
            acked: false,
        };
        self.oracle.commits.insert(value, commit);
        let topic = Topic { name, id };
        let offset = NewOffset {
            topic,
            partition: index,
            offset: Offset(value),
            leader_epoch: 0,
            metadata: "".into(),
        };
        Some((value, Request::Commit(OffsetCommit { who: who(client), version: 9, offsets: vec![offset] })))
    }

    pub(crate) fn commit(&mut self, number: usize) {
        if self.clients[number].waits_for.is_some() {
            return;
        }
        let Some((value, request)) = self.commit_of(number) else { return };
        if self.random.chance(40) {
            let incarnation = self.clients[number].incarnation;
            self.late.push((number, incarnation, value, request));
        } else {
            self.ask(number, Asked::Commit(value), request);
        }
    }

    /// A commit arrives that was sent long ago.
    pub(crate) fn late_commit(&mut self) {
        if self.late.is_empty() {
            return;
        }
        let at = self.random.below(self.late.len() as u64) as usize;
        let (number, incarnation, value, request) = self.late.swap_remove(at);
        self.next_ticket += 1;
        self.hand_over(self.next_ticket, number, incarnation, Asked::Commit(value), request);
    }
}
