//! Rule 7. FIFO execution: requests of one connection are executed and answered in the order in which they were
//! sent; neither a ping nor an authentication overtakes.
//!
//! Source: ZooKeeper (Hunt et al. 2010), section 2.3, FIFO client order; ZOOKEEPER-2775.
//!
//! Alone it catches the planted bug `24-pings-overtake`.

use crate::history::Delivery;
use crate::rules::{Evidence, Findings, tell};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let history = evidence.history;
    for (number, connection) in history.connections.iter().enumerate() {
        let mut expected = connection.calls.iter();
        let mut last_write = 0;
        for (_, delivery) in &connection.deliveries {
            match delivery {
                Delivery::Reply(call) if expected.next() != Some(call) => {
                    findings
                        .add(format!("{} was answered out of order", tell(history, &history.calls[*call])));
                    break;
                }
                Delivery::Reply(call) => {
                    findings.judged("replies");
                    let call = &history.calls[*call];
                    let done = history.origin(call).and_then(|origin| evidence.oracle.of_origin(origin));
                    if let Some(done) = done.filter(|done| done.error == 0) {
                        if done.zxid < last_write {
                            findings
                                .add(format!("{} took effect before the one before it", tell(history, call)));
                        }
                        last_write = done.zxid;
                    }
                }
                Delivery::Stray { xid } => {
                    findings.add(format!("connection {number} got an answer to {xid}, which it never asked"));
                }
                Delivery::Event { .. } => {}
            }
        }
    }
}
