//! All brokers of three are restarted on purpose under load.

use super::text::{NOT_PUBLISHED, NOTHING_PUBLISHED, PERCENTILE_999, text};
use super::{BrokerBlock, BrokerSpec, Description, Experiment, Middle, Panel, Plan, Scale, Text, figure};
use crate::log::Job;

const HAPPENS: Text = text("what happens", "ما يحدث");

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "log-rolling",
        title: text("A rolling restart under load", "إعادة تشغيل متتابعة تحت الحمل"),
        source: NOT_PUBLISHED,
        setup: text(
            "Three brokers as in log-replicas, six partitions with three replicas each, page cache mode. Six idempotent producers, one for each partition, together 3,000 messages of 200 bytes a second in groups of five, with acks=all and the timers that Kafka's Java client has by default, as in log-failover. One broker after the other is stopped (SIGTERM), started again, and in sync before the next one. A latency is that of five messages, from the moment at which they were due, from the first signal until all are in sync again. A message that a producer cannot deliver fails the point; at the end every acknowledged message must be there once. A starting JVM takes both processors of a small machine for some seconds, from the brokers that live, too.",
            "ثلاثة وسطاء كما في log-replicas، وستة أقسام بثلاث نسخ لكل قسم، بنمط ذاكرة الصفحات. ستة منتجين متكررين بأمان، لكل قسم منتج، يرسلون معًا 3,000 رسالة بحجم 200 بايت في الثانية خمسًا خمسًا، مع acks=all وبالمهل الافتراضية لعميل كافكا بلغة جافا كما في log-failover. يوقَف وسيط بعد آخر (SIGTERM) ويُشغَّل من جديد ويتزامن قبل التالي. والزمن لكل خمس رسائل من لحظة استحقاقها، من أول إشارة إلى أن تتزامن كلها ثانية. والرسالة التي لا يستطيع المنتج تسليمها تُسقط النقطة؛ وفي النهاية يجب أن توجد كل رسالة مؤكدة مرة واحدة. وآلة جافا حين تبدأ تشغل معالجَي جهاز صغير بضع ثوانٍ، على الوسطاء الأحياء أيضًا.",
        ),
        published: NOTHING_PUBLISHED,
        references: &[],
        panels: &[
            Panel::bars(text("The slowest messages", "أبطأ الرسائل"), HAPPENS, figure::MAX),
            Panel::bars(PERCENTILE_999, HAPPENS, figure::P999),
        ],
        ratios: &[figure::MAX, figure::P999],
        middle: Middle::Median,
    },
    plan,
};

const BROKERS: usize = 3;
const PRODUCERS: i32 = 6;
const PER_SECOND: f64 = 3000.0;

fn plan(_: &Scale) -> Plan {
    let job = Job::Rolling { producers: PRODUCERS, per_second: PER_SECOND };
    let specs = vec![BrokerSpec::new("", "rolling restart", job)];
    Plan::of_brokers(vec![BrokerBlock::of_cluster(BROKERS, specs)])
}
