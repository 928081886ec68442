//! K3: one consumer.

use super::text::{BROKER_CPU, KAFKA_2011, MESSAGES_A_SECOND, text};
use super::{
    BrokerBlock, BrokerSpec, Description, Experiment, Middle, Panel, Plan, Reference, Scale, Text, figure,
};
use crate::log::Job;

const BYTES: Text = text("bytes a fetch", "بايتات كل جلب");

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "K3",
        title: text("One consumer", "مستهلك واحد"),
        source: KAFKA_2011,
        setup: text(
            "One consumer reads a partition of messages of 200 bytes in batches of 50, from the page cache, again and again: about 1,000 messages or 200 KB a fetch, one fetch outstanding. Beside the brokers stands a bare server that does nothing but send a file by sendfile. A latency is a fetch's; an operation is a message.",
            "مستهلك واحد يقرأ قسمًا من رسائل بحجم 200 بايت في دفعات من 50، من ذاكرة الصفحات، مرة بعد مرة: نحو 1,000 رسالة أو 200 كيلوبايت في كل جلب، وجلب واحد معلّق. وبجانب الوسطاء خادم مجرّد لا يفعل سوى إرسال ملف بنداء sendfile. الزمن لكل جلب، والعملية رسالة.",
        ),
        published: text(
            "10,000,000 messages: 22,000 messages/s, more than 4 times those of ActiveMQ and RabbitMQ; no disk writes on the broker.",
            "10 ملايين رسالة: 22,000 رسالة في الثانية، أكثر من أربعة أضعاف ActiveMQ وRabbitMQ؛ ولا كتابة على قرص الوسيط.",
        ),
        references: &[Reference::of("", figure::RATE, &[(200_000.0, 22_000.0)])],
        panels: &[
            Panel::bars(MESSAGES_A_SECOND, BYTES, figure::RATE),
            Panel::bars(BROKER_CPU, BYTES, figure::CPU),
        ],
        ratios: &[figure::CPU, figure::RATE, figure::P99],
        middle: Middle::Median,
    },
    plan,
};

const FETCH_BYTES: i32 = 200_000;

fn plan(scale: &Scale) -> Plan {
    let messages: u64 = scale.sized(100_000, 1_000_000, 10_000_000);
    let job = Job::Consume { fetch_bytes: FETCH_BYTES, batches: messages / 50 };
    Plan::of_brokers(vec![BrokerBlock::of(vec![BrokerSpec::new("", FETCH_BYTES, job)])])
}
