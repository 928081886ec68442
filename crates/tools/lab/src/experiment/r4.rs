//! R4: many clients.

use tools_testbed::Setting;

use super::text::{CLIENTS, MEAN_LATENCY, REQUESTS, RUST_LOAD_TEST, text};
use super::{Block, Description, Experiment, Middle, Panel, Plan, Reference, Scale, Spec, Split, figure};
use crate::task::Step;

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "R4",
        title: text("Thousands of clients", "آلاف العملاء"),
        source: RUST_LOAD_TEST,
        setup: text(
            "Three servers; 1,000 clients, and 5,000, each with one request outstanding on nodes of 300 bytes of its own.",
            "ثلاثة خوادم؛ 1,000 عميل ثم 5,000، لكل منهم طلب معلّق واحد على عقده الخاصة بحجم 300 بايت.",
        ),
        published: text(
            "10,000,000 operations of 1,000 and of 5,000 clients: create 250 and 262 s, set 206 and 227 s, get 104 and 133 s, mixed 184 and 193 s; a call takes 10 to 124 ms on average.",
            "عشرة ملايين عملية من 1,000 عميل ومن 5,000 عميل: الإنشاء 250 و262 ثانية، والكتابة 206 و227، والقراءة 104 و133، والمختلط 184 و193؛ ومتوسط النداء من 10 إلى 124 ملّي ثانية.",
        ),
        references: &[
            Reference::of("create", figure::RATE, &[(1000.0, 40_000.0), (5000.0, 38_168.0)]),
            Reference::of("set", figure::RATE, &[(1000.0, 48_544.0), (5000.0, 44_053.0)]),
            Reference::of("get", figure::RATE, &[(1000.0, 96_154.0), (5000.0, 75_188.0)]),
            Reference::of("mixed", figure::RATE, &[(1000.0, 54_348.0), (5000.0, 51_813.0)]),
        ],
        panels: &[
            Panel::bars(REQUESTS, CLIENTS, figure::RATE),
            Panel::bars(MEAN_LATENCY, CLIENTS, figure::MEAN),
        ],
        ratios: &[figure::RATE, figure::MEAN, figure::P99, figure::CPU],
        middle: Middle::Mean,
    },
    plan,
};

fn plan(scale: &Scale) -> Plan {
    let steps = [Step::Create, Step::Set, Step::Get, Step::Mixed, Step::Delete];
    let crowds: &[(usize, u32)] = &[(1000, 10_000), (5000, 2000)];
    let spec = |(clients, count): &(usize, u32)| {
        Spec::new("", clients, scale.own(*clients, *count, 300, &steps)).split(Split::Series)
    };
    let crowds = if scale.is_trial() { &[(200, 0), (400, 0)] } else { crowds };
    let setting = Setting { heap_mb: scale.pick(1024, 8192), ..Setting::of(3) };
    let specs = crowds.iter().map(spec).collect();
    Plan { blocks: vec![Block::with(setting, specs)], ..Plan::default() }
}
