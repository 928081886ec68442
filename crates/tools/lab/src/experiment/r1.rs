//! R1: making and deleting empty nodes.

use super::text::{CLIENTS, MEAN_LATENCY, RUST_LOAD_TEST, text};
use super::{Block, Description, Experiment, Middle, Panel, Plan, Reference, Scale, Spec, Split, figure};
use crate::task::Step;

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "R1",
        title: text("Creating and deleting empty nodes", "إنشاء العقد الفارغة وحذفها"),
        source: RUST_LOAD_TEST,
        setup: text(
            "Three servers; one client, and 100, each with one request outstanding on nodes of its own; published with 10,000 nodes each, here for a fixed time.",
            "ثلاثة خوادم؛ عميل واحد ثم 100 عميل، لكل منهم طلب معلّق واحد على عقده الخاصة؛ نُشرت بعدد 10,000 عقدة لكل عميل، وهنا لمدة ثابتة.",
        ),
        published: text(
            "Alone 1.6 ms to create and 1.3 ms to delete a node; 100 clients need 55.3 s and 54.4 s for 1,000,000 nodes, which is about 18,000 a second.",
            "عميل وحده: 1.6 ملّي ثانية للإنشاء و1.3 للحذف؛ و100 عميل: 55.3 و54.4 ثانية لكل 1,000,000 عقدة، أي نحو 18,000 في الثانية.",
        ),
        references: &[
            Reference::of("create", figure::RATE, &[(1.0, 625.0), (100.0, 18_083.0)]),
            Reference::of("delete", figure::RATE, &[(1.0, 769.0), (100.0, 18_382.0)]),
        ],
        panels: &[
            Panel::bars(text("Nodes a second", "العقد في الثانية"), CLIENTS, figure::RATE),
            Panel::bars(MEAN_LATENCY, CLIENTS, figure::MEAN),
        ],
        ratios: &[figure::RATE, figure::MEAN, figure::P99, figure::CPU],
        middle: Middle::Mean,
    },
    plan,
};

fn plan(scale: &Scale) -> Plan {
    let spec = |clients: usize| {
        let task = scale.own(clients, 10_000, 0, &[Step::Create, Step::Delete]);
        Spec::new("", clients, task).split(Split::Series)
    };
    Plan { blocks: vec![Block::of(3, vec![spec(1), spec(100)])], ..Plan::default() }
}
