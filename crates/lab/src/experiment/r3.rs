//! R3: reading, reading or writing, deleting nodes of 1,000 bytes.

use super::{Block, Experiment, Panel, Plan, Reference, Scale, Shape, Spec, Split, figure, text};
use crate::task::Step;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "R3",
    title: text("Reading, mixing and deleting 1,000 bytes", "قراءة 1,000 بايت وخلطها وحذفها"),
    setup: text(
        "Three servers, 100 clients with one request outstanding each: create nodes of 1,000 bytes, read them, read or write them in turn, delete them.",
        "ثلاثة خوادم و100 عميل لكل منهم طلب معلّق واحد: إنشاء عقد بحجم 1,000 بايت، ثم قراءتها، ثم قراءتها وكتابتها بالتناوب، ثم حذفها.",
    ),
    published: text(
        "1,000,000 reads take 55.5 s, reads or writes 90.5 s, deletions of non-empty nodes 59.1 s.",
        "مليون قراءة تستغرق 55.5 ثانية، والقراءة أو الكتابة 90.5 ثانية، وحذف العقد غير الفارغة 59.1 ثانية.",
    ),
    references: &[
        Reference { series: "get", figure: figure::RATE, points: &[(100.0, 18_018.0)] },
        Reference { series: "mixed", figure: figure::RATE, points: &[(100.0, 11_050.0)] },
        Reference { series: "delete", figure: figure::RATE, points: &[(100.0, 16_920.0)] },
    ],
    panels: &[
        Panel {
            title: text("Requests a second", "الطلبات في الثانية"),
            x: CLIENTS,
            figure: figure::RATE,
            shape: Shape::Bars,
        },
        Panel {
            title: text("Processor time of all servers", "زمن المعالج لجميع الخوادم"),
            x: CLIENTS,
            figure: figure::CPU,
            shape: Shape::Bars,
        },
    ],
    ratios: &[figure::RATE, figure::P99, figure::CPU],
    plan,
};

const CLIENTS: super::Text = text("clients", "عدد العملاء");

fn plan(scale: &Scale) -> Plan {
    let steps = [Step::Create, Step::Get, Step::Mixed, Step::Delete];
    let spec = Spec::new("", 100, scale.own(100, 10_000, 1000, &steps)).split(Split::Series);
    Plan { blocks: vec![Block::of(3, vec![spec])], ..Plan::default() }
}
