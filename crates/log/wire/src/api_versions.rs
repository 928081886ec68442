//! ApiVersions: what a broker serves. It is the first that a client asks, perhaps in a version that the broker does not know.

use alloc::vec::Vec;

use crate::{ApiKey, ErrorCode, Malformed, Reader, Writer};

/// The first version in which a client says what it is, and a broker which features it has (KIP-511, KIP-584).
const NAMES: i16 = 3;
/// The first version with a throttle time.
const THROTTLE: i16 = 1;
/// A name that a client may give itself is not longer than that.
const NAME_BYTES_MAX: usize = 255;

/// What a client says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApiVersionsRequest<'a> {
    /// The name of its program.
    pub software_name: &'a str,
    /// The version of its program.
    pub software_version: &'a str,
}

impl<'a> ApiVersionsRequest<'a> {
    /// Reads a request's body.
    ///
    /// # Errors
    /// It is malformed.
    pub fn read(reader: &mut Reader<'a>, version: i16) -> Result<Self, Malformed> {
        if version < NAMES {
            return Ok(Self::default());
        }
        let request = Self { software_name: reader.text()?, software_version: reader.text()? };
        reader.tagged_fields()?;
        Ok(request)
    }

    /// Whether the names are ones that a client may give itself: letters, digits, points and hyphens, of which the last two
    /// stand only in between. Versions without names have none to judge.
    #[must_use]
    pub fn has_valid_names(&self, version: i16) -> bool {
        version < NAMES || [self.software_name, self.software_version].into_iter().all(is_name)
    }
}

fn is_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    let is_outer = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    bytes.len() <= NAME_BYTES_MAX
        && bytes.iter().all(is_inner)
        && is_outer(bytes.first())
        && is_outer(bytes.last())
}

/// An API with the versions that are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServedApi {
    /// Which.
    pub key: ApiKey,
    /// The lowest version.
    pub lowest: i16,
    /// The highest.
    pub highest: i16,
}

/// A feature of the cluster (KIP-584), with levels from the lowest to the highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature<'a> {
    /// Its name.
    pub name: &'a str,
    /// The lowest level.
    pub lowest: i16,
    /// The highest.
    pub highest: i16,
}

/// Features that this broker knows, and those that the cluster uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features<'a> {
    /// What this broker knows.
    pub supported: &'a [Feature<'a>],
    /// What the cluster uses.
    pub finalized: &'a [Feature<'a>],
    /// Which state of the latter it is.
    pub epoch: i64,
}

/// Writes a response's body. A response that only refuses the request says nothing of features.
pub fn write_api_versions_response(
    writer: &mut Writer<'_>,
    version: i16,
    error: ErrorCode,
    apis: &[ServedApi],
    throttle_ms: i32,
    features: Option<Features<'_>>,
) {
    writer.i16(error.code()).count(apis.len());
    for api in apis {
        writer.i16(api.key as i16).i16(api.lowest).i16(api.highest).no_tagged_fields();
    }
    if version >= THROTTLE {
        writer.i32(throttle_ms);
    }
    let Some(features) = features else {
        writer.no_tagged_fields();
        return;
    };
    // Levels from 0 on are not known to clients of version 3 (KAFKA-17011).
    let is_known = |feature: &&Feature<'_>| version > NAMES || feature.lowest > 0;
    let supported =
        encode(features.supported.iter().filter(is_known), |feature| (feature.lowest, feature.highest));
    let finalized = encode(features.finalized.iter(), |feature| (feature.highest, feature.lowest));
    writer.tagged_fields(&[(0, &supported), (1, &features.epoch.to_be_bytes()), (2, &finalized)]);
}

fn encode<'a>(
    features: impl Iterator<Item = &'a Feature<'a>> + Clone,
    levels: impl Fn(&Feature<'_>) -> (i16, i16),
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, true);
    writer.count(features.clone().count());
    for feature in features {
        let (first, second) = levels(feature);
        writer.text(feature.name).i16(first).i16(second).no_tagged_fields();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_clients_are_judged_as_the_protocol_says() {
        let judge = |name| {
            let request = ApiVersionsRequest { software_name: name, software_version: "1.0" };
            request.has_valid_names(3)
        };
        assert!(["a", "apache-kafka-java", "x.y-z9"].into_iter().all(judge));
        assert!(!["", "-a", "a.", "a b", "a\u{e4}", &"x".repeat(256)].into_iter().any(judge));
        assert!(ApiVersionsRequest::default().has_valid_names(2), "nothing is said");
    }
}
