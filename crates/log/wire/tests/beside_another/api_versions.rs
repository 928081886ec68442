//! ApiVersions.

use kafka_protocol::messages::{ApiVersionsRequest as TheirApiVersionsRequest, ApiVersionsResponse};
use log_wire::{
    ApiKey, ApiVersionsRequest, ErrorCode, Feature, Features, Reader, ServedApi, Writer,
    write_api_versions_response,
};

use super::{api, decoded, encoded, text};

#[test]
#[expect(clippy::too_many_lines, reason = "every field of a message, in every version")]
fn questions_for_versions_are_read_and_answered_in_every_version() {
    let api = api(ApiKey::ApiVersions);
    for version in api.lowest..=api.highest {
        let mut request = TheirApiVersionsRequest::default();
        if version >= 3 {
            request =
                request.with_client_software_name(text("kcat")).with_client_software_version(text("1.7"));
        }
        let bytes = encoded(&request, version);
        let mut reader = Reader::new(&bytes, api.is_flexible(version));
        let read = ApiVersionsRequest::read(&mut reader, version).expect("well formed");
        let expected = if version >= 3 { ("kcat", "1.7") } else { ("", "") };
        assert_eq!(
            ((read.software_name, read.software_version), reader.end()),
            (expected, Ok(())),
            "{version}"
        );

        let features = Features {
            supported: &[
                Feature { name: "transaction.version", lowest: 0, highest: 2 },
                Feature { name: "metadata.version", lowest: 7, highest: 30 },
            ],
            finalized: &[Feature { name: "transaction.version", lowest: 2, highest: 2 }],
            epoch: 11,
        };
        let served = [ServedApi { key: ApiKey::Fetch, lowest: 4, highest: 18 }];
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, api.is_flexible(version));
        write_api_versions_response(&mut writer, version, ErrorCode::None, &served, 5, Some(features));
        let response: ApiVersionsResponse = decoded(out, version);
        let theirs = &response.api_keys[0];
        assert_eq!((theirs.api_key, theirs.min_version, theirs.max_version), (1, 4, 18), "{version}");
        assert_eq!(response.throttle_time_ms, if version >= 1 { 5 } else { 0 });
        if version >= 3 {
            let supported: Vec<_> = response.supported_features.iter().map(|one| one.name.as_str()).collect();
            let all = ["transaction.version", "metadata.version"];
            assert_eq!(supported, if version == 3 { &all[1..] } else { &all[..] }, "{version}");
            let finalized = &response.finalized_features[0];
            assert_eq!((finalized.max_version_level, finalized.min_version_level), (2, 2));
            assert_eq!(response.finalized_features_epoch, 11);
        }
    }
}
