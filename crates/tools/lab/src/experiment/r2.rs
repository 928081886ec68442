//! R2: writing large values, with snapshots as they come and more often.

use tools_testbed::Setting;

use super::text::{CLIENTS, PERCENTILE_99, REQUESTS, RUST_LOAD_TEST, text};
use super::{Block, Description, Experiment, Middle, Panel, Plan, Reference, Scale, Spec, Split, figure};
use crate::task::Step;

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "R2",
        title: text("Writing 10,000 and 1,000 bytes", "كتابة 10,000 و1,000 بايت"),
        source: RUST_LOAD_TEST,
        setup: text(
            "Three servers, 100 clients with one request outstanding each on nodes of their own; snapshots as each system takes them by default, and every 2,000 transactions.",
            "ثلاثة خوادم و100 عميل لكل منهم طلب معلّق واحد على عقده الخاصة؛ لقطات بالإعداد الافتراضي لكل نظام، ثم كل 2,000 معاملة.",
        ),
        published: text(
            "1,000,000 writes of 10,000 bytes take 945 s (snapshots slow the service severely), 150 s with snapshots rarer and a bigger client; of 1,000 bytes 184 s, then 114 s.",
            "مليون كتابة بحجم 10,000 بايت تستغرق 945 ثانية (اللقطات تُبطئ الخدمة بشدة)، و150 ثانية مع لقطات أندر وعميل أكبر؛ وبحجم 1,000 بايت 184 ثم 114 ثانية.",
        ),
        references: &[
            Reference::of("set 10,000 B", figure::RATE, &[(100.0, 1058.0)]),
            Reference::of("set 1,000 B", figure::RATE, &[(100.0, 8772.0)]),
        ],
        panels: &[
            Panel::bars(REQUESTS, CLIENTS, figure::RATE),
            Panel::bars(PERCENTILE_99, CLIENTS, figure::P99),
        ],
        ratios: &[figure::RATE, figure::P99, figure::CPU, figure::WRITTEN],
        middle: Middle::Mean,
    },
    plan,
};

fn plan(scale: &Scale) -> Plan {
    let spec = |bytes: usize, name: &str| {
        let task = scale.own(100, 10_000, bytes, &[Step::Create, Step::Set]);
        Spec::new(name, 100, task).split(Split::Series)
    };
    let setting = Setting { heap_mb: scale.pick(1024, 8192), ..Setting::of(3) };
    let block = |snapshot_every, specs| Block::with(Setting { snapshot_every, ..setting.clone() }, specs);
    Plan {
        blocks: vec![
            block(None, vec![spec(10_000, "10,000 B"), spec(1000, "1,000 B")]),
            block(Some(2000), vec![spec(10_000, "10,000 B, snapshots often")]),
        ],
        ..Plan::default()
    }
}
