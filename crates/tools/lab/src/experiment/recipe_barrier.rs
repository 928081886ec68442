//! Double barriers as recipes and objects have them.

use super::text::{MEDIAN_LATENCY, NOT_PUBLISHED_OF_RECIPES, NOTHING_PUBLISHED, RECIPES_CPU, text};
use super::{Block, Description, Experiment, Middle, Panel, Plan, Scale, Spec, Text, WITH_WAITING, figure};
use crate::task::Kind;

const PARTIES: Text = text("participants", "المشاركون");

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "recipe-barrier",
        title: text("Double barriers of recipes", "الحواجز المزدوجة في الوصفات"),
        source: NOT_PUBLISHED_OF_RECIPES,
        setup: text(
            "Three servers, over which clients are spread. All clients enter a double barrier and leave it, round after round; a round is one operation, and its latency is what the first client sees. Nobody gets through before all have come. Diwan's objects: one barrier for all rounds. Curator: DistributedDoubleBarrier, with a path of its own for each round, because nodes of a round that is being left would be counted in the next. etcd: DoubleBarrier of its experimental recipes, also one for each round. Hazelcast: two ICountDownLatch a round.",
            "ثلاثة خوادم يتوزع عليها العملاء. يدخل جميع العملاء حاجزًا مزدوجًا ثم يغادرونه جولة بعد جولة؛ الجولة عملية واحدة، وزمنها ما يراه العميل الأول. لا يعبر أحد قبل أن يأتي الجميع. كائنات ديوان: حاجز واحد لكل الجولات. Curator: DistributedDoubleBarrier بمسار خاص لكل جولة، لأن عقد جولة تُغادر كانت ستُحسب في التالية. etcd: DoubleBarrier من وصفاته التجريبية، واحد لكل جولة كذلك. Hazelcast: اثنان من ICountDownLatch لكل جولة.",
        ),
        published: NOTHING_PUBLISHED,
        references: &[],
        panels: &[
            Panel::bars(text("Rounds a second", "الجولات في الثانية"), PARTIES, figure::RATE),
            Panel::bars(MEDIAN_LATENCY, PARTIES, figure::P50),
            Panel::bars(RECIPES_CPU, PARTIES, figure::CPU),
        ],
        ratios: &[figure::RATE, figure::P50, figure::CPU],
        middle: Middle::Median,
    },
    plan,
};

fn plan(scale: &Scale) -> Plan {
    let spec = |parties: &usize| Spec::new("", parties, scale.recipe(Kind::DoubleBarrier, *parties));
    let crowds: &[usize] = if scale.is_trial() { &[2, 8] } else { &[8, 32] };
    let block = Block::of(3, crowds.iter().map(spec).collect()).only(&WITH_WAITING);
    Plan { blocks: vec![block], ..Plan::default() }
}
