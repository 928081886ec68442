//! A small broker of Kafka's protocol, as far as loads use it: honest, forgetful, or void. Every topic has one partition.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use log_wire::messages::data::{
    FetchBody, FetchResponse, FetchResponsePartition, FetchResponseTopic, MetadataBody, MetadataBroker,
    MetadataResponse, MetadataResponsePartition, MetadataResponseTopic, ProduceBody, ProduceResponse,
    ProduceResponsePartition, ProduceResponseTopic,
};
use log_wire::messages::offsets::{
    ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopicResponse,
};
use log_wire::messages::topics::{
    CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse, DeletableTopicResult,
    DeleteTopicsRequest, DeleteTopicsResponse,
};
use log_wire::messages::transactions::InitProducerIdResponse;
use log_wire::messages::{Blob, Field};
use log_wire::{Api, Batch, ErrorCode, Reader, Writer, end_frame, start_frame};

/// What happens with batches that were acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    Nothing,
    AllButOneInHundred,
    All,
    /// Batches of one producer, each once, by their sequence numbers. The fifth is refused, and behind the tenth, which it keeps, it
    /// closes the connection without an answer.
    OnceWithFaults,
}

#[derive(Default)]
struct Topic {
    /// By their base offset.
    batches: BTreeMap<i64, Vec<u8>>,
    end: i64,
    seen: u64,
}

struct State {
    address: SocketAddr,
    keeps: Keeps,
    topics: BTreeMap<String, Topic>,
}

/// A running one; its threads end with the test.
pub(crate) struct Void(SocketAddr);

impl Void {
    pub(crate) fn start(keeps: Keeps) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State { address, keeps, topics: BTreeMap::new() }));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&state);
                // A client that is gone needs no error.
                thread::spawn(move || drop(serve(stream, &state)));
            }
        });
        Self(address)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.0
    }
}

fn serve(mut stream: TcpStream, state: &Mutex<State>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let malformed = |_| io::Error::from(io::ErrorKind::InvalidData);
    loop {
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        stream.read_exact(&mut frame)?;
        let mut header = Reader::new(&frame, false);
        let (key, version) = (header.i16().map_err(malformed)?, header.i16().map_err(malformed)?);
        let correlation_id = header.i32().map_err(malformed)?;
        header.text().map_err(malformed)?;
        let flexible = Api::find(key).is_some_and(|api| api.is_flexible(version));
        let mut body = Reader::new(header.rest(), flexible);
        if flexible {
            body.tagged_fields().map_err(malformed)?;
        }
        let mut out = Vec::new();
        let start = start_frame(&mut out);
        Writer::new(&mut out, false).i32(correlation_id);
        if flexible {
            Writer::new(&mut out, true).no_tagged_fields();
        }
        let mut writer = Writer::new(&mut out, flexible);
        state.lock().unwrap().answer((key, version), &mut body, &mut writer).map_err(malformed)?;
        end_frame(&mut out, start);
        stream.write_all(&out)?;
    }
}

impl State {
    fn answer(
        &mut self,
        (key, version): (i16, i16),
        body: &mut Reader<'_>,
        out: &mut Writer<'_>,
    ) -> Result<(), log_wire::Malformed> {
        match key {
            0 => self.produce(ProduceBody::read(body, version)?)?.write(out, version),
            1 => self.fetch(&FetchBody::read(body, version)?).write(out, version),
            2 => self.offsets(&ListOffsetsRequest::read(body, version)?).write(out, version),
            3 => self.metadata(MetadataBody::read(body, version)?).write(out, version),
            19 => self.create(CreateTopicsRequest::read(body, version)?).write(out, version),
            22 => InitProducerIdResponse { producer_id: 7, ..Default::default() }.write(out, version),
            20 => Self::delete(DeleteTopicsRequest::read(body, version)?).write(out, version),
            _ => return Err(log_wire::Malformed("a request that no load sends")),
        }
        Ok(())
    }

    fn produce(&mut self, request: ProduceBody) -> Result<ProduceResponse, log_wire::Malformed> {
        let mut responses = Vec::new();
        for data in request.topic_data {
            let topic = self.topics.entry(data.name.clone()).or_default();
            let mut error_code = 0;
            for partition in data.partition_data {
                let mut batch = partition.records.0;
                let header = Batch::read(&batch).unwrap().0;
                let (count, sequence) = (i64::from(header.count()), i64::from(header.base_sequence()));
                topic.seen += 1;
                if self.keeps == Keeps::OnceWithFaults {
                    error_code = match topic.seen {
                        5 => ErrorCode::NotLeaderOrFollower.code(),
                        _ if sequence < topic.end => ErrorCode::DuplicateSequenceNumber.code(),
                        _ if sequence > topic.end => ErrorCode::OutOfOrderSequenceNumber.code(),
                        _ => 0,
                    };
                }
                let is_kept = match self.keeps {
                    Keeps::Nothing => false,
                    Keeps::AllButOneInHundred => !topic.seen.is_multiple_of(100),
                    Keeps::All => true,
                    Keeps::OnceWithFaults => error_code == 0,
                };
                if is_kept {
                    Batch::assign(&mut batch, topic.end, 0);
                    topic.batches.insert(topic.end, batch);
                    topic.end += count;
                }
                if self.keeps == Keeps::OnceWithFaults && topic.seen == 10 {
                    return Err(log_wire::Malformed("the connection is to be closed"));
                }
            }
            let partition_responses =
                vec![ProduceResponsePartition { error_code, ..ProduceResponsePartition::default() }];
            let topic = ProduceResponseTopic { name: data.name, ..Default::default() };
            responses.push(ProduceResponseTopic { partition_responses, ..topic });
        }
        Ok(ProduceResponse { responses, ..ProduceResponse::default() })
    }

    fn fetch(&self, request: &FetchBody) -> FetchResponse {
        let asked = &request.topics[0];
        let partition = &asked.partitions[0];
        let none = Topic::default();
        let topic = self.topics.get(&asked.topic).unwrap_or(&none);
        let mut bytes = Vec::new();
        for batch in topic.batches.range(partition.fetch_offset..).map(|(_, batch)| batch) {
            if !bytes.is_empty() && bytes.len() + batch.len() > partition.partition_max_bytes as usize {
                break;
            }
            bytes.extend_from_slice(batch);
        }
        let partition = FetchResponsePartition {
            high_watermark: topic.end,
            records: Blob(bytes),
            aborted_transactions: Some(Vec::new()),
            ..Default::default()
        };
        let topic = FetchResponseTopic {
            topic: asked.topic.clone(),
            partitions: vec![partition],
            ..Default::default()
        };
        FetchResponse { responses: vec![topic], ..FetchResponse::default() }
    }

    fn offsets(&self, request: &ListOffsetsRequest) -> ListOffsetsResponse {
        let of = |name: &String| {
            let offset = self.topics.get(name).map_or(0, |topic| topic.end);
            let partition = ListOffsetsPartitionResponse { offset, ..Default::default() };
            ListOffsetsTopicResponse { name: name.clone(), partitions: vec![partition] }
        };
        let topics = request.topics.iter().map(|topic| of(&topic.name)).collect();
        ListOffsetsResponse { topics, ..ListOffsetsResponse::default() }
    }

    fn metadata(&self, request: MetadataBody) -> MetadataResponse {
        let broker = MetadataBroker {
            node_id: 1,
            host: self.address.ip().to_string(),
            port: self.address.port().into(),
            ..Default::default()
        };
        let topic = |name: Option<String>| {
            let partition = MetadataResponsePartition { leader_id: 1, ..Default::default() };
            MetadataResponseTopic { name, partitions: vec![partition], ..Default::default() }
        };
        let topics = request.topics.unwrap_or_default();
        MetadataResponse {
            brokers: vec![broker],
            controller_id: 1,
            topics: topics.into_iter().map(|asked| topic(asked.name)).collect(),
            ..MetadataResponse::default()
        }
    }

    fn create(&mut self, request: CreateTopicsRequest) -> CreateTopicsResponse {
        let mut topics = Vec::new();
        for topic in request.topics {
            self.topics.insert(topic.name.clone(), Topic::default());
            topics.push(CreatableTopicResult { name: topic.name, ..Default::default() });
        }
        CreateTopicsResponse { topics, ..CreateTopicsResponse::default() }
    }

    fn delete(request: DeleteTopicsRequest) -> DeleteTopicsResponse {
        let of = |name| DeletableTopicResult { name: Some(name), ..Default::default() };
        DeleteTopicsResponse {
            responses: request.topic_names.into_iter().map(of).collect(),
            ..DeleteTopicsResponse::default()
        }
    }
}
