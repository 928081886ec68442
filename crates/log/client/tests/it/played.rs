//! Two brokers that answer what a producer and a consumer ask, as a test wants it.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use log_client::messages::Field;
use log_client::messages::data::{
    FetchBody, FetchResponse, FetchResponsePartition, FetchResponseTopic, MetadataBody, MetadataBroker,
    MetadataResponse, MetadataResponsePartition, MetadataResponseTopic, ProduceBody, ProduceResponse,
    ProduceResponsePartition, ProduceResponseTopic,
};
use log_client::messages::transactions::{InitProducerIdRequest, InitProducerIdResponse};
use log_client::{Call, Cluster};
use log_wire::messages::Blob;
use log_wire::{Attributes, Batch, BatchBuilder, Producer, Reader, Records, Writer};

/// What both brokers know.
#[derive(Default)]
pub(crate) struct State {
    ports: Vec<u16>,
    pub(crate) leader: i32,
    /// A broker that answers nothing.
    pub(crate) silent: Option<i32>,
    /// How long a batch takes.
    pub(crate) delay: Duration,
    /// The batches that came: to which broker, with which sequence number and values.
    pub(crate) came: Vec<(i32, i32, Vec<String>)>,
    /// How many records each broker has.
    pub(crate) ends: [i64; 2],
    /// Where leaders send consumers that say where they stand.
    pub(crate) nearest: i32,
    /// An error with which a broker answers fetches.
    pub(crate) refuses: Option<(i32, i16)>,
    /// What was fetched: of which broker, from which offset.
    pub(crate) fetched: Vec<(i32, i64)>,
}

/// See the module.
#[derive(Clone)]
pub(crate) struct Played(Arc<Mutex<State>>);

impl Played {
    pub(crate) fn start() -> Self {
        let played = Self(Arc::default());
        played.state().leader = 1;
        for id in [1, 2] {
            let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
            played.state().ports.push(listener.local_addr().unwrap().port());
            let of = played.clone();
            thread::spawn(move || {
                for stream in listener.incoming().map_while(Result::ok) {
                    let of = of.clone();
                    thread::spawn(move || of.serve(id, stream));
                }
            });
        }
        played
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub(crate) fn cluster(&self) -> Cluster {
        let ports = self.state().ports.clone();
        let addresses: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        Cluster::connect(&addresses.join(","), "test").unwrap()
    }

    fn serve(&self, id: i32, mut stream: TcpStream) {
        loop {
            let mut length = [0; 4];
            if stream.read_exact(&mut length).is_err() {
                return;
            }
            let mut frame = vec![0; u32::from_be_bytes(length) as usize];
            stream.read_exact(&mut frame).unwrap();
            let mut header = Reader::new(&frame, false);
            let (key, _, correlation) = (header.i16().unwrap(), header.i16().unwrap(), header.i32().unwrap());
            let _ = header.text().unwrap();
            let is_flexible = key != 22 || InitProducerIdRequest::VERSION >= 2;
            let mut body = Reader::new(header.rest(), is_flexible);
            body.tagged_fields().unwrap();
            if self.state().silent == Some(id) {
                continue;
            }
            let mut answer = vec![0; 4];
            Writer::new(&mut answer, false).i32(correlation);
            Writer::new(&mut answer, true).no_tagged_fields();
            match key {
                0 => write::<ProduceBody>(&mut answer, &self.produce(id, &read(&mut body))),
                1 => write::<FetchBody>(&mut answer, &self.fetch(id, &read(&mut body))),
                3 => {
                    let _: MetadataBody = read(&mut body);
                    write::<MetadataBody>(&mut answer, &self.metadata());
                }
                22 => {
                    let response = InitProducerIdResponse { producer_id: 7, ..Default::default() };
                    write::<InitProducerIdRequest>(&mut answer, &response);
                }
                other => panic!("API {other}"),
            }
            let length = (answer.len() - 4) as u32;
            answer[..4].copy_from_slice(&length.to_be_bytes());
            let _ = stream.write_all(&answer);
        }
    }

    fn metadata(&self) -> MetadataResponse {
        let state = self.state();
        let brokers = (1..).zip(&state.ports).map(|(node_id, port)| MetadataBroker {
            node_id,
            host: "127.0.0.1".into(),
            port: i32::from(*port),
            ..Default::default()
        });
        let partition = MetadataResponsePartition { leader_id: state.leader, ..Default::default() };
        let topic = MetadataResponseTopic {
            name: Some("orders".into()),
            partitions: vec![partition],
            ..Default::default()
        };
        MetadataResponse {
            brokers: brokers.collect(),
            controller_id: 1,
            topics: vec![topic],
            ..Default::default()
        }
    }

    fn produce(&self, id: i32, request: &ProduceBody) -> ProduceResponse {
        let bytes = &request.topic_data[0].partition_data[0].records.0;
        let (batch, _) = Batch::read(bytes).unwrap();
        let records = Records::new(batch.records(), batch.count()).flatten();
        let values =
            records.map(|record| String::from_utf8_lossy(record.value.unwrap_or_default()).into_owned());
        let came = (id, batch.base_sequence(), values.collect());
        let delay = {
            let mut state = self.state();
            state.came.push(came);
            state.delay
        };
        thread::sleep(delay);
        let code = if self.state().leader == id { 0 } else { 6 };
        let partition = ProduceResponsePartition { error_code: code, ..Default::default() };
        let topic = ProduceResponseTopic {
            name: "orders".into(),
            partition_responses: vec![partition],
            ..Default::default()
        };
        ProduceResponse { responses: vec![topic], ..Default::default() }
    }

    /// One record, whose value is its offset.
    fn fetch(&self, id: i32, request: &FetchBody) -> FetchResponse {
        let offset = request.topics[0].partitions[0].fetch_offset;
        let mut state = self.state();
        state.fetched.push((id, offset));
        let (leads, end) = (state.leader == id, state.ends[id as usize - 1]);
        let mut partition = FetchResponsePartition { last_stable_offset: end, ..Default::default() };
        match state.refuses {
            Some((refuses, code)) if refuses == id => partition.error_code = code,
            _ if leads && !request.rack_id.is_empty() && state.nearest > 0 => {
                partition.preferred_read_replica = state.nearest;
            }
            _ if offset < end => partition.records = Blob(batch(offset)),
            _ => {}
        }
        let topic =
            FetchResponseTopic { topic: "orders".into(), partitions: vec![partition], ..Default::default() };
        FetchResponse { responses: vec![topic], ..Default::default() }
    }
}

fn batch(offset: i64) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Attributes(0), Producer::NONE);
    builder.push(0, None, Some(offset.to_string().as_bytes()), &[]);
    let mut bytes = builder.finish();
    bytes[..8].copy_from_slice(&offset.to_be_bytes());
    bytes
}

fn read<F: Field + Call>(body: &mut Reader<'_>) -> F {
    F::read(body, F::VERSION).unwrap()
}

fn write<F: Call>(answer: &mut Vec<u8>, response: &F::Response) {
    response.write(&mut Writer::new(answer, true), F::VERSION);
}
