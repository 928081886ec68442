//! Z4: the atomic broadcast alone.

use super::text::{SERVERS_CPU, ZOOKEEPER_2010, text};
use super::{Block, Description, Experiment, Middle, Panel, Plan, Reference, Scale, Spec, Text, figure};

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "Z4",
        title: text("Atomic broadcast alone", "البث الذري وحده"),
        source: ZOOKEEPER_2010,
        setup: text(
            "Writes of 1 KiB agreed per second, all given to the leader by few clients that keep many outstanding, so that little but the broadcast is left.",
            "عدد كتابات بحجم 1 كيبيبايت يُتفق عليها في الثانية، تُسلَّم كلها إلى القائد من عملاء قليلين بطلبات معلّقة كثيرة، فلا يكاد يبقى سوى البث.",
        ),
        published: text(
            "15,000 to 16,000 requests a second; 35,000 to 40,000 on faster machines with battery-backed write caches.",
            "من 15,000 إلى 16,000 طلب في الثانية؛ ومن 35,000 إلى 40,000 على أجهزة أسرع بذاكرة كتابة محمية ببطارية.",
        ),
        references: &[Reference::of("broadcast", figure::RATE, &[(3.0, 16_000.0), (13.0, 15_000.0)])],
        panels: &[
            Panel::lines(text("Requests agreed", "الطلبات المتفق عليها"), SERVERS, figure::RATE),
            Panel::lines(SERVERS_CPU, SERVERS, figure::CPU),
        ],
        ratios: &[figure::RATE, figure::CPU, figure::WRITTEN],
        middle: Middle::Mean,
    },
    plan,
};

const SERVERS: Text = text("servers", "عدد الخوادم");

fn plan(scale: &Scale) -> Plan {
    let counts: &[usize] = scale.pick(&[1, 3, 5], &[3, 5, 7, 9, 13]);
    let block = |count: &usize| {
        let spec = Spec::new("broadcast", count, scale.mixed(8, 250, 1000));
        Block::of(*count, vec![Spec { at_leader: true, ..spec }]).prepared()
    };
    Plan { blocks: counts.iter().map(block).collect(), ..Plan::default() }
}
