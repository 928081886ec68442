//! Read-process-write transactions.

use super::text::{BROKER_CPU, MESSAGES_A_SECOND, NOT_PUBLISHED, NOTHING_PUBLISHED, PERCENTILE_99, text};
use super::{BrokerBlock, BrokerSpec, Description, Experiment, Middle, Panel, Plan, Scale, Text, figure};
use crate::log::Job;

const CLIENTS: Text = text("clients", "عدد العملاء");

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "log-transactions",
        title: text("Transactions that read and write", "معاملات تقرأ وتكتب"),
        source: NOT_PUBLISHED,
        setup: text(
            "Clients that each read 100 messages of 200 bytes, write them to another topic and commit them together with their offsets, one transaction after the other: Fetch, Produce, TxnOffsetCommit, EndTxn, as clients since Kafka 4.0 do (KIP-890). Topics in page cache mode; the coordinators' own partitions are as each broker has them, which are flushed on Diwan and not on Kafka. A latency is a transaction's; an operation is a message.",
            "عملاء يقرأ كل منهم 100 رسالة بحجم 200 بايت ويكتبها إلى موضوع آخر ويثبّتها مع إزاحاتها معًا، معاملة بعد أخرى: Fetch ثم Produce ثم TxnOffsetCommit ثم EndTxn، كما يفعل العملاء منذ كافكا 4.0 (\u{2068}KIP-890\u{2069}). المواضيع بنمط ذاكرة الصفحات؛ وأقسام المنسّقين كما هي في كل وسيط: مكتوبة على القرص في ديوان لا في كافكا. الزمن لكل معاملة، والعملية رسالة.",
        ),
        published: NOTHING_PUBLISHED,
        references: &[],
        panels: &[
            Panel::bars(BROKER_CPU, CLIENTS, figure::CPU),
            Panel::bars(PERCENTILE_99, CLIENTS, figure::P99),
            Panel::bars(MESSAGES_A_SECOND, CLIENTS, figure::RATE),
        ],
        ratios: &[figure::CPU, figure::P99, figure::RATE],
        middle: Middle::Median,
    },
    plan,
};

const MESSAGES: usize = 100;

fn plan(_: &Scale) -> Plan {
    let spec = |clients: i32| BrokerSpec::new("", clients, Job::Transact { clients, messages: MESSAGES });
    Plan::of_brokers(vec![BrokerBlock::of([1, 8].map(spec).to_vec())])
}
