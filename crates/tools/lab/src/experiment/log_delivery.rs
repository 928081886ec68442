//! From producer to consumer.

use super::text::{NOT_PUBLISHED, NOTHING_PUBLISHED, PERCENTILE_999, text};
use super::{BrokerBlock, BrokerSpec, Description, Experiment, Middle, Panel, Plan, Scale, figure};
use crate::log::{Job, Mode};

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "log-delivery",
        title: text("From producer to consumer", "من المنتج إلى المستهلك"),
        source: NOT_PUBLISHED,
        setup: text(
            "10,000 messages of 200 bytes a second through one partition, to a consumer that waits for them: one message a request in page cache mode, ten a request flushed. A latency is a message's, from the moment at which it was due to be sent until the consumer has it.",
            "10,000 رسالة بحجم 200 بايت في الثانية عبر قسم واحد إلى مستهلك ينتظرها: رسالة في كل طلب بنمط ذاكرة الصفحات، وعشر في كل طلب مع الكتابة على القرص. الزمن لكل رسالة، من لحظة استحقاق إرسالها إلى أن يتسلمها المستهلك.",
        ),
        published: NOTHING_PUBLISHED,
        references: &[],
        panels: &[
            Panel::bars(PERCENTILE_999, text("messages a request", "رسائل كل طلب"), figure::P999),
            Panel::curves(
                text("Share of messages that took no longer", "نسبة الرسائل التي لم تستغرق أكثر"),
                text("latency (ms)", "زمن الاستجابة (ملّي ثانية)"),
                figure::DISTRIBUTION,
                None,
            ),
        ],
        ratios: &[figure::P999, figure::P99, figure::P50, figure::CPU],
        middle: Middle::Median,
    },
    plan,
};

fn plan(_: &Scale) -> Plan {
    let spec = |(mode, batch): (Mode, usize)| {
        BrokerSpec::new(mode.name(), batch, Job::Deliver { mode, batch, per_second: 10_000.0 })
    };
    let all = [(Mode::PageCache, 1), (Mode::Flushed, 10)];
    Plan::of_brokers(vec![BrokerBlock::of(all.map(spec).to_vec())])
}
