//! A counter that all clients increment.

use super::text::{
    CLIENTS, MEDIAN_LATENCY, NOT_PUBLISHED_OF_RECIPES, NOTHING_PUBLISHED, PERCENTILE_99, RECIPES_CPU, text,
};
use super::{Block, Description, Experiment, Middle, Panel, Plan, Scale, Spec, crowd_of, figure};
use crate::measure::System;
use crate::task::Kind;

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "recipe-counter",
        title: text("A shared counter", "عدّاد مشترك"),
        source: NOT_PUBLISHED_OF_RECIPES,
        setup: text(
            "Three servers. Each client increments one counter that all share, one request after the other; one client is connected to the leader, 16 are spread over all servers. Each increment must give a value of its own, and the counter must be at their number in the end. Curator: DistributedAtomicLong, which reads, writes if nobody else did, and tries again. etcd: a transaction, in the same way. Hazelcast: IAtomicLong, in memory only. Redis: INCR, answered before it is replicated and flushed once a second.",
            "ثلاثة خوادم. يزيد كل عميل عدّادًا واحدًا مشتركًا، طلبًا بعد طلب؛ العميل الواحد متصل بالقائد، والستة عشر موزعون على جميع الخوادم. يجب أن تعطي كل زيادة قيمة خاصة بها، وأن يساوي العدّاد عددها في النهاية. Curator: DistributedAtomicLong الذي يقرأ ثم يكتب إن لم يكتب غيره، ويعيد المحاولة. etcd: معاملة على النحو نفسه. Hazelcast: IAtomicLong في الذاكرة وحدها. Redis: INCR، يجيب قبل النسخ ويكتب على القرص مرة كل ثانية.",
        ),
        published: NOTHING_PUBLISHED,
        references: &[],
        panels: &[
            Panel::bars(text("Increments a second", "الزيادات في الثانية"), CLIENTS, figure::RATE),
            Panel::bars(MEDIAN_LATENCY, CLIENTS, figure::P50),
            Panel::bars(PERCENTILE_99, CLIENTS, figure::P99),
            Panel::bars(RECIPES_CPU, CLIENTS, figure::CPU),
        ],
        ratios: &[figure::RATE, figure::P50, figure::P99, figure::CPU],
        middle: Middle::Median,
    },
    plan,
};

fn plan(scale: &Scale) -> Plan {
    let spec = |crowd: &usize| Spec {
        at_leader: *crowd == 1,
        ..Spec::new("", crowd_of(*crowd), scale.recipe(Kind::Increment, *crowd))
    };
    let block = Block::of(3, [1, 16].iter().map(spec).collect()).only(&System::OF_RECIPES);
    Plan { blocks: vec![block], ..Plan::default() }
}
