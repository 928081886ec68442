//! K1: one producer.

use super::text::{BROKER_CPU, KAFKA_2011, MESSAGES_A_REQUEST, MESSAGES_A_SECOND, PERCENTILE_99, text};
use super::{
    BrokerBlock, BrokerSpec, Description, Experiment, Middle, Panel, Plan, Reference, Scale, figure,
};
use crate::log::{Job, Mode};

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "K1",
        title: text("One producer", "منتج واحد"),
        source: KAFKA_2011,
        setup: text(
            "Messages of 200 bytes to one partition over one connection, with 64 requests outstanding, acknowledged by the leader. Page cache: answered once the operating system has them (Kafka's default; Diwan with diwan.durability=replicated). Flushed: answered once they are on the disk (Kafka with flush.messages=1; Diwan's default). A latency is a request's; an operation is a message.",
            "رسائل بحجم 200 بايت إلى قسم واحد عبر اتصال واحد، مع 64 طلبًا معلّقًا، يؤكدها القائد. «ذاكرة الصفحات»: الجواب حالما تصير عند نظام التشغيل (افتراضي كافكا؛ وديوان بضبط diwan.durability=replicated). «مكتوب على القرص»: الجواب بعد كتابتها (كافكا بضبط flush.messages=1؛ وافتراضي ديوان). الزمن لكل طلب، والعملية رسالة.",
        ),
        published: text(
            "10,000,000 messages: 50,000 messages/s one by one, 400,000 in batches of 50 (the link of 1 Gb/s nearly full), with asynchronous flushes; RabbitMQ at most half of that, ActiveMQ orders of magnitude lower.",
            "10 ملايين رسالة: 50,000 رسالة في الثانية واحدة فواحدة، و400,000 في دفعات من 50 (والوصلة البالغة 1 غيغابت/ث تكاد تمتلئ)، والكتابة على القرص غير متزامنة؛ وبلغ RabbitMQ نصف ذلك على الأكثر، وActiveMQ أقل بمراتب.",
        ),
        references: &[Reference::of("page cache", figure::RATE, &[(1.0, 50_000.0), (50.0, 400_000.0)])],
        panels: &[
            Panel::bars(MESSAGES_A_SECOND, MESSAGES_A_REQUEST, figure::RATE),
            Panel::bars(BROKER_CPU, MESSAGES_A_REQUEST, figure::CPU),
            Panel::bars(PERCENTILE_99, MESSAGES_A_REQUEST, figure::P99),
        ],
        ratios: &[figure::CPU, figure::RATE, figure::P99],
        middle: Middle::Median,
    },
    plan,
};

const OUTSTANDING: usize = 64;

fn plan(_: &Scale) -> Plan {
    let spec = |(mode, batch): (Mode, usize)| {
        let job = Job::Produce {
            mode,
            producers: 1,
            batch,
            outstanding: OUTSTANDING,
            requests_per_second: 0.0,
            is_idempotent: false,
        };
        BrokerSpec::new(mode.name(), batch, job)
    };
    let all = [(Mode::PageCache, 1), (Mode::PageCache, 50), (Mode::Flushed, 1), (Mode::Flushed, 50)];
    Plan::of_brokers(vec![BrokerBlock::of(all.map(spec).to_vec())])
}
