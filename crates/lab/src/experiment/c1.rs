//! C1: a client's latency against the number of replicas.

use sim::cost::Setup;

use super::{Block, Experiment, Forecast, Panel, Plan, Scale, Shape, Spec, figure, text};
use crate::task::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "C1",
    title: text("Latency against the number of replicas", "زمن الاستجابة مقابل عدد النسخ"),
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
        Panel {
            title: text("Mean latency", "متوسط زمن الاستجابة"),
            x: REPLICAS,
            figure: figure::MEAN,
            shape: Shape::Lines,
        },
        Panel {
            title: text("99th percentile", "المئين التاسع والتسعون"),
            x: REPLICAS,
            figure: figure::P99,
            shape: Shape::Lines,
        },
    ],
    ratios: &[figure::MEAN, figure::P99, figure::CPU],
    plan,
};

const REPLICAS: super::Text = text("replicas", "عدد النسخ");
const CLIENTS: usize = 4;

fn plan(scale: &Scale) -> Plan {
    let counts: &[usize] = scale.pick(&[1, 3, 5], &[1, 3, 5, 7, 9, 11, 13]);
    let block = |count: &usize| {
        let task = Task { value_bytes: 100, ..scale.mixed(CLIENTS, 1, 1000) };
        Block::of(*count, vec![Spec::new("updates", count, task).prepared(0)])
    };
    let forecast = |count: u64| Forecast {
        series: String::from("updates"),
        at: count.to_string(),
        setup: Setup { value_bytes: 100, ..Setup::new(count, CLIENTS, 1, 1000) },
    };
    Plan { blocks: counts.iter().map(block).collect(), forecasts: [3, 5, 7, 9, 13].map(forecast).to_vec() }
}
