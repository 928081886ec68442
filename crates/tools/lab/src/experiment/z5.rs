//! Z5: the size of the tree.

use tools_testbed::Setting;

use super::text::{THROUGHPUT, ZOOKEEPER_2010, text};
use super::{Block, Description, Experiment, Middle, Panel, Plan, Scale, Spec, Text, figure};
use crate::task::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "Z5",
        title: text("Size of the tree", "حجم الشجرة"),
        source: ZOOKEEPER_2010,
        setup: text(
            "Up to 1,000,000 znodes of 5 bytes on three servers; reads, writes, and both in equal parts.",
            "حتى 1,000,000 عقدة بحجم 5 بايتات على ثلاثة خوادم؛ قراءات، وكتابات، ونصف من كل منهما.",
        ),
        published: text(
            "Throughput does not depend on the number of znodes.",
            "لا تتوقف الإنتاجية على عدد العقد.",
        ),
        references: &[],
        panels: &[
            Panel::lines_over_log(THROUGHPUT, NODES, figure::RATE),
            Panel::lines_over_log(text("Memory of all servers", "ذاكرة جميع الخوادم"), NODES, figure::MEMORY),
        ],
        ratios: &[figure::RATE, figure::CPU, figure::MEMORY],
        middle: Middle::Mean,
    },
    plan,
};

const NODES: Text = text("znodes", "عدد العقد");
const MIXES: [(&str, u32); 3] = [("reads", 0), ("writes", 1000), ("mixed", 500)];

fn plan(scale: &Scale) -> Plan {
    let sizes: &[u32] = scale.pick(&[1000, 10_000, 100_000], &[1000, 10_000, 100_000, 300_000, 1_000_000]);
    // A quick trial makes no large trees.
    let sizes = if scale.is_trial() { &sizes[..2] } else { sizes };
    let mut specs = Vec::new();
    let mut from = 0;
    for size in sizes {
        for (place, (name, writes)) in MIXES.iter().enumerate() {
            let task = Task { keys: *size, value_bytes: 5, ..scale.mixed(50, 20, *writes) };
            let spec = Spec::new(*name, size, task);
            specs.push(if place == 0 { spec.prepared(from) } else { spec });
        }
        from = *size;
    }
    let heap_mb = scale.pick(768, 4096);
    let setting = Setting { heap_mb, ..Setting::of(3) };
    Plan { blocks: vec![Block::with(setting, specs)], ..Plan::default() }
}
