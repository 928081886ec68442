//! A lock that one client acquires and releases.

use super::text::{
    CLIENTS, MEDIAN_LATENCY, NOT_PUBLISHED_OF_RECIPES, NOTHING_PUBLISHED, PERCENTILE_99, RECIPES_CPU, text,
};
use super::{Block, Description, Experiment, Middle, Panel, Plan, Scale, Spec, figure};
use crate::measure::System;
use crate::task::Kind;

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "recipe-lock",
        title: text("A lock that nobody else wants", "قفل لا يطلبه أحد غيره"),
        source: NOT_PUBLISHED_OF_RECIPES,
        setup: text(
            "Three servers. One client, connected to the leader, acquires a lock and releases it, again and again; both together are one operation. Diwan's objects and etcd are asked by a session of their own; Curator is InterProcessMutex; Hazelcast is FencedLock of its CP subsystem, in memory only; Redis is SET NX PX with a release in Lua, answered before it is replicated and flushed once a second. Each grant has a higher fence than the one before, where there are fences.",
            "ثلاثة خوادم. عميل واحد متصل بالقائد يأخذ قفلًا ثم يحرره مرة بعد مرة؛ والاثنان معًا عملية واحدة. كائنات ديوان وetcd يُسألان بجلسة خاصة؛ وCurator هو InterProcessMutex؛ وHazelcast هو FencedLock في الذاكرة وحدها؛ وRedis هو SET NX PX مع تحرير بلغة Lua، يجيب قبل النسخ ويكتب على القرص مرة كل ثانية. ولكل منح رقم سياج أعلى مما قبله حيث توجد أرقام.",
        ),
        published: NOTHING_PUBLISHED,
        references: &[],
        panels: &[
            Panel::bars(MEDIAN_LATENCY, CLIENTS, figure::P50),
            Panel::bars(PERCENTILE_99, CLIENTS, figure::P99),
            Panel::bars(RECIPES_CPU, CLIENTS, figure::CPU),
        ],
        ratios: &[figure::P50, figure::P99, figure::CPU],
        middle: Middle::Median,
    },
    plan,
};

fn plan(scale: &Scale) -> Plan {
    let mut pair = Spec::new("", "1 client", scale.recipe(Kind::LockPair, 1));
    pair.at_leader = true;
    let block = Block::of(3, vec![pair]).only(&System::OF_RECIPES);
    Plan { blocks: vec![block], ..Plan::default() }
}
