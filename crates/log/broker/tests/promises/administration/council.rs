//! A broker with a council that holds nodes, and changes them as it is asked.

use std::collections::BTreeMap;

use kafka_protocol::protocol::Request;
use log_broker::BrokerConfig;
use log_metadata::{Change, Decision, Ended, Found, KeeperEvent};

use crate::bench::Bench;

/// See the module.
pub(super) struct World {
    pub(super) bench: Bench,
    pub(super) nodes: BTreeMap<String, Vec<u8>>,
    number: u64,
}

impl World {
    pub(super) fn new() -> Self {
        Self::with(BrokerConfig::default())
    }

    pub(super) fn with(config: BrokerConfig) -> Self {
        Self { bench: Bench::with(config, Vec::new()), nodes: BTreeMap::new(), number: 0 }
    }

    /// With these keys in `server.properties`.
    pub(super) fn of_file(properties: &[(&str, &str)]) -> Self {
        let file: BTreeMap<String, String> =
            properties.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let nothing = BTreeMap::new();
        let layers = log_config::BrokerLayers { broker: &nothing, cluster: &nothing, file: &file };
        let config = BrokerConfig::of(&layers);
        Self::with(BrokerConfig { properties: file.into(), ..config })
    }

    /// Somebody writes a node, or removes it.
    pub(super) fn write(&mut self, path: &str, data: Option<&[u8]>) {
        match data {
            Some(data) => drop(self.nodes.insert(path.into(), data.into())),
            None => drop(self.nodes.remove(path)),
        }
        self.bench.council(KeeperEvent::Node { path: path.into(), data: data.map(Into::into) });
    }

    /// The council carries out a change. It is computed twice if nobody knows whether the first write took effect.
    pub(super) fn carry_out(&mut self, mut change: Change, twice: bool) {
        let mut ended = self.attempt(&mut change, false);
        if twice {
            ended = self.attempt(&mut change, true);
        }
        self.bench.council(KeeperEvent::Ended { ticket: change.ticket, ended });
    }

    fn attempt(&mut self, change: &mut Change, may_be_done: bool) -> Ended {
        let path = change.path.clone();
        let found = self.nodes.get(&path).cloned();
        match (change.compute)(Found { data: found.as_deref(), may_be_done }) {
            Decision::Write(data) => {
                self.write(&path, Some(&data));
                Ended::Done(Some(data))
            }
            Decision::Delete => {
                self.write(&path, None);
                Ended::Done(None)
            }
            Decision::Keep => Ended::Done(found),
            Decision::Refuse(error, why) => Ended::Refused(error, why),
        }
    }

    /// The council does all that it was asked for, and the disk, too.
    pub(super) fn settle(&mut self) {
        for change in self.bench.broker.take_changes() {
            self.carry_out(change, false);
        }
        self.bench.flush();
    }

    /// Asks. Gives the answer if it comes at once.
    pub(super) fn ask<R: Request>(&mut self, version: i16, request: &R) -> Option<R::Response> {
        self.number += 1;
        self.bench.ask(self.number, version, request)
    }

    /// The one answer that came since this was asked last.
    pub(super) fn answer<R: Request>(&mut self) -> Option<R::Response> {
        let mut answers = self.bench.answers::<R>();
        assert!(answers.len() <= 1);
        answers.pop().map(|(_, answer)| answer)
    }

    /// Asks, and lets the council and the disk do what is needed for the answer.
    pub(super) fn call<R: Request>(&mut self, version: i16, request: &R) -> R::Response {
        if let Some(answer) = self.ask(version, request) {
            return answer;
        }
        self.settle();
        self.answer::<R>().expect("an answer")
    }
}
