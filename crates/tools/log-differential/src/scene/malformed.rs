//! Requests that are none.

use serde_json::json;

use super::body::{batch, fetch, part, produce};
use crate::hex::to_hex;
use crate::script::{Action, Spoil};
use crate::story::Story;

pub(super) fn bodies(story: &mut Story<'_>) {
    story.topic("a", 1);
    let bodies = [
        ("Metadata", json!({"Topics": [{"Name": "@a"}], "AllowAutoTopicCreation": false})),
        ("Fetch", fetch("a", vec![part(0, 0)])),
        ("Produce", produce("a", 0, batch(&["x"]))),
        ("ListOffsets", super::body::offsets("a", &[(0, json!(-1))])),
        ("CreateTopics", super::body::create(json!([super::body::new_topic("@b", 1, 1)]))),
        ("OffsetFetch", json!({"GroupId": "@g", "Topics": [], "Groups": [{"GroupId": "@g", "Topics": []}]})),
        ("ApiVersions", json!({"ClientSoftwareName": "diff", "ClientSoftwareVersion": "1"})),
    ];
    for (index, (api, body)) in bodies.iter().enumerate() {
        story.on(index);
        for spoil in [
            Spoil::Cut(1),
            Spoil::Cut(2 + story.dice.below(20)),
            Spoil::Append(String::from("00")),
            Spoil::Append(String::from("ffffffffffff")),
        ] {
            // What is behind its end belongs to no field: Kafka takes the request nevertheless.
            story.call(api, body.clone()).spoil = Some(spoil);
        }
        if ["Produce", "Fetch"].contains(api) {
            // It may turn into one that has no reply, or into one that waits.
            continue;
        }
        // Counts and lengths that no body has room for, behind a header of 14 bytes or one more.
        for byte in [0x7f, 0xff, 0x80] {
            let at = 14 + story.dice.below(12);
            story.call(api, body.clone()).spoil = Some(Spoil::Set(at, byte));
        }
    }
    // Null where there must be something.
    story.on(20).call_in(0..=0, "Metadata", json!({"Topics": null}));
    story.on(21).call_in(4..=9, "Metadata", json!({"Topics": [{"Name": null}]}));
    story.on(22).call("CreateTopics", json!({"Topics": null}));
    story.on(23).call("JoinGroup", json!({"GroupId": null}));
    story.on(24).call_in(4..=i16::MAX, "FindCoordinator", json!({"CoordinatorKeys": [null]}));
    story.on(25).call_in(8..=i16::MAX, "OffsetFetch", json!({"Groups": null}));
    // Tagged fields that nobody knows are skipped.
    let body = json!({"Topics": [], "_tags": {"77": "0102", "9": ""}});
    story.on(26).call_in(9..=i16::MAX, "Metadata", body);
}

pub(super) fn headers(story: &mut Story<'_>) {
    let apis: [(i16, i16); 12] = [
        (-1, 0),
        (999, 0),
        (i16::MAX, 0),
        (0, 2),
        (0, 99),
        (1, 3),
        (1, 19),
        (3, -1),
        (3, 14),
        (11, 10),
        // Between brokers.
        (4, 0),
        (56, 0),
    ];
    for (index, (key, version)) in apis.into_iter().enumerate() {
        story.on(index).call_in(9..=9, "Metadata", json!({"Topics": []})).spoil =
            Some(Spoil::Header(key, version));
        story.on(index).call("Metadata", json!({"Topics": []}));
    }
}

pub(super) fn frames(story: &mut Story<'_>) {
    let random: Vec<u8> = (0..64).map(|_| story.dice.below(256) as u8).collect();
    let frames: [&[u8]; 9] = [
        &[0xff, 0xff, 0xff, 0xff],
        &[0x80, 0, 0, 0],
        &[0x7f, 0xff, 0xff, 0xff, 0],
        &[0x06, 0x40, 0, 1, 0],
        &[0, 0, 0, 0],
        &[0, 0, 0, 1, 0],
        &[0, 0, 0, 4, 0, 3, 0, 0],
        b"GET / HTTP/1.1\r\n\r\n",
        &[&[0, 0, 0, 60][..], &random[..60]].concat(),
    ];
    for (index, frame) in frames.into_iter().enumerate() {
        story.on(index).act(Action::Bytes(to_hex(frame)));
    }
    // Half a request, and no more.
    story.on(50).act(Action::Bytes(String::from("00000064001200")));
}
