//! Rights of those who look at the cluster, its topics and its configurations, and change them.

#![expect(clippy::too_many_lines, reason = "tables of rights and answers")]

use std::collections::BTreeMap;

use kafka_protocol::messages::alter_client_quotas_request::{EntityData, EntryData};
use kafka_protocol::messages::alter_configs_request as replacing;
use kafka_protocol::messages::alter_partition_reassignments_request::{
    ReassignablePartition, ReassignableTopic,
};
use kafka_protocol::messages::alter_replica_log_dirs_request::{AlterReplicaLogDir, AlterReplicaLogDirTopic};
use kafka_protocol::messages::alter_user_scram_credentials_request::ScramCredentialDeletion;
use kafka_protocol::messages::create_acls_request::AclCreation;
use kafka_protocol::messages::create_partitions_request::CreatePartitionsTopic;
use kafka_protocol::messages::delete_acls_request::DeleteAclsFilter;
use kafka_protocol::messages::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_quorum_request;
use kafka_protocol::messages::describe_topic_partitions_request::TopicRequest;
use kafka_protocol::messages::describe_user_scram_credentials_request::UserName;
use kafka_protocol::messages::incremental_alter_configs_request as incremental;
use kafka_protocol::messages::{
    AlterClientQuotasRequest, AlterUserScramCredentialsRequest, CreateAclsRequest, DeleteAclsRequest,
    DescribeAclsRequest, DescribeClientQuotasRequest, DescribeUserScramCredentialsRequest,
};
use kafka_protocol::messages::{
    AlterConfigsRequest, AlterPartitionReassignmentsRequest, AlterReplicaLogDirsRequest, BrokerId,
    CreatePartitionsRequest, DeleteRecordsRequest, DescribeClusterRequest, DescribeConfigsRequest,
    DescribeLogDirsRequest, DescribeQuorumRequest, DescribeTopicPartitionsRequest, ElectLeadersRequest,
    IncrementalAlterConfigsRequest, ListConfigResourcesRequest, ListPartitionReassignmentsRequest,
};

use crate::rights::{NOT_ASKED, NOTHING, check, topic, world};
use crate::world::text;

#[test]
fn topics_are_described_page_by_page_to_who_may_see_them() {
    let mut world = world();
    let named = |name: &str| TopicRequest::default().with_name(topic(name));
    let request = DescribeTopicPartitionsRequest::default()
        .with_topics(vec![named("t"), named("nope")])
        .with_response_partition_limit(10);
    let told = |answer: kafka_protocol::messages::DescribeTopicPartitionsResponse| {
        let topics = answer.topics.into_iter();
        topics.map(|topic| (topic.error_code, topic.topic_authorized_operations)).collect::<Vec<_>>()
    };
    let refused = (29, NOT_ASKED);
    check(
        &mut world,
        (0, &request),
        told,
        &[
            (NOTHING, vec![refused, refused]),
            (&["Topic:t:Describe"], vec![(0, 256), refused]),
            (&["Topic:nope:Read"], vec![(3, 264), refused]),
        ],
    );
    let all = DescribeTopicPartitionsRequest::default().with_response_partition_limit(10);
    check(
        &mut world,
        (0, &all),
        told,
        &[(NOTHING, vec![]), (&["Topic:t:Describe"], vec![(0, 256)]), (&["Topic:x:All"], vec![])],
    );
}

#[test]
fn topics_are_changed_by_who_may() {
    let mut world = world();
    let more = |name: &str| {
        CreatePartitionsTopic::default().with_name(topic(name)).with_count(2).with_assignments(None)
    };
    let request = CreatePartitionsRequest::default()
        .with_topics(vec![more("t"), more("nope")])
        .with_timeout_ms(1_000)
        .with_validate_only(true);
    let told = |answer: kafka_protocol::messages::CreatePartitionsResponse| {
        answer.results.into_iter().map(|result| result.error_code).collect::<Vec<_>>()
    };
    check(
        &mut world,
        (3, &request),
        told,
        &[
            (NOTHING, vec![29, 29]),
            (&["Topic:t:Describe", "Cluster::Alter"], vec![29, 29]),
            (&["Topic:t:Alter"], vec![0, 29]),
            (&["Topic:t:Alter", "Topic:nope:Alter"], vec![0, 3]),
        ],
    );
    let before = |name: &str| {
        let partition = DeleteRecordsPartition::default().with_offset(0);
        DeleteRecordsTopic::default().with_name(topic(name)).with_partitions(vec![partition])
    };
    let request =
        DeleteRecordsRequest::default().with_topics(vec![before("t"), before("nope")]).with_timeout_ms(1_000);
    let told = |answer: kafka_protocol::messages::DeleteRecordsResponse| {
        let topics = answer.topics.into_iter();
        let codes = topics.map(|topic| (topic.name.to_string(), topic.partitions[0].error_code));
        codes.collect::<BTreeMap<_, _>>().into_values().collect::<Vec<_>>()
    };
    check(
        &mut world,
        (2, &request),
        told,
        &[
            (NOTHING, vec![29, 29]),
            (&["Topic:t:Alter"], vec![29, 29]),
            (&["Topic:t:Delete"], vec![29, 0]),
            (&["Topic:nope:Delete"], vec![3, 29]),
        ],
    );
}

#[test]
fn cluster_is_described_and_changed_by_who_may() {
    let mut world = world();
    let request = DescribeClusterRequest::default().with_include_cluster_authorized_operations(true);
    check(
        &mut world,
        (1, &request),
        |answer| (answer.error_code, answer.brokers.len(), answer.cluster_authorized_operations),
        &[
            (NOTHING, (0, 1, 0)),
            (&["Cluster::Create"], (0, 1, 0)),
            (&["Cluster::Describe", "Cluster::Create"], (0, 1, 288)),
        ],
    );
    let of_describe = [(NOTHING, 31), (&["Topic:t:All"][..], 31), (&["Cluster::Describe"], 0)];
    let of_alter = [(NOTHING, 31), (&["Cluster::Describe"][..], 31), (&["Cluster::Alter"], 0)];
    let dirs = DescribeLogDirsRequest::default().with_topics(None);
    check(&mut world, (4, &dirs), |answer| answer.error_code, &of_describe);
    let of_quorum = describe_quorum_request::PartitionData::default().with_partition_index(0);
    let quorum = describe_quorum_request::TopicData::default()
        .with_topic_name(topic("__cluster_metadata"))
        .with_partitions(vec![of_quorum]);
    let quorum = DescribeQuorumRequest::default().with_topics(vec![quorum]);
    check(&mut world, (2, &quorum), |answer| answer.error_code, &of_describe);
    let list = ListPartitionReassignmentsRequest::default().with_topics(None);
    check(&mut world, (0, &list), |answer| answer.error_code, &of_describe);
    let elect = ElectLeadersRequest::default().with_topic_partitions(None).with_timeout_ms(1_000);
    check(&mut world, (2, &elect), |answer| answer.error_code, &of_alter);
    let partition = ReassignablePartition::default().with_replicas(Some(vec![BrokerId(1)]));
    let moved = ReassignableTopic::default().with_name(topic("t")).with_partitions(vec![partition]);
    let alter = AlterPartitionReassignmentsRequest::default().with_topics(vec![moved]).with_timeout_ms(1_000);
    check(&mut world, (0, &alter), |answer| answer.error_code, &of_alter);
    let partition = |answer: kafka_protocol::messages::AlterPartitionReassignmentsResponse| {
        answer.responses[0].partitions[0].error_code
    };
    check(&mut world, (0, &alter), partition, &of_alter);
    let of_topic = AlterReplicaLogDirTopic::default().with_name(topic("t")).with_partitions(vec![0]);
    let dir = AlterReplicaLogDir::default().with_path(text("/nowhere")).with_topics(vec![of_topic]);
    let alter = AlterReplicaLogDirsRequest::default().with_dirs(vec![dir]);
    check(
        &mut world,
        (2, &alter),
        |answer| answer.results[0].partitions[0].error_code,
        &[(NOTHING, 31), (&["Cluster::Describe"], 31), (&["Cluster::Alter"], 57)],
    );
}

/// The kinds of resources with configurations: a topic, a broker, loggers, client metrics, a group.
const WITH_CONFIGS: [(i8, &str); 5] = [(2, "t"), (4, "1"), (8, "1"), (16, "m"), (32, "g")];

#[test]
fn configurations_are_shown_to_who_may() {
    let mut world = world();
    let resource = |(kind, name): (i8, &str)| {
        DescribeConfigsResource::default().with_resource_type(kind).with_resource_name(text(name))
    };
    let resources = WITH_CONFIGS.into_iter().map(|of| resource(of).with_configuration_keys(None));
    let request = DescribeConfigsRequest::default().with_resources(resources.collect());
    let told = |answer: kafka_protocol::messages::DescribeConfigsResponse| {
        assert!(answer.results.iter().all(|of| of.error_code == 0 || of.configs.is_empty()));
        answer.results.into_iter().map(|of| of.error_code).collect::<Vec<_>>()
    };
    check(
        &mut world,
        (4, &request),
        told,
        &[
            (NOTHING, vec![29, 31, 31, 31, 30]),
            (&["Topic:t:Describe", "Cluster::Describe", "Group:g:Describe"], vec![29, 31, 31, 31, 30]),
            (&["Topic:t:DescribeConfigs"], vec![0, 31, 31, 31, 30]),
            (&["Topic:t:AlterConfigs"], vec![0, 31, 31, 31, 30]),
            (&["Cluster::DescribeConfigs"], vec![29, 0, 0, 0, 30]),
            (&["Group:g:DescribeConfigs"], vec![29, 31, 31, 31, 0]),
        ],
    );
    check(
        &mut world,
        (1, &ListConfigResourcesRequest::default()),
        |answer| answer.error_code,
        &[(NOTHING, 31), (&["Cluster::Describe"], 31), (&["Cluster::DescribeConfigs"], 0)],
    );
}

#[test]
fn configurations_are_changed_by_who_may() {
    let mut world = world();
    let rights: &[(&[&str], [i16; 5])] = &[
        (NOTHING, [29, 31, 31, 31, 30]),
        (&["Topic:t:DescribeConfigs", "Cluster::Alter", "Group:g:DescribeConfigs"], [29, 31, 31, 31, 30]),
        (&["Topic:t:AlterConfigs"], [0, 31, 31, 31, 30]),
        (&["Cluster::AlterConfigs"], [29, 0, 0, 0, 30]),
        (&["Group:g:AlterConfigs"], [29, 31, 31, 31, 0]),
    ];
    for (at, (kind, name)) in WITH_CONFIGS.into_iter().enumerate() {
        let expected: Vec<(&[&str], i16)> =
            rights.iter().map(|(grants, codes)| (*grants, codes[at])).collect();
        let resource = incremental::AlterConfigsResource::default()
            .with_resource_type(kind)
            .with_resource_name(text(name));
        let request =
            IncrementalAlterConfigsRequest::default().with_resources(vec![resource]).with_validate_only(true);
        check(&mut world, (1, &request), |answer| answer.responses[0].error_code, &expected);
        if kind == 8 {
            // AlterConfigs knows no loggers.
            continue;
        }
        let resource = replacing::AlterConfigsResource::default()
            .with_resource_type(kind)
            .with_resource_name(text(name));
        let request = AlterConfigsRequest::default().with_resources(vec![resource]).with_validate_only(true);
        check(&mut world, (2, &request), |answer| answer.responses[0].error_code, &expected);
    }
}

#[test]
fn access_is_shown_and_changed_by_who_may() {
    let mut world = world();
    let describe = DescribeAclsRequest::default()
        .with_resource_type_filter(1)
        .with_pattern_type_filter(1)
        .with_operation(1)
        .with_permission_type(1);
    check(
        &mut world,
        (3, &describe),
        |answer| answer.error_code,
        &[(NOTHING, 31), (&["Cluster::Describe"], 0), (&["Cluster::Alter"], 0)],
    );
    let create = AclCreation::default().with_resource_type(2).with_operation(3).with_permission_type(3);
    let create = CreateAclsRequest::default().with_creations(vec![create.with_resource_pattern_type(3)]);
    check(
        &mut world,
        (3, &create),
        |answer| answer.results[0].error_code,
        &[(NOTHING, 31), (&["Cluster::Describe"], 31), (&["Cluster::Alter"], 42)],
    );
    let filter = DeleteAclsFilter::default()
        .with_resource_type_filter(1)
        .with_resource_name_filter(Some(text("none")))
        .with_pattern_type_filter(1)
        .with_operation(1)
        .with_permission_type(1);
    let delete = DeleteAclsRequest::default().with_filters(vec![filter]);
    check(
        &mut world,
        (3, &delete),
        |answer| answer.filter_results[0].error_code,
        &[(NOTHING, 31), (&["Cluster::Describe"], 31), (&["Cluster::Alter"], 0)],
    );
    let users = vec![UserName::default().with_name(text("q"))];
    let describe = DescribeUserScramCredentialsRequest::default().with_users(Some(users));
    check(
        &mut world,
        (0, &describe),
        |answer| answer.error_code,
        &[(NOTHING, 31), (&["Cluster::Describe"], 0)],
    );
    let gone = ScramCredentialDeletion::default().with_name(text("q")).with_mechanism(1);
    let alter = AlterUserScramCredentialsRequest::default().with_deletions(vec![gone]);
    check(
        &mut world,
        (0, &alter),
        |answer| answer.results[0].error_code,
        &[(NOTHING, 31), (&["Cluster::Describe"], 31), (&["Cluster::Alter"], 91)],
    );
    check(
        &mut world,
        (1, &DescribeClientQuotasRequest::default()),
        |answer| answer.error_code,
        &[(NOTHING, 31), (&["Cluster::Describe"], 31), (&["Cluster::DescribeConfigs"], 0)],
    );
    let entity = EntityData::default().with_entity_type(text("user"));
    let entry = EntryData::default().with_entity(vec![entity.with_entity_name(Some(text("u")))]);
    let alter = AlterClientQuotasRequest::default().with_entries(vec![entry]);
    check(
        &mut world,
        (1, &alter),
        |answer| answer.entries[0].error_code,
        &[(NOTHING, 31), (&["Cluster::Alter"], 31), (&["Cluster::AlterConfigs"], 0)],
    );
}
