//! A broker that was killed starts again.

use super::text::{NOT_PUBLISHED, NOTHING_PUBLISHED, text};
use super::{BrokerBlock, BrokerSpec, Description, Experiment, Middle, Panel, Plan, Scale, Text, figure};
use crate::log::Job;

const MB: Text = text("MB of messages", "ميغابايت من الرسائل");

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "log-start",
        title: text("Start after kill -9", "البدء بعد \u{2068}kill -9\u{2069}"),
        source: NOT_PUBLISHED,
        setup: text(
            "1,000 partitions with messages of 200 bytes (1 GB, and 10 GB at the scale of the papers), page cache mode. The broker is killed right behind the last acknowledgement and started again at once. Counted is the time until a new message is acknowledged. Then every message is read.",
            "1,000 قسم فيها رسائل بحجم 200 بايت (1 غيغابايت، و10 بمقياس الأوراق المنشورة)، بنمط ذاكرة الصفحات. يُقتل الوسيط عقب آخر تأكيد ويُشغَّل في الحال. يُحسب الزمن إلى أن تُؤكَّد رسالة جديدة، ثم تُقرأ الرسائل كلها.",
        ),
        published: NOTHING_PUBLISHED,
        references: &[],
        panels: &[
            Panel::bars(text("Until a message is acknowledged", "إلى أن تُؤكَّد رسالة"), MB, figure::START),
            Panel::bars(text("Processor time until then", "زمن المعالج حتى ذلك"), MB, figure::START_CPU),
        ],
        ratios: &[figure::START, figure::START_CPU],
        middle: Middle::Median,
    },
    plan,
};

fn plan(scale: &Scale) -> Plan {
    let partitions = scale.sized(100, 1000, 1000);
    let megabytes: u64 = scale.sized(50, 1000, 10_000);
    let job = Job::Restart { partitions, bytes: megabytes * 1_000_000 };
    Plan::of_brokers(vec![BrokerBlock::of(vec![BrokerSpec::new("", megabytes, job)])])
}
