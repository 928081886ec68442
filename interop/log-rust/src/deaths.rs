//! The broker is killed while clients use it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rdkafka::message::Message;
use rdkafka::producer::{FutureRecord, Producer};

use crate::ensure;
use crate::harness::{Outcome, PATIENCE, Runner, by_number, control, fresh, producer, read_all, text, topic};

const KILLS: usize = 2;

pub async fn run(runner: &mut Runner) {
    runner.test("deaths.idempotent_producer_loses_and_doubles_nothing", idempotent_producer()).await;
    runner.test("deaths.transactions_stay_whole", transactions()).await;
}

/// Kills the broker a few times, then sets the flag. The load goes on for a while between kills; nothing waits for this time.
async fn kill_meanwhile(stopping: Arc<AtomicBool>) -> Outcome {
    for _ in 0..KILLS {
        tokio::time::sleep(Duration::from_secs(1)).await;
        control("kill").await?;
        control("start").await?;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    stopping.store(true, Ordering::Relaxed);
    Ok(())
}

async fn idempotent_producer() -> Outcome {
    let topic = topic(2, &[]).await?;
    let producer = producer(&[("enable.idempotence", "true")])?;
    let stopping = Arc::new(AtomicBool::new(false));
    let killer = tokio::spawn(kill_meanwhile(Arc::clone(&stopping)));
    let work = async {
        let mut deliveries = Vec::new();
        while !stopping.load(Ordering::Relaxed) {
            let number = deliveries.len();
            let value = number.to_string();
            let record = FutureRecord::<(), _>::to(&topic).partition(i32::try_from(number % 2)?).payload(&value);
            match producer.send_result(record) {
                Ok(delivery) => deliveries.push(delivery),
                // The producer's queue is full.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
            if number % 20 == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        let mut places = HashMap::new();
        for (number, delivery) in deliveries.into_iter().enumerate() {
            let delivery = delivery.await?.map_err(|(error, _)| error)?;
            places.insert((delivery.partition, delivery.offset), number.to_string());
        }
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(places)
    };
    let places = work.await?;
    killer.await??;
    ensure!(places.len() > 200, "only {} were sent", places.len());
    let messages = read_all(&topic, 2).await?;
    let found: HashMap<_, _> = messages.iter().map(|message| ((message.partition(), message.offset()), text(message))).collect();
    ensure!(found == places, "{} messages are there, of {} that were acknowledged", found.len(), places.len());
    let mut last = [None, None];
    for message in &messages {
        let number: usize = text(message).parse()?;
        let before = last[usize::try_from(message.partition())?].replace(number);
        ensure!(before < Some(number), "{number} is behind {before:?}");
    }
    Ok(())
}

async fn transactions() -> Outcome {
    let (topic, id) = (topic(2, &[]).await?, fresh("tx"));
    let stopping = Arc::new(AtomicBool::new(false));
    let killer = tokio::spawn(kill_meanwhile(Arc::clone(&stopping)));
    let (mut committed, mut aborted) = (HashSet::new(), HashSet::new());
    let work = async {
        let begun = || {
            let producer = producer(&[("transactional.id", &id)])?;
            producer.init_transactions(PATIENCE)?;
            Ok::<_, rdkafka::error::KafkaError>(producer)
        };
        let mut producer = begun()?;
        for number in 0_usize.. {
            if stopping.load(Ordering::Relaxed) {
                break;
            }
            let attempt = async {
                producer.begin_transaction()?;
                for part in 0..4 {
                    let value = format!("{number}.{part}");
                    let record = FutureRecord::<(), _>::to(&topic).partition(part % 2).payload(&value);
                    producer.send(record, PATIENCE).await.map_err(|(error, _)| error)?;
                }
                // These calls block: the killer needs a thread meanwhile.
                tokio::task::block_in_place(|| {
                    if number % 3 == 0 { producer.abort_transaction(PATIENCE) } else { producer.commit_transaction(PATIENCE) }
                })
            };
            match attempt.await {
                Ok(()) if number % 3 == 0 => drop(aborted.insert(number)),
                Ok(()) => drop(committed.insert(number)),
                // Whether it was committed is not known; the next producer ends it.
                Err(_) => producer = tokio::task::block_in_place(begun)?,
            }
        }
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
    };
    work.await?;
    killer.await??;
    let seen = by_number(&read_all(&topic, 2).await?);
    for (number, values) in &seen {
        ensure!(!aborted.contains(number), "transaction {number} was aborted and is seen");
        let parts: HashSet<_> = values.iter().collect();
        ensure!(parts.len() == 4 && values.len() == 4, "transaction {number} is seen as {values:?}");
    }
    for number in &committed {
        ensure!(seen.contains_key(number), "transaction {number} was committed and is lost");
    }
    ensure!(committed.len() > 5, "only {} were committed", committed.len());
    Ok(())
}
