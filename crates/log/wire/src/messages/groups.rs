//! Consumer groups of the classic protocol: membership and administration.

use alloc::string::String;
use alloc::vec::Vec;

use super::schema::{Blob, messages};

messages! {
    /// The request of FindCoordinator.
    struct FindCoordinatorRequest {
        [0..4] key: String,
        [1..] key_type: i8,
        [4..] coordinator_keys: Vec<String>,
    }

    /// The response of FindCoordinator.
    struct FindCoordinatorResponse {
        [1..] throttle_time_ms: i32,
        [0..4] error_code: i16,
        [1..4] error_message: Option<String>,
        [0..4] node_id: i32,
        [0..4] host: String,
        [0..4] port: i32,
        [4..] coordinators: Vec<Coordinator>,
    }

    /// See [`FindCoordinatorResponse`].
    struct Coordinator {
        [4..] key: String,
        [4..] node_id: i32,
        [4..] host: String,
        [4..] port: i32,
        [4..] error_code: i16,
        [4..] error_message: Option<String>,
    }

    /// The request of JoinGroup.
    struct JoinGroupRequest {
        [0..] group_id: String,
        [0..] session_timeout_ms: i32,
        [1..] rebalance_timeout_ms: i32 = -1,
        [0..] member_id: String,
        [5..] group_instance_id: Option<String>,
        [0..] protocol_type: String,
        [0..] protocols: Vec<JoinGroupRequestProtocol>,
        [8..] reason: Option<String>,
    }

    /// See [`JoinGroupRequest`].
    struct JoinGroupRequestProtocol {
        [0..] name: String,
        [0..] metadata: Blob,
    }

    /// The response of JoinGroup.
    struct JoinGroupResponse {
        [2..] throttle_time_ms: i32,
        [0..] error_code: i16,
        [0..] generation_id: i32 = -1,
        [7..] protocol_type: Option<String>,
        [0..] protocol_name: Option<String>,
        [0..] leader: String,
        [9..] skip_assignment: bool,
        [0..] member_id: String,
        [0..] members: Vec<JoinGroupResponseMember>,
    }

    /// See [`JoinGroupResponse`].
    struct JoinGroupResponseMember {
        [0..] member_id: String,
        [5..] group_instance_id: Option<String>,
        [0..] metadata: Blob,
    }

    /// The request of Heartbeat.
    struct HeartbeatRequest {
        [0..] group_id: String,
        [0..] generation_id: i32,
        [0..] member_id: String,
        [3..] group_instance_id: Option<String>,
    }

    /// The response of Heartbeat.
    struct HeartbeatResponse {
        [1..] throttle_time_ms: i32,
        [0..] error_code: i16,
    }

    /// The request of LeaveGroup.
    struct LeaveGroupRequest {
        [0..] group_id: String,
        [0..3] member_id: String,
        [3..] members: Vec<MemberIdentity>,
    }

    /// See [`LeaveGroupRequest`].
    struct MemberIdentity {
        [3..] member_id: String,
        [3..] group_instance_id: Option<String>,
        [5..] reason: Option<String>,
    }

    /// The response of LeaveGroup.
    struct LeaveGroupResponse {
        [1..] throttle_time_ms: i32,
        [0..] error_code: i16,
        [3..] members: Vec<MemberResponse>,
    }

    /// See [`LeaveGroupResponse`].
    struct MemberResponse {
        [3..] member_id: String,
        [3..] group_instance_id: Option<String>,
        [3..] error_code: i16,
    }

    /// The request of SyncGroup.
    struct SyncGroupRequest {
        [0..] group_id: String,
        [0..] generation_id: i32,
        [0..] member_id: String,
        [3..] group_instance_id: Option<String>,
        [5..] protocol_type: Option<String>,
        [5..] protocol_name: Option<String>,
        [0..] assignments: Vec<SyncGroupRequestAssignment>,
    }

    /// See [`SyncGroupRequest`].
    struct SyncGroupRequestAssignment {
        [0..] member_id: String,
        [0..] assignment: Blob,
    }

    /// The response of SyncGroup.
    struct SyncGroupResponse {
        [1..] throttle_time_ms: i32,
        [0..] error_code: i16,
        [5..] protocol_type: Option<String>,
        [5..] protocol_name: Option<String>,
        [0..] assignment: Blob,
    }

    /// The request of DescribeGroups.
    struct DescribeGroupsRequest {
        [0..] groups: Vec<String>,
        [3..] include_authorized_operations: bool,
    }

    /// The response of DescribeGroups.
    struct DescribeGroupsResponse {
        [1..] throttle_time_ms: i32,
        [0..] groups: Vec<DescribedGroup>,
    }

    /// See [`DescribeGroupsResponse`].
    struct DescribedGroup {
        [0..] error_code: i16,
        [6..] error_message: Option<String>,
        [0..] group_id: String,
        [0..] group_state: String,
        [0..] protocol_type: String,
        [0..] protocol_data: String,
        [0..] members: Vec<DescribedGroupMember>,
        [3..] authorized_operations: i32 = i32::MIN,
    }

    /// See [`DescribeGroupsResponse`].
    struct DescribedGroupMember {
        [0..] member_id: String,
        [4..] group_instance_id: Option<String>,
        [0..] client_id: String,
        [0..] client_host: String,
        [0..] member_metadata: Blob,
        [0..] member_assignment: Blob,
    }

    /// The request of ListGroups.
    struct ListGroupsRequest {
        [4..] states_filter: Vec<String>,
        [5..] types_filter: Vec<String>,
    }

    /// The response of ListGroups.
    struct ListGroupsResponse {
        [1..] throttle_time_ms: i32,
        [0..] error_code: i16,
        [0..] groups: Vec<ListedGroup>,
    }

    /// See [`ListGroupsResponse`].
    struct ListedGroup {
        [0..] group_id: String,
        [0..] protocol_type: String,
        [4..] group_state: String,
        [5..] group_type: String,
    }

    /// The request of DeleteGroups.
    struct DeleteGroupsRequest {
        [0..] groups_names: Vec<String>,
    }

    /// The response of DeleteGroups.
    struct DeleteGroupsResponse {
        [0..] throttle_time_ms: i32,
        [0..] results: Vec<DeletableGroupResult>,
    }

    /// See [`DeleteGroupsResponse`].
    struct DeletableGroupResult {
        [0..] group_id: String,
        [0..] error_code: i16,
    }
}
