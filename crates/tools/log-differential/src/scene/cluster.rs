//! What a broker says of itself.

use serde_json::json;

use crate::script::Spoil;
use crate::story::Story;

pub(super) fn api_versions(story: &mut Story<'_>) {
    let named =
        |name: &str, version: &str| json!({"ClientSoftwareName": name, "ClientSoftwareVersion": version});
    story.each("ApiVersions", |_| named("diff", "1.0"));
    for (name, version) in
        [("", ""), ("a b", "1"), ("-a", "1"), ("a-", "1"), ("a", "1.-"), ("a.b-c", "0"), ("é", "1")]
    {
        story.call_in(3..=i16::MAX, "ApiVersions", named(name, version));
    }
    for version in [5, 99, i16::MAX, -1] {
        // Behind the version nothing is read, but a header of an old version is too short for Kafka.
        let call = story.call_in(3..=i16::MAX, "ApiVersions", named("diff", "1"));
        call.spoil = Some(Spoil::Header(18, version));
        call.answered_in = Some(0);
    }
    story.as_client(None).call("ApiVersions", named("diff", "1"));
    story.as_client(Some("")).call("ApiVersions", named("diff", "1"));
}
