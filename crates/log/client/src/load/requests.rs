//! Requests as bytes that are sent again and again, and what is read of their answers.

use std::io;

use log_wire::{Attributes, BATCH_HEADER_BYTES, BatchBuilder, ErrorCode, Producer};

/// Versions without flexible fields, which all brokers have.
const PRODUCE_VERSION: i16 = 7;
const FETCH_VERSION: i16 = 11;
const INIT_PRODUCER_ID_VERSION: i16 = 1;
const PRODUCE: i16 = 0;
const FETCH: i16 = 1;
const INIT_PRODUCER_ID: i16 = 22;
const CLIENT: &[u8] = b"log-load";
/// Where a frame has its correlation id.
const CORRELATION_AT: usize = 8;
/// Where a batch has its checksum, and what that covers begins.
const CRC_AT: usize = 17;
const CRC_FROM: usize = 21;
const PRODUCER_ID_AT: usize = 43;
const EPOCH_AT: usize = 51;
const SEQUENCE_AT: usize = 53;

/// A request, ready to be sent.
#[derive(Clone, Debug)]
pub(super) struct Request {
    bytes: Vec<u8>,
}

impl Request {
    fn new(api: i16, version: i16) -> Self {
        let mut bytes = vec![0; 4];
        bytes.extend(api.to_be_bytes());
        bytes.extend(version.to_be_bytes());
        bytes.extend(0i32.to_be_bytes());
        bytes.extend((CLIENT.len() as i16).to_be_bytes());
        bytes.extend(CLIENT);
        Self { bytes }
    }

    fn number(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend(bytes);
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.bytes.extend((text.len() as i16).to_be_bytes());
        self.bytes.extend(text.as_bytes());
        self
    }

    fn finish(mut self) -> Self {
        let length = (self.bytes.len() - 4) as i32;
        put(&mut self.bytes, 0, &length.to_be_bytes());
        self
    }

    /// Appends the request under that correlation id.
    pub(super) fn send(&mut self, correlation_id: i32, out: &mut Vec<u8>) {
        put(&mut self.bytes, CORRELATION_AT, &correlation_id.to_be_bytes());
        out.extend_from_slice(&self.bytes);
    }
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
}

/// Produce with one batch for one partition.
#[derive(Clone, Debug)]
pub(super) struct ProduceRequest {
    request: Request,
    batch_at: usize,
    messages: i32,
    sequence: Option<i32>,
}

impl ProduceRequest {
    pub(super) fn new(
        (topic, partition): (&str, i32),
        acks: i16,
        (messages, message_bytes): (usize, usize),
        producer: Producer,
    ) -> Self {
        let batch = batch(messages, message_bytes, producer);
        let mut request = Request::new(PRODUCE, PRODUCE_VERSION);
        request.number(&(-1i16).to_be_bytes()).number(&acks.to_be_bytes()).number(&30_000i32.to_be_bytes());
        request.number(&1i32.to_be_bytes()).text(topic).number(&1i32.to_be_bytes());
        request.number(&partition.to_be_bytes()).number(&(batch.len() as i32).to_be_bytes());
        let batch_at = request.bytes.len();
        request.number(&batch);
        let sequence = (producer.id >= 0).then_some(0);
        Self { request: request.finish(), batch_at, messages: messages as i32, sequence }
    }

    /// How many bytes its batch has.
    pub(super) fn batch_bytes(&self) -> usize {
        self.request.bytes.len() - self.batch_at
    }

    /// Appends the request; an idempotent producer's with its next sequence number.
    pub(super) fn send(&mut self, correlation_id: i32, out: &mut Vec<u8>) {
        if let Some(sequence) = self.sequence {
            put(&mut self.request.bytes, self.batch_at + SEQUENCE_AT, &sequence.to_be_bytes());
            self.sign();
            self.sequence = Some(sequence.checked_add(self.messages).unwrap_or(0));
        }
        self.request.send(correlation_id, out);
    }

    /// The partition that it is for from now on.
    pub(super) fn set_partition(&mut self, partition: i32) {
        // The partition and the length of its batch stand before the batch.
        put(&mut self.request.bytes, self.batch_at - 8, &partition.to_be_bytes());
    }

    /// Its batch, to be changed. [`Self::sign`] is to be called behind that.
    pub(super) fn batch_mut(&mut self) -> &mut [u8] {
        self.request.bytes.get_mut(self.batch_at..).unwrap_or_default()
    }

    /// The batch gets its checksum anew.
    pub(super) fn sign(&mut self) {
        let batch = self.batch_mut();
        let crc = crc32c::crc32c(batch.get(CRC_FROM..).unwrap_or_default());
        put(batch, CRC_AT, &crc.to_be_bytes());
    }

    /// The sequence number of the next batch.
    pub(super) fn set_sequence(&mut self, sequence: i32) {
        self.sequence = Some(sequence);
    }

    /// The producer of its batches from now on.
    pub(super) fn set_producer(&mut self, id: i64, epoch: i16) {
        let batch = self.batch_mut();
        put(batch, PRODUCER_ID_AT, &id.to_be_bytes());
        put(batch, EPOCH_AT, &epoch.to_be_bytes());
        self.sequence = Some(0);
    }
}

/// A batch of messages of now.
pub(super) fn batch(messages: usize, message_bytes: usize, producer: Producer) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Attributes(0), producer);
    let value = vec![b'x'; message_bytes];
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_millis() as i64);
    for _ in 0..messages {
        builder.push(now, None, Some(&value), &[]);
    }
    builder.finish()
}

/// InitProducerId without a transactional id.
pub(super) fn init_producer_id() -> Request {
    let mut request = Request::new(INIT_PRODUCER_ID, INIT_PRODUCER_ID_VERSION);
    request.number(&(-1i16).to_be_bytes()).number(&i32::MAX.to_be_bytes());
    request.finish()
}

/// Fetch of one partition.
#[derive(Clone, Debug)]
pub(super) struct FetchRequest {
    request: Request,
    offset_at: usize,
}

impl FetchRequest {
    pub(super) fn new((topic, partition): (&str, i32), bytes_max: i32, wait_ms: i32) -> Self {
        let mut request = Request::new(FETCH, FETCH_VERSION);
        request.number(&(-1i32).to_be_bytes()).number(&wait_ms.to_be_bytes()).number(&1i32.to_be_bytes());
        // Bytes of the answer, isolation, no session.
        request.number(&bytes_max.to_be_bytes()).number(&[0]);
        request.number(&0i32.to_be_bytes()).number(&(-1i32).to_be_bytes());
        request.number(&1i32.to_be_bytes()).text(topic).number(&1i32.to_be_bytes());
        request.number(&partition.to_be_bytes()).number(&(-1i32).to_be_bytes());
        let offset_at = request.bytes.len();
        request.number(&0i64.to_be_bytes()).number(&(-1i64).to_be_bytes()).number(&bytes_max.to_be_bytes());
        // Nothing forgotten, no rack.
        request.number(&0i32.to_be_bytes()).text("");
        Self { request: request.finish(), offset_at }
    }

    /// The partition that it reads from now on.
    pub(super) fn set_partition(&mut self, partition: i32) {
        // The partition and the epoch of its leader stand before the offset.
        put(&mut self.request.bytes, self.offset_at - 8, &partition.to_be_bytes());
    }

    pub(super) fn send(&mut self, offset: i64, out: &mut Vec<u8>) {
        put(&mut self.request.bytes, self.offset_at, &offset.to_be_bytes());
        self.request.send(0, out);
    }

    /// From the same offset once more.
    pub(super) fn send_again(&mut self, out: &mut Vec<u8>) {
        self.request.send(0, out);
    }
}

/// Reads fields of an answer one by one.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> io::Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(io::ErrorKind::InvalidData)?;
        self.0 = rest;
        Ok(taken)
    }

    fn i16(&mut self) -> io::Result<i16> {
        Ok(i16::from_be_bytes(self.take(2)?.try_into().unwrap_or_default()))
    }

    fn i32(&mut self) -> io::Result<i32> {
        Ok(i32::from_be_bytes(self.take(4)?.try_into().unwrap_or_default()))
    }

    fn i64(&mut self) -> io::Result<i64> {
        Ok(i64::from_be_bytes(self.take(8)?.try_into().unwrap_or_default()))
    }

    fn text(&mut self) -> io::Result<()> {
        let length = self.i16()?;
        self.take(usize::try_from(length).unwrap_or(0)).map(drop)
    }
}

fn check(code: i16) -> io::Result<()> {
    let error = || {
        io::Error::other(format!("the broker has answered with the error code {code} of Kafka's protocol"))
    };
    if code == ErrorCode::None.code() { Ok(()) } else { Err(error()) }
}

/// The correlation id of an answer to Produce. One with an error is an error.
pub(super) fn read_produced(answer: &[u8]) -> io::Result<i32> {
    let (correlation_id, code) = read_answer_to_produce(answer)?;
    check(code)?;
    Ok(correlation_id)
}

/// The correlation id and the error code of an answer to Produce.
pub(super) fn read_answer_to_produce(answer: &[u8]) -> io::Result<(i32, i16)> {
    let mut fields = Fields(answer);
    let correlation_id = fields.i32()?;
    fields.i32()?;
    fields.text()?;
    fields.take(4 + 4)?;
    Ok((correlation_id, fields.i16()?))
}

/// The producer id and epoch in an answer to InitProducerId; nothing if it is to be asked for again.
pub(super) fn read_producer(answer: &[u8]) -> io::Result<Option<(i64, i16)>> {
    let mut fields = Fields(answer);
    fields.take(4 + 4)?;
    match fields.i16()? {
        code if code == ErrorCode::CoordinatorLoadInProgress.code() => return Ok(None),
        code => check(code)?,
    }
    Ok(Some((fields.i64()?, fields.i16()?)))
}

/// The batches in an answer to Fetch of one partition. None if the offset is out of range.
pub(super) fn read_fetched(answer: &[u8]) -> io::Result<Option<&[u8]>> {
    let mut fields = Fields(answer);
    fields.take(4 + 4)?;
    check(fields.i16()?)?;
    fields.take(4)?;
    if fields.i32()? == 0 {
        return Ok(Some(&[]));
    }
    fields.text()?;
    fields.take(4 + 4)?;
    match fields.i16()? {
        code if code == ErrorCode::OffsetOutOfRange.code() => return Ok(None),
        code => check(code)?,
    }
    fields.take(8 + 8 + 8)?;
    let aborted = fields.i32()?;
    fields.take(usize::try_from(aborted).unwrap_or(0) * 16)?;
    fields.take(4)?;
    let length = fields.i32()?;
    fields.take(usize::try_from(length).unwrap_or(0)).map(Some)
}

/// What whole batches hold.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    pub(super) messages: u64,
    pub(super) end: Option<i64>,
}

/// Counts the messages of whole batches, from their headers. `each` is given every batch.
pub(super) fn count(mut batches: &[u8], mut each: impl FnMut(&[u8])) -> Held {
    let mut held = Held::default();
    while let Some(header) = batches.first_chunk::<BATCH_HEADER_BYTES>() {
        let mut fields = Fields(header);
        let base = fields.i64().unwrap_or_default();
        let length = fields.i32().map_or(0, |length| usize::try_from(length).unwrap_or(0)) + 12;
        let Some((batch, rest)) = batches.split_at_checked(length) else { break };
        let last_delta = i32::from_be_bytes([header[23], header[24], header[25], header[26]]);
        let messages = i32::from_be_bytes([header[57], header[58], header[59], header[60]]);
        held.messages += u64::from(messages.unsigned_abs());
        held.end = Some(base + i64::from(last_delta) + 1);
        each(batch);
        batches = rest;
    }
    held
}
