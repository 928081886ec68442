import harness.Broker;
import harness.Check;
import harness.Test;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.admin.FeatureMetadata;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.LogDirDescription;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.clients.admin.UserScramCredentialAlteration;
import org.apache.kafka.clients.admin.UserScramCredentialDeletion;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionReplica;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.errors.DelegationTokenDisabledException;
import org.apache.kafka.common.errors.ElectionNotNeededException;
import org.apache.kafka.common.errors.InvalidReplicaAssignmentException;
import org.apache.kafka.common.errors.LogDirNotFoundException;
import org.apache.kafka.common.errors.NoReassignmentInProgressException;
import org.apache.kafka.common.errors.ResourceNotFoundException;
import org.apache.kafka.common.errors.SecurityDisabledException;
import org.apache.kafka.common.errors.UnsupportedByAuthenticationException;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.quota.ClientQuotaFilterComponent;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/** The rest of administration: the cluster, its features and quorum, disks, offsets, quotas, users, ACLs, replicas. */
public final class ClusterAdmin {
    private ClusterAdmin() {
    }

    public static void clusterIsDescribed(Test test) throws Exception {
        var result = Test.admin().describeCluster();
        List<Node> nodes = List.copyOf(Test.get(result.nodes()));
        Check.equal(nodes.stream().map(node -> node.host() + ":" + node.port()).sorted().toList(),
            Broker.ADDRESSES.stream().sorted().toList());
        Check.equal(nodes.stream().map(Node::id).filter(Broker::has).distinct().count(), (long) nodes.size());
        Check.that(Broker.has(Test.get(result.controller()).id()), "the controller is one of them");
        Check.equal(Test.get(result.clusterId()).length(), 22);
    }

    public static void featuresAreDescribedAndNotLowered(Test test) throws Exception {
        FeatureMetadata features = Test.get(Test.admin().describeFeatures().featureMetadata());
        Check.equal(features.finalizedFeatures().get("transaction.version").maxVersionLevel(), (short) 2);
        Check.equal(features.finalizedFeatures().get("group.version").maxVersionLevel(), (short) 1);
        Check.that(features.supportedFeatures().containsKey("metadata.version"), features);
        Check.that(features.finalizedFeaturesEpoch().isPresent(), "an epoch");
        Check.fails(Exception.class, () -> Test.get(Test.admin().updateFeatures(Map.of("no.such.feature",
            new FeatureUpdate((short) 1, FeatureUpdate.UpgradeType.UPGRADE)), new UpdateFeaturesOptions().validateOnly(true)).all()));
    }

    public static void quorumIsDescribed(Test test) throws Exception {
        var quorum = Test.get(Test.admin().describeMetadataQuorum().quorumInfo());
        Check.that(quorum.voters().stream().anyMatch(voter -> voter.replicaId() == quorum.leaderId()), quorum);
        Check.that(quorum.voters().stream().allMatch(voter -> Broker.has(voter.replicaId())), quorum);
        Check.that(quorum.highWatermark() > 0, quorum);
    }

    public static void everyKindOfOffsetIsListed(Test test) throws Exception {
        String topic = test.topic(1);
        TopicPartition partition = new TopicPartition(topic, 0);
        long time = System.currentTimeMillis() - 100_000;
        var producer = test.producer();
        for (long after : new long[] {0, 5_000, 2_000}) {
            producer.send(new ProducerRecord<>(topic, 0, time + after, "k", "v")).get();
        }
        Map<OffsetSpec, Long> expected = new HashMap<>();
        expected.put(OffsetSpec.earliest(), 0L);
        expected.put(OffsetSpec.latest(), 3L);
        expected.put(OffsetSpec.maxTimestamp(), 1L);
        expected.put(OffsetSpec.forTimestamp(time + 1), 1L);
        expected.put(OffsetSpec.earliestLocal(), 0L);
        expected.put(OffsetSpec.latestTiered(), -1L);
        for (var each : expected.entrySet()) {
            var found = Test.get(Test.admin().listOffsets(Map.of(partition, each.getKey())).partitionResult(partition));
            Check.equal(found.offset(), each.getValue(), each.getKey().getClass().getSimpleName());
        }
        var last = Test.get(Test.admin().listOffsets(Map.of(partition, OffsetSpec.maxTimestamp())).partitionResult(partition));
        Check.equal(last.timestamp(), time + 5_000);
    }

    public static void disksAreDescribed(Test test) throws Exception {
        String topic = test.topic(2);
        Test.send(test.producer(), topic, 1, List.of("x".repeat(5000)));
        int broker = Topics.leader(topic, 1);
        Map<String, LogDirDescription> disks =
            Test.get(Test.admin().describeLogDirs(List.of(broker)).allDescriptions()).get(broker);
        Check.equal(disks.size(), 1);
        LogDirDescription disk = disks.values().iterator().next();
        Check.that(disk.error() == null, disk.error());
        Check.that(disk.totalBytes().orElse(0) > disk.usableBytes().orElse(0), disk.totalBytes());
        long size = disk.replicaInfos().get(new TopicPartition(topic, 1)).size();
        Check.that(size >= 5000 && size < 6000, size);
        var empty = new TopicPartition(topic, 0);
        Check.equal(disk.replicaInfos().containsKey(empty), Topics.replicas(topic, 0).contains(broker));
        Check.that(!disk.replicaInfos().containsKey(empty) || disk.replicaInfos().get(empty).size() == 0, disk);
        TopicPartitionReplica replica = new TopicPartitionReplica(topic, 1, broker);
        var where = Test.get(Test.admin().describeReplicaLogDirs(List.of(replica)).all()).get(replica);
        Check.equal(where.getCurrentReplicaLogDir(), disks.keySet().iterator().next());
        Check.fails(LogDirNotFoundException.class,
            () -> Test.get(Test.admin().alterReplicaLogDirs(Map.of(replica, "/no/such/folder")).all()));
    }

    public static void aclsNeedAnAuthorizer(Test test) throws Exception {
        Test.needs("access control lists", () -> Test.get(Test.admin().describeAcls(AclBindingFilter.ANY).values()));
        AclBinding binding = new AclBinding(new ResourcePattern(ResourceType.TOPIC, "t", PatternType.LITERAL),
            new AccessControlEntry("User:alice", "*", AclOperation.READ, AclPermissionType.ALLOW));
        Check.fails(SecurityDisabledException.class, () -> Test.get(Test.admin().describeAcls(AclBindingFilter.ANY).values()));
        Check.fails(SecurityDisabledException.class, () -> Test.get(Test.admin().createAcls(List.of(binding)).all()));
        Check.fails(SecurityDisabledException.class,
            () -> Test.get(Test.admin().deleteAcls(List.of(binding.toFilter())).all()));
    }

    public static void quotasAreSetDescribedAndRemoved(Test test) throws Exception {
        Test.needs("quotas", () -> Test.get(Test.admin().describeClientQuotas(ClientQuotaFilter.all()).entities()));
        String user = test.fresh("user");
        var entity = new ClientQuotaEntity(Map.of(ClientQuotaEntity.USER, user));
        var filter = ClientQuotaFilter.contains(List.of(ClientQuotaFilterComponent.ofEntity(ClientQuotaEntity.USER, user)));
        Test.get(Test.admin().alterClientQuotas(List.of(new ClientQuotaAlteration(entity, List.of(
            new ClientQuotaAlteration.Op("producer_byte_rate", 1_000_000.0),
            new ClientQuotaAlteration.Op("consumer_byte_rate", 2_000_000.0))))).all());
        Check.await("both", () -> Map.of("producer_byte_rate", 1_000_000.0, "consumer_byte_rate", 2_000_000.0)
            .equals(Test.get(Test.admin().describeClientQuotas(filter).entities()).get(entity)));
        Test.get(Test.admin().alterClientQuotas(List.of(new ClientQuotaAlteration(entity, List.of(
            new ClientQuotaAlteration.Op("producer_byte_rate", null),
            new ClientQuotaAlteration.Op("consumer_byte_rate", null))))).all());
        Check.await("none", () -> Test.get(Test.admin().describeClientQuotas(filter).entities()).isEmpty());
        Check.fails(Exception.class, () -> Test.get(Test.admin().alterClientQuotas(List.of(new ClientQuotaAlteration(entity,
            List.of(new ClientQuotaAlteration.Op("no_such_rate", 1.0))))).all()));
    }

    public static void producersQuotaSlowsItDown(Test test) throws Exception {
        Test.needs("quotas", () -> Test.get(Test.admin().describeClientQuotas(ClientQuotaFilter.all()).entities()));
        String topic = test.topic(1);
        String client = test.fresh("client");
        var entity = new ClientQuotaEntity(Map.of(ClientQuotaEntity.CLIENT_ID, client));
        Test.get(Test.admin().alterClientQuotas(List.of(new ClientQuotaAlteration(entity, List.of(
            new ClientQuotaAlteration.Op("producer_byte_rate", 20_000.0))))).all());
        var producer = test.producer("client.id", client, "batch.size", "1000");
        Check.await("a throttled producer", () -> {
            Test.send(producer, topic, 0, List.of("x".repeat(20_000), "x".repeat(20_000), "x".repeat(20_000)));
            return producer.metrics().entrySet().stream().anyMatch(metric ->
                metric.getKey().name().equals("produce-throttle-time-max") && metric.getValue().metricValue() instanceof Double time
                    && time > 0);
        });
    }

    public static void usersOfScramAreKept(Test test) throws Exception {
        Test.needs("users of SCRAM", () -> Test.get(Test.admin().describeUserScramCredentials().all()));
        String user = test.fresh("user");
        List<UserScramCredentialAlteration> upsert = List.of(new UserScramCredentialUpsertion(user,
            new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 8192), "secret"));
        Test.get(Test.admin().alterUserScramCredentials(upsert).all());
        Check.eventually(() -> Check.equal(Test.get(Test.admin().describeUserScramCredentials(List.of(user)).description(user))
            .credentialInfos(), List.of(new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 8192))));
        List<UserScramCredentialAlteration> delete =
            List.of(new UserScramCredentialDeletion(user, ScramMechanism.SCRAM_SHA_256));
        Test.get(Test.admin().alterUserScramCredentials(delete).all());
        Check.eventually(() -> Check.fails(ResourceNotFoundException.class,
            () -> Test.get(Test.admin().describeUserScramCredentials(List.of(user)).description(user))));
    }

    public static void replicasStayWhereTheyAre(Test test) throws Exception {
        String topic = test.topic(2);
        TopicPartition partition = new TopicPartition(topic, 0);
        List<Integer> replicas = Topics.replicas(topic, 0);
        Check.equal(Test.get(Test.admin().listPartitionReassignments(Set.of(partition)).reassignments()), Map.of());
        Test.get(Test.admin().alterPartitionReassignments(Map.of(partition,
            Optional.of(new NewPartitionReassignment(replicas)))).all());
        Check.fails(InvalidReplicaAssignmentException.class, () -> Test.get(Test.admin().alterPartitionReassignments(
            Map.of(partition, Optional.of(new NewPartitionReassignment(List.of(replicas.get(0), 99))))).all()));
        Check.fails(NoReassignmentInProgressException.class,
            () -> Test.get(Test.admin().alterPartitionReassignments(Map.of(partition, Optional.empty())).all()));
        Check.fails(ElectionNotNeededException.class,
            () -> Test.get(Test.admin().electLeaders(ElectionType.PREFERRED, Set.of(partition)).all()));
        // Of several brokers others may lead for a while after one was away.
        Check.that(!Test.get(Test.admin().electLeaders(ElectionType.PREFERRED, null).partitions()).containsKey(partition),
            "the partition needs no other leader");
    }

    public static void delegationTokensAreOff(Test test) {
        Exception error = Check.fails(Exception.class, () -> Test.get(Test.admin().createDelegationToken().delegationToken()));
        Throwable cause = Check.unwrapped(error);
        Check.that(cause instanceof DelegationTokenDisabledException || cause instanceof UnsupportedByAuthenticationException,
            cause);
    }
}
