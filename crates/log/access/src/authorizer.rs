//! What a client may do: the rules, and who stands above them.

use std::collections::BTreeSet;

use crate::Principal;
use crate::acl::{Acls, Judgement, Operation, Operations, ResourceType};

/// How rights are given beside the rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthorizerConfig {
    /// Who may do everything: `super.users`.
    pub super_users: BTreeSet<Principal>,
    /// Whether a resource that no rule is about is free for all: `allow.everyone.if.no.acl.found`.
    pub allow_if_no_rule: bool,
}

/// Who asks: a principal, and its address.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    /// Who.
    pub principal: &'a Principal,
    /// From where, as rules write it.
    pub host: &'a str,
}

/// The name of the resource that stands for all when it is asked whether any is free for all, as in Kafka.
const SOME_RESOURCE: &str = "hardcode";

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Authorizer {
    config: AuthorizerConfig,
    /// The rules.
    pub acls: Acls,
}

impl Authorizer {
    /// Without rules.
    #[must_use]
    pub fn new(config: AuthorizerConfig) -> Self {
        Self { config, acls: Acls::default() }
    }

    /// Whether the client may do that.
    #[must_use]
    pub fn allows(&self, asker: Asker<'_>, operation: Operation, resource: (ResourceType, &str)) -> bool {
        self.config.super_users.contains(asker.principal)
            || match self.acls.judge(asker.principal, asker.host, operation, resource) {
                Judgement::Allowed => true,
                Judgement::Denied => false,
                Judgement::NoRule => self.config.allow_if_no_rule,
            }
    }

    /// Whether the client may do that with any resource of the kind.
    #[must_use]
    pub fn allows_any(&self, asker: Asker<'_>, operation: Operation, kind: ResourceType) -> bool {
        self.allows(asker, operation, (kind, SOME_RESOURCE))
            || self.acls.allows_any(asker.principal, asker.host, operation, kind)
    }

    /// What the client may do with a resource, of all that can be done with its kind.
    #[must_use]
    pub fn operations(&self, asker: Asker<'_>, resource: (ResourceType, &str)) -> Operations {
        let all = resource.0.operations().iter();
        let allowed: Vec<Operation> =
            all.copied().filter(|operation| self.allows(asker, *operation, resource)).collect();
        Operations::of(&allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acl::{AccessRule, PatternType, Permission, ResourcePattern};

    #[test]
    fn super_user_may_do_everything_and_others_what_no_rule_is_about_if_that_is_set() {
        let boss = Principal::user("boss");
        let config =
            |allow_if_no_rule| AuthorizerConfig { super_users: [boss.clone()].into(), allow_if_no_rule };
        let bob = Principal::user("bob");
        let ask = |authorizer: &Authorizer, principal: &Principal, topic: &str| {
            let asker = Asker { principal, host: "10.0.0.1" };
            let any = authorizer.allows_any(asker, Operation::Write, ResourceType::Topic);
            (authorizer.allows(asker, Operation::Write, (ResourceType::Topic, topic)), any)
        };
        for allow in [false, true] {
            let mut authorizer = Authorizer::new(config(allow));
            assert_eq!(ask(&authorizer, &bob, "t"), (allow, allow));
            let pattern = ResourcePattern {
                resource_type: ResourceType::Topic,
                pattern_type: PatternType::Literal,
                name: "t".into(),
            };
            let rule = AccessRule {
                principal: "User:*".into(),
                host: "*".into(),
                operation: Operation::All,
                permission: Permission::Deny,
            };
            authorizer.acls.set(pattern, [rule].into());
            assert_eq!(ask(&authorizer, &boss, "t"), (true, true));
            assert_eq!(ask(&authorizer, &bob, "t"), (false, allow));
        }
    }
}
