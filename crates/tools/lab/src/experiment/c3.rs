//! C3: latency against the size of the replicated state.

use tools_testbed::Setting;

use super::text::{CONCOORD_2012, SERVERS_CPU, text};
use super::{Block, Description, Experiment, Middle, Panel, Plan, Scale, Spec, figure};
use crate::task::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "C3",
        title: text("Latency against the size of the state", "زمن الاستجابة مقابل حجم الحالة"),
        source: CONCOORD_2012,
        setup: text(
            "One client updates an object whose whole state is one value, so that a coordination service writes all of it each time.",
            "عميل واحد يحدّث كائنًا حالته كلها قيمة واحدة، فتكتبها خدمة التنسيق كاملة في كل مرة.",
        ),
        published: text(
            "ConCoord is flat, for its objects live and nothing is serialised per update; ZooKeeper grows.",
            "يبقى ConCoord ثابتًا لأن كائناته حيّة ولا يُسلسَل شيء عند كل تحديث؛ أما ZooKeeper فيزداد.",
        ),
        references: &[],
        panels: &[
            Panel::lines_over_log(
                text("Median latency of an update", "وسيط زمن التحديث"),
                text("bytes of state", "حجم الحالة (بايت)"),
                figure::P50,
            ),
            Panel::lines_over_log(SERVERS_CPU, text("bytes of state", "حجم الحالة (بايت)"), figure::CPU),
        ],
        ratios: &[figure::P50, figure::P99, figure::CPU, figure::WRITTEN],
        middle: Middle::Mean,
    },
    plan,
};

fn plan(scale: &Scale) -> Plan {
    let sizes: &[usize] = &[100, 1000, 10_000, 100_000, 500_000];
    let spec = |bytes: &usize| {
        let task = Task { keys: 1, value_bytes: *bytes, ..scale.mixed(1, 1, 1000) };
        Spec::new("updates", bytes, task)
    };
    let setting = Setting { heap_mb: 1024, ..Setting::of(3) };
    let specs = sizes.iter().map(spec).collect();
    Plan { blocks: vec![Block::with(setting, specs).prepared().and_live_objects()], ..Plan::default() }
}
