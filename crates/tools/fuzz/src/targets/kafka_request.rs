//! Requests of Kafka's clients, of the APIs that are decoded by hand, and the record batches in them.

use log_wire::{
    Api, ApiKey, ApiVersionsRequest, Attributes, Batch, BatchBuilder, Compression, FetchRequest, Header,
    MetadataRequest, ProduceRequest, Producer, Records, RequestHeader, TopicName, Writer,
};

pub(crate) fn run(bytes: &[u8]) {
    let Ok((header, Some(api), mut body)) = RequestHeader::read(bytes) else { return };
    if !api.has(header.version) {
        return;
    }
    let (version, length) = (header.version, body.rest().len());
    let least = match api.key {
        ApiKey::ApiVersions => {
            let Ok(request) = ApiVersionsRequest::read(&mut body, version) else { return };
            let _ = request.has_valid_names(version);
            request.software_name.len() + request.software_version.len()
        }
        ApiKey::Metadata => {
            let mut topics = Vec::new();
            let Ok(_) = MetadataRequest::read(&mut body, version, &mut topics) else { return };
            topics.iter().map(|topic| 1 + topic.name.map_or(0, str::len)).sum()
        }
        ApiKey::Produce => {
            let mut partitions = Vec::new();
            let Ok(_) = ProduceRequest::read(&mut body, version, &mut partitions) else { return };
            let records = partitions.iter().filter_map(|partition| partition.records);
            records.inspect(|records| batches(records)).map(|records| 4 + records.len()).sum()
        }
        ApiKey::Fetch => {
            let (mut partitions, mut forgotten) = (Vec::new(), Vec::new());
            let Ok(_) = FetchRequest::read(&mut body, version, &mut partitions, &mut forgotten) else {
                return;
            };
            partitions.len() * 16 + forgotten.len() * 4
        }
        _ => 0,
    };
    assert!(least + body.rest().len() <= length, "more was read than the bytes can hold");
}

fn batches(mut bytes: &[u8]) {
    while let Ok((batch, rest)) = Batch::read(bytes) {
        assert_eq!(batch.bytes().len() + rest.len(), bytes.len());
        let _ = (batch.verify(), batch.check_from_client());
        if batch.attributes().compression() == Some(Compression::None) {
            let taken = Records::new(batch.records(), batch.count()).map_while(Result::ok).map(|record| {
                let headers = record.headers().map_while(Result::ok).map(|header| 2 + header.key.len());
                record.key.map_or(0, <[u8]>::len)
                    + record.value.map_or(0, <[u8]>::len)
                    + headers.sum::<usize>()
                    + 7
            });
            assert!(taken.sum::<usize>() <= batch.records().len(), "records are longer than their batch");
        }
        let mut placed = batch.bytes().to_vec();
        Batch::assign(&mut placed, i64::MAX, i32::MAX);
        log_wire::stamp_append_time(&mut placed, i64::MIN);
        assert!(Batch::read(&placed).is_ok_and(|(placed, _)| placed.verify().is_ok()));
        bytes = rest;
    }
}

/// A request of that API and version, behind whose header `body` writes.
fn request(key: ApiKey, version: i16, body: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    Writer::new(&mut out, false).i16(key as i16).i16(version).i32(7).nullable_text(Some("client"));
    let flexible = Api::find(key as i16).is_some_and(|api| api.is_flexible(version));
    let mut writer = Writer::new(&mut out, flexible);
    writer.no_tagged_fields();
    body(&mut writer);
    out
}

fn topic(writer: &mut Writer<'_>, by_id: bool) {
    let topic = if by_id { TopicName::Id([7; 16]) } else { TopicName::Name("orders") };
    match topic {
        TopicName::Name(name) => writer.text(name),
        TopicName::Id(id) => writer.uuid(&id),
    };
}

fn produce(version: i16) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Attributes(0), Producer { id: 4, epoch: 1, base_sequence: 8 });
    builder.push(1_000, Some(b"key"), Some(b"value"), &[Header { key: b"h", value: None }]);
    builder.push(1_001, None, None, &[]);
    let batch = builder.finish();
    request(ApiKey::Produce, version, |writer| {
        writer.nullable_text(None).i16(-1).i32(1_500).count(1);
        topic(writer, version >= 13);
        writer.count(2);
        writer.i32(0).bytes(&batch).no_tagged_fields().i32(1).nullable_bytes(None).no_tagged_fields();
        writer.no_tagged_fields().no_tagged_fields();
    })
}

fn fetch(version: i16) -> Vec<u8> {
    request(ApiKey::Fetch, version, |writer| {
        if version < 15 {
            writer.i32(-1);
        }
        writer.i32(500).i32(1).i32(1 << 20).i8(1);
        if version >= 7 {
            writer.i32(0).i32(-1);
        }
        writer.count(1);
        topic(writer, version >= 13);
        writer.count(1).i32(0);
        if version >= 9 {
            writer.i32(3);
        }
        writer.i64(500);
        if version >= 12 {
            writer.i32(2);
        }
        if version >= 5 {
            writer.i64(-1);
        }
        writer.i32(1 << 20).no_tagged_fields().no_tagged_fields();
        if version >= 7 {
            writer.count(0);
        }
        if version >= 11 {
            writer.text("rack");
        }
        writer.no_tagged_fields();
    })
}

fn metadata(version: i16) -> Vec<u8> {
    request(ApiKey::Metadata, version, |writer| {
        writer.count(1);
        if version >= 10 {
            writer.uuid(&[0; 16]).nullable_text(Some("orders"));
        } else {
            writer.text("orders");
        }
        writer.no_tagged_fields();
        if version >= 4 {
            writer.bool(true);
        }
        if (8..=10).contains(&version) {
            writer.bool(true);
        }
        if version >= 8 {
            writer.bool(false);
        }
        writer.no_tagged_fields();
    })
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<_> = [3, 9, 13].map(produce).into();
    seeds.extend([4, 11, 12, 18].map(fetch));
    seeds.extend([0, 4, 9, 13].map(metadata));
    seeds.push(request(ApiKey::ApiVersions, 0, |_| {}));
    seeds.push(request(ApiKey::ApiVersions, 4, |writer| {
        writer.text("kcat").text("1.7").no_tagged_fields();
    }));
    seeds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_is_a_whole_request() {
        for seed in seeds() {
            let (header, api, mut body) = RequestHeader::read(&seed).expect("a header");
            let (version, key) = (header.version, api.expect("it is known").key);
            let (mut topics, mut asked, mut parts) = (Vec::new(), Vec::new(), Vec::new());
            let read = match key {
                ApiKey::Produce => ProduceRequest::read(&mut body, version, &mut parts).map(drop),
                ApiKey::Fetch => {
                    FetchRequest::read(&mut body, version, &mut asked, &mut Vec::new()).map(drop)
                }
                ApiKey::Metadata => MetadataRequest::read(&mut body, version, &mut topics).map(drop),
                _ => ApiVersionsRequest::read(&mut body, version).map(drop),
            };
            assert_eq!((read, body.end()), (Ok(()), Ok(())), "{key:?} {version}");
        }
    }
}
