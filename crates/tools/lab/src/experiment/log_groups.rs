//! A member of a large consumer group dies.

use super::text::{NOT_PUBLISHED, NOTHING_PUBLISHED, text};
use super::{BrokerBlock, BrokerSpec, Description, Experiment, Middle, Panel, Plan, Scale, Text, figure};
use crate::log::Job;

const MEMBERS: Text = text("members of the group", "أعضاء المجموعة");

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "log-groups",
        title: text("A member of a consumer group dies", "موت عضو في مجموعة مستهلكين"),
        source: NOT_PUBLISHED,
        setup: text(
            "Three brokers as in log-replicas. A consumer group of KIP-848 has 100 members, which read two partitions each of a topic with three replicas; every partition gets ten messages a second. The group has heartbeats every 50 ms and a session timeout of 3 s on both systems, instead of 5 s and 45 s: a member learns of new partitions by its heartbeats. One member dies: its connections close, without a word to the coordinator. The others go on with what they have. Counted is the time from the end of the dead member's session, 3 s after the answer to its last heartbeat, until each of its partitions is read by another member, from what was committed on. A new member takes its place, and all is quiet for 1.5 s, before the next death. Every acknowledged message must be read by the group.",
            "ثلاثة وسطاء كما في log-replicas. في مجموعة مستهلكين (KIP-848) 100 عضو، يقرأ كل منهم قسمين من موضوع بثلاث نسخ؛ ويتلقى كل قسم عشر رسائل في الثانية. نبضات المجموعة كل 50 ملّي ثانية ومهلة الجلسة 3 ثوانٍ في النظامين، بدل 5 ثوانٍ و45: فالعضو يعلم بالأقسام الجديدة من نبضاته. يموت عضو: تُغلق اتصالاته بلا كلمة إلى المنسق. ويمضي الآخرون فيما لديهم. يُحسب الزمن من نهاية جلسة الميت، بعد 3 ثوانٍ من جواب آخر نبضة له، إلى أن يقرأ عضو آخر كلًا من أقسامه مما حُفظ فصاعدًا. ويحل محله عضو جديد، ويهدأ كل شيء 1.5 ثانية قبل الموت التالي. ويجب أن تقرأ المجموعة كل رسالة مؤكدة.",
        ),
        published: NOTHING_PUBLISHED,
        references: &[],
        panels: &[Panel::bars(
            text("Until all is consumed again", "إلى أن يُستهلك الكل ثانية"),
            MEMBERS,
            figure::CONSUMED_AGAIN,
        )],
        ratios: &[figure::CONSUMED_AGAIN],
        middle: Middle::Median,
    },
    plan,
};

const BROKERS: usize = 3;
const GROUP: i32 = 100;

fn plan(scale: &Scale) -> Plan {
    let job = Job::Group { members: GROUP, deaths: scale.sized(1, 5, 20) };
    Plan::of_brokers(vec![BrokerBlock::of_cluster(BROKERS, vec![BrokerSpec::new("", GROUP, job)])])
}
