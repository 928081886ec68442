//! Partitions that nobody uses.

use super::text::{NOT_PUBLISHED, NOTHING_PUBLISHED, text};
use super::{BrokerBlock, BrokerSpec, Description, Experiment, Middle, Panel, Plan, Scale, Text, figure};
use crate::log::Job;

const PARTITIONS: Text = text("partitions", "عدد الأقسام");

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "log-idle",
        title: text("Idle partitions", "أقسام خاملة"),
        source: NOT_PUBLISHED,
        setup: text(
            "Topics of 1,000 partitions each, with one message in every partition. All messages are read again; then nobody asks for anything.",
            "مواضيع في كل منها 1,000 قسم، وفي كل قسم رسالة واحدة. تُقرأ الرسائل كلها من جديد، ثم لا يطلب أحد شيئًا.",
        ),
        published: NOTHING_PUBLISHED,
        references: &[],
        panels: &[
            Panel::bars(text("Resident memory", "الذاكرة المقيمة"), PARTITIONS, figure::MEMORY),
            Panel::bars(text("Open files", "الملفات المفتوحة"), PARTITIONS, figure::OPEN_FILES),
            Panel::bars(text("Processor time", "زمن المعالج"), PARTITIONS, figure::IDLE_CPU),
        ],
        ratios: &[figure::MEMORY, figure::OPEN_FILES, figure::IDLE_CPU],
        middle: Middle::Median,
    },
    plan,
};

fn plan(scale: &Scale) -> Plan {
    let partitions = scale.sized(500, 10_000, 10_000);
    let spec = BrokerSpec::new("", partitions, Job::Idle { partitions });
    Plan::of_brokers(vec![BrokerBlock::of(vec![spec])])
}
