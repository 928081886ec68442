//! What every test gets: names of its own, clients, waiting with a deadline, and a hand on the broker.

use std::collections::HashMap;
use std::future::Future;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, Consumer, StreamConsumer};
use rdkafka::message::{BorrowedMessage, Message, OwnedMessage};
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::{Offset, TopicPartitionList};

pub const PATIENCE: Duration = Duration::from_secs(30);
const TEST_MAX: Duration = Duration::from_secs(90);

/// What a test ends with: nothing, or why it failed.
pub type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Fails a test with a reason.
#[macro_export]
macro_rules! ensure {
    ($condition:expr, $($reason:tt)+) => {
        if !$condition {
            return Err(format!($($reason)+).into());
        }
    };
}

/// Runs tests one after the other and reports them.
pub struct Runner {
    only: Vec<String>,
    failed: bool,
}

impl Runner {
    pub fn new(only: Vec<String>) -> Self {
        Self { only, failed: false }
    }

    pub async fn test(&mut self, name: &str, body: impl Future<Output = Outcome>) {
        if !self.only.is_empty() && !self.only.iter().any(|part| name.contains(part)) {
            return;
        }
        let began = Instant::now();
        let outcome = tokio::time::timeout(TEST_MAX, body).await;
        match outcome.unwrap_or_else(|_| Err(format!("not done after {TEST_MAX:?}").into())) {
            Ok(()) => println!("ok {name}"),
            Err(error) => {
                self.failed = true;
                println!("not ok {name} - {}", error.to_string().replace('\n', " "));
                // It may have left the broker down, which is not the next one's fault.
                for verb in ["resume", "start"] {
                    let _ = control(verb).await;
                }
            }
        }
        if began.elapsed() > Duration::from_secs(10) {
            println!("# {name} took {:?}", began.elapsed());
        }
    }

    pub fn status(&self) -> ExitCode {
        ExitCode::from(u8::from(self.failed))
    }
}

fn address() -> String {
    std::env::var("KAFKA_CONNECT").unwrap_or_else(|_| "127.0.0.1:9092".into())
}

/// Drives the broker: kill, stop, start, pause, resume.
pub async fn control(verb: &str) -> Outcome {
    let status = tokio::process::Command::new(std::env::var("KAFKA_CONTROL")?).arg(verb).status().await?;
    ensure!(status.success(), "{verb} ended with {status}");
    Ok(())
}

/// A name that nothing else has.
pub fn fresh(what: &str) -> String {
    static NAMES: AtomicU32 = AtomicU32::new(1);
    format!("{what}-{}-{}", NAMES.fetch_add(1, Ordering::Relaxed), std::process::id())
}

pub fn config(settings: &[(&str, &str)]) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", address()).set("reconnect.backoff.max.ms", "200").set_log_level(RDKafkaLogLevel::Critical);
    for (key, value) in settings {
        config.set(*key, *value);
    }
    config
}

pub fn admin() -> Result<AdminClient<DefaultClientContext>, rdkafka::error::KafkaError> {
    config(&[]).create()
}

/// A new topic, which the broker serves already.
pub async fn topic(partitions: i32, settings: &[(&str, &str)]) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let name = fresh("topic");
    let mut new = NewTopic::new(&name, partitions, TopicReplication::Fixed(1));
    for (key, value) in settings {
        new = new.set(key, value);
    }
    for result in admin()?.create_topics(&[new], &AdminOptions::new()).await? {
        result.map_err(|(name, code)| format!("{name}: {code}"))?;
    }
    let reader: BaseConsumer = config(&[]).create()?;
    let served = |partition| reader.fetch_watermarks(&name, partition, Duration::from_secs(1)).is_ok();
    until("the topic", || (0..partitions).all(served)).await?;
    Ok(name)
}

pub async fn until(what: &str, mut condition: impl FnMut() -> bool) -> Outcome {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        ensure!(Instant::now() < deadline, "waited {PATIENCE:?} for {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

pub fn producer(settings: &[(&str, &str)]) -> Result<FutureProducer, rdkafka::error::KafkaError> {
    config(&[("linger.ms", "1"), ("message.timeout.ms", "60000")]).set_all(settings).create()
}

/// A member of a group that reads from the start and commits nothing by itself.
pub fn member(group: &str, topic: &str, settings: &[(&str, &str)]) -> Result<StreamConsumer, rdkafka::error::KafkaError> {
    let mut config = config(&[("group.id", group), ("auto.offset.reset", "earliest"), ("enable.auto.commit", "false")]);
    if !settings.contains(&("group.protocol", "consumer")) {
        config.set_all(&[("session.timeout.ms", "6000"), ("heartbeat.interval.ms", "300")]);
    }
    let consumer: StreamConsumer = config.set_all(settings).create()?;
    consumer.subscribe(&[topic])?;
    Ok(consumer)
}

/// More settings for a configuration.
pub trait SetAll {
    fn set_all(&mut self, settings: &[(&str, &str)]) -> &mut Self;
}

impl SetAll for ClientConfig {
    fn set_all(&mut self, settings: &[(&str, &str)]) -> &mut Self {
        for (key, value) in settings {
            self.set(*key, *value);
        }
        self
    }
}

/// Sends numbered values, one behind the other in each partition, and returns their places.
pub async fn send(producer: &FutureProducer, topic: &str, count: usize) -> Result<Vec<(i32, i64)>, Box<dyn std::error::Error + Send + Sync>> {
    let texts: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    let sends = texts.iter().map(|text| producer.send(FutureRecord::to(topic).key(text).payload(text), PATIENCE));
    let mut places = Vec::new();
    for result in futures::future::join_all(sends).await {
        let delivery = result.map_err(|(error, _)| error)?;
        places.push((delivery.partition, delivery.offset));
    }
    Ok(places)
}

/// The next messages of a consumer.
pub async fn take(consumer: &StreamConsumer, count: usize) -> Result<Vec<OwnedMessage>, Box<dyn std::error::Error + Send + Sync>> {
    let mut messages = Vec::new();
    while messages.len() < count {
        match tokio::time::timeout(PATIENCE, consumer.recv()).await {
            Ok(Ok(message)) => messages.push(BorrowedMessage::detach(&message)),
            Ok(Err(error)) if error.rdkafka_error_code().is_some() => {}
            Ok(Err(error)) => return Err(error.into()),
            Err(_) => return Err(format!("{} of {count} messages came", messages.len()).into()),
        }
    }
    Ok(messages)
}

pub fn text(message: &OwnedMessage) -> String {
    String::from_utf8_lossy(message.payload().unwrap_or_default()).into_owned()
}

/// What a reader of committed messages finds, in order, up to a message that is sent to each partition now. It comes there
/// once no transaction is open.
pub async fn read_all(topic: &str, partitions: i32) -> Result<Vec<OwnedMessage>, Box<dyn std::error::Error + Send + Sync>> {
    let (producer, end) = (producer(&[])?, fresh("end"));
    for partition in 0..partitions {
        let record = FutureRecord::<(), _>::to(topic).partition(partition).payload(&end);
        producer.send(record, PATIENCE).await.map_err(|(error, _)| error)?;
    }
    let reader = config(&[("group.id", "reader"), ("isolation.level", "read_committed"), ("enable.auto.commit", "false")]);
    let reader: StreamConsumer = reader.create()?;
    let mut messages = Vec::new();
    for partition in 0..partitions {
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(topic, partition, Offset::Beginning)?;
        reader.assign(&list)?;
        loop {
            let message = take(&reader, 1).await?.remove(0);
            match text(&message) {
                value if value == end => break,
                value if value.starts_with("end-") => {}
                _ => messages.push(message),
            }
        }
    }
    Ok(messages)
}

/// Messages by what they say before the first dot.
pub fn by_number(messages: &[OwnedMessage]) -> HashMap<usize, Vec<String>> {
    let mut seen: HashMap<usize, Vec<String>> = HashMap::new();
    for message in messages {
        let text = text(message);
        let number = text.split('.').next().and_then(|number| number.parse().ok()).unwrap_or(usize::MAX);
        seen.entry(number).or_default().push(text);
    }
    seen
}
