//! How a Metadata request names topics: by name, or by id, which two versions have and do not take.

use log_wire::{
    ErrorCode, MetadataHead, MetadataTopic, MetadataTopicHead, NOT_ASKED, Writer, end_metadata_response,
    end_metadata_topic,
};

use crate::response::{Form, Response};

/// The first version that takes ids, and topics without a name.
const TAKES_IDS: i16 = 12;
const NO_ID: [u8; 16] = [0; 16];

/// The request names topics in a way that its version does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unnameable;

/// Keeps what is to be answered: if any topic is named by its id, those without an id are not, and names do not count.
pub(super) fn select(topics: &mut Vec<MetadataTopic<'_>>, version: i16) -> Result<(), Unnameable> {
    let has_id = |topic: &MetadataTopic<'_>| topic.id != NO_ID;
    if version < TAKES_IDS && topics.iter().any(|topic| has_id(topic) || topic.name.is_none()) {
        return Err(Unnameable);
    }
    if topics.iter().any(has_id) {
        topics.retain(has_id);
        topics.iter_mut().for_each(|topic| topic.name = None);
    }
    Ok(())
}

/// The response to a request that names topics wrongly: each is refused, and nothing is said of the cluster.
pub(super) fn refused(topics: &[MetadataTopic<'_>], form: Form) -> Response {
    let mut out = Vec::new();
    let (writer, version) = (&mut Writer::new(&mut out, form.flexible), form.version);
    let head = MetadataHead { throttle_ms: 0, brokers: &[], cluster_id: None, controller: -1 };
    head.write(writer, version, topics.len());
    for topic in topics {
        let (error, name) = (ErrorCode::InvalidRequest, Some(topic.name.unwrap_or_default()));
        MetadataTopicHead { error, name, id: topic.id, is_internal: false }.write(writer, version, 0);
        end_metadata_topic(writer, version, NOT_ASKED);
    }
    end_metadata_response(writer, version, NOT_ASKED, ErrorCode::InvalidRequest);
    Response::Body(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: [u8; 16] = [7; 16];

    fn topic(id: [u8; 16], name: Option<&str>) -> MetadataTopic<'_> {
        MetadataTopic { id, name }
    }

    #[test]
    fn topic_by_id_makes_names_count_for_nothing() {
        let mut topics = vec![topic(NO_ID, Some("a")), topic(ID, Some("b")), topic(ID, None)];
        assert_eq!(select(&mut topics, 12), Ok(()));
        assert_eq!(topics, [topic(ID, None), topic(ID, None)]);
        let mut by_name = vec![topic(NO_ID, Some("a"))];
        assert_eq!(select(&mut by_name, 12), Ok(()));
        assert_eq!(by_name, [topic(NO_ID, Some("a"))]);
    }

    #[test]
    fn versions_before_ids_are_taken_refuse_them_and_topics_without_a_name() {
        for wrong in [topic(ID, Some("a")), topic(NO_ID, None)] {
            assert_eq!(select(&mut vec![topic(NO_ID, Some("a")), wrong], 11), Err(Unnameable));
        }
        assert_eq!(select(&mut vec![topic(NO_ID, Some("a"))], 11), Ok(()));
    }
}
