//! Replicas move to another broker under load.

use std::time::Duration;

use super::text::{NOT_PUBLISHED, NOTHING_PUBLISHED, text};
use super::{BrokerBlock, BrokerSpec, Description, Experiment, Middle, Panel, Plan, Scale, Text, figure};
use crate::log::Job;

const HAPPENS: Text = text("what happens", "ما يحدث");

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "log-reassignment",
        title: text("Replicas move under load", "نقل النسخ تحت الحمل"),
        source: NOT_PUBLISHED,
        setup: text(
            "Three brokers as in log-replicas, page cache mode. A topic of six partitions has 1 GB of messages (10 GB as published, 50 MB in a trial), on the first broker, which leads, and the second. Six idempotent producers write 3,000 messages of 200 bytes a second to another topic with three replicas, as in log-rolling. Their latencies are taken before, and while the replicas on the second broker move to the third one (AlterPartitionReassignments, without a throttle): from the request until ListPartitionReassignments names none. All brokers share one disk. Its share is the rate of the move over that of one file of as many bytes, 1 GiB at most, that is written in one go and flushed when no producer runs; a move that the operating system keeps in memory may be faster. At the end the third broker leads what moved, and all messages of both topics must be there.",
            "ثلاثة وسطاء كما في log-replicas، بنمط ذاكرة الصفحات. لموضوع من ستة أقسام رسائل حجمها 1 غيغابايت (و10 كما نُشر، و50 ميغابايت في التجربة السريعة)، على الوسيط الأول، وهو القائد، وعلى الثاني. يكتب ستة منتجين متكررين بأمان 3,000 رسالة بحجم 200 بايت في الثانية إلى موضوع آخر بثلاث نسخ، كما في log-rolling. وتؤخذ أزمنتهم قبل النقل، وحين تنتقل النسخ من الوسيط الثاني إلى الثالث (AlterPartitionReassignments بلا حدّ): من الطلب إلى أن لا تسمّي ListPartitionReassignments شيئًا. وللوسطاء جميعًا قرص واحد. وحصته معدل النقل إلى معدل ملف بالحجم نفسه، 1 غيبيبايت على الأكثر، يُكتب دفعة واحدة إلى القرص دون منتجين؛ وقد يكون النقل الذي يُبقيه النظام في الذاكرة أسرع. وفي النهاية يقود الوسيط الثالث ما نُقل، ويجب أن توجد رسائل الموضوعين كلها.",
        ),
        published: NOTHING_PUBLISHED,
        references: &[],
        panels: &[
            Panel::bars(
                text("99.9th percentile, with over without", "المئين 99.9 معه إلى ما دونه"),
                HAPPENS,
                figure::P999_RATIO,
            ),
            Panel::bars(text("Moved", "المنقول"), HAPPENS, figure::MOVED),
        ],
        ratios: &[figure::P999_RATIO, figure::P999],
        middle: Middle::Median,
    },
    plan,
};

const BROKERS: usize = 3;
const PER_SECOND: f64 = 3000.0;

fn plan(scale: &Scale) -> Plan {
    let bytes = scale.sized(50_000_000, 1_000_000_000, 10_000_000_000);
    let without = Duration::from_secs(scale.sized(2, 10, 30));
    let job = Job::Reassign { bytes, per_second: PER_SECOND, without };
    let specs = vec![BrokerSpec::new("", "replicas move", job)];
    Plan::of_brokers(vec![BrokerBlock::of_cluster(BROKERS, specs)])
}
