//! Access control lists.

use alloc::string::String;
use alloc::vec::Vec;

use super::schema::messages;

messages! {
    /// The request of DescribeAcls.
    struct DescribeAclsRequest {
        [0..] resource_type_filter: i8,
        [0..] resource_name_filter: Option<String>,
        [0..] pattern_type_filter: i8 = 3,
        [0..] principal_filter: Option<String>,
        [0..] host_filter: Option<String>,
        [0..] operation: i8,
        [0..] permission_type: i8,
    }

    /// The response of DescribeAcls.
    struct DescribeAclsResponse {
        [0..] throttle_time_ms: i32,
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [0..] resources: Vec<DescribeAclsResource>,
    }

    /// See [`DescribeAclsResponse`].
    struct AclDescription {
        [0..] principal: String,
        [0..] host: String,
        [0..] operation: i8,
        [0..] permission_type: i8,
    }

    /// See [`DescribeAclsResponse`].
    struct DescribeAclsResource {
        [0..] resource_type: i8,
        [0..] resource_name: String,
        [0..] pattern_type: i8 = 3,
        [0..] acls: Vec<AclDescription>,
    }

    /// The request of CreateAcls.
    struct CreateAclsRequest {
        [0..] creations: Vec<AclCreation>,
    }

    /// See [`CreateAclsRequest`].
    struct AclCreation {
        [0..] resource_type: i8,
        [0..] resource_name: String,
        [0..] resource_pattern_type: i8 = 3,
        [0..] principal: String,
        [0..] host: String,
        [0..] operation: i8,
        [0..] permission_type: i8,
    }

    /// The response of CreateAcls.
    struct CreateAclsResponse {
        [0..] throttle_time_ms: i32,
        [0..] results: Vec<AclCreationResult>,
    }

    /// See [`CreateAclsResponse`].
    struct AclCreationResult {
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
    }

    /// The request of DeleteAcls.
    struct DeleteAclsRequest {
        [0..] filters: Vec<DeleteAclsFilter>,
    }

    /// See [`DeleteAclsRequest`].
    struct DeleteAclsFilter {
        [0..] resource_type_filter: i8,
        [0..] resource_name_filter: Option<String>,
        [0..] pattern_type_filter: i8 = 3,
        [0..] principal_filter: Option<String>,
        [0..] host_filter: Option<String>,
        [0..] operation: i8,
        [0..] permission_type: i8,
    }

    /// The response of DeleteAcls.
    struct DeleteAclsResponse {
        [0..] throttle_time_ms: i32,
        [0..] filter_results: Vec<DeleteAclsFilterResult>,
    }

    /// See [`DeleteAclsResponse`].
    struct DeleteAclsFilterResult {
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [0..] matching_acls: Vec<DeleteAclsMatchingAcl>,
    }

    /// See [`DeleteAclsResponse`].
    struct DeleteAclsMatchingAcl {
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [0..] resource_type: i8,
        [0..] resource_name: String,
        [0..] pattern_type: i8 = 3,
        [0..] principal: String,
        [0..] host: String,
        [0..] operation: i8,
        [0..] permission_type: i8,
    }
}
