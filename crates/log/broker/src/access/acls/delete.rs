//! DeleteAcls.

use std::collections::{BTreeMap, BTreeSet};

use log_access::acl::{AccessRule, AclFilter, Acls, RULES_MAX, ResourcePattern};
use log_metadata::access::AccessChange;
use log_wire::messages::acls::{
    DeleteAclsFilterResult, DeleteAclsMatchingAcl, DeleteAclsRequest, DeleteAclsResponse,
};
use log_wire::{ErrorCode, Malformed};

use super::NO_AUTHORIZER;
use super::filter::{BadFilter, filter_of};
use crate::access::UNAUTHORIZED;
use crate::access::change::{AccessAnswer, CHANGES_MAX};
use crate::node::Node;
use crate::response::{Form, Response};
use crate::rights::{By, CLUSTER_ALTER};

/// How many filters of a request may be such that all rules are compared with them.
const SCANS_MAX: usize = 100;

/// A rule in an answer: the number of the filter, and of the rule among those that it means.
type Place = (usize, usize);

/// The answer, with the places of the rules of each pattern.
#[derive(Debug)]
pub(crate) struct DeleteAnswer {
    response: DeleteAclsResponse,
    of_pattern: Vec<Vec<Place>>,
}

impl AccessAnswer for DeleteAnswer {
    fn refuse(&mut self, part: usize, error: ErrorCode, why: String) {
        for (filter, rule) in self.of_pattern.get(part).into_iter().flatten() {
            let result = self.response.filter_results.get_mut(*filter);
            if let Some(rule) = result.and_then(|result| result.matching_acls.get_mut(*rule)) {
                (rule.error_code, rule.error_message) = (error.code(), Some(why.clone()));
            }
        }
    }

    fn response(&self, form: Form) -> Response {
        form.response(&self.response)
    }
}

/// What is found so far.
#[derive(Default)]
struct Found {
    by_pattern: BTreeMap<ResourcePattern, (BTreeSet<AccessRule>, Vec<Place>)>,
    scans: usize,
    rules: usize,
}

impl Found {
    /// Looks for the rules of a filter. Gives them.
    fn look(
        &mut self,
        acls: &Acls,
        number: usize,
        filter: &AclFilter,
    ) -> Result<Vec<DeleteAclsMatchingAcl>, (ErrorCode, &'static str)> {
        self.scans += usize::from(!filter.is_exact());
        if self.scans > SCANS_MAX {
            return Err((
                ErrorCode::PolicyViolation,
                "a request has 100 filters at the most that name no resource",
            ));
        }
        let found: Vec<_> = acls.find(filter).collect();
        self.rules += found.iter().map(|(_, rules)| rules.len()).sum::<usize>();
        if self.rules > RULES_MAX {
            return Err((ErrorCode::PolicyViolation, "the filters of the request mean too many rules"));
        }
        let new = found.iter().filter(|(pattern, _)| !self.by_pattern.contains_key(*pattern)).count();
        if self.by_pattern.len() + new > CHANGES_MAX {
            return Err((ErrorCode::PolicyViolation, "a request changes 10,000 patterns at the most"));
        }
        let mut matching = Vec::new();
        for (pattern, rules) in found {
            let (removed, places) = self.by_pattern.entry(pattern.clone()).or_default();
            for rule in rules {
                places.push((number, matching.len()));
                matching.push(matching_of(pattern, rule));
                removed.insert(rule.clone());
            }
        }
        Ok(matching)
    }
}

fn matching_of(pattern: &ResourcePattern, rule: &AccessRule) -> DeleteAclsMatchingAcl {
    DeleteAclsMatchingAcl {
        error_code: ErrorCode::None.code(),
        error_message: None,
        resource_type: pattern.resource_type.code(),
        resource_name: pattern.name.to_string(),
        pattern_type: pattern.pattern_type.code(),
        principal: rule.principal.to_string(),
        host: rule.host.to_string(),
        operation: rule.operation.code(),
        permission_type: rule.permission.code(),
    }
}

/// Handles a request: its answer as far as it is known, and the changes that it wants, each with its part of the answer.
///
/// # Errors
/// It is malformed.
pub(in crate::access) fn delete(
    node: &Node,
    by: By<'_>,
    request: &DeleteAclsRequest,
) -> Result<(DeleteAnswer, Vec<(usize, AccessChange)>), Malformed> {
    let mut filters = Vec::new();
    for asked in &request.filters {
        match filter_of(
            (asked.resource_type_filter, asked.pattern_type_filter),
            (asked.operation, asked.permission_type),
            (&asked.resource_name_filter, &asked.principal_filter, &asked.host_filter),
        ) {
            Ok(filter) => filters.push(Some(filter)),
            Err(BadFilter::Unknown) => filters.push(None),
            Err(BadFilter::Malformed(malformed)) => return Err(malformed),
        }
    }
    let may = node.may_on_cluster(by, CLUSTER_ALTER).map_err(|error| (error, UNAUTHORIZED));
    let acls = may.and_then(|()| node.access.authorizer.as_ref().map(|at| &at.acls).ok_or(NO_AUTHORIZER));
    let (mut response, mut found) = (DeleteAclsResponse::default(), Found::default());
    for (number, filter) in filters.iter().enumerate() {
        let unknown = (ErrorCode::InvalidRequest, "the filter has a number that is not known");
        let looked = acls.and_then(|acls| found.look(acls, number, filter.as_ref().ok_or(unknown)?));
        let mut result = DeleteAclsFilterResult::default();
        match looked {
            Ok(matching) => result.matching_acls = matching,
            Err((error, why)) => {
                (result.error_code, result.error_message) = (error.code(), Some(why.into()));
            }
        }
        response.filter_results.push(result);
    }
    let (mut changes, mut of_pattern) = (Vec::new(), Vec::new());
    for (part, (pattern, (removed, places))) in found.by_pattern.into_iter().enumerate() {
        changes.push((part, AccessChange::Rules { pattern, added: BTreeSet::new(), removed }));
        of_pattern.push(places);
    }
    Ok((DeleteAnswer { response, of_pattern }, changes))
}
