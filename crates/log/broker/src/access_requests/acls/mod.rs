//! DescribeAcls, CreateAcls and DeleteAcls.
//!
//! Many rules of one pattern, or many filters that mean rules of it, are one change of its node.

mod create;
mod delete;
mod filter;

use log_wire::messages::acls::{
    AclDescription, DescribeAclsRequest, DescribeAclsResource, DescribeAclsResponse,
};
use log_wire::{ErrorCode, Malformed};

pub(super) use create::create;
pub(super) use delete::delete;
use filter::{BadFilter, filter_of};

use super::UNAUTHORIZED;
use crate::node::Node;
use crate::rights::{By, CLUSTER_DESCRIBE};

/// Why rules are neither shown nor changed.
const NO_AUTHORIZER: (ErrorCode, &str) =
    (ErrorCode::SecurityDisabled, "No Authorizer is configured: rules of access are not used");

/// Handles a request.
///
/// # Errors
/// It is malformed.
pub(super) fn describe(
    node: &Node,
    by: By<'_>,
    request: &DescribeAclsRequest,
) -> Result<DescribeAclsResponse, Malformed> {
    let mut response = DescribeAclsResponse::default();
    let filter = match filter_of(
        (request.resource_type_filter, request.pattern_type_filter),
        (request.operation, request.permission_type),
        (&request.resource_name_filter, &request.principal_filter, &request.host_filter),
    ) {
        Ok(filter) => Some(filter),
        Err(BadFilter::Malformed(malformed)) => return Err(malformed),
        // What is not known has no rule.
        Err(BadFilter::Unknown) => None,
    };
    let refused = match (node.may_on_cluster(by, CLUSTER_DESCRIBE), &node.access.authorizer) {
        (Err(error), _) => Some((error, UNAUTHORIZED)),
        (_, None) => Some(NO_AUTHORIZER),
        _ => None,
    };
    if let Some((error, why)) = refused {
        (response.error_code, response.error_message) = (error.code(), Some(why.into()));
        return Ok(response);
    }
    response.error_message = Some(String::new());
    for (authorizer, filter) in node.access.authorizer.iter().zip(&filter) {
        let found = authorizer.acls.find(filter).map(|(pattern, rules)| DescribeAclsResource {
            resource_type: pattern.resource_type.code(),
            resource_name: pattern.name.to_string(),
            pattern_type: pattern.pattern_type.code(),
            acls: rules
                .into_iter()
                .map(|rule| AclDescription {
                    principal: rule.principal.to_string(),
                    host: rule.host.to_string(),
                    operation: rule.operation.code(),
                    permission_type: rule.permission.code(),
                })
                .collect(),
        });
        response.resources.extend(found);
    }
    Ok(response)
}
