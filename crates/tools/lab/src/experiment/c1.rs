//! C1: a client's latency against the number of replicas.

use super::text::{CONCOORD_2012, MEAN_LATENCY, PERCENTILE_99, REPLICAS, text};
use super::{Block, Description, Experiment, Middle, Panel, Plan, Scale, Spec, figure};
use crate::task::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "C1",
        title: text("Latency against the number of replicas", "زمن الاستجابة مقابل عدد النسخ"),
        source: CONCOORD_2012,
        setup: text(
            "The same updates of 100 bytes to every system, a few clients with one request outstanding each, measured end to end.",
            "التحديثات نفسها بحجم 100 بايت لكل نظام، من عملاء قليلين لكل منهم طلب معلّق واحد، مقيسة من طرف إلى طرف.",
        ),
        published: text(
            "ConCoord and ZooKeeper are comparable: ConCoord is lower for few replicas, within 1 ms on average for many.",
            "النظامان ConCoord وZooKeeper متقاربان: الأول أسرع مع نسخ قليلة، والفارق أقل من 1 ملّي ثانية في المتوسط مع نسخ كثيرة.",
        ),
        references: &[],
        panels: &[
            Panel::lines(MEAN_LATENCY, REPLICAS, figure::MEAN),
            Panel::lines(PERCENTILE_99, REPLICAS, figure::P99),
        ],
        ratios: &[figure::MEAN, figure::P99, figure::CPU],
        middle: Middle::Mean,
    },
    plan,
};

const FEW: usize = 4;

fn plan(scale: &Scale) -> Plan {
    let counts: &[usize] = scale.pick(&[1, 3, 5], &[1, 3, 5, 7, 9, 11, 13]);
    let block = |count: &usize| {
        let task = Task { value_bytes: 100, ..scale.mixed(FEW, 1, 1000) };
        Block::of(*count, vec![Spec::new("updates", count, task)]).prepared().and_live_objects()
    };
    Plan { blocks: counts.iter().map(block).collect(), ..Plan::default() }
}
