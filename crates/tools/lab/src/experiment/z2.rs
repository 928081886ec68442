//! Z2: the latency of one client with one request outstanding.

use super::text::{MEDIAN_LATENCY, PERCENTILE_99, ZOOKEEPER_2010, text};
use super::{
    Block, Description, Experiment, Middle, Panel, Plan, Reference, Scale, Spec, Split, Text, figure,
};
use crate::task::Step;

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "Z2",
        title: text("Latency of one client", "زمن الاستجابة لعميل واحد"),
        source: ZOOKEEPER_2010,
        setup: text(
            "Three servers, one client, one request outstanding at a time: create, set and get of 1 KiB.",
            "ثلاثة خوادم وعميل واحد بطلب معلّق واحد في كل مرة: إنشاء وكتابة وقراءة بحجم 1 كيبيبايت.",
        ),
        published: text(
            "A read takes 0.7 ms, a write 8.5 ms, of which flushing the log is about 5 ms.",
            "تستغرق القراءة 0.7 ملّي ثانية والكتابة 8.5 ملّي ثانية، منها نحو 5 لتثبيت السجل على القرص.",
        ),
        references: &[Reference::of("", figure::P50, &[(1.0, 8.5), (2.0, 0.7)])],
        panels: &[
            Panel::bars(MEDIAN_LATENCY, OPERATION, figure::P50),
            Panel::bars(PERCENTILE_99, OPERATION, figure::P99),
        ],
        ratios: &[figure::P50, figure::P99, figure::CPU],
        middle: Middle::Mean,
    },
    plan,
};

const OPERATION: Text = text("operation", "العملية");

fn plan(scale: &Scale) -> Plan {
    let steps = [Step::Create, Step::Set, Step::Get];
    let task = scale.own(1, 10_000, 1024, &steps);
    let spec = Spec::new("", "", task).split(Split::Places);
    Plan { blocks: vec![Block::of(3, vec![spec])], ..Plan::default() }
}
