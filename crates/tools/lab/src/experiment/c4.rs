//! C4: latency against the number of replicas and acceptors, with the processors as the limit.

use tools_testbed::Setting;

use super::text::{CONCOORD_2012, MEAN_LATENCY, REPLICAS, THROUGHPUT, text};
use super::{Block, Description, Experiment, Middle, Panel, Plan, Scale, Spec, figure};
use crate::task::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "C4",
        title: text("Replicas and acceptors with busy processors", "النسخ والقابلون مع معالجات مشغولة"),
        source: CONCOORD_2012,
        setup: text(
            "Updates of 100 bytes, as many as the processors take. Acceptors are servers that vote, replicas all servers: those that do not vote are observers, which etcd does not have.",
            "تحديثات بحجم 100 بايت بقدر ما تحتمله المعالجات. القابلون هم الخوادم المصوّتة، والنسخ هي الخوادم كلها؛ وغير المصوّتة مراقِبة، وليس لدى etcd مثلها.",
        ),
        published: text(
            "On ten machines it scales until the processors are busy.",
            "على عشرة أجهزة يتوسع الأداء إلى أن تنشغل المعالجات.",
        ),
        references: &[],
        panels: &[
            Panel::lines(MEAN_LATENCY, REPLICAS, figure::MEAN),
            Panel::lines(THROUGHPUT, REPLICAS, figure::RATE),
        ],
        ratios: &[figure::MEAN, figure::RATE, figure::CPU],
        middle: Middle::Mean,
    },
    plan,
};

const CLIENTS: usize = 20;
const OUTSTANDING: usize = 50;

fn series(acceptors: usize) -> String {
    if acceptors == 1 { String::from("1 acceptor") } else { format!("{acceptors} acceptors") }
}

fn plan(scale: &Scale) -> Plan {
    let small: &[(usize, usize)] = &[(1, 1), (3, 3), (3, 4), (3, 5), (5, 5)];
    let paper: &[(usize, usize)] =
        &[(1, 1), (3, 3), (3, 5), (3, 7), (3, 10), (5, 5), (5, 7), (5, 10), (7, 7), (7, 10)];
    let block = |(acceptors, replicas): &(usize, usize)| {
        let task = Task { value_bytes: 100, ..scale.mixed(CLIENTS, OUTSTANDING, 1000) };
        let series = series(*acceptors);
        let observers = replicas - acceptors;
        let setting = Setting { observers, ..Setting::of(*acceptors) };
        Block::with(setting, vec![Spec::new(series, replicas, task)]).prepared().and_live_objects()
    };
    Plan { blocks: scale.pick(small, paper).iter().map(block).collect(), ..Plan::default() }
}
