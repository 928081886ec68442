//! Leaders and replicas that lie on one broker spread by themselves (`diwan.balance`), while clients go on.

use std::collections::BTreeMap;

use kafka_protocol::messages::DescribeConfigsRequest;
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use log_balance::{Loads, Report};
use log_broker::{BrokerConfig, Notice};
use log_config::BalanceMode;

use crate::bench::text;
use crate::replicas::Cluster;

const WINDOW_MS: u64 = 1_000;
const BROKER: i8 = 4;
const ALL: &[i32] = &[1, 2, 3];
const FIRST: &[i32] = &[1];

/// Three brokers with links so narrow that some batches a second are much.
fn cluster(replicas: &[&[i32]], mode: BalanceMode) -> Cluster {
    Cluster::with(replicas, &[], |config: &mut BrokerConfig| {
        config.balance.mode = mode;
        config.balance.interval_ms = WINDOW_MS;
        config.balance.network_bytes_per_s = 50_000;
    })
}

/// A producer that sends the same to all partitions, wherever they are led.
#[derive(Default)]
struct Load {
    /// The offsets that were acknowledged, by partition, with the numbers of their requests.
    acknowledged: BTreeMap<usize, BTreeMap<i64, u64>>,
}

impl Load {
    /// A window passes, in which each partition gets so many batches.
    fn window(&mut self, cluster: &mut Cluster, batches: usize) {
        let partitions = cluster.topic().partitions.len();
        for _ in 0..batches {
            for partition in 0..partitions {
                self.produce(cluster, partition);
            }
            cluster.pass(WINDOW_MS / batches as u64);
        }
    }

    fn produce(&mut self, cluster: &mut Cluster, partition: usize) {
        let leader = cluster.leader(partition).0;
        if cluster.away.contains(&leader) {
            return;
        }
        // Refused while its lead is handed over: a client tries again.
        let Ok(number) = cluster.produce(leader, partition as i32) else { return };
        cluster.settle();
        for (of, (error, offset)) in cluster.answers(leader) {
            if of == number && error == 0 {
                self.acknowledged.entry(partition).or_default().insert(offset, number);
            }
        }
    }

    /// Whether all that was acknowledged is there.
    fn check(&self, cluster: &mut Cluster) {
        for (partition, acknowledged) in &self.acknowledged {
            let found = cluster.read(cluster.leader(*partition).0, *partition as i32);
            for (offset, number) in acknowledged {
                assert_eq!(found.get(offset), Some(number), "partition {partition}, offset {offset}");
            }
        }
    }
}

fn leads(cluster: &Cluster) -> [usize; 3] {
    let leaders: Vec<i32> = cluster.topic().partitions.iter().map(|of| of.leader).collect();
    [1, 2, 3].map(|id| leaders.iter().filter(|leader| **leader == id).count())
}

fn shown(cluster: &mut Cluster, by: i32, name: &str) -> String {
    let resource = DescribeConfigsResource::default()
        .with_resource_type(BROKER)
        .with_resource_name(text(&by.to_string()))
        .with_configuration_keys(Some(vec![text(name)]));
    let answer = cluster.call(by, 4, &DescribeConfigsRequest::default().with_resources(vec![resource]));
    answer.results[0].configs[0].value.as_ref().map(|value| value.to_string()).unwrap_or_default()
}

fn report(cluster: &mut Cluster, by: i32) -> Report {
    Report::read(&shown(cluster, by, "diwan.balance.report"))
}

#[test]
fn leaders_of_busy_partitions_spread_by_themselves_and_rest_then_and_nothing_acknowledged_is_lost() {
    let mut cluster = cluster(&[ALL; 6], BalanceMode::Leaders);
    let mut load = Load::default();
    (0..20).for_each(|_| load.window(&mut cluster, 4));
    assert_eq!(leads(&cluster), [2, 2, 2], "{:?}", report(&mut cluster, 1));
    let told = report(&mut cluster, 1);
    assert_eq!((told.changed, told.mode.as_str(), told.begun.len()), ((4, 0), "leaders", 4), "{told:?}");
    assert!(told.begun[0].why.contains("network traffic of broker 1"), "{told:?}");
    // They lead as the preferred ones, so they stay.
    let before = cluster.topic();
    assert!(before.partitions.iter().all(|of| of.replicas[0] == of.leader && of.replicas.len() == 3));
    (0..80).for_each(|_| load.window(&mut cluster, 4));
    assert_eq!(cluster.topic(), before);
    assert!(report(&mut cluster, 1).outcome.contains("no broker carries much more"));
    let notices = cluster.broker(1).broker.take_notices();
    assert_eq!(notices.iter().filter(|notice| matches!(notice, Notice::Balanced { .. })).count(), 4);
    load.check(&mut cluster);
}

#[test]
fn controller_shows_what_was_measured_to_who_asks_and_nobody_else_does() {
    let mut cluster = cluster(&[&[2, 1, 3], &[3, 1, 2]], BalanceMode::Propose);
    let mut load = Load::default();
    (0..8).for_each(|_| load.window(&mut cluster, 4));
    let loads = Loads::read(&shown(&mut cluster, 1, "diwan.balance.loads"));
    assert_eq!(loads.brokers.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(loads.partitions.len(), 2, "{loads:?}");
    for (topic, _, rates) in &loads.partitions {
        assert!(topic == "t" && (3..=5).contains(&rates.requests_per_s), "{loads:?}");
        assert!(rates.write_bytes_per_s > 200 && rates.read_bytes_per_s == 0 && rates.stored_bytes > 0);
    }
    for name in ["diwan.balance.loads", "diwan.balance.report"] {
        assert_eq!(shown(&mut cluster, 2, name), "");
    }
    // Another one is the controller, and learns it.
    cluster.lose(1);
    cluster.settle();
    cluster.pass(5 * WINDOW_MS);
    let loads = Loads::read(&shown(&mut cluster, 2, "diwan.balance.loads"));
    assert_eq!(loads.partitions.len(), 2, "{loads:?}");
}

#[test]
fn nothing_changes_where_it_is_only_proposed_or_off() {
    for (mode, says) in [(BalanceMode::Propose, "4 partitions would be changed"), (BalanceMode::Off, "")] {
        let mut cluster = cluster(&[ALL; 6], mode);
        let (mut load, before) = (Load::default(), cluster.topic());
        (0..20).for_each(|_| load.window(&mut cluster, 4));
        assert_eq!((cluster.topic(), report(&mut cluster, 1).outcome.as_str()), (before, says));
        let proposed = report(&mut cluster, 1).planned.len();
        assert_eq!(proposed, if mode == BalanceMode::Off { 0 } else { 4 });
    }
}

#[test]
fn nothing_begins_while_a_broker_is_lost_and_it_goes_on_once_that_is_back() {
    let mut cluster = cluster(&[ALL; 6], BalanceMode::Leaders);
    let mut load = Load::default();
    load.window(&mut cluster, 4);
    cluster.lose(3);
    cluster.settle();
    (0..20).for_each(|_| load.window(&mut cluster, 4));
    assert_eq!(leads(&cluster), [6, 0, 0]);
    let outcome = report(&mut cluster, 1).outcome;
    assert_eq!(outcome, "nothing is moved: broker 3 is not connected");
    cluster.restart(3);
    cluster.settle();
    (0..20).for_each(|_| load.window(&mut cluster, 4));
    assert_eq!(leads(&cluster), [2, 2, 2], "{:?}", report(&mut cluster, 1));
    load.check(&mut cluster);
}

#[test]
fn partitions_with_one_replica_move_only_if_that_is_wanted_and_no_faster_than_that() {
    let mut cluster = cluster(&[FIRST; 6], BalanceMode::Leaders);
    let mut load = Load::default();
    (0..20).for_each(|_| load.window(&mut cluster, 4));
    assert_eq!(leads(&cluster), [6, 0, 0]);
    assert!(report(&mut cluster, 1).outcome.contains("no change is worth"), "{:?}", report(&mut cluster, 1));
    let mut cluster = self::cluster(&[FIRST; 6], BalanceMode::All);
    let mut load = Load::default();
    (0..60).for_each(|_| load.window(&mut cluster, 4));
    let told = report(&mut cluster, 1);
    assert_eq!((leads(&cluster), told.changed), ([2, 2, 2], (0, 4)), "{told:?}");
    assert!(cluster.topic().partitions.iter().all(|of| of.replicas.len() == 1));
    load.check(&mut cluster);
}

#[test]
fn nothing_begins_while_somebody_else_changes_replicas_or_a_broker_drains() {
    for drains in [false, true] {
        let mut cluster = cluster(&[&[1, 2], &[1, 2], &[1, 2], &[1, 2]], BalanceMode::Leaders);
        let mut load = Load::default();
        // A change that does not end: the disk of its target makes nothing durable.
        if drains {
            cluster.tell("/log/configs/brokers/3", br#"{"diwan.drain":"true"}"#.to_vec());
        } else {
            cluster.stop_disk(3);
            let mut topic = cluster.topic();
            assert!(topic.partitions[3].reassign(&[1, 3], 1));
            cluster.tell("/log/topics/t", topic.bytes());
        }
        cluster.settle();
        (0..20).for_each(|_| load.window(&mut cluster, 4));
        let outcome = report(&mut cluster, 1).outcome;
        let says = if drains { "broker 3 drains" } else { "somebody changes the replicas of partition 3" };
        assert!(outcome.contains(says), "{outcome}");
        assert_eq!(leads(&cluster), [4, 0, 0]);
    }
}
