//! A lock that many wait for.

use super::text::{
    MEDIAN_LATENCY, NOT_PUBLISHED_OF_RECIPES, NOTHING_PUBLISHED, PERCENTILE_99, RECIPES_CPU, text,
};
use super::{Block, Description, Experiment, Middle, Panel, Plan, Scale, Spec, Text, WITH_WAITING, figure};
use crate::task::Kind;

const WAITING: Text = text("clients that wait", "العملاء المنتظرون");

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "recipe-handoff",
        title: text("A lock that is handed on", "قفل ينتقل من عميل إلى عميل"),
        source: NOT_PUBLISHED_OF_RECIPES,
        setup: text(
            "Three servers, over which clients are spread. One client holds a lock, keeps it for a millisecond, releases it and waits for it again; all others wait for it. A latency is what lies between a release that is sent and the knowledge of the next holder. There is never a second holder; fences rise, where there are fences. Each client of Diwan's objects, Curator and etcd has a session and a connection of its own; those of Hazelcast are threads of one client.",
            "ثلاثة خوادم يتوزع عليها العملاء. عميل يمسك القفل ملّي ثانية ثم يحرره وينتظره ثانية؛ وسائر العملاء ينتظرونه. الزمن هو ما بين إرسال التحرير وعلم الحامل التالي. لا يوجد حاملان معًا أبدًا، وترتفع أرقام السياج حيث توجد. ولكل عميل من عملاء كائنات ديوان وCurator وetcd جلسة واتصال خاصان؛ أما عملاء Hazelcast فخيوط من عميل واحد.",
        ),
        published: NOTHING_PUBLISHED,
        references: &[],
        panels: &[
            Panel::bars(MEDIAN_LATENCY, WAITING, figure::P50),
            Panel::bars(PERCENTILE_99, WAITING, figure::P99),
            Panel::bars(RECIPES_CPU, WAITING, figure::CPU),
        ],
        ratios: &[figure::P50, figure::P99, figure::CPU],
        middle: Middle::Median,
    },
    plan,
};

fn plan(scale: &Scale) -> Plan {
    let crowds: &[usize] = if scale.is_trial() { &[4, 16] } else { &[16, 200] };
    // One more holds it.
    let spec = |waiting: &usize| Spec::new("", waiting, scale.recipe(Kind::HandOff, waiting + 1));
    let block = Block::of(3, crowds.iter().map(spec).collect()).only(&WITH_WAITING);
    Plan { blocks: vec![block], ..Plan::default() }
}
