//! Many idempotent producers.

use super::text::{BROKER_CPU, NOT_PUBLISHED, NOTHING_PUBLISHED, PERCENTILE_999, text};
use super::{BrokerBlock, BrokerSpec, Description, Experiment, Middle, Panel, Plan, Scale, Text, figure};
use crate::log::{Job, Mode};

const OFFERED: Text = text(
    "messages offered a second; 80 a request: as fast as it goes",
    "الرسائل المعروضة في الثانية؛ 80 في الطلب: بأقصى سرعة",
);

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "log-producers",
        title: text("A hundred idempotent producers", "مئة منتج متكرر بأمان"),
        source: NOT_PUBLISHED,
        setup: text(
            "100 producers, 100 partitions, acks=all, idempotent, page cache mode. First they send as fast as they are answered: 80 messages of 200 bytes a request (batch.size), five requests in flight each. Then, as with linger.ms=5, a producer sends what it gathered within 5 ms, or within 10 ms at the lower rate, to its partition: 5 messages. There the rate is fixed; a latency counts from the moment at which the request was due. An operation is a message.",
            "100 منتج و100 قسم، acks=all، متكررة بأمان، بنمط ذاكرة الصفحات. أولًا يرسلون بقدر ما يُجابون: 80 رسالة بحجم 200 بايت في الطلب (batch.size)، وخمسة طلبات معلقة لكل منتج. ثم، كما مع linger.ms=5، يرسل المنتج ما جمعه خلال 5 ملّي ثوانٍ، أو 10 في المعدل الأدنى، إلى قسمه: 5 رسائل. عندئذ المعدل ثابت، ويُحسب الزمن من لحظة استحقاق الطلب. العملية رسالة.",
        ),
        published: NOTHING_PUBLISHED,
        references: &[],
        panels: &[
            Panel::bars(BROKER_CPU, OFFERED, figure::CPU),
            Panel::bars(PERCENTILE_999, OFFERED, figure::P999),
            Panel::bars(
                text("Messages that were acknowledged a second", "الرسائل المؤكدة في الثانية"),
                OFFERED,
                figure::RATE,
            ),
        ],
        ratios: &[figure::CPU, figure::P999, figure::P50],
        middle: Middle::Median,
    },
    plan,
};

const PRODUCERS: usize = 100;
const BATCH: usize = 5;
/// As many messages as `batch.size` has room for, and as many requests as `max.in.flight.requests.per.connection` permits.
const FULL_BATCH: usize = 80;
const IN_FLIGHT: usize = 5;

fn plan(_: &Scale) -> Plan {
    let job = |batch, outstanding, requests_per_second| Job::Produce {
        mode: Mode::PageCache,
        producers: PRODUCERS,
        batch,
        outstanding,
        requests_per_second,
        is_idempotent: true,
    };
    let at_rate = |every_ms: f64| {
        let requests_per_second = PRODUCERS as f64 * 1000.0 / every_ms;
        BrokerSpec::new("", requests_per_second * BATCH as f64, job(BATCH, 0, requests_per_second))
    };
    let fastest = BrokerSpec::new("", FULL_BATCH as f64, job(FULL_BATCH, IN_FLIGHT, 0.0));
    Plan::of_brokers(vec![BrokerBlock::of(vec![fastest, at_rate(10.0), at_rate(5.0)])])
}
