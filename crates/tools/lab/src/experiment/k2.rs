//! K2: what messages take on the disk.

use super::text::{KAFKA_2011, MESSAGES_A_REQUEST, text};
use super::{
    BrokerBlock, BrokerSpec, Description, Experiment, Middle, Panel, Plan, Reference, Scale, figure,
};
use crate::log::Job;

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "K2",
        title: text("Storage overhead of a message", "كلفة تخزين الرسالة"),
        source: KAFKA_2011,
        setup: text(
            "Messages of 200 bytes to one partition, 50 a request, in two equal parts. Counted are the blocks on the disk of everything in the broker's data directory, while it is stopped. Overhead is what the second part adds beyond its content: what a message takes. Overhead of all files also has what a broker keeps once, as a journal, spread over the messages of this run.",
            "رسائل بحجم 200 بايت إلى قسم واحد، 50 في كل طلب، على دفعتين متساويتين. تُحصى كتل القرص لكل ما في مجلد بيانات الوسيط وهو متوقف. «الزيادة» ما تضيفه الدفعة الثانية فوق محتواها، أي ما تشغله الرسالة. و«زيادة كل الملفات» تشمل أيضًا ما يحتفظ به الوسيط مرة واحدة، كالسجل المسبق، موزّعًا على رسائل هذا التشغيل.",
        ),
        published: text(
            "Kafka 9 bytes a message, ActiveMQ 144.",
            "كافكا 9 بايتات للرسالة، وActiveMQ 144 بايتًا.",
        ),
        references: &[Reference::of("", figure::OVERHEAD, &[(50.0, 9.0)])],
        panels: &[
            Panel::bars(
                text(
                    "Bytes on the disk beyond the content, a message",
                    "البايتات على القرص فوق المحتوى لكل رسالة",
                ),
                MESSAGES_A_REQUEST,
                figure::OVERHEAD,
            ),
            Panel::bars(
                text("The same with what a broker keeps once", "وكذلك مع ما يحتفظ به الوسيط مرة واحدة"),
                MESSAGES_A_REQUEST,
                figure::WHOLE_OVERHEAD,
            ),
        ],
        ratios: &[figure::OVERHEAD, figure::WHOLE_OVERHEAD, figure::CPU],
        middle: Middle::Median,
    },
    plan,
};

fn plan(scale: &Scale) -> Plan {
    let messages: u64 = scale.sized(200_000, 6_000_000, 10_000_000);
    let job = Job::Store { batch: 50, batches: messages / 50 };
    Plan::of_brokers(vec![BrokerBlock::of(vec![BrokerSpec::new("", 50, job)])])
}
