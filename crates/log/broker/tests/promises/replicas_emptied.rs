//! Brokers from which everything moves away (`diwan.drain`), while clients go on.

use kafka_protocol::messages::create_topics_request::{CreatableReplicaAssignment, CreatableTopic};
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::elect_leaders_request::TopicPartitions;
use kafka_protocol::messages::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
use kafka_protocol::messages::{
    BrokerId, CreateTopicsRequest, DescribeConfigsRequest, ElectLeadersRequest,
    IncrementalAlterConfigsRequest, TopicName,
};

use crate::bench::text;
use crate::replicas::Cluster;

const BROKER: i8 = 4;
const SET: i8 = 0;
const DELETE: i8 = 1;
const INVALID_REPLICA_ASSIGNMENT: i16 = 39;
const INVALID_REQUEST: i16 = 42;
const POLICY_VIOLATION: i16 = 44;
const PREFERRED_NOT_AVAILABLE: i16 = 80;

fn alteration(broker: i32, key: &str, value: Option<&str>) -> IncrementalAlterConfigsRequest {
    let config = AlterableConfig::default()
        .with_name(text(key))
        .with_config_operation(if value.is_some() { SET } else { DELETE })
        .with_value(value.map(text));
    let resource = AlterConfigsResource::default()
        .with_resource_type(BROKER)
        .with_resource_name(text(&broker.to_string()))
        .with_configs(vec![config]);
    IncrementalAlterConfigsRequest::default().with_resources(vec![resource])
}

/// Asks a broker to drain one, or not any more. Gives the error and its text.
fn drain(cluster: &mut Cluster, by: i32, broker: i32, drains: bool) -> (i16, String) {
    let request = alteration(broker, "diwan.drain", drains.then_some("true"));
    let answer = cluster.call(by, 1, &request);
    let result = &answer.responses[0];
    (result.error_code, result.error_message.as_ref().map(|text| text.to_string()).unwrap_or_default())
}

/// Whether a broker drains, as another one says.
fn is_drained(cluster: &mut Cluster, by: i32, broker: i32) -> bool {
    let resource = DescribeConfigsResource::default()
        .with_resource_type(BROKER)
        .with_resource_name(text(&broker.to_string()))
        .with_configuration_keys(Some(vec![text("diwan.drain")]));
    let answer = cluster.call(by, 4, &DescribeConfigsRequest::default().with_resources(vec![resource]));
    answer.results[0].configs[0].value.as_deref() == Some("true")
}

fn replicas(cluster: &Cluster) -> Vec<Vec<i32>> {
    let topic = cluster.topic();
    topic.partitions.iter().map(|partition| partition.replicas.clone()).collect()
}

fn produce(cluster: &mut Cluster, partition: i32) -> i64 {
    let leader = cluster.leader(partition as usize).0;
    let number = cluster.produce(leader, partition).expect("it waits");
    cluster.settle();
    let answers = cluster.answers(leader);
    assert_eq!(answers.iter().map(|(of, (error, _))| (*of, *error)).collect::<Vec<_>>(), [(number, 0)]);
    answers[0].1.1
}

#[test]
fn everything_leaves_a_broker_that_drains_whichever_is_asked_and_nothing_acknowledged_is_lost() {
    for (by, drained) in [(1, 1), (2, 1), (1, 3), (3, 2)] {
        let all: [&[i32]; 6] = [&[1, 2], &[2, 3], &[3, 1], &[1], &[2], &[3]];
        let mut cluster = Cluster::new(&all);
        (0..6).for_each(|partition| assert_eq!(produce(&mut cluster, partition), 0));
        assert_eq!(drain(&mut cluster, by, drained, true), (0, String::new()));
        cluster.settle();
        // It leads nothing from now on that another replica could lead.
        assert!((0..3).all(|partition| cluster.leader(partition).0 != drained), "{drained}");
        assert!([1, 2, 3].into_iter().all(|by| is_drained(&mut cluster, by, drained)));
        cluster.pass(8_000);
        for (partition, (before, after)) in all.iter().zip(replicas(&cluster)).enumerate() {
            assert_eq!(before.len(), after.len());
            assert!(!after.contains(&drained), "{partition} on {after:?}, without {drained}");
            let stays = before.iter().filter(|id| **id != drained).all(|id| after.contains(id));
            assert!(stays, "{before:?} {after:?}");
            assert!(!cluster.has(drained, partition as i32), "{partition} is on {drained} still");
            assert_eq!(produce(&mut cluster, partition as i32), 1);
        }
        // It may go.
        cluster.lose(drained);
        cluster.settle();
        (0..6).for_each(|partition| assert_eq!(produce(&mut cluster, partition), 2));
    }
}

#[test]
fn broker_that_drains_is_given_nothing_new_until_that_is_cancelled() {
    let mut cluster = Cluster::new(&[&[1, 2]]);
    assert_eq!(drain(&mut cluster, 2, 3, true).0, 0);
    cluster.settle();
    let topic = |name: &str, on: &[i32]| {
        let assignment =
            CreatableReplicaAssignment::default().with_broker_ids(on.iter().copied().map(BrokerId).collect());
        let topic = CreatableTopic::default().with_name(TopicName(text(name)));
        match on {
            [] => topic.with_num_partitions(6).with_replication_factor(2),
            _ => topic.with_num_partitions(-1).with_replication_factor(-1).with_assignments(vec![assignment]),
        }
    };
    let create = |cluster: &mut Cluster, name: &str, on: &[i32]| {
        let request =
            CreateTopicsRequest::default().with_topics(vec![topic(name, on)]).with_timeout_ms(1_000);
        cluster.call(1, 7, &request).topics[0].error_code
    };
    assert_eq!(create(&mut cluster, "a", &[]), 0);
    let a = cluster.other_topic("a");
    assert!(a.partitions.iter().all(|of| !of.replicas.contains(&3)), "{a:?}");
    assert_eq!(create(&mut cluster, "b", &[3]), INVALID_REPLICA_ASSIGNMENT);
    assert_eq!(drain(&mut cluster, 1, 3, false).0, 0);
    cluster.settle();
    assert!(!is_drained(&mut cluster, 2, 3));
    assert_eq!(create(&mut cluster, "b", &[3]), 0);
}

#[test]
fn drain_that_leaves_too_few_brokers_is_refused_and_says_why() {
    let mut cluster = Cluster::new(&[&[1, 2, 3], &[1]]);
    let (error, why) = drain(&mut cluster, 2, 3, true);
    assert_eq!(error, POLICY_VIOLATION);
    assert!(why.contains("`t` have 3 replicas, and 2 other brokers"), "{why}");
    assert_eq!(drain(&mut cluster, 2, 9, true), (POLICY_VIOLATION, "there is no broker 9".into()));
    // Of another broker nothing else is set here.
    let answer = cluster.call(2, 1, &alteration(3, "log.cleaner.threads", Some("2")));
    assert_eq!(answer.responses[0].error_code, INVALID_REQUEST);
    let mut cluster = Cluster::new(&[&[1, 2]]);
    assert_eq!(drain(&mut cluster, 1, 1, true).0, 0);
    cluster.settle();
    assert_eq!(drain(&mut cluster, 1, 2, true).0, POLICY_VIOLATION, "one is left, and two are needed");
}

#[test]
fn broker_that_does_not_answer_any_more_is_emptied_but_for_what_it_alone_has() {
    let mut cluster = Cluster::new(&[&[3, 1], &[3]]);
    assert_eq!(produce(&mut cluster, 0), 0);
    cluster.lose(3);
    cluster.settle();
    cluster.pass(60);
    assert_eq!(drain(&mut cluster, 2, 3, true).0, 0);
    cluster.settle();
    cluster.pass(8_000);
    assert_eq!(replicas(&cluster), [vec![2, 1], vec![3]]);
    assert_eq!(produce(&mut cluster, 0), 1);
}

#[test]
fn drain_goes_on_whoever_is_the_controller_and_whoever_dies() {
    let mut cluster = Cluster::new(&[&[3, 2], &[2, 3], &[3, 2], &[3, 2]]);
    (0..4).for_each(|partition| assert_eq!(produce(&mut cluster, partition), 0));
    assert_eq!(drain(&mut cluster, 1, 3, true).0, 0);
    cluster.lose(1);
    cluster.settle();
    cluster.pass(3_000);
    // There is no third broker: what is left waits for it.
    assert!(replicas(&cluster).iter().all(|of| of.contains(&3)));
    cluster.restart(1);
    cluster.settle();
    cluster.pass(8_000);
    assert!(replicas(&cluster).iter().all(|of| !of.contains(&3)), "{:?}", replicas(&cluster));
    (0..4).for_each(|partition| assert_eq!(produce(&mut cluster, partition), 1));
}

#[test]
fn election_of_a_preferred_replica_that_drains_says_so_at_once() {
    let mut cluster = Cluster::new(&[&[3, 1]]);
    // Nothing can move away meanwhile.
    cluster.lose(2);
    cluster.settle();
    let request = alteration(3, "diwan.drain", Some("true"));
    let number = cluster.broker(1).begin(1, &request).expect_err("it waits for the council");
    cluster.settle();
    assert!(cluster.broker(1).end::<IncrementalAlterConfigsRequest>(number, 1).is_some());
    assert_eq!(cluster.leader(0).0, 1);
    let topic = TopicPartitions::default().with_topic(TopicName(text("t"))).with_partitions(vec![0]);
    let wanted =
        ElectLeadersRequest::default().with_topic_partitions(Some(vec![topic])).with_timeout_ms(15_000);
    for by in [1, 3] {
        let answer = cluster.broker(by).begin(2, &wanted).expect("it does not wait");
        let result = &answer.replica_election_results[0].partition_result[0];
        assert_eq!(result.error_code, PREFERRED_NOT_AVAILABLE, "{by}");
    }
}
