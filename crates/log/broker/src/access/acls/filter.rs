//! Which rules a request means.

use log_access::acl::{AclFilter, Operation, PatternFilter, PatternType, Permission, ResourceType};
use log_wire::Malformed;

/// What is wrong with a filter.
#[derive(Debug)]
pub(super) enum BadFilter {
    /// It has a number that means nothing.
    Malformed(Malformed),
    /// It has a number that is not known.
    Unknown,
}

/// The number that stands for every kind.
const ANY: i8 = 1;
/// The number of patterns that cover a name.
const MATCH: i8 = 2;

/// Reads a filter.
///
/// # Errors
/// [`BadFilter`].
pub(super) fn filter_of(
    (resource_type, pattern_type): (i8, i8),
    (operation, permission): (i8, i8),
    (name, principal, host): (&Option<String>, &Option<String>, &Option<String>),
) -> Result<AclFilter, BadFilter> {
    if [resource_type, pattern_type, operation, permission].contains(&0) {
        return Err(BadFilter::Malformed(Malformed("a filter of rules means nothing")));
    }
    fn of<T>(code: i8, known: impl Fn(i8) -> Option<T>) -> Result<Option<T>, BadFilter> {
        if code == ANY { Ok(None) } else { known(code).map(Some).ok_or(BadFilter::Unknown) }
    }
    let pattern = match pattern_type {
        ANY => PatternFilter::Any,
        MATCH => PatternFilter::Match,
        code => PatternFilter::Of(PatternType::of_code(code).ok_or(BadFilter::Unknown)?),
    };
    Ok(AclFilter {
        resource_type: of(resource_type, ResourceType::of_code)?,
        pattern,
        name: name.clone(),
        principal: principal.clone(),
        host: host.clone(),
        operation: of(operation, Operation::of_code)?,
        permission: of(permission, Permission::of_code)?,
    })
}
