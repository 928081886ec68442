//! What nodes answer. Each answer names the epoch that it is about, and one about another epoch than is asked for changes nothing
//! but what is known to be promised.

use replication_appointed::ReplicaId;

use crate::controller::Controller;
use crate::event::{FenceAnswer, Promise, Report};
use crate::ids::Incarnation;

impl Controller {
    pub(crate) fn promised(&mut self, node: ReplicaId, answers: &[FenceAnswer]) {
        self.heard(node);
        for answer in answers {
            let FenceAnswer { partition: id, epoch, promise } = *answer;
            match promise {
                Promise::Refused(promised) => self.learn_promise(id, promised),
                Promise::Given(position) => {
                    let partition = self.partitions.get_mut(&id);
                    let attempt = partition.and_then(|partition| partition.attempt.as_mut());
                    if let Some(attempt) = attempt.filter(|attempt| attempt.epoch == epoch) {
                        attempt.told.insert(node, position);
                    }
                }
            }
            self.look_at(id);
        }
    }

    pub(crate) fn reported(&mut self, node: ReplicaId, incarnation: Incarnation, reports: &[Report]) {
        let known = self.nodes.node(node).and_then(|node| node.incarnation);
        if known.is_some_and(|known| known > incarnation) {
            return;
        }
        if known != Some(incarnation) {
            self.announced(node, incarnation);
        }
        self.heard(node);
        for report in reports {
            self.report(node, *report);
        }
    }

    fn report(&mut self, node: ReplicaId, report: Report) {
        let id = report.partition;
        let Some(partition) = self.partitions.get_mut(&id) else { return };
        let config = &partition.record.config;
        if report.epoch == config.epoch && config.leader == node {
            if !report.leads {
                partition.deposed = config.epoch;
            } else if partition.deposed != config.epoch {
                partition.confirmed = config.epoch;
            }
        }
        if report.version > partition.version {
            self.read(id);
        }
        self.learn_promise(id, report.promised);
        self.look_at(id);
    }
}
