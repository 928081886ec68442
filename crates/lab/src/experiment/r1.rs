//! R1: making and deleting empty nodes.

use super::{Block, Experiment, Panel, Plan, Reference, Scale, Shape, Spec, Split, figure, text};
use crate::task::Step;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "R1",
    title: text("Creating and deleting empty nodes", "إنشاء العقد الفارغة وحذفها"),
    setup: text(
        "Three servers; one client, and 100, each with one request outstanding on nodes of its own; published with 10,000 nodes each, here for a fixed time.",
        "ثلاثة خوادم؛ عميل واحد ثم 100 عميل، لكل منهم طلب معلّق واحد على عقده الخاصة؛ نُشرت بعدد 10,000 عقدة لكل عميل، وهنا لمدة ثابتة.",
    ),
    published: text(
        "Alone 1.6 ms to create and 1.3 ms to delete a node; 100 clients need 55.3 s and 54.4 s for 1,000,000 nodes, which is about 18,000 a second.",
        "عميل وحده: 1.6 ملّي ثانية للإنشاء و1.3 للحذف؛ و100 عميل: 55.3 و54.4 ثانية لكل 1,000,000 عقدة، أي نحو 18,000 في الثانية.",
    ),
    references: &[
        Reference { series: "create", figure: figure::RATE, points: &[(1.0, 625.0), (100.0, 18_083.0)] },
        Reference { series: "delete", figure: figure::RATE, points: &[(1.0, 769.0), (100.0, 18_382.0)] },
    ],
    panels: &[
        Panel {
            title: text("Nodes a second", "العقد في الثانية"),
            x: CLIENTS,
            figure: figure::RATE,
            shape: Shape::Bars,
        },
        Panel {
            title: text("Mean latency", "متوسط زمن الاستجابة"),
            x: CLIENTS,
            figure: figure::MEAN,
            shape: Shape::Bars,
        },
    ],
    ratios: &[figure::RATE, figure::MEAN, figure::P99, figure::CPU],
    plan,
};

const CLIENTS: super::Text = text("clients", "عدد العملاء");

fn plan(scale: &Scale) -> Plan {
    let spec = |clients: usize| {
        let task = scale.own(clients, 10_000, 0, &[Step::Create, Step::Delete]);
        Spec::new("", clients, task).split(Split::Series)
    };
    Plan { blocks: vec![Block::of(3, vec![spec(1), spec(100)])], ..Plan::default() }
}
