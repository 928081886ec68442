//! Files of brokers, and the same keys and values as changes of a topic and of a broker while it runs.

use log_config::change::{self, broker::Target};
use log_config::properties::{self, Property};
use log_config::{
    BrokerLayers, Entry, Given, GroupConfig, GroupLayers, GroupSettings, LogMaintenance, NetworkLimits,
    Overrides, QuotaWindows, Refusal, StaticConfig, TopicConfig, TopicCreation, TopicLayers,
    TransactionSettings, describe,
};
use log_wire::ErrorCode;
use log_wire::messages::configs::IncrementalAlterableConfig;

const ALL: Given<'_> = Given { tls: true, sasl_mechanisms: &["PLAIN", "SCRAM-SHA-256"], acls: true };

pub(crate) fn run(bytes: &[u8]) {
    let read = properties::read(bytes);
    let file = StaticConfig::read(bytes, &ALL);
    let Ok(properties) = read else {
        assert!(file.is_err(), "a file that cannot be read is taken");
        return;
    };
    let characters = properties.iter().map(|own| own.key.chars().count() + own.value.chars().count());
    assert!(characters.sum::<usize>() <= bytes.len(), "more was read than the bytes can hold");
    assert!(properties.is_sorted_by(|one, other| one.line < other.line), "lines go back");
    match &file {
        Ok(config) => taken(config, bytes),
        Err(problems) => assert!(!problems.is_empty() && problems.iter().all(|own| !own.what.is_empty())),
    }
    let nothing = Overrides::new();
    let of_file = file.map_or_else(|_| Overrides::new(), |config| config.file);
    let layers = BrokerLayers { broker: &nothing, cluster: &nothing, file: &of_file };
    changed(&properties, layers);
}

/// What holds of every file that a broker starts with.
fn taken(config: &StaticConfig, bytes: &[u8]) {
    assert!(config.listeners.iter().any(|listener| listener.advertised.is_some()), "nobody can connect");
    assert_eq!(config.listeners.len(), config.security.len());
    if let Ok(less) = StaticConfig::read(bytes, &Given::default()) {
        let has_none = |own: &log_config::ListenerSecurity| own.tls.is_none() && own.sasl.is_none();
        assert!(less.security.iter().all(has_none) && less.authorizer.is_none(), "security is left out");
        assert_eq!(less.file, config.file);
    } else {
        let has_any = |own: &log_config::ListenerSecurity| own.tls.is_some() || own.sasl.is_some();
        assert!(config.security.iter().any(has_any) || config.authorizer.is_some());
    }
    let nothing = Overrides::new();
    values(config.layers(&nothing, &nothing));
}

fn values(layers: BrokerLayers<'_>) {
    let nothing = Overrides::new();
    shown(&describe::broker(&layers, None));
    shown(&describe::cluster(&layers, None));
    shown(&describe::topic(&TopicLayers { topic: &nothing, broker: layers }, None));
    let group = GroupLayers { group: &nothing, broker: layers };
    shown(&describe::group(&group, None));
    let _ = (GroupConfig::of(&group), GroupSettings::of(&layers), LogMaintenance::of(&layers));
    let _ = (NetworkLimits::of(&layers), QuotaWindows::of(&layers), TopicCreation::of(&layers));
    let _ = TransactionSettings::of(&layers);
}

fn shown(entries: &[Entry]) {
    for entry in entries.iter().filter(|entry| entry.is_sensitive) {
        let is_hidden = entry.synonyms.iter().all(|synonym| synonym.value.is_none());
        assert!(entry.value.is_none() && is_hidden, "`{}` is shown", entry.name);
    }
}

/// The keys and values as a request, whose operations their lines choose.
fn changed(properties: &[Property], layers: BrokerLayers<'_>) {
    let change = |property: &Property| IncrementalAlterableConfig {
        name: property.key.clone(),
        config_operation: (property.line % 4) as i8,
        value: Some(property.value.clone()),
    };
    let changes: Vec<_> = properties.iter().map(change).collect();
    let nothing = Overrides::new();
    if let Some(set) = judged(change::topic::alter(&nothing, &changes, layers)) {
        let topic = TopicLayers { topic: &set, broker: layers };
        assert!(TopicConfig::of(&topic).segment_bytes >= 1 << 20);
        shown(&describe::topic(&topic, None));
    }
    judged(change::group::alter(&nothing, &changes, layers));
    judged(change::client_metrics::alter(&nothing, &changes));
    judged(change::broker::alter(Target::Cluster, layers, &changes));
    if let Some(set) = judged(change::broker::alter(Target::Broker, layers, &changes)) {
        values(BrokerLayers { broker: &set, ..layers });
        assert!(change::broker::alter(Target::Broker, BrokerLayers { broker: &set, ..layers }, &[]).is_ok());
    }
}

fn judged(result: Result<Overrides, Refusal>) -> Option<Overrides> {
    if let Err(refusal) = &result {
        assert!(matches!(refusal.code, ErrorCode::InvalidConfig | ErrorCode::InvalidRequest), "{refusal:?}");
    }
    result.ok()
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let texts: [&[u8]; 16] = [
        b"",
        b"# a comment\n! another\nnum.partitions=3\nlog.retention.hours : 24\nbroker.rack a\n",
        b"process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@h:9093\n\
          listeners=PLAINTEXT://:9092,CONTROLLER://:9093\ncontroller.listener.names=CONTROLLER\n\
          listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n",
        b"listeners=IN://127.0.0.1:9092,OUT://[::1]:9092\nadvertised.listeners=OUT://h:1\n\
          listener.security.protocol.map=IN:PLAINTEXT,OUT:SASL_SSL\nlistener.name.out.ssl.keystore.location=/k\n\
          listener.name.out.sasl.enabled.mechanisms=PLAIN\nlistener.name.out.plain.sasl.jaas.config=x\\;\n",
        b"listeners=SSL://:9093\nssl.keystore.key=k\nssl.client.auth=required\n",
        b"authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\nsuper.users=User:a;User:b\n",
        b"broker.id=2\nzookeeper.connect=a:2181,b/kafka\nzookeeper.session.timeout.ms=9000\n",
        b"log.dirs=/a,/b\nnum.partitions=x\nlog.segment.bytes=1\n",
        b"key\\ with\\=escapes = \\u00e4\\t\\\\ \\\n  goes on\n",
        b"cleanup.policy=compact,delete\nsegment.ms=5\nretention.ms=-1\nmin.cleanable.dirty.ratio=0.25\n",
        b"\n\n\ncleanup.policy=compact\nleader.replication.throttled.replicas=0:1,1:2\n",
        b"compression.type=zstd\ncompression.zstd.level=-7\nmin.compaction.lag.ms=5\nmax.compaction.lag.ms=6\n",
        b"\n\n\nnum.io.threads=9\n\n\n\nlog.retention.ms=5\n",
        b"\n\n\nmax.connections.per.ip.overrides=127.0.0.1:5,h:6\n\n\n\nlistener.name.plaintext.max.connections=4\n",
        b"\n\n\nconsumer.session.timeout.ms=50000\n\n\n\nshare.auto.offset.reset=by_duration:P1DT2H3M4.5S\n",
        b"\n\n\ninterval.ms=5000\n\n\n\nmatch=client_id=a,client_software_name=b\n",
    ];
    texts.map(<[u8]>::to_vec).into()
}
