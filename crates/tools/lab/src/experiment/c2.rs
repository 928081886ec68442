//! C2: how a client's latency is distributed.

use super::text::{CONCOORD_2012, text};
use super::{Block, Description, Experiment, Middle, Panel, Plan, Scale, Spec, figure};
use crate::task::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "C2",
        title: text("Distribution of the latency", "توزيع زمن الاستجابة"),
        source: CONCOORD_2012,
        setup: text(
            "Updates of 100 bytes at a steady pace on three servers; a latency counts from the moment at which its request was due, so that a stall hides nothing.",
            "تحديثات بحجم 100 بايت بوتيرة ثابتة على ثلاثة خوادم؛ يُحسب الزمن من لحظة استحقاق الطلب، فلا يُخفي التوقف شيئًا.",
        ),
        published: text(
            "ConCoord's latencies lie evenly between less than 1 ms and 8 ms; ZooKeeper's vary far more, “not favourable in a coordination service”.",
            "تتوزع أزمنة ConCoord بانتظام من أقل من 1 إلى 8 ملّي ثانية؛ أما ZooKeeper فتفاوته أكبر بكثير، وهو «غير مستحب في خدمة تنسيق».",
        ),
        references: &[],
        panels: &[
            Panel::curves(
                text("Share of updates that took no longer", "نسبة التحديثات التي لم تستغرق أكثر"),
                text("latency (ms)", "زمن الاستجابة (ملّي ثانية)"),
                figure::DISTRIBUTION,
                None,
            ),
            Panel::bars(
                text("99.9th percentile", "المئين 99.9"),
                text("updates a second", "التحديثات في الثانية"),
                figure::P999,
            ),
        ],
        ratios: &[figure::P50, figure::P99, figure::P999],
        middle: Middle::Mean,
    },
    plan,
};

fn plan(scale: &Scale) -> Plan {
    let paces: &[u32] = scale.pick(&[500, 2000], &[500, 2000, 5000]);
    let spec = |pace: &u32| {
        let task = Task {
            value_bytes: 100,
            per_second: f64::from(*pace),
            measured_ms: scale.measured_ms(2.0),
            ..scale.mixed(20, 0, 1000)
        };
        Spec::new("updates", pace, task)
    };
    Plan {
        blocks: vec![Block::of(3, paces.iter().map(spec).collect()).prepared().and_live_objects()],
        ..Plan::default()
    }
}
