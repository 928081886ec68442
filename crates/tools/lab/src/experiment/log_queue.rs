//! A queue whose consumer acknowledges every message by itself.

use super::text::{BROKER_CPU, MESSAGES_A_SECOND, NOT_PUBLISHED, NOTHING_PUBLISHED, text};
use super::{BrokerBlock, BrokerSpec, Description, Experiment, Middle, Panel, Plan, Scale, Text, figure};
use crate::log::Job;

const MESSAGES: Text = text("messages in the queue", "الرسائل في الطابور");

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "log-queue",
        title: text("A queue, acknowledged one by one", "طابور يُؤكَّد رسالةً رسالة"),
        source: NOT_PUBLISHED,
        setup: text(
            "One broker and one consumer. Diwan and Kafka: a share group (KIP-932) on one partition that holds the messages, of 200 bytes each, in batches of 50; a ShareFetch gets up to 500 of them, and the next one acknowledges them, each by an entry of its own. Diwan flushes acknowledgements to the disk, Kafka does not. RabbitMQ: a classic queue of transient messages, a prefetch of 1,000, one basic.ack for each message. ActiveMQ: a queue whose journal is not flushed, a prefetch of 1,000, individual acknowledgement of each message. These two are given a quarter of the messages. The first quarter of all that there is, or what is consumed within the warm-up, does not count. No message may come twice or be missing, and nothing may come behind the last one. An operation is a message.",
            "وسيط واحد ومستهلك واحد. ديوان وكافكا: مجموعة مشاركة (KIP-932) على قسم واحد فيه الرسائل، 200 بايت لكل منها، في دفعات من 50؛ يأتي ShareFetch بما يصل إلى 500 منها، ويؤكدها التالي، لكل منها خانة. يكتب ديوان التأكيدات على القرص، ولا تفعل كافكا. رابِت إم كيو: طابور كلاسيكي برسائل عابرة، و1,000 رسالة مسبقة، وbasic.ack لكل رسالة. أكتف إم كيو: طابور لا يُكتب سجله على القرص، و1,000 رسالة مسبقة، وتأكيد منفرد لكل رسالة. ولهذين ربع الرسائل. ولا يُحسب الربع الأول من الموجود، أو ما يُستهلك أثناء الإحماء. ولا يجوز أن تأتي رسالة مرتين أو أن تُفقد، ولا أن يأتي شيء بعد الأخيرة. العملية رسالة.",
        ),
        published: NOTHING_PUBLISHED,
        references: &[],
        panels: &[
            Panel::bars(BROKER_CPU, MESSAGES, figure::CPU),
            Panel::bars(MESSAGES_A_SECOND, MESSAGES, figure::RATE),
        ],
        ratios: &[figure::CPU, figure::RATE],
        middle: Middle::Median,
    },
    plan,
};

fn plan(scale: &Scale) -> Plan {
    let messages = scale.sized(40_000, 400_000, 4_000_000);
    let job = Job::Queue { messages };
    Plan::of_brokers(vec![BrokerBlock::of(vec![BrokerSpec::new("", messages, job)])])
}
