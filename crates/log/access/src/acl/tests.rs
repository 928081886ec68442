//! The rules beside a model that looks at each of them, and what a Kafka 4.3.1 answered.

use base::Random;

use super::*;

fn rule(principal: &str, host: &str, operation: Operation, permission: Permission) -> AccessRule {
    AccessRule { principal: principal.into(), host: host.into(), operation, permission }
}

fn pattern(pattern_type: PatternType, name: &str) -> ResourcePattern {
    ResourcePattern { resource_type: ResourceType::Topic, pattern_type, name: name.into() }
}

fn acls(rules: &[(PatternType, &str, AccessRule)]) -> Acls {
    let mut acls = Acls::default();
    for (pattern_type, name, rule) in rules {
        let pattern = pattern(*pattern_type, name);
        let mut of_pattern = acls.of_pattern(&pattern).cloned().unwrap_or_default();
        of_pattern.insert(rule.clone());
        acls.set(pattern, of_pattern);
    }
    acls
}

use Operation::{Alter, AlterConfigs, Create, Delete, Describe, DescribeConfigs, Read, Write};
use PatternType::{Literal, Prefixed};
use Permission::{Allow, Deny};

fn judge(acls: &Acls, user: &str, host: &str, operation: Operation, topic: &str) -> Judgement {
    acls.judge(&Principal::user(user), host, operation, (ResourceType::Topic, topic))
}

#[test]
fn denial_wins_over_every_permission() {
    let acls = acls(&[
        (Literal, "*", rule("User:*", "*", Operation::All, Allow)),
        (Prefixed, "secret-", rule("User:bob", "10.0.0.1", Read, Deny)),
    ]);
    assert_eq!(judge(&acls, "bob", "10.0.0.1", Read, "secret-1"), Judgement::Denied);
    assert_eq!(judge(&acls, "bob", "10.0.0.2", Read, "secret-1"), Judgement::Allowed);
    assert_eq!(judge(&acls, "eve", "10.0.0.1", Read, "secret-1"), Judgement::Allowed);
    // A denied operation denies no other that its permission would imply.
    assert_eq!(judge(&acls, "bob", "10.0.0.1", Describe, "secret-1"), Judgement::Allowed);
}

#[test]
fn some_permissions_imply_describe() {
    for (allowed, implied) in [(Read, true), (Write, true), (Delete, true), (Alter, true), (Create, false)] {
        let acls = acls(&[(Literal, "t", rule("User:a", "*", allowed, Allow))]);
        let expected = if implied { Judgement::Allowed } else { Judgement::Denied };
        assert_eq!(judge(&acls, "a", "h", Describe, "t"), expected, "{allowed:?}");
        assert_eq!(judge(&acls, "a", "h", DescribeConfigs, "t"), Judgement::Denied);
    }
    let acls = acls(&[(Literal, "t", rule("User:a", "*", AlterConfigs, Allow))]);
    assert_eq!(judge(&acls, "a", "h", DescribeConfigs, "t"), Judgement::Allowed);
    assert_eq!(judge(&acls, "a", "h", Describe, "t"), Judgement::Denied);
}

#[test]
fn resource_without_a_rule_is_told_from_one_with_rules_for_others() {
    let acls = acls(&[(Prefixed, "a", rule("User:bob", "10.0.0.1", Read, Allow))]);
    assert_eq!(judge(&acls, "eve", "h", Read, "b"), Judgement::NoRule);
    assert_eq!(judge(&acls, "eve", "h", Read, "ab"), Judgement::Denied);
    let group = acls.judge(&Principal::user("eve"), "h", Read, (ResourceType::Group, "ab"));
    assert_eq!(group, Judgement::NoRule);
}

#[test]
fn any_resource_is_allowed_unless_a_denial_dominates() {
    let any = |rules: &[(PatternType, &str, AccessRule)]| {
        acls(rules).allows_any(&Principal::user("a"), "h", Write, ResourceType::Topic)
    };
    let (allow, deny) = (rule("User:a", "*", Write, Allow), rule("User:a", "*", Write, Deny));
    let case = |allowed: (PatternType, &'static str), denied: (PatternType, &'static str)| {
        any(&[(allowed.0, allowed.1, allow.clone()), (denied.0, denied.1, deny.clone())])
    };
    assert!(any(&[(Literal, "t", allow.clone())]) && !any(&[]));
    assert!(!case((Literal, "t"), (Literal, "*")) && !case((Literal, "*"), (Literal, "*")));
    assert!(!case((Literal, "t"), (Literal, "t")) && case((Literal, "t"), (Literal, "u")));
    assert!(!case((Literal, "tu"), (Prefixed, "t")) && !case((Prefixed, "tu"), (Prefixed, "t")));
    assert!(case((Prefixed, "t"), (Prefixed, "tu")) && case((Literal, "*"), (Prefixed, "t")));
    assert!(case((Prefixed, "t"), (Literal, "t")));
    assert!(!any(&[(Literal, "t", rule("User:a", "*", Read, Allow))]));
    assert!(any(&[(Literal, "t", rule("User:*", "h", Operation::All, Allow))]));
    assert!(!any(&[(Literal, "t", rule("User:*", "i", Operation::All, Allow))]));
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of filters")]
fn filters_mean_what_they_mean_in_kafka() {
    let read = rule("User:a", "*", Read, Allow);
    let acls = acls(&[
        (Literal, "pt", read.clone()),
        (Prefixed, "pt", read.clone()),
        (Literal, "*", read.clone()),
        (Prefixed, "p", rule("User:b", "*", Read, Deny)),
        (Literal, "other", read),
    ]);
    let any = AclFilter {
        resource_type: None,
        pattern: PatternFilter::Any,
        name: None,
        principal: None,
        host: None,
        operation: None,
        permission: None,
    };
    let found = |filter: &AclFilter| {
        acls.find(filter).map(|(of, _)| (of.pattern_type, of.name.to_string())).collect::<Vec<_>>()
    };
    let named = |pattern, name: &str| found(&AclFilter { pattern, name: Some(name.into()), ..any.clone() });
    let (literal, prefixed) =
        (|name: &str| (Literal, name.to_owned()), |name: &str| (Prefixed, name.to_owned()));
    assert_eq!(found(&any).len(), 5);
    assert_eq!(named(PatternFilter::Any, "pt"), [literal("pt"), prefixed("pt")]);
    assert_eq!(named(PatternFilter::Of(Literal), "pt"), [literal("pt")]);
    assert_eq!(
        named(PatternFilter::Match, "pt"),
        [literal("*"), literal("pt"), prefixed("p"), prefixed("pt")]
    );
    assert_eq!(named(PatternFilter::Match, "ptx"), [literal("*"), prefixed("p"), prefixed("pt")]);
    assert_eq!(found(&AclFilter { permission: Some(Deny), ..any.clone() }), [prefixed("p")]);
    assert_eq!(found(&AclFilter { principal: Some("User:*".into()), ..any.clone() }), []);
    assert_eq!(found(&AclFilter { operation: Some(Write), ..any.clone() }), []);
    let exact = |resource_type, name: &str| AclFilter {
        resource_type: Some(resource_type),
        pattern: PatternFilter::Of(Literal),
        name: Some(name.into()),
        ..any.clone()
    };
    assert!(exact(ResourceType::Topic, "pt").is_exact() && !any.is_exact());
    assert_eq!(found(&exact(ResourceType::Topic, "pt")), [literal("pt")]);
    assert_eq!(found(&exact(ResourceType::Topic, "p")), []);
    assert_eq!(found(&exact(ResourceType::Group, "pt")), []);
}

/// Whether the rules allow it, found by looking at each of them.
fn model(
    rules: &[(PatternType, String, AccessRule)],
    (user, host): (&str, &str),
    operation: Operation,
    topic: &str,
) -> Judgement {
    let about: Vec<_> = rules.iter().filter(|(kind, name, _)| pattern(*kind, name).covers(topic)).collect();
    let own: Vec<_> = about
        .iter()
        .map(|(_, _, rule)| rule)
        .filter(|rule| *rule.principal == *format!("User:{user}") || &*rule.principal == "User:*")
        .filter(|rule| &*rule.host == host || &*rule.host == "*")
        .collect();
    let denies = |rule: &&&AccessRule| {
        rule.permission == Deny && (rule.operation == operation || rule.operation == Operation::All)
    };
    let allows = |rule: &&&AccessRule| {
        let implied = operation == Describe && matches!(rule.operation, Read | Write | Delete | Alter);
        let implied = implied || operation == DescribeConfigs && rule.operation == AlterConfigs;
        rule.permission == Allow
            && (implied || rule.operation == operation || rule.operation == Operation::All)
    };
    match () {
        () if own.iter().any(|rule| denies(&rule)) => Judgement::Denied,
        () if own.iter().any(|rule| allows(&rule)) => Judgement::Allowed,
        () if about.is_empty() => Judgement::NoRule,
        () => Judgement::Denied,
    }
}

#[test]
fn judgements_are_those_of_a_model_after_random_changes() {
    const NAMES: [&str; 8] = ["", "a", "ab", "abc", "b", "*", "a*", "ü"];
    let operations: Vec<Operation> = Operation::ALL.to_vec();
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let mut pick = |most: usize| random.below(most as u64) as usize;
        let (mut acls, mut rules) = (Acls::default(), Vec::new());
        for _ in 0..30 {
            let kind = [Literal, Prefixed][pick(2)];
            let name = NAMES[pick(NAMES.len())].to_owned();
            let principal = ["User:x", "User:y", "User:*", "Group:x"][pick(4)];
            let host = ["*", "1.1.1.1", "2.2.2.2"][pick(3)];
            let made =
                rule(principal, host, operations[pick(operations.len())], [Allow, Deny, Allow][pick(3)]);
            let entry = (kind, name.clone(), made);
            match rules.iter().position(|known| *known == entry) {
                Some(at) => drop(rules.remove(at)),
                None if pick(4) == 0 && !rules.is_empty() => drop(rules.remove(pick(rules.len()))),
                None => rules.push(entry),
            }
            for kind in [Literal, Prefixed] {
                for name in NAMES {
                    let of = rules.iter().filter(|(known, other, _)| *known == kind && other == name);
                    acls.set(pattern(kind, name), of.map(|(_, _, rule)| rule.clone()).collect());
                }
            }
            assert_eq!(acls.len(), rules.len());
            let (user, host) = (["x", "y", "z"][pick(3)], ["1.1.1.1", "3.3.3.3"][pick(2)]);
            for topic in ["a", "ab", "abcd", "b", "c", "*", "a*b", "ü1"] {
                let operation = operations[pick(operations.len())];
                let expected = model(&rules, (user, host), operation, topic);
                assert_eq!(judge(&acls, user, host, operation, topic), expected, "{seed} {rules:?}");
            }
        }
        let patterns: Vec<_> = rules.iter().map(|(kind, name, _)| pattern(*kind, name)).collect();
        patterns.into_iter().for_each(|pattern| acls.set(pattern, BTreeSet::new()));
        assert!(acls.is_empty() && acls.by_principal.values().all(BTreeMap::is_empty));
    }
}
