//! What is decoded and encoded by hand, beside an implementation of the protocol that others wrote, in every version.

mod api_versions;
mod fetch;
mod metadata;
mod produce;

use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use log_wire::{Api, ApiKey, TopicName};

const ID: [u8; 16] = [7; 16];

fn api(key: ApiKey) -> &'static Api {
    Api::find(key as i16).expect("it is known")
}

fn text(text: &'static str) -> StrBytes {
    StrBytes::from_static_str(text)
}

fn encoded(message: &impl Encodable, version: i16) -> Vec<u8> {
    let mut bytes = BytesMut::new();
    message.encode(&mut bytes, version).expect("they can encode it");
    bytes.to_vec()
}

fn decoded<M: Decodable>(bytes: Vec<u8>, version: i16) -> M {
    let mut bytes = Bytes::from(bytes);
    let message = M::decode(&mut bytes, version).expect("they can decode it");
    assert!(!bytes.has_remaining(), "version {version}: bytes behind the message");
    message
}

fn topic(version: i16, by_id_from: i16) -> TopicName<'static> {
    if version >= by_id_from { TopicName::Id(ID) } else { TopicName::Name("orders") }
}
