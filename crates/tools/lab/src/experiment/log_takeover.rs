//! A broker of three that leads thousands of partitions dies.

use super::text::{NOT_PUBLISHED, NOTHING_PUBLISHED, text};
use super::{BrokerBlock, BrokerSpec, Description, Experiment, Middle, Panel, Plan, Scale, Text, figure};
use crate::log::Job;

const LED: Text = text("partitions that the killed broker led", "الأقسام التي كان يقودها الوسيط المقتول");

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "log-takeover",
        title: text("The leader of 3,000 partitions dies", "موت قائد 3,000 قسم"),
        source: NOT_PUBLISHED,
        setup: text(
            "Three brokers as in log-replicas. A topic has 3,000 partitions with three replicas each, all of which the first broker leads; half of them prefer the second broker after it, half the third. The first broker is killed (SIGKILL). Counted is the time from the signal until a broker that lives names another leader of every partition, looked at every 10 ms, and until each partition has acknowledged a message (acks=all) of an idempotent producer, which sends one request to each leader then. Among Diwan's brokers the first one is the controller; whether it leads the council, or Kafka's controllers, is left to chance. Then it is started again, is in sync and leads all partitions before the next time. At the end every acknowledged message must be there once.",
            "ثلاثة وسطاء كما في log-replicas. لموضوع 3,000 قسم بثلاث نسخ لكل قسم، يقودها جميعًا الوسيط الأول؛ ويُفضَّل بعده الثاني في نصفها والثالث في نصفها. يُقتل الوسيط الأول (SIGKILL). يُحسب الزمن من الإشارة إلى أن يسمّي وسيط حي قائدًا آخر لكل قسم، بالنظر كل 10 ملّي ثوانٍ، وإلى أن يؤكد كل قسم رسالة (acks=all) من منتج متكرر بأمان، يرسل عندئذ طلبًا واحدًا إلى كل قائد. والأول هو المتحكم بين وسطاء ديوان؛ أما أن يقود المجلس أو متحكمات كافكا فمتروك للمصادفة. ثم يُشغَّل من جديد ويتزامن ويقود جميع الأقسام قبل المرة التالية. وفي النهاية يجب أن توجد كل رسالة مؤكدة مرة واحدة.",
        ),
        published: NOTHING_PUBLISHED,
        references: &[],
        panels: &[
            Panel::bars(
                text("Until all partitions acknowledge", "إلى أن تؤكد جميع الأقسام"),
                LED,
                figure::TAKEOVER,
            ),
            Panel::bars(
                text("Until another leader of all is known", "إلى أن يُعرف قائد آخر للجميع"),
                LED,
                figure::NEW_LEADER,
            ),
        ],
        ratios: &[figure::TAKEOVER, figure::NEW_LEADER],
        middle: Middle::Median,
    },
    plan,
};

const BROKERS: usize = 3;

fn plan(scale: &Scale) -> Plan {
    let leaders = scale.sized(500, 3000, 3000);
    let job = Job::Takeover { leaders, times: scale.sized(1, 2, 5) };
    Plan::of_brokers(vec![BrokerBlock::of_cluster(BROKERS, vec![BrokerSpec::new("", leaders, job)])])
}
