//! Stale queries of a counter.

use super::text::{CLIENTS, MEDIAN_LATENCY, NOT_PUBLISHED_OF_RECIPES, NOTHING_PUBLISHED, RECIPES_CPU, text};
use super::{Block, Description, Experiment, Middle, Panel, Plan, Scale, Spec, crowd_of, figure};
use crate::task::{Kind, Task};

/// Queries that a client keeps outstanding.
const OUTSTANDING: usize = 16;

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "recipe-query",
        title: text("Stale queries of objects", "استعلامات قديمة للكائنات"),
        source: NOT_PUBLISHED_OF_RECIPES,
        setup: text(
            "Three servers, over which clients are spread. Each client keeps 16 queries of a counter outstanding on its connection, which the server may answer from its own state. Every answer must have the counter's value. Only Diwan's objects take part, and beside them the HTTP server that serves them, which answers every request alike (`bare-http`).",
            "ثلاثة خوادم يتوزع عليها العملاء. يُبقي كل عميل على اتصاله 16 استعلامًا معلقًا عن عدّاد، وللخادم أن يجيب عنها من حالته هو. ويجب أن يكون في كل جواب قيمة العدّاد. لا يشارك إلا كائنات ديوان، ومعها خادم HTTP الذي يخدمها وهو يجيب عن كل طلب بالجواب نفسه (`bare-http`).",
        ),
        published: NOTHING_PUBLISHED,
        references: &[],
        panels: &[
            Panel::bars(text("Queries a second", "الاستعلامات في الثانية"), CLIENTS, figure::RATE),
            Panel::bars(MEDIAN_LATENCY, CLIENTS, figure::P50),
            Panel::bars(RECIPES_CPU, CLIENTS, figure::CPU),
        ],
        ratios: &[figure::CPU],
        middle: Middle::Median,
    },
    plan,
};

fn plan(scale: &Scale) -> Plan {
    let spec = |crowd: &usize| {
        let task = Task { outstanding: OUTSTANDING, ..scale.recipe(Kind::StaleQuery, *crowd) };
        Spec::new("", crowd_of(*crowd), task)
    };
    let block = Block::of(3, [1, 16].iter().map(spec).collect()).only(&["objects", "bare-http"]);
    Plan { blocks: vec![block], ..Plan::default() }
}
