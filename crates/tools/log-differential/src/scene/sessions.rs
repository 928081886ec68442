//! Fetch sessions.

use serde_json::{Value, json};

use super::body::{STRANGE_ID, batch, fetch, fetch_all, part, produce, with};
use crate::story::Story;

fn of(body: Value, id: &str, epoch: i64) -> Value {
    let id = id.parse::<i64>().map_or_else(|_| json!(id), |id| json!(id));
    with(body, json!({"SessionId": id, "SessionEpoch": epoch}))
}

pub(super) fn incremental(story: &mut Story<'_>) {
    // Topics are named or identified in all requests of a session.
    let versions = if story.dice.once_in(2) { 7..=12 } else { 13..=i16::MAX };
    story.topic("a", 3).topic("b", 1);
    story.call("Produce", produce("a", 0, batch(&["one"])));
    let all = fetch_all(&[("a", vec![part(0, 0), part(1, 0), part(2, 0)]), ("b", vec![part(0, 0)])]);
    story.call_in(versions.clone(), "Fetch", of(all, "0", 0)).bind("session", "/SessionId");
    let nothing = fetch_all(&[]);
    // Nothing changed but what is not consumed.
    story.call_in(versions.clone(), "Fetch", of(nothing.clone(), "$session", 1));
    story.call_in(versions.clone(), "Fetch", of(fetch("a", vec![part(0, 1)]), "$session", 2));
    story.call_in(versions.clone(), "Fetch", of(nothing.clone(), "$session", 3));
    story.call("Produce", produce("a", 1, batch(&["two"])));
    story.call("Produce", produce("b", 0, batch(&["three"])));
    story.call_in(versions.clone(), "Fetch", of(nothing.clone(), "$session", 4));
    // Partitions that had data go to the end.
    story.call_in(versions.clone(), "Fetch", of(nothing.clone(), "$session", 5));
    let forget = json!([{"Topic": "@a", "TopicId": "$id-a", "Partitions": [1, 9]}]);
    let forgetful = with(fetch("b", vec![part(0, 1)]), json!({"ForgottenTopicsData": forget}));
    story.call_in(versions.clone(), "Fetch", of(forgetful, "$session", 6));
    story.call_in(versions.clone(), "Fetch", of(nothing.clone(), "$session", 7));
    // An error stays until it is gone.
    story.call_in(versions.clone(), "Fetch", of(fetch("a", vec![part(2, 5)]), "$session", 8));
    story.call_in(versions.clone(), "Fetch", of(nothing.clone(), "$session", 9));
    story.call_in(versions.clone(), "Fetch", of(fetch("a", vec![part(7, 0)]), "$session", 10));
    story.call_in(versions.clone(), "Fetch", of(nothing.clone(), "$session", 11));
    // The last one closes it.
    story.call_in(versions.clone(), "Fetch", of(fetch("a", vec![part(0, 0)]), "$session", -1));
    story.call_in(versions, "Fetch", of(nothing, "$session", 12));
}

pub(super) fn wrong(story: &mut Story<'_>) {
    story.topic("a", 1);
    story.call("Produce", produce("a", 0, batch(&["one"])));
    let all = fetch("a", vec![part(0, 0)]);
    let (named, identified) = (7..=12, 13..=i16::MAX);
    for versions in [named.clone(), identified.clone()] {
        story.call_in(versions.clone(), "Fetch", of(all.clone(), "12345", 1));
        story.call_in(versions.clone(), "Fetch", of(all.clone(), "0", 5));
        story.call_in(versions.clone(), "Fetch", of(all.clone(), "12345", 0));
        story.call_in(versions.clone(), "Fetch", of(all.clone(), "12345", -1));
        story.call_in(versions.clone(), "Fetch", of(all.clone(), "0", -1));
        story.call_in(versions.clone(), "Fetch", of(all.clone(), "0", 0)).bind("session", "/SessionId");
        for epoch in [2, 0, 1, 1, -5, i64::from(i32::MAX)] {
            story.call_in(versions.clone(), "Fetch", of(fetch_all(&[]), "$session", epoch));
        }
    }
    // A session of names, continued with ids, and the other way round.
    for (first, second) in [(named.clone(), identified.clone()), (identified.clone(), named)] {
        story.call_in(first, "Fetch", of(all.clone(), "0", 0)).bind("mixed", "/SessionId");
        story.call_in(second, "Fetch", of(all.clone(), "$mixed", 1));
    }
    // A topic that is not there yet.
    let strange = json!([{"TopicId": STRANGE_ID, "Partitions": [part(0, 0)]}]);
    let strange = with(fetch_all(&[]), json!({"Topics": strange}));
    story.call_in(identified.clone(), "Fetch", of(strange, "0", 0)).bind("strange", "/SessionId");
    story.call_in(identified, "Fetch", of(fetch_all(&[]), "$strange", 1));
    // None is made for nothing.
    story.call_in(7..=i16::MAX, "Fetch", of(fetch_all(&[]), "0", 0)).bind("empty", "/SessionId");
}
