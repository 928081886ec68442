//! Who somebody is: SASL PLAIN, on brokers that answer nobody else.

use serde_json::json;

use crate::story::Story;
use crate::users::password;

/// Who somebody is.
#[expect(clippy::too_many_lines, reason = "a list of ways to fail")]
pub(in crate::scene) fn authentication(story: &mut Story<'_>) {
    let anything = json!({"Topics": [], "AllowAutoTopicCreation": false});
    // Before it is known who asks.
    story.on(1).each("ApiVersions", |_| json!({"ClientSoftwareName": "x", "ClientSoftwareVersion": "1"}));
    for (connection, api) in (2..).zip(["Metadata", "SaslAuthenticate", "DescribeCluster", "Produce"]) {
        let body = if api == "Metadata" { anything.clone() } else { json!({}) };
        story.on(connection).call(api, body);
    }
    let token = |text: &str| json!({"AuthBytes": text});
    let wrong = [
        "\0root\0nonsense",
        "\0nobody\0root",
        "",
        "\0root",
        "root\0root\0root",
        "\0\0",
        "bob\0root\0root",
        "\0root\0",
    ];
    for (connection, wrong) in (10..).zip(wrong) {
        for version in [0, 1] {
            let connection = 2 * connection + version;
            let version = i16::try_from(version).unwrap_or(0);
            story.on(connection).call_in(1..=1, "SaslHandshake", json!({"Mechanism": "PLAIN"}));
            story.call_in(version..=version, "SaslAuthenticate", token(wrong));
            story.call("Metadata", anything.clone());
        }
    }
    for (connection, mechanism) in (50..).zip(["GSSAPI", "", "plain", "SCRAM-SHA-256"]) {
        story.on(connection).call_in(1..=1, "SaslHandshake", json!({"Mechanism": mechanism}));
        story.call("Metadata", anything.clone());
    }
    // Once more, and as somebody else.
    for (connection, name) in (60..).zip(["root", "alice", "nobody"]) {
        story.log_in(connection, "root").call("Metadata", anything.clone());
        story.call_in(1..=1, "SaslHandshake", json!({"Mechanism": "PLAIN"}));
        story.call("SaslAuthenticate", token(&format!("\0{name}\0{}", password(name))));
        story.call("Metadata", anything.clone());
    }
    for version in story.versions("SaslAuthenticate") {
        story.on(70 + usize::try_from(version).unwrap_or(0));
        story.call_in(1..=1, "SaslHandshake", json!({"Mechanism": "PLAIN"}));
        story.call_in(version..=version, "SaslAuthenticate", token("\0alice\0alice"));
        story.call("DescribeCluster", json!({"IncludeClusterAuthorizedOperations": true}));
    }
}
