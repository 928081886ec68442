//! Producers on three brokers, of which each has a replica of every partition.

use super::text::{BROKERS_CPU, NOT_PUBLISHED, NOTHING_PUBLISHED, PERCENTILE_999, text};
use super::{BrokerBlock, BrokerSpec, Description, Experiment, Middle, Panel, Plan, Scale, Text, figure};
use crate::log::{Job, Mode};

const OFFERED: Text = text(
    "messages offered a second; 50 a request: as fast as it goes",
    "الرسائل المعروضة في الثانية؛ 50 في الطلب: بأقصى سرعة",
);

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "log-replicas",
        title: text("Three replicas", "ثلاث نسخ"),
        source: NOT_PUBLISHED,
        setup: text(
            "Three brokers on one machine. Kafka: three processes, each broker and controller. Diwan: three processes, each a member of the council and a broker; the council's work counts. Six idempotent producers, each with a partition of its own; of six partitions each broker leads two. Three replicas, min.insync.replicas=2, acks=all, 50 messages of 200 bytes a request. Kafka answers once all replicas in sync have a batch, Diwan once a majority has it. Page cache: they have it in memory (Kafka's default; Diwan with diwan.durability=replicated). Flushed: it is on their disks (Kafka with flush.messages=1; Diwan's default). First with five requests in flight of each producer, then at a fixed rate: 20,000 and 50,000 messages a second in page cache mode, 10,000 flushed; there a latency counts from the moment at which the request was due. An operation is a message; processor time is that of all brokers together.",
            "ثلاثة وسطاء على جهاز واحد. كافكا: ثلاث عمليات كل منها وسيط ومتحكم. ديوان: ثلاث عمليات كل منها عضو في المجلس ووسيط، وعمل المجلس محسوب. ستة منتجين متكررين بأمان، لكل منهم قسم؛ ويقود كل وسيط قسمين من الستة. ثلاث نسخ، min.insync.replicas=2، acks=all، 50 رسالة بحجم 200 بايت في الطلب. تجيب كافكا حين تكون الدفعة عند جميع النسخ المتزامنة، ويجيب ديوان حين تكون عند أغلبيتها. «ذاكرة الصفحات»: هي في ذاكرتها (افتراضي كافكا؛ وديوان بضبط diwan.durability=replicated). «مكتوب على القرص»: هي على أقراصها (كافكا بضبط flush.messages=1؛ وافتراضي ديوان). أولًا بخمسة طلبات معلقة لكل منتج، ثم بمعدل ثابت: 20,000 ثم 50,000 رسالة في الثانية بنمط ذاكرة الصفحات، و10,000 مع الكتابة على القرص؛ وعندئذ يُحسب الزمن من لحظة استحقاق الطلب. العملية رسالة، وزمن المعالج لجميع الوسطاء معًا.",
        ),
        published: NOTHING_PUBLISHED,
        references: &[],
        panels: &[
            Panel::bars(BROKERS_CPU, OFFERED, figure::CPU),
            Panel::bars(PERCENTILE_999, OFFERED, figure::P999),
            Panel::bars(
                text("Messages that were acknowledged a second", "الرسائل المؤكدة في الثانية"),
                OFFERED,
                figure::RATE,
            ),
        ],
        ratios: &[figure::CPU, figure::RATE, figure::P999],
        middle: Middle::Median,
    },
    plan,
};

const BROKERS: usize = 3;
const PRODUCERS: usize = 6;
const BATCH: usize = 50;
/// As many requests as `max.in.flight.requests.per.connection` permits.
const IN_FLIGHT: usize = 5;

fn plan(scale: &Scale) -> Plan {
    let job = |mode, outstanding, requests_per_second| Job::Produce {
        mode,
        producers: PRODUCERS,
        batch: BATCH,
        outstanding,
        requests_per_second,
        is_idempotent: true,
    };
    let fastest = |mode: Mode| BrokerSpec::new(mode.name(), BATCH, job(mode, IN_FLIGHT, 0.0));
    // No plan depends on what another point reached: the rates are fixed, but for one that the operator gives.
    let at_rate = |mode: Mode, per_second: u32| {
        BrokerSpec::new(mode.name(), per_second, job(mode, 0, f64::from(per_second) / BATCH as f64))
    };
    let mut specs = vec![
        fastest(Mode::PageCache),
        at_rate(Mode::PageCache, 20_000),
        at_rate(Mode::PageCache, 50_000),
        fastest(Mode::Flushed),
        at_rate(Mode::Flushed, 10_000),
    ];
    let further = scale.rate.filter(|rate| ![20_000, 50_000].contains(rate));
    specs.extend(further.map(|rate| at_rate(Mode::PageCache, rate)));
    Plan::of_brokers(vec![BrokerBlock::of_cluster(BROKERS, specs)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_of_the_operator_is_one_more_point_unless_it_is_there() {
        let points = |rate| plan(&Scale::small().at_rate(rate)).brokers[0].specs.len();
        assert_eq!([None, Some(20_000), Some(73_000)].map(points), [5, 5, 6]);
    }
}
