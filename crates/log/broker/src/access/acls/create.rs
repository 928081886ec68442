//! CreateAcls.

use std::collections::{BTreeMap, BTreeSet};

use log_access::acl::{
    AccessRule, AclBinding, Acls, CLUSTER_NAME, Operation, PatternType, Permission, RULES_MAX,
    ResourcePattern, ResourceType,
};
use log_metadata::access::AccessChange;
use log_wire::messages::acls::{AclCreation, AclCreationResult, CreateAclsRequest, CreateAclsResponse};
use log_wire::{ErrorCode, Malformed};

use super::NO_AUTHORIZER;
use crate::access::UNAUTHORIZED;
use crate::access::change::{AccessAnswer, CHANGES_MAX};
use crate::node::Node;
use crate::response::{Form, Response};
use crate::rights::{By, CLUSTER_ALTER};

/// Bytes of the longest name of a resource, and of the longest principal.
const NAME_BYTES_MAX: usize = 4_096;
/// Bytes of the longest host.
const HOST_BYTES_MAX: usize = 256;

type Refused = (ErrorCode, &'static str);

/// The answer, with the results that each pattern's change is for.
#[derive(Debug)]
pub(crate) struct CreateAnswer {
    response: CreateAclsResponse,
    of_pattern: Vec<Vec<usize>>,
}

impl AccessAnswer for CreateAnswer {
    fn refuse(&mut self, part: usize, error: ErrorCode, why: String) {
        for result in self.of_pattern.get(part).into_iter().flatten() {
            if let Some(result) = self.response.results.get_mut(*result) {
                *result = result_of(error, &why);
            }
        }
    }

    fn response(&self, form: Form) -> Response {
        form.response(&self.response)
    }
}

fn result_of(error: ErrorCode, why: &str) -> AclCreationResult {
    AclCreationResult { error_code: error.code(), error_message: Some(why.into()) }
}

/// Handles a request: its answer as far as it is known, and the changes that it wants, each with its part of the answer.
///
/// # Errors
/// It is malformed.
pub(in crate::access) fn create(
    node: &Node,
    by: By<'_>,
    request: &CreateAclsRequest,
) -> Result<(CreateAnswer, Vec<(usize, AccessChange)>), Malformed> {
    let means_nothing = |new: &AclCreation| {
        [new.resource_type, new.resource_pattern_type, new.operation, new.permission_type].contains(&0)
    };
    if request.creations.iter().any(means_nothing) {
        return Err(Malformed("a rule means nothing"));
    }
    let may = node.may_on_cluster(by, CLUSTER_ALTER).map_err(|error| (error, UNAUTHORIZED));
    let acls = may.and_then(|()| node.access.authorizer.as_ref().map(|at| &at.acls).ok_or(NO_AUTHORIZER));
    let mut by_pattern = BTreeMap::<ResourcePattern, (BTreeSet<AccessRule>, Vec<usize>)>::new();
    let (mut results, mut count) = (Vec::new(), 0);
    for (number, new) in request.creations.iter().enumerate() {
        let judged = acls.and_then(|acls| judge(new, acls, count));
        let (error, why) = judged.as_ref().err().copied().unwrap_or((ErrorCode::None, ""));
        results.push(result_of(error, why));
        if let Ok(AclBinding { pattern, rule }) = judged {
            count += 1;
            let (rules, numbers) = by_pattern.entry(pattern).or_default();
            rules.insert(rule);
            numbers.push(number);
        }
    }
    let (mut changes, mut of_pattern) = (Vec::new(), Vec::new());
    for (part, (pattern, (added, numbers))) in by_pattern.into_iter().enumerate() {
        changes.push((part, AccessChange::Rules { pattern, added, removed: BTreeSet::new() }));
        of_pattern.push(numbers);
    }
    let response = CreateAclsResponse { results, ..CreateAclsResponse::default() };
    Ok((CreateAnswer { response, of_pattern }, changes))
}

/// Judges one of the rules of a request, of which so many others are made.
fn judge(new: &AclCreation, acls: &Acls, others: usize) -> Result<AclBinding, Refused> {
    let invalid = |why| (ErrorCode::InvalidRequest, why);
    let resource_type = ResourceType::of_code(new.resource_type);
    let resource_type = resource_type.ok_or(invalid("a rule is about one kind of resource"))?;
    let pattern_type = PatternType::of_code(new.resource_pattern_type);
    let pattern_type = pattern_type.ok_or(invalid("the pattern of a rule is literal or prefixed"))?;
    let operation = Operation::of_code(new.operation);
    let operation = operation.ok_or(invalid("a rule is about one operation that is known"))?;
    let permission = Permission::of_code(new.permission_type);
    let permission = permission.ok_or(invalid("a rule allows or denies"))?;
    let name = &new.resource_name;
    if name.is_empty() {
        return Err(invalid("the name of a resource must not be empty"));
    }
    if resource_type == ResourceType::Cluster && name != CLUSTER_NAME {
        return Err(invalid("the only name of the cluster is kafka-cluster"));
    }
    if !new.principal.contains(':') {
        return Err(invalid("a principal is written KIND:NAME"));
    }
    let is_long = name.len().max(new.principal.len()) > NAME_BYTES_MAX || new.host.len() > HOST_BYTES_MAX;
    if is_long {
        return Err((ErrorCode::PolicyViolation, "the name, the principal or the host is too long"));
    }
    if others >= CHANGES_MAX {
        return Err((ErrorCode::PolicyViolation, "a request makes 10,000 rules at the most"));
    }
    if acls.len() + others >= RULES_MAX {
        return Err((ErrorCode::PolicyViolation, "there are too many rules"));
    }
    let pattern = ResourcePattern { resource_type, pattern_type, name: name.as_str().into() };
    let (principal, host) = (new.principal.as_str().into(), new.host.as_str().into());
    Ok(AclBinding { pattern, rule: AccessRule { principal, host, operation, permission } })
}
