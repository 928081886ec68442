//! Configurations.

use alloc::string::String;
use alloc::vec::Vec;

use super::schema::messages;

messages! {
    /// The request of DescribeConfigs.
    struct DescribeConfigsRequest {
        [0..] resources: Vec<DescribeConfigsResource>,
        [0..] include_synonyms: bool,
        [3..] include_documentation: bool,
    }

    /// See [`DescribeConfigsRequest`].
    struct DescribeConfigsResource {
        [0..] resource_type: i8,
        [0..] resource_name: String,
        [0..] configuration_keys: Option<Vec<String>>,
    }

    /// The response of DescribeConfigs.
    struct DescribeConfigsResponse {
        [0..] throttle_time_ms: i32,
        [0..] results: Vec<DescribeConfigsResult>,
    }

    /// See [`DescribeConfigsResponse`].
    struct DescribeConfigsResourceResult {
        [0..] name: String,
        [0..] value: Option<String>,
        [0..] read_only: bool,
        [0..] config_source: i8 = -1,
        [0..] is_sensitive: bool,
        [0..] synonyms: Vec<DescribeConfigsSynonym>,
        [3..] config_type: i8,
        [3..] documentation: Option<String>,
    }

    /// See [`DescribeConfigsResponse`].
    struct DescribeConfigsResult {
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [0..] resource_type: i8,
        [0..] resource_name: String,
        [0..] configs: Vec<DescribeConfigsResourceResult>,
    }

    /// See [`DescribeConfigsResponse`].
    struct DescribeConfigsSynonym {
        [0..] name: String,
        [0..] value: Option<String>,
        [0..] source: i8,
    }

    /// The request of AlterConfigs.
    struct AlterConfigsRequest {
        [0..] resources: Vec<AlterConfigsResource>,
        [0..] validate_only: bool,
    }

    /// See [`AlterConfigsRequest`].
    struct AlterConfigsResource {
        [0..] resource_type: i8,
        [0..] resource_name: String,
        [0..] configs: Vec<AlterableConfig>,
    }

    /// See [`AlterConfigsRequest`].
    struct AlterableConfig {
        [0..] name: String,
        [0..] value: Option<String>,
    }

    /// The response of AlterConfigs.
    struct AlterConfigsResponse {
        [0..] throttle_time_ms: i32,
        [0..] responses: Vec<AlterConfigsResourceResponse>,
    }

    /// See [`AlterConfigsResponse`].
    struct AlterConfigsResourceResponse {
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [0..] resource_type: i8,
        [0..] resource_name: String,
    }

    /// The request of IncrementalAlterConfigs.
    struct IncrementalAlterConfigsRequest {
        [0..] resources: Vec<IncrementalAlterConfigsResource>,
        [0..] validate_only: bool,
    }

    /// See [`IncrementalAlterConfigsRequest`].
    struct IncrementalAlterConfigsResource {
        [0..] resource_type: i8,
        [0..] resource_name: String,
        [0..] configs: Vec<IncrementalAlterableConfig>,
    }

    /// See [`IncrementalAlterConfigsRequest`].
    struct IncrementalAlterableConfig {
        [0..] name: String,
        [0..] config_operation: i8,
        [0..] value: Option<String>,
    }

    /// The response of IncrementalAlterConfigs.
    struct IncrementalAlterConfigsResponse {
        [0..] throttle_time_ms: i32,
        [0..] responses: Vec<IncrementalAlterConfigsResourceResponse>,
    }

    /// See [`IncrementalAlterConfigsResponse`].
    struct IncrementalAlterConfigsResourceResponse {
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [0..] resource_type: i8,
        [0..] resource_name: String,
    }

    /// The request of ListConfigResources.
    struct ListConfigResourcesRequest {
        [1..] resource_types: Vec<i8>,
    }

    /// The response of ListConfigResources.
    struct ListConfigResourcesResponse {
        [0..] throttle_time_ms: i32,
        [0..] error_code: i16,
        [0..] config_resources: Vec<ConfigResource>,
    }

    /// See [`ListConfigResourcesResponse`].
    struct ConfigResource {
        [0..] resource_name: String,
        [1..] resource_type: i8 = 16,
    }
}
