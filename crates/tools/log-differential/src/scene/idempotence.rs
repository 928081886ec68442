//! Sequences of producers without transactions.

use serde_json::{Value, json};

use super::body::{fetch, part, produce, sequenced};
use crate::story::Story;

pub(super) fn producer_ids(story: &mut Story<'_>) {
    let ask = |id: Value, producer: i64, epoch: i64| json!({"TransactionalId": id, "TransactionTimeoutMs": 60_000, "ProducerId": producer, "ProducerEpoch": epoch});
    story.each("InitProducerId", |_| ask(Value::Null, -1, -1));
    for (producer, epoch) in [(5, -1), (-1, 5), (5, 5), (-2, -2), (0, 0)] {
        story.call_in(3..=i16::MAX, "InitProducerId", ask(Value::Null, producer, epoch));
    }
    story.call("InitProducerId", json!({"TransactionalId": null, "TransactionTimeoutMs": -1}));
}

pub(super) fn sequences(story: &mut Story<'_>) {
    story.topic("a", 2);
    let none = json!({"TransactionalId": null, "TransactionTimeoutMs": 60_000});
    story.call("InitProducerId", none.clone()).bind("pid", "/ProducerId");
    story.call("InitProducerId", none).bind("other", "/ProducerId");
    let send = |story: &mut Story<'_>, epoch: i64, sequence: i64, values: &[&str]| {
        story.call("Produce", produce("a", 0, sequenced("$pid", epoch, sequence, values)));
    };
    send(story, 0, 0, &["a", "b"]);
    send(story, 0, 2, &["c"]);
    // Duplicates, of each of the last five.
    send(story, 0, 0, &["a", "b"]);
    send(story, 0, 2, &["c"]);
    for sequence in 3..8 {
        send(story, 0, sequence, &["x"]);
    }
    send(story, 0, 0, &["a", "b"]);
    send(story, 0, 7, &["x"]);
    let wrong: [(i64, &[&str]); 6] =
        [(9, &["gap"]), (6, &["x", "y"]), (7, &["x", "y"]), (0, &["x"]), (5, &["x", "x"]), (-1, &["x"])];
    for (sequence, values) in wrong {
        send(story, 0, sequence, values);
    }
    let count = 1 + story.dice.below(4);
    for _ in 0..count {
        let sequence = story.dice.below(12) as i64;
        send(story, 0, sequence, &["random"]);
    }
    // Epochs.
    send(story, 1, 5, &["late"]);
    send(story, 1, 0, &["next"]);
    send(story, 0, 8, &["old"]);
    send(story, -1, 8, &["none"]);
    send(story, 32_767, 0, &["last"]);
    // Any first sequence of a producer that the partition does not know; then across the end of the numbers.
    let last = i64::from(i32::MAX);
    for (sequence, values) in
        [(last - 1, &["a"][..]), (last, &["b", "c"]), (1, &["d"]), (last, &["b", "c"]), (5, &["gap"])]
    {
        story.call("Produce", produce("a", 1, sequenced("$other", 0, sequence, values)));
    }
    story.call("Fetch", fetch("a", vec![part(0, 0), part(1, 0)]));
}
