//! K2: what messages take on the disk.

use super::text::{KAFKA_2011, MESSAGES_A_REQUEST, text};
use super::{BrokerBlock, BrokerSpec, Description, Experiment, Panel, Plan, Reference, Scale, figure};
use crate::log::Job;

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "K2",
        title: text("Storage overhead of a message", "كلفة تخزين الرسالة"),
        source: KAFKA_2011,
        setup: text(
            "Messages of 200 bytes to one partition, 50 a request. Counted are the blocks on the disk of everything in the broker's data directory, after it has stopped, less those of the same broker without the messages, and less the content. Everything is flushed then, and room made ahead is given back.",
            "رسائل بحجم 200 بايت إلى قسم واحد، 50 في كل طلب. تُحصى كتل القرص لكل ما في مجلد بيانات الوسيط بعد توقفه، مطروحًا منها كتل الوسيط نفسه قبل الرسائل، ومطروحًا منها المحتوى. يكون كل شيء عندئذ مكتوبًا على القرص، والحيز المحجوز سلفًا مُعادًا.",
        ),
        published: text(
            "Kafka 9 bytes a message, ActiveMQ 144.",
            "كافكا 9 بايتات للرسالة، وActiveMQ 144 بايتًا.",
        ),
        references: &[Reference::of("", figure::OVERHEAD, &[(50.0, 9.0)])],
        panels: &[Panel::bars(
            text("Bytes on the disk beyond the content, a message", "البايتات على القرص فوق المحتوى لكل رسالة"),
            MESSAGES_A_REQUEST,
            figure::OVERHEAD,
        )],
        ratios: &[figure::OVERHEAD, figure::CPU],
    },
    plan,
};

fn plan(scale: &Scale) -> Plan {
    let messages: u64 = scale.sized(200_000, 2_000_000, 10_000_000);
    let job = Job::Store { batch: 50, batches: messages / 50 };
    Plan::of_brokers(vec![BrokerBlock::of(vec![BrokerSpec::new("", 50, job)])])
}
