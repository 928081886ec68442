//! Z3: double barriers.

use super::text::{ZOOKEEPER_2010, text};
use super::{
    Block, Description, Experiment, Middle, Panel, Plan, Reference, Scale, Spec, Text, clients, figure,
};
use crate::task::{Kind, Task};

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "Z3",
        title: text("Double barriers", "الحواجز المزدوجة"),
        source: ZOOKEEPER_2010,
        setup: text(
            "All clients enter some barriers one after the other, each time waiting for all clients, then leave them all; the first one does not count. A rate counts each client's entering and leaving.",
            "يدخل جميع العملاء الحواجز واحدًا تلو الآخر منتظرين الجميع في كل مرة، ثم يغادرونها كلها؛ ولا يُحسب الحاجز الأول. يُحسب في المعدل دخول كل عميل وخروجه.",
        ),
        published: text(
            "Entering takes about 3 ms. 50 clients: 1,950 barriers a second (200 barriers) to 3,100 (1,600); 200 clients: 7,000 to 8,600.",
            "يستغرق الدخول نحو 3 ملّي ثانية. مع 50 عميلًا: من 1,950 حاجزًا في الثانية (200 حاجز) إلى 3,100 (1,600 حاجز)؛ ومع 200 عميل: من 7,000 إلى 8,600.",
        ),
        references: &[
            Reference::of("50 clients", figure::RATE, &[(200.0, 1950.0), (1600.0, 3100.0)]),
            Reference::of("200 clients", figure::RATE, &[(200.0, 7000.0), (1600.0, 8600.0)]),
        ],
        panels: &[
            Panel::lines_over_log(
                text("Barriers entered and left", "الحواجز دخولًا وخروجًا"),
                BARRIERS,
                figure::RATE,
            ),
            Panel::lines_over_log(
                text("Median time to pass one", "وسيط زمن عبور الحاجز"),
                BARRIERS,
                figure::P50,
            ),
        ],
        ratios: &[figure::RATE, figure::P50, figure::CPU],
        middle: Middle::Mean,
    },
    plan,
};

const BARRIERS: Text = text("barriers", "عدد الحواجز");

fn plan(scale: &Scale) -> Plan {
    let crowds: &[usize] = scale.pick(&[10, 50, 100], &[50, 100, 200]);
    let barriers: &[u32] = scale.pick(&[20, 40, 80], &[200, 400, 800, 1600]);
    let spec = |crowd: usize, count: u32| {
        let least = |count: u32| if scale.is_trial() { count.min(5) } else { count };
        let task = Task { clients: crowd, count: least(count), value_bytes: 0, ..Task::of(Kind::Barriers) };
        Spec::new(clients(crowd), count, task)
    };
    let specs = crowds.iter().flat_map(|crowd| barriers.iter().map(|count| spec(*crowd, *count)));
    Plan { blocks: vec![Block::of(3, specs.collect())], ..Plan::default() }
}
