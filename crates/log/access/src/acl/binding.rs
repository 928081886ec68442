//! A rule, and what it is about.

use std::sync::Arc;

use super::kinds::{ANY_NAME, Operation, PatternType, Permission, ResourceType};

/// Which resources a rule is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourcePattern {
    /// Their kind.
    pub resource_type: ResourceType,
    /// How the name is compared.
    pub pattern_type: PatternType,
    /// The name, or the beginning of names.
    pub name: Arc<str>,
}

impl ResourcePattern {
    /// Whether it is about the resource of that name.
    #[must_use]
    pub fn covers(&self, name: &str) -> bool {
        match self.pattern_type {
            PatternType::Literal => *self.name == *name || *self.name == *ANY_NAME,
            PatternType::Prefixed => name.starts_with(&*self.name),
        }
    }
}

/// Who may or may not do what, from where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccessRule {
    /// Who, as `KIND:NAME`, or [`crate::Principal::EVERYBODY`].
    pub principal: Arc<str>,
    /// The client's address, or [`super::ANY_HOST`].
    pub host: Arc<str>,
    /// What.
    pub operation: Operation,
    /// Whether it is allowed.
    pub permission: Permission,
}

/// A rule with what it is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AclBinding {
    /// What it is about.
    pub pattern: ResourcePattern,
    /// What it says.
    pub rule: AccessRule,
}

/// How a filter compares patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternFilter {
    /// All with the name.
    Any,
    /// All that cover the resource of the name.
    Match,
    /// Those of that type with the name.
    Of(PatternType),
}

/// Which rules are meant. What is `None` is not looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AclFilter {
    /// The kind of resource.
    pub resource_type: Option<ResourceType>,
    /// How names are compared.
    pub pattern: PatternFilter,
    /// The name.
    pub name: Option<String>,
    /// Who.
    pub principal: Option<String>,
    /// From where.
    pub host: Option<String>,
    /// What.
    pub operation: Option<Operation>,
    /// Whether it is allowed.
    pub permission: Option<Permission>,
}

impl AclFilter {
    /// Whether it names one pattern, so that no other has to be compared with it.
    #[must_use]
    pub const fn is_exact(&self) -> bool {
        let is_of_type = matches!(self.pattern, PatternFilter::Of(_));
        is_of_type && self.resource_type.is_some() && self.name.is_some()
    }

    pub(super) fn exact(&self) -> Option<ResourcePattern> {
        let PatternFilter::Of(pattern_type) = self.pattern else { return None };
        let (resource_type, name) = (self.resource_type?, self.name.as_deref()?.into());
        Some(ResourcePattern { resource_type, pattern_type, name })
    }

    /// Whether rules of that pattern may be meant.
    #[must_use]
    pub fn matches_pattern(&self, pattern: &ResourcePattern) -> bool {
        let is_type = self.resource_type.is_none_or(|kind| kind == pattern.resource_type);
        let is_named = |name: &str| *pattern.name == *name;
        is_type
            && match (self.pattern, self.name.as_deref()) {
                (PatternFilter::Any | PatternFilter::Match, None) => true,
                (PatternFilter::Any, Some(name)) => is_named(name),
                (PatternFilter::Match, Some(name)) => pattern.covers(name),
                (PatternFilter::Of(kind), name) => kind == pattern.pattern_type && name.is_none_or(is_named),
            }
    }

    /// Whether that rule is meant, if its pattern is.
    #[must_use]
    pub fn matches_rule(&self, rule: &AccessRule) -> bool {
        self.principal.as_ref().is_none_or(|principal| **principal == *rule.principal)
            && self.host.as_ref().is_none_or(|host| **host == *rule.host)
            && self.operation.is_none_or(|operation| operation == rule.operation)
            && self.permission.is_none_or(|permission| permission == rule.permission)
    }
}
