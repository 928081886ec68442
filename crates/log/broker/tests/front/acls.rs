//! Rules of access, as clients make, see and delete them, and what they come to.

use kafka_protocol::messages::create_acls_request::AclCreation;
use kafka_protocol::messages::delete_acls_request::DeleteAclsFilter;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{
    CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest, MetadataRequest, TopicName,
};
use log_access::acl::{PatternType, ResourcePattern, ResourceType};
use log_access::{AuthorizerConfig, Principal};
use log_broker::{BrokerConfig, Notice};
use log_metadata::access::AccessPlace;

use crate::world::{World, text};

const ALLOW: i8 = 3;
const DENY: i8 = 2;
const LITERAL: i8 = 3;
const PREFIXED: i8 = 4;
const DESCRIBE: i8 = 8;

fn world_with(authorizer: Option<AuthorizerConfig>) -> World {
    World::new(BrokerConfig { authorizer, ..BrokerConfig::default() })
}

/// A world in which everybody may change the rules, and what no rule is about is for all.
fn world() -> World {
    let super_users = [Principal::anonymous()].into();
    world_with(Some(AuthorizerConfig { super_users, allow_if_no_rule: true }))
}

fn rule(name: &str, pattern: i8, principal: &str, permission: i8) -> AclCreation {
    AclCreation::default()
        .with_resource_type(2)
        .with_resource_name(text(name))
        .with_resource_pattern_type(pattern)
        .with_principal(text(principal))
        .with_host(text("*"))
        .with_operation(DESCRIBE)
        .with_permission_type(permission)
}

fn create(world: &mut World, rules: Vec<AclCreation>) -> Option<Vec<i16>> {
    let client = world.connect(0);
    let answer = world.ask(client, 3, &CreateAclsRequest::default().with_creations(rules))?;
    Some(answer.results.into_iter().map(|result| result.error_code).collect())
}

fn describe_all() -> DescribeAclsRequest {
    DescribeAclsRequest::default()
        .with_resource_name_filter(None)
        .with_principal_filter(None)
        .with_host_filter(None)
        .with_resource_type_filter(1)
        .with_pattern_type_filter(1)
        .with_operation(1)
        .with_permission_type(1)
}

/// How many rules each name has.
fn shown(world: &mut World) -> Vec<(String, usize)> {
    let client = world.connect(0);
    let answer = world.ask(client, 3, &describe_all()).expect("an answer");
    assert_eq!(answer.error_code, 0);
    answer.resources.into_iter().map(|of| (of.resource_name.to_string(), of.acls.len())).collect()
}

fn filter(name: Option<&str>) -> DeleteAclsFilter {
    DeleteAclsFilter::default()
        .with_resource_type_filter(1)
        .with_resource_name_filter(name.map(text))
        .with_principal_filter(None)
        .with_host_filter(None)
        .with_pattern_type_filter(1)
        .with_operation(1)
        .with_permission_type(1)
}

fn delete(world: &mut World, filters: Vec<DeleteAclsFilter>) -> Option<Vec<(i16, usize)>> {
    let client = world.connect(0);
    let answer = world.ask(client, 3, &DeleteAclsRequest::default().with_filters(filters))?;
    let of = |result: kafka_protocol::messages::delete_acls_response::DeleteAclsFilterResult| {
        assert!(result.matching_acls.iter().all(|rule| rule.error_code == 0));
        (result.error_code, result.matching_acls.len())
    };
    Some(answer.filter_results.into_iter().map(of).collect())
}

/// What a user is told of the topic `t`.
fn sees(world: &mut World, user: &str) -> i16 {
    let client = world.connect_as(0, Some(Principal::user(user)));
    let topic = MetadataRequestTopic::default().with_name(Some(TopicName(text("t"))));
    let request = MetadataRequest::default().with_topics(Some(vec![topic]));
    world.ask(client, 9, &request).expect("an answer").topics[0].error_code
}

#[test]
fn rule_holds_once_it_is_answered_and_until_it_is_deleted() {
    let mut world = world();
    assert_eq!((sees(&mut world, "bob"), sees(&mut world, "eve")), (0, 0));
    let rules = vec![
        rule("t", LITERAL, "User:bob", ALLOW),
        rule("t", PREFIXED, "User:ann", ALLOW),
        rule("t", LITERAL, "User:ann", DENY),
        rule("t", LITERAL, "User:bob", ALLOW),
    ];
    assert_eq!(create(&mut world, rules), Some(vec![0; 4]));
    assert_eq!((sees(&mut world, "bob"), sees(&mut world, "eve"), sees(&mut world, "ann")), (0, 29, 29));
    assert_eq!(shown(&mut world), [(String::from("t"), 2), (String::from("t"), 1)]);
    let kept = world.pipes.nodes.keys().filter(|path| path.starts_with("/log/acls/")).count();
    assert_eq!(kept, 2, "a node for each pattern");
    let denials = filter(None).with_permission_type(DENY);
    assert_eq!(delete(&mut world, vec![denials.clone(), denials]), Some(vec![(0, 1), (0, 1)]));
    assert_eq!((sees(&mut world, "ann"), sees(&mut world, "eve")), (0, 29));
    assert_eq!(delete(&mut world, vec![filter(Some("t")), filter(Some("u"))]), Some(vec![(0, 2), (0, 0)]));
    assert_eq!((sees(&mut world, "eve"), shown(&mut world)), (0, vec![]));
    assert!(!world.pipes.nodes.keys().any(|path| path.starts_with("/log/acls/")), "nothing is left");
}

#[test]
fn rule_that_says_nothing_that_is_known_is_refused_and_its_neighbours_are_made() {
    let mut world = world();
    let good = || rule("t", LITERAL, "User:bob", ALLOW);
    let bad = [
        (good().with_resource_type(1), 42),
        (good().with_resource_type(8), 42),
        (good().with_resource_pattern_type(2), 42),
        (good().with_operation(1), 42),
        (good().with_operation(16), 42),
        (good().with_permission_type(1), 42),
        (good().with_principal(text("bob")), 42),
        (good().with_resource_name(text("")), 42),
        (good().with_resource_type(4), 42),
        (good().with_resource_name(text(&"x".repeat(4_097))), 44),
        (good().with_host(text(&"1".repeat(257))), 44),
    ];
    let (rules, codes): (Vec<_>, Vec<_>) = bad.into_iter().chain([(good(), 0)]).unzip();
    assert_eq!(create(&mut world, rules), Some(codes));
    assert_eq!(shown(&mut world), [(String::from("t"), 1)]);
    for nothing in [
        good().with_resource_type(0),
        good().with_resource_pattern_type(0),
        good().with_operation(0),
        good().with_permission_type(0),
    ] {
        assert_eq!(create(&mut world, vec![good(), nothing]), None, "the connection ends");
    }
    assert_eq!(delete(&mut world, vec![filter(None).with_operation(0)]), None);
    assert_eq!(delete(&mut world, vec![filter(None).with_operation(99)]), Some(vec![(42, 0)]));
    assert_eq!(shown(&mut world), [(String::from("t"), 1)]);
}

#[test]
fn rules_of_a_pattern_and_filters_of_a_request_are_bounded() {
    let mut world = world();
    let rules = |count: usize| -> Vec<AclCreation> {
        (0..count).map(|number| rule("t", LITERAL, &format!("User:{number}"), ALLOW)).collect()
    };
    assert_eq!(create(&mut world, rules(2_001)), Some(vec![44; 2_001]));
    assert!(shown(&mut world).is_empty());
    assert_eq!(create(&mut world, rules(2_000)), Some(vec![0; 2_000]));
    assert_eq!(create(&mut world, vec![rule("t", LITERAL, "User:x", ALLOW)]), Some(vec![44]));
    let told = delete(&mut world, vec![filter(None); 101]).expect("an answer");
    assert_eq!((told[0], told[99], told[100]), ((0, 2_000), (0, 2_000), (44, 0)));
    assert!(shown(&mut world).is_empty(), "what was not refused is done");
    let told = delete(
        &mut world,
        vec![filter(Some("u")).with_resource_type_filter(2).with_pattern_type_filter(3); 500],
    );
    assert_eq!(
        told,
        Some(vec![(0, 0); 500]),
        "filters that name one pattern are not compared with all rules"
    );
}

#[test]
fn without_an_authorizer_rules_are_not_served() {
    let mut world = world_with(None);
    assert_eq!(create(&mut world, vec![rule("t", LITERAL, "User:bob", ALLOW)]), Some(vec![54]));
    assert_eq!(delete(&mut world, vec![filter(None)]), Some(vec![(54, 0)]));
    let client = world.connect(0);
    assert_eq!(world.ask(client, 3, &describe_all()).map(|answer| answer.error_code), Some(54));
}

#[test]
fn rules_that_cannot_be_read_give_nobody_a_right() {
    let mut world = world();
    let pattern = ResourcePattern {
        resource_type: ResourceType::Topic,
        pattern_type: PatternType::Literal,
        name: "t".into(),
    };
    let (path, now) = (AccessPlace::Rules(pattern).path(), world.now());
    world.pipes.write(&path, Some(b"{\"rules\":[{}]}".to_vec()), now);
    assert_eq!(sees(&mut world, "bob"), 29);
    let notices = world.pipes.broker.take_notices();
    assert!(matches!(&notices[..], [.., Notice::BadAccess(bad)] if *bad == path), "{notices:?}");
    assert_eq!(
        create(&mut world, vec![rule("t", LITERAL, "User:bob", ALLOW)]),
        Some(vec![-1]),
        "nor are they lost"
    );
    assert_eq!(world.pipes.nodes[&path], b"{\"rules\":[{}]}");
}
