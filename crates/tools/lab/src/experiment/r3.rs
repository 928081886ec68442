//! R3: reading, reading or writing, deleting nodes of 1,000 bytes.

use super::text::{CLIENTS, REQUESTS, RUST_LOAD_TEST, SERVERS_CPU, text};
use super::{Block, Description, Experiment, Middle, Panel, Plan, Reference, Scale, Spec, Split, figure};
use crate::task::Step;

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "R3",
        title: text(
            "Reading, mixing and deleting 1,000 bytes",
            "قراءة عقد بحجم 1,000 بايت، والقراءة والكتابة بالتناوب، والحذف",
        ),
        source: RUST_LOAD_TEST,
        setup: text(
            "Three servers, 100 clients with one request outstanding each: create nodes of 1,000 bytes, read them, read or write them in turn, delete them.",
            "ثلاثة خوادم و100 عميل لكل منهم طلب معلّق واحد: إنشاء عقد بحجم 1,000 بايت، ثم قراءتها، ثم قراءتها وكتابتها بالتناوب، ثم حذفها.",
        ),
        published: text(
            "1,000,000 reads take 55.5 s, reads or writes 90.5 s, deletions of non-empty nodes 59.1 s.",
            "مليون قراءة تستغرق 55.5 ثانية، والقراءة أو الكتابة 90.5 ثانية، وحذف العقد غير الفارغة 59.1 ثانية.",
        ),
        references: &[
            Reference::of("get", figure::RATE, &[(100.0, 18_018.0)]),
            Reference::of("mixed", figure::RATE, &[(100.0, 11_050.0)]),
            Reference::of("delete", figure::RATE, &[(100.0, 16_920.0)]),
        ],
        panels: &[
            Panel::bars(REQUESTS, CLIENTS, figure::RATE),
            Panel::bars(SERVERS_CPU, CLIENTS, figure::CPU),
        ],
        ratios: &[figure::RATE, figure::P99, figure::CPU],
        middle: Middle::Mean,
    },
    plan,
};

fn plan(scale: &Scale) -> Plan {
    let steps = [Step::Create, Step::Get, Step::Mixed, Step::Delete];
    let spec = Spec::new("", 100, scale.own(100, 10_000, 1000, &steps)).split(Split::Series);
    Plan { blocks: vec![Block::of(3, vec![spec])], ..Plan::default() }
}
