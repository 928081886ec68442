//! What is sent is what is read; groups, transactions and administration.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rdkafka::admin::{AdminOptions, AlterConfig, NewPartitions, ResourceSpecifier};
use rdkafka::consumer::{CommitMode, Consumer};
use rdkafka::message::{Header, Headers, Message, OwnedHeaders};
use rdkafka::producer::{FutureRecord, Producer};
use rdkafka::types::RDKafkaErrorCode;
use rdkafka::{Offset, Timestamp, TopicPartitionList};

use crate::ensure;
use crate::harness::{Outcome, PATIENCE, Runner, admin, fresh, member, producer, read_all, send, take, text, topic, until};

pub async fn run(runner: &mut Runner) {
    runner.test("records.values_are_read_back_in_order", values_are_read_back_in_order()).await;
    runner.test("records.every_compression_and_acks_is_read_back", every_compression_and_acks_is_read_back()).await;
    runner.test("records.keys_headers_times_and_nulls_are_kept", keys_headers_times_and_nulls_are_kept()).await;
    runner.test("records.too_large_a_message_is_refused", too_large_a_message_is_refused()).await;
    runner.test("records.offsets_are_found_by_time", offsets_are_found_by_time()).await;
    for assignor in ["range", "roundrobin", "cooperative-sticky"] {
        let name = format!("groups.{}_assignor_shares_the_partitions", assignor.replace('-', "_"));
        runner.test(&name, members_share(&[("partition.assignment.strategy", assignor)])).await;
    }
    runner.test("groups.group_goes_on_where_it_was", group_goes_on_where_it_was(&[])).await;
    runner.test("consumer_protocol.members_share_the_partitions", members_share(&[("group.protocol", "consumer")])).await;
    runner.test("consumer_protocol.group_goes_on_where_it_was", group_goes_on_where_it_was(&[("group.protocol", "consumer")])).await;
    runner.test("transactions.committed_is_read_and_aborted_is_not", committed_is_read_and_aborted_is_not()).await;
    runner.test("transactions.offsets_commit_with_them", offsets_commit_with_them()).await;
    runner.test("transactions.successor_fences_its_predecessor", successor_fences_its_predecessor()).await;
    runner.test("topics.topics_are_made_grown_altered_and_deleted", topics_are_made_grown_altered_and_deleted()).await;
}

async fn values_are_read_back_in_order() -> Outcome {
    let topic = topic(1, &[]).await?;
    let places = send(&producer(&[])?, &topic, 2000).await?;
    ensure!(places.iter().map(|(_, offset)| *offset).eq(0..2000), "the places of the messages");
    let values: Vec<_> = read_all(&topic, 1).await?.iter().map(text).collect();
    ensure!(values.iter().enumerate().all(|(number, value)| *value == number.to_string()), "the order of the values");
    ensure!(values.len() == 2000, "{} values", values.len());
    Ok(())
}

async fn every_compression_and_acks_is_read_back() -> Outcome {
    for compression in ["none", "gzip", "snappy", "lz4"] {
        let topic = topic(1, &[]).await?;
        for acks in ["0", "1", "all"] {
            let producer = producer(&[("compression.type", compression), ("acks", acks)])?;
            send(&producer, &topic, 200).await?;
            producer.flush(PATIENCE)?;
        }
        let count = read_all(&topic, 1).await?.len();
        ensure!(count == 600, "{count} messages with {compression}");
    }
    Ok(())
}

fn now_ms() -> Result<i64, Box<dyn std::error::Error + Send + Sync>> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis().try_into()?)
}

async fn keys_headers_times_and_nulls_are_kept() -> Outcome {
    let topic = topic(1, &[]).await?;
    let producer = producer(&[])?;
    let when = now_ms()? - 5_000;
    let headers = OwnedHeaders::new().insert(Header { key: "a", value: Some("1") }).insert(Header { key: "b", value: None::<&str> });
    let full = FutureRecord::to(&topic).key("k").payload("v").timestamp(when).headers(headers);
    producer.send(full, PATIENCE).await.map_err(|(error, _)| error)?;
    producer.send(FutureRecord::<_, ()>::to(&topic).key("k"), PATIENCE).await.map_err(|(error, _)| error)?;
    let messages = read_all(&topic, 1).await?;
    let first = &messages[0];
    ensure!((first.key(), first.payload()) == (Some(b"k".as_slice()), Some(b"v".as_slice())), "{first:?}");
    ensure!(first.timestamp() == Timestamp::CreateTime(when), "{:?}", first.timestamp());
    let headers = first.headers().ok_or("no headers")?;
    ensure!(headers.count() == 2 && headers.get(0).value == Some(b"1") && headers.get(1).value.is_none(), "{headers:?}");
    ensure!(messages[1].payload().is_none(), "a tombstone");
    Ok(())
}

async fn too_large_a_message_is_refused() -> Outcome {
    let topic = topic(1, &[("max.message.bytes", "10000")]).await?;
    let payload = "x".repeat(20_000);
    let sent = producer(&[])?.send(FutureRecord::<(), _>::to(&topic).payload(&payload), PATIENCE).await;
    let code = sent.err().and_then(|(error, _)| error.rdkafka_error_code());
    ensure!(code == Some(RDKafkaErrorCode::MessageSizeTooLarge), "{code:?}");
    Ok(())
}

async fn offsets_are_found_by_time() -> Outcome {
    let topic = topic(1, &[]).await?;
    let (producer, begin) = (producer(&[])?, now_ms()? - 1_000_000);
    for number in 0..20 {
        let record = FutureRecord::<(), _>::to(&topic).payload("x").timestamp(begin + number * 1000);
        producer.send(record, PATIENCE).await.map_err(|(error, _)| error)?;
    }
    let reader = member(&fresh("group"), &topic, &[])?;
    for (after, offset) in [(-5, 0), (1, 1), (10_500, 11), (19_000, 19)] {
        let mut times = TopicPartitionList::new();
        times.add_partition_offset(&topic, 0, Offset::Offset(begin + after))?;
        let found = reader.offsets_for_times(times, PATIENCE)?;
        ensure!(found.elements()[0].offset() == Offset::Offset(offset), "at {after}: {found:?}");
    }
    Ok(())
}

async fn members_share(settings: &[(&str, &str)]) -> Outcome {
    let (topic, group) = (topic(4, &[]).await?, fresh("group"));
    let first = member(&group, &topic, settings)?;
    let second = member(&group, &topic, settings)?;
    let mut values = Vec::new();
    let mut sent = false;
    let deadline = std::time::Instant::now() + 2 * PATIENCE;
    while values.len() < 200 {
        ensure!(std::time::Instant::now() < deadline, "{} of 200 values came", values.len());
        for reader in [&first, &second] {
            if let Ok(Ok(message)) = tokio::time::timeout(Duration::from_millis(20), reader.recv()).await {
                values.push(text(&message.detach()));
            }
        }
        if !sent && first.assignment()?.count() == 2 && second.assignment()?.count() == 2 {
            send(&producer(&[])?, &topic, 200).await?;
            sent = true;
        }
    }
    values.sort_by_key(|value| value.parse::<i32>().unwrap_or(-1));
    ensure!(values.iter().enumerate().all(|(number, value)| *value == number.to_string()), "each value came once");
    Ok(())
}

async fn group_goes_on_where_it_was(settings: &[(&str, &str)]) -> Outcome {
    let (topic, group) = (topic(1, &[]).await?, fresh("group"));
    send(&producer(&[])?, &topic, 30).await?;
    for round in 0..3 {
        let reader = member(&group, &topic, settings)?;
        let messages = take(&reader, 10).await?;
        ensure!(messages[0].offset() == round * 10, "round {round} began at {}", messages[0].offset());
        let mut offsets = TopicPartitionList::new();
        offsets.add_partition_offset(&topic, 0, Offset::Offset(round * 10 + 10))?;
        reader.commit(&offsets, CommitMode::Sync)?;
        let committed = reader.committed_offsets(offsets, PATIENCE)?;
        ensure!(committed.elements()[0].offset() == Offset::Offset(round * 10 + 10), "{committed:?}");
    }
    Ok(())
}

async fn committed_is_read_and_aborted_is_not() -> Outcome {
    let topic = topic(1, &[]).await?;
    let producer = producer(&[("transactional.id", &fresh("tx"))])?;
    producer.init_transactions(PATIENCE)?;
    for number in 0..6 {
        producer.begin_transaction()?;
        let value = number.to_string();
        producer.send(FutureRecord::<(), _>::to(&topic).payload(&value), PATIENCE).await.map_err(|(error, _)| error)?;
        if number % 2 == 0 { producer.commit_transaction(PATIENCE)? } else { producer.abort_transaction(PATIENCE)? }
    }
    let values: Vec<_> = read_all(&topic, 1).await?.iter().map(text).collect();
    ensure!(values == ["0", "2", "4"], "{values:?}");
    Ok(())
}

async fn offsets_commit_with_them() -> Outcome {
    let (from, group) = (topic(1, &[]).await?, fresh("group"));
    send(&producer(&[])?, &from, 10).await?;
    let reader = member(&group, &from, &[])?;
    take(&reader, 10).await?;
    let producer = producer(&[("transactional.id", &fresh("tx"))])?;
    producer.init_transactions(PATIENCE)?;
    let metadata = reader.group_metadata().ok_or("no group metadata")?;
    for (offset, commit) in [(3, false), (7, true)] {
        let mut offsets = TopicPartitionList::new();
        offsets.add_partition_offset(&from, 0, Offset::Offset(offset))?;
        producer.begin_transaction()?;
        producer.send_offsets_to_transaction(&offsets, &metadata, PATIENCE)?;
        if commit { producer.commit_transaction(PATIENCE)? } else { producer.abort_transaction(PATIENCE)? }
        let expected = if commit { Offset::Offset(7) } else { Offset::Invalid };
        until("the committed offset", || {
            reader.committed_offsets(offsets.clone(), PATIENCE).is_ok_and(|now| now.elements()[0].offset() == expected)
        })
        .await?;
    }
    Ok(())
}

async fn successor_fences_its_predecessor() -> Outcome {
    let (topic, id) = (topic(1, &[]).await?, fresh("tx"));
    let old = producer(&[("transactional.id", &id)])?;
    old.init_transactions(PATIENCE)?;
    old.begin_transaction()?;
    old.send(FutureRecord::<(), _>::to(&topic).payload("left open"), PATIENCE).await.map_err(|(error, _)| error)?;
    let new = producer(&[("transactional.id", &id)])?;
    new.init_transactions(PATIENCE)?;
    let late = old.send(FutureRecord::<(), _>::to(&topic).payload("late"), PATIENCE).await;
    ensure!(late.is_err() || old.commit_transaction(PATIENCE).is_err(), "the old producer is not fenced");
    let count = read_all(&topic, 1).await?.len();
    ensure!(count == 0, "{count} messages are seen");
    Ok(())
}

async fn topics_are_made_grown_altered_and_deleted() -> Outcome {
    let (topic, client, options) = (topic(2, &[("retention.ms", "7000")]).await?, admin()?, AdminOptions::new());
    let resource = ResourceSpecifier::Topic(&topic);
    let described = client.describe_configs([&resource], &options).await?.remove(0).map_err(|code| code.to_string())?;
    let value = described.get("retention.ms").and_then(|entry| entry.value.clone());
    ensure!(value.as_deref() == Some("7000"), "{value:?}");
    client.alter_configs(&[AlterConfig::new(resource).set("retention.ms", "8000")], &options).await?.remove(0)
        .map_err(|(_, code)| code.to_string())?;
    client.create_partitions(&[NewPartitions::new(&topic, 5)], &options).await?.remove(0).map_err(|(_, code)| code.to_string())?;
    let partitions = || {
        let metadata = client.inner().fetch_metadata(Some(&topic), PATIENCE).ok()?;
        Some(metadata.topics().first()?.partitions().len())
    };
    until("five partitions", || partitions() == Some(5)).await?;
    client.delete_topics(&[&topic], &options).await?.remove(0).map_err(|(_, code)| code.to_string())?;
    let again = client.delete_topics(&[&topic], &options).await?.remove(0).map_err(|(_, code)| code);
    ensure!(again == Err(RDKafkaErrorCode::UnknownTopicOrPartition), "{again:?}");
    Ok(())
}
