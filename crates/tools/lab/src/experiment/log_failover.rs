//! A broker of three fails under a producer.

use std::time::Duration;

use super::text::{NOT_PUBLISHED, NOTHING_PUBLISHED, PERCENTILE_999, text};
use super::{BrokerBlock, BrokerSpec, Description, Experiment, Middle, Panel, Plan, Scale, Text, figure};
use crate::log::{Fault, Job};

const HAPPENS: Text = text("what happens", "ما يحدث");

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "log-failover",
        title: text("A broker of three fails", "تعطّل وسيط من ثلاثة"),
        source: NOT_PUBLISHED,
        setup: text(
            "Three brokers as in log-replicas, one partition with three replicas, page cache mode. One idempotent producer sends 5 messages of 200 bytes every 5 ms, with acks=all and the timers that Kafka's Java client has by default: five requests in flight, 30 s until a request has no answer, 100 ms to 1 s before another try. The broker that leads the partition is killed (SIGKILL) several times, and started again and in sync before the next time; or it is stopped (SIGSTOP) until another broker acknowledges. Counted is the time from the signal until another broker acknowledges a message, and until the other brokers' Metadata names another leader: a client with default timers waits 30 s for a leader that stands still, whoever leads meanwhile. Whether the broker also leads the council, or the controllers, is left to chance. Then a broker that follows is stopped for 10 s, after 10 s in which nothing happens; a latency is that of 5 messages, from the moment at which they were due. At the end every acknowledged message must be there once.",
            "ثلاثة وسطاء كما في log-replicas، وقسم واحد بثلاث نسخ، بنمط ذاكرة الصفحات. منتج متكرر بأمان يرسل 5 رسائل بحجم 200 بايت كل 5 ملّي ثوانٍ، مع acks=all وبالمهل الافتراضية لعميل كافكا بلغة جافا: خمسة طلبات معلقة، و30 ثانية حتى يُعدّ الطلب بلا جواب، ومن 100 ملّي ثانية إلى ثانية قبل محاولة أخرى. يُقتل الوسيط الذي يقود القسم (SIGKILL) عدة مرات، ويُشغَّل من جديد ويتزامن قبل المرة التالية؛ أو يُجمَّد (SIGSTOP) إلى أن يؤكد وسيط آخر. يُحسب الزمن من الإشارة إلى أن يؤكد وسيط آخر رسالة، وإلى أن تسمّي Metadata لدى سائر الوسطاء قائدًا آخر: فالعميل بالمهل الافتراضية ينتظر قائدًا متجمدًا 30 ثانية أيًّا كان القائد حينئذ. أما أن يكون الوسيط نفسه قائد المجلس أو المتحكمات فمتروك للمصادفة. ثم يُجمَّد وسيط تابع 10 ثوانٍ، بعد 10 ثوانٍ لا يحدث فيها شيء؛ والزمن لكل خمس رسائل من لحظة استحقاقها. وفي النهاية يجب أن توجد كل رسالة مؤكدة مرة واحدة.",
        ),
        published: NOTHING_PUBLISHED,
        references: &[],
        panels: &[
            Panel::bars(
                text("Until another broker acknowledges", "إلى أن يؤكد وسيط آخر"),
                HAPPENS,
                figure::TAKEOVER,
            ),
            Panel::bars(
                text("Until another leader is known", "إلى أن يُعرف قائد آخر"),
                HAPPENS,
                figure::NEW_LEADER,
            ),
            Panel::bars(PERCENTILE_999, HAPPENS, figure::P999),
        ],
        ratios: &[figure::TAKEOVER, figure::NEW_LEADER, figure::P999],
        middle: Middle::Median,
    },
    plan,
};

const BROKERS: usize = 3;
const PER_SECOND: f64 = 1000.0;

fn plan(scale: &Scale) -> Plan {
    let spec = |fault: Fault, times: u32| {
        BrokerSpec::new("", fault.name(), Job::Failover { fault, times, per_second: PER_SECOND })
    };
    let still = Duration::from_secs(scale.sized(3, 10, 10));
    let specs = vec![
        spec(Fault::FollowerStandsStill(still), 1),
        spec(Fault::LeaderIsKilled, scale.sized(2, 4, 10)),
        spec(Fault::LeaderStandsStill, scale.sized(1, 1, 5)),
    ];
    Plan::of_brokers(vec![BrokerBlock::of_cluster(BROKERS, specs)])
}
