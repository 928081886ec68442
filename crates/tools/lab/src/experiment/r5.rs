//! R5: the faults that the load test met: connections lost while snapshots are written, a log that fills the disk.

use tools_testbed::Setting;

use super::text::{RUST_LOAD_TEST, SECONDS, text};
use super::{Block, Description, Experiment, Middle, Panel, Plan, Scale, Spec, Text, figure};
use crate::task::{Kind, Task};

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "R5",
        title: text("Snapshots under load, and the disk", "اللقطات تحت الحمل، والقرص"),
        source: RUST_LOAD_TEST,
        setup: text(
            "Three servers, a steady pace of writes of 10,000 bytes to a larger tree, with snapshots by default and every 2,000 transactions: what clients feel, what is lost on the way, what lies on the disks at the end.",
            "ثلاثة خوادم ووتيرة ثابتة من كتابات بحجم 10,000 بايت على شجرة أكبر، مع لقطات افتراضية ثم كل 2,000 معاملة: ما يشعر به العملاء، وما يضيع في الطريق، وما يبقى على الأقراص في النهاية.",
        ),
        published: text(
            "Connections are lost while a snapshot is written under load; the log eats the disk; about 10 GB of data is the practical end.",
            "تنقطع اتصالات أثناء كتابة لقطة تحت الحمل؛ ويلتهم السجل القرص؛ ونحو 10 غيغابايت من البيانات هي الحد العملي.",
        ),
        references: &[],
        panels: &[
            Panel::bars(text("Longest latency", "أطول زمن استجابة"), WHAT, figure::MAX),
            Panel::bars(text("On the disks of all servers", "على أقراص جميع الخوادم"), WHAT, figure::DISK),
            Panel::curves(
                text("While snapshots are frequent", "أثناء تكرار اللقطات"),
                SECONDS,
                figure::LATENCY_OVER_TIME,
                Some("snapshots often"),
            ),
        ],
        ratios: &[figure::MAX, figure::P99, figure::DISK, figure::WRITTEN, figure::CPU],
        middle: Middle::Mean,
    },
    plan,
};

const WHAT: Text = text("snapshots", "اللقطات");

fn plan(scale: &Scale) -> Plan {
    let block = |at: &str, snapshot_every| {
        let task = Task {
            clients: scale.pick(20, 100),
            per_second: scale.pick(1000.0, 5000.0),
            keys: scale.pick(5000, 500_000),
            value_bytes: 10_000,
            measured_ms: scale.measured_ms(scale.pick(3.0, 30.0)),
            ..Task::of(Kind::Timeline)
        };
        let setting = Setting { heap_mb: scale.pick(1024, 8192), snapshot_every, ..Setting::of(3) };
        Block::with(setting, vec![Spec::new("", at, task)]).prepared()
    };
    Plan {
        blocks: vec![block("snapshots by default", None), block("snapshots often", Some(2000))],
        ..Plan::default()
    }
}
