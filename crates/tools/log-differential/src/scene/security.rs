//! Access, users and quotas, on a broker without an authorizer and without SASL.

use serde_json::{Value, json};

use super::body::with;
use crate::story::Story;

pub(super) fn acls(story: &mut Story<'_>) {
    let filter = json!({
        "ResourceTypeFilter": 1, "ResourceNameFilter": null, "PatternTypeFilter": 1, "PrincipalFilter": null,
        "HostFilter": null, "Operation": 1, "PermissionType": 1,
    });
    story.each("DescribeAcls", |_| filter.clone());
    story.each("DeleteAcls", |_| json!({"Filters": [filter]}));
    story.call("DeleteAcls", json!({"Filters": []}));
    let acl = json!({
        "ResourceType": 2, "ResourceName": "@a", "ResourcePatternType": 3, "Principal": "User:alice", "Host": "*",
        "Operation": 3, "PermissionType": 3,
    });
    story.each("CreateAcls", |_| json!({"Creations": [acl]}));
    for wrong in [
        json!({"Principal": "alice"}),
        json!({"ResourceName": ""}),
        json!({"ResourceType": 0}),
        json!({"Operation": 0}),
    ] {
        story.call("CreateAcls", json!({"Creations": [with(acl.clone(), wrong)]}));
    }
    story.call("CreateAcls", json!({"Creations": []}));
    // What no filter may have.
    for (index, wrong) in
        [json!({"ResourceTypeFilter": 0}), json!({"PatternTypeFilter": 0}), json!({"Operation": 99})]
            .into_iter()
            .enumerate()
    {
        story.on(1 + index).call_in(1..=i16::MAX, "DescribeAcls", with(filter.clone(), wrong));
    }
}

pub(super) fn authentication(story: &mut Story<'_>) {
    story.each("SaslHandshake", |_| json!({"Mechanism": "PLAIN"}));
    story.call("SaslHandshake", json!({"Mechanism": "NONSENSE"}));
    story.call("SaslHandshake", json!({"Mechanism": ""}));
    for version in story.versions("SaslAuthenticate") {
        let token = json!({"AuthBytes": {"hex": "00616c6963650078"}});
        story.on(1 + usize::try_from(version).unwrap_or(0)).call_in(
            version..=version,
            "SaslAuthenticate",
            token,
        );
    }
}

pub(super) fn delegation_tokens(story: &mut Story<'_>) {
    let renewers = json!([{"PrincipalType": "User", "PrincipalName": "alice"}]);
    let create = json!({"OwnerPrincipalType": null, "OwnerPrincipalName": null, "Renewers": renewers, "MaxLifetimeMs": -1});
    let hmac = json!({"hex": "00ff"});
    story.each("CreateDelegationToken", |_| create.clone());
    story.each("RenewDelegationToken", |_| json!({"Hmac": hmac, "RenewPeriodMs": 1_000}));
    story.each("ExpireDelegationToken", |_| json!({"Hmac": hmac, "ExpiryTimePeriodMs": -1}));
    story.each("DescribeDelegationToken", |_| json!({"Owners": null}));
    story.call("DescribeDelegationToken", json!({"Owners": []}));
    story.call("DescribeDelegationToken", json!({"Owners": renewers}));
}

pub(super) fn users(story: &mut Story<'_>) {
    let upsert = |name: &str, mechanism: i64, iterations: i64| json!({"Name": name, "Mechanism": mechanism, "Iterations": iterations, "Salt": "salt", "SaltedPassword": "salted password"});
    let delete = |name: &str, mechanism: i64| json!({"Name": name, "Mechanism": mechanism});
    let asked =
        |deletions: Value, upsertions: Value| json!({"Deletions": deletions, "Upsertions": upsertions});
    for (deletions, upsertions) in [
        (json!([]), json!([upsert("@u", 1, 4_096), upsert("@v", 2, 8_192)])),
        (json!([]), json!([upsert("@u", 1, 4_095)])),
        (json!([]), json!([upsert("@u", 1, 16_385)])),
        (json!([]), json!([upsert("@u", 0, 4_096)])),
        (json!([]), json!([upsert("@u", 9, 4_096)])),
        (json!([]), json!([upsert("", 1, 4_096)])),
        (json!([]), json!([upsert("@u", 1, 4_096), upsert("@u", 1, 5_000)])),
        (json!([delete("@u", 1)]), json!([upsert("@u", 1, 4_096)])),
        (json!([delete("@missing", 1), delete("@u", 2)]), json!([])),
        (json!([delete("@u", 9), delete("", 1)]), json!([])),
        (json!([]), json!([])),
    ] {
        story.call("AlterUserScramCredentials", asked(deletions, upsertions));
    }
    story.each("AlterUserScramCredentials", |_| asked(json!([]), json!([upsert("@w", 1, 4_096)])));
    story.settle();
    let names = |names: &[&str]| -> Value { names.iter().map(|name| json!({"Name": name})).collect() };
    story.each("DescribeUserScramCredentials", |_| json!({"Users": names(&["@u", "@v"])}));
    for users in [
        names(&["@u", "@v"]),
        names(&["@missing"]),
        names(&["@u", "@u"]),
        names(&[""]),
        Value::Null,
        json!([]),
    ] {
        story.call("DescribeUserScramCredentials", json!({"Users": users}));
    }
    story.call("AlterUserScramCredentials", asked(json!([delete("@u", 1), delete("@v", 2)]), json!([])));
    story.settle();
    story.call("DescribeUserScramCredentials", json!({"Users": names(&["@u", "@v"])}));
}

fn entity(kind: &str, name: Value) -> Value {
    json!({"EntityType": kind, "EntityName": name})
}

fn user() -> Value {
    json!([entity("user", json!("@u"))])
}

fn both() -> Value {
    json!([entity("user", json!("@u")), entity("client-id", json!("@c"))])
}

fn alter(entity: Value, ops: Value) -> Value {
    json!({"Entity": entity, "Ops": ops})
}

fn set(key: &str, value: f64) -> Value {
    json!({"Key": key, "Value": value, "Remove": false})
}

pub(super) fn quotas(story: &mut Story<'_>) {
    set_quotas(story);
    story.settle();
    show_quotas(story);
    let remove = |key: &str| json!({"Key": key, "Value": 0.0, "Remove": true});
    let all = ["producer_byte_rate", "consumer_byte_rate", "controller_mutation_rate", "request_percentage"]
        .map(remove);
    let ip = json!([entity("ip", json!("10.9.8.7"))]);
    let entries = json!([
        alter(user(), json!(all)),
        alter(both(), json!(all)),
        alter(ip, json!([remove("connection_creation_rate")]))
    ]);
    story.call("AlterClientQuotas", json!({"Entries": entries}));
    story.settle();
    story.call(
        "DescribeClientQuotas",
        json!({"Components": [{"EntityType": "user", "MatchType": 0, "Match": "@u"}], "Strict": false}),
    );
}

fn set_quotas(story: &mut Story<'_>) {
    story.each("AlterClientQuotas", |version| {
        json!({"Entries": [alter(user(), json!([set("producer_byte_rate", 1_000_000.0 + f64::from(version))]))]})
    });
    let cases: Vec<Value> = vec![
        json!([alter(both(), json!([set("consumer_byte_rate", 2e9), set("request_percentage", 200.0)]))]),
        json!([alter(user(), json!([set("controller_mutation_rate", 1000.5)]))]),
        json!([alter(user(), json!([set("no_such_quota", 1.0)]))]),
        json!([alter(user(), json!([set("producer_byte_rate", 0.0)]))]),
        json!([alter(user(), json!([set("producer_byte_rate", -1.0)]))]),
        json!([alter(user(), json!([set("producer_byte_rate", 1.5)]))]),
        json!([alter(user(), json!([set("connection_creation_rate", 5.0)]))]),
        json!([alter(json!([entity("nonsense", json!("@u"))]), json!([set("producer_byte_rate", 1.0)]))]),
        json!([alter(json!([entity("user", json!(""))]), json!([set("producer_byte_rate", 1.0)]))]),
        json!([alter(json!([]), json!([set("producer_byte_rate", 1.0)]))]),
        json!([alter(json!([entity("user", json!("@u")), entity("user", json!("@w"))]), json!([]))]),
        json!([alter(
            json!([entity("ip", json!("10.9.8.7"))]),
            json!([set("connection_creation_rate", 50.0)])
        )]),
        json!([alter(json!([entity("ip", json!("10.9.8.7")), entity("user", json!("@u"))]), json!([]))]),
        json!([alter(
            json!([entity("ip", json!("not an address"))]),
            json!([set("connection_creation_rate", 5.0)])
        )]),
        json!([]),
    ];
    for entries in cases {
        let only = story.dice.once_in(4);
        story.call("AlterClientQuotas", json!({"Entries": entries, "ValidateOnly": only}));
    }
    // Only judged: what is set differs on purpose.
    let twice = json!([
        alter(user(), json!([set("producer_byte_rate", 5e6)])),
        alter(user(), json!([set("consumer_byte_rate", 5e6)])),
    ]);
    story.call("AlterClientQuotas", json!({"Entries": twice, "ValidateOnly": true}));
}

fn show_quotas(story: &mut Story<'_>) {
    let part =
        |kind: &str, how: i64, name: Value| json!({"EntityType": kind, "MatchType": how, "Match": name});
    let (exact, default, any) = (0, 1, 2);
    let asked: Vec<(Value, bool)> = vec![
        (json!([part("user", exact, json!("@u"))]), false),
        (json!([part("user", exact, json!("@u"))]), true),
        (json!([part("user", exact, json!("@u")), part("client-id", exact, json!("@c"))]), true),
        (json!([part("user", exact, json!("@missing"))]), false),
        (json!([part("user", default, Value::Null)]), false),
        (json!([part("client-id", exact, json!("@c")), part("user", any, Value::Null)]), false),
        (json!([part("ip", exact, json!("10.9.8.7"))]), false),
        (json!([part("nonsense", exact, json!("@u"))]), false),
        (json!([part("user", 9, json!("@u"))]), false),
        (json!([part("user", exact, json!("@u")), part("user", exact, json!("@u"))]), false),
        (json!([part("", exact, json!("@u"))]), false),
        (json!([part("ip", any, Value::Null), part("user", any, Value::Null)]), false),
    ];
    for (components, strict) in asked {
        story.call("DescribeClientQuotas", json!({"Components": components, "Strict": strict}));
    }
    story.each(
        "DescribeClientQuotas",
        |_| json!({"Components": [part("user", exact, json!("@u"))], "Strict": false}),
    );
}
