//! Rules of access are made, shown and taken away by root, and by alice, who may not.

use serde_json::json;

use super::{ALICE, ROOT, TOPIC, forget, rule, settle, stage};
use crate::scene::body::with;
use crate::script::Action;
use crate::story::Story;

/// Rules are made, shown and taken away.
pub(in crate::scene) fn administration(story: &mut Story<'_>) {
    stage(story);
    let plain = rule((TOPIC, "@a"), 3, "User:alice", 3, 3);
    story.each("CreateAcls", |_| json!({"Creations": [plain]}));
    for wrong in [
        json!({"Principal": "alice"}),
        json!({"Principal": ""}),
        json!({"Principal": "Group:x"}),
        json!({"ResourceName": ""}),
        json!({"ResourceName": "*"}),
        json!({"ResourceType": 0}),
        json!({"ResourceType": 1}),
        json!({"ResourceType": 4}),
        json!({"ResourceType": 4, "ResourceName": "kafka-cluster"}),
        json!({"ResourceType": 6, "ResourceName": "token"}),
        json!({"ResourceType": 7, "ResourceName": "User:alice"}),
        json!({"Operation": 0}),
        json!({"Operation": 1}),
        json!({"Operation": 9}),
        json!({"Operation": 13}),
        json!({"PermissionType": 0}),
        json!({"PermissionType": 1}),
        json!({"PermissionType": 2}),
        json!({"Host": ""}),
        json!({"Host": "nonsense"}),
        json!({"ResourcePatternType": 4}),
        json!({"ResourcePatternType": 4, "ResourceName": "@"}),
        json!({"ResourcePatternType": 1}),
        json!({"ResourcePatternType": 2}),
    ] {
        // What is refused ends some connections.
        story.log_in(ROOT, "root");
        story.call_in(1..=i16::MAX, "CreateAcls", json!({"Creations": [with(plain.clone(), wrong)]}));
        story.act(Action::Close);
    }
    story.log_in(ROOT, "root");
    story.call("CreateAcls", json!({"Creations": []}));
    settle(story);
    filters(story);
    forget(story);
}

#[expect(clippy::too_many_lines, reason = "a list of filters")]
fn filters(story: &mut Story<'_>) {
    let filter = json!({
        "ResourceTypeFilter": 2, "ResourceNameFilter": "@a", "PatternTypeFilter": 3, "PrincipalFilter": null,
        "HostFilter": null, "Operation": 1, "PermissionType": 1,
    });
    story.each("DescribeAcls", |_| filter.clone());
    let others = [
        json!({"PatternTypeFilter": 2}),
        json!({"PatternTypeFilter": 1}),
        json!({"PatternTypeFilter": 4}),
        json!({"ResourceNameFilter": null}),
        json!({"ResourceTypeFilter": 1, "ResourceNameFilter": null}),
        json!({"ResourceTypeFilter": 4, "ResourceNameFilter": "kafka-cluster"}),
        json!({"PrincipalFilter": "User:alice"}),
        json!({"PrincipalFilter": "User:nobody"}),
        json!({"HostFilter": "*"}),
        json!({"HostFilter": "127.0.0.1"}),
        json!({"Operation": 3}),
        json!({"Operation": 2}),
        json!({"PermissionType": 2}),
        json!({"ResourceNameFilter": ""}),
        json!({"ResourceNameFilter": "@missing", "PatternTypeFilter": 2}),
    ];
    for other in &others {
        story.call_in(1..=i16::MAX, "DescribeAcls", with(filter.clone(), other.clone()));
    }
    story.on(ALICE).call_in(1..=i16::MAX, "DescribeAcls", filter.clone());
    story.call_in(1..=i16::MAX, "DeleteAcls", json!({"Filters": [filter]}));
    story.call_in(
        1..=i16::MAX,
        "CreateAcls",
        json!({"Creations": [rule((TOPIC, "@a"), 3, "User:alice", 3, 3)]}),
    );
    story.on(ROOT);
    for _ in 0..4 {
        let (one, other) = (story.dice.pick(&others), story.dice.pick(&others));
        let filters = [with(filter.clone(), one), with(filter.clone(), other)];
        story.call_in(1..=i16::MAX, "DeleteAcls", json!({"Filters": filters}));
        settle(story);
        story.call_in(1..=i16::MAX, "DescribeAcls", with(filter.clone(), json!({"PatternTypeFilter": 2})));
    }
    story.call("DeleteAcls", json!({"Filters": []}));
    story.each("DeleteAcls", |_| json!({"Filters": [filter]}));
}
