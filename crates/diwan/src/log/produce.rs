//! `diwan produce`: a record for each line.

use std::io::{BufRead, BufReader, IsTerminal as _, Read, Write};

use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use log_client::{NewRecord, Producer};

use super::access::ClusterArguments;
use super::complete;
use super::failure::{Done, Failure};
use super::settings::{Setting, list};

pub(crate) const HELP: &str = "\
Each line is the value of a record. What is written is acknowledged when the command ends, and what a pipe \
brings later is sent as it comes.

  echo hello | diwan produce greetings
  diwan produce orders --key-separator : < orders.txt
  diwan produce orders --key 42 --null-value          a tombstone";

/// The longest line: no broker takes so much by default.
const LINE_BYTES_MAX: u64 = 64 << 20;
const READ_BYTES: usize = 64 << 10;

#[derive(Debug, Args)]
pub(crate) struct ProduceArguments {
    /// The topic. It is made if it is not there and the brokers allow that.
    #[arg(add = ArgValueCompleter::new(complete::topics))]
    topic: String,

    /// The key of every record.
    #[arg(short, long, value_name = "KEY", conflicts_with = "key_separator")]
    key: Option<String>,

    /// What stands between key and value in a line.
    #[arg(short = 'K', long, value_name = "TEXT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    key_separator: Option<String>,

    /// A header of every record.
    #[arg(short = 'H', long = "header", value_name = "NAME=VALUE")]
    headers: Vec<Setting>,

    /// The partition of every record [default: by key; without one, in turn].
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    partition: Option<i32>,

    /// A line, or the value in a line, that stands for no value: a tombstone in a compacted topic.
    #[arg(short = 'Z', long, value_name = "TEXT", num_args = 0..=1, default_missing_value = "")]
    null_value: Option<String>,

    #[command(flatten)]
    cluster: ClusterArguments,
}

/// Reads lines to the end of the input and sends them.
pub(super) fn run(arguments: &ProduceArguments, input: &mut impl Read, out: &mut impl Write) -> Done {
    let mut producer = Producer::new(arguments.cluster.connect()?, &arguments.topic)?;
    let prompts = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let mut lines = BufReader::with_capacity(READ_BYTES, input);
    let sent = send_lines(arguments, &mut lines, &mut producer, prompts.then_some(out));
    // Lines before one that is wrong are sent.
    let sent = sent.and(producer.flush().map_err(Failure::from));
    let count = producer.acknowledged();
    if !prompts || sent.is_err() {
        eprintln!("{count} {} acknowledged", if count == 1 { "record is" } else { "records are" });
    }
    sent
}

fn send_lines(
    arguments: &ProduceArguments,
    input: &mut BufReader<impl Read>,
    producer: &mut Producer,
    mut prompt: Option<&mut impl Write>,
) -> Done {
    let mut line = Vec::new();
    for number in 1_u64.. {
        if input.buffer().is_empty() {
            // Nothing more is there at the moment.
            producer.flush()?;
        }
        if let Some(out) = &mut prompt {
            write!(out, "> ")?;
            out.flush()?;
        }
        line.clear();
        let read = input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        let read = read.map_err(|error| Failure::new(format!("the input cannot be read: {error}")))?;
        if read == 0 {
            break;
        }
        match line.last() {
            Some(b'\n') => drop(line.pop()),
            _ if read as u64 == LINE_BYTES_MAX => {
                return Err(Failure::new(format!("line {number} is longer than {LINE_BYTES_MAX} bytes")));
            }
            _ => {}
        }
        producer.send(&record(arguments, &line, number)?)?;
    }
    Ok(producer.flush()?)
}

fn record(arguments: &ProduceArguments, line: &[u8], number: u64) -> Done<NewRecord> {
    let (key, value) = match &arguments.key_separator {
        None => (arguments.key.clone().map(String::into_bytes), line),
        Some(separator) => {
            let place = line.windows(separator.len()).position(|bytes| bytes == separator.as_bytes());
            let (key, rest) = place.and_then(|place| line.split_at_checked(place)).ok_or_else(|| {
                Failure::hinted(
                    format!("line {number} has no `{separator}`"),
                    "with --key-separator each line is KEY, separator, VALUE",
                )
            })?;
            (Some(key.to_vec()), rest.get(separator.len()..).unwrap_or_default())
        }
    };
    let is_null = arguments.null_value.as_ref().is_some_and(|null| null.as_bytes() == value);
    Ok(NewRecord {
        partition: arguments.partition,
        key,
        value: (!is_null).then(|| value.to_vec()),
        headers: list(&arguments.headers),
    })
}
