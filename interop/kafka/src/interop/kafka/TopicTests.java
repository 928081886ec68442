package interop.kafka;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/** What an operator does to a healthy cluster: all of it is kept in the tree and told by watches. */
final class TopicTests {
    private final Cluster cluster;
    private final Messages orders;

    TopicTests(Cluster cluster, Messages orders) {
        this.cluster = cluster;
        this.orders = orders;
    }

    void run(Report report) {
        report.needed("a_topic_is_created_with_its_replicas_in_sync",
                () -> cluster.createTopic("orders", 2, Map.of("cleanup.policy", "delete")));
        report.test("messages_are_produced_and_consumed", this::messages);
        report.test("many_topics_are_created_at_once", this::manyTopics);
        report.test("a_topic_is_given_more_partitions", this::morePartitions);
        report.test("a_topics_configuration_is_changed", this::topicConfiguration);
        report.test("a_brokers_configuration_is_changed_while_it_runs", this::brokerConfiguration);
        report.test("a_partition_is_reassigned_and_its_leader_elected", this::reassignment);
        report.test("access_rules_are_created_and_deleted", this::accessRules);
        report.test("quotas_and_credentials_are_kept", this::quotasAndCredentials);
        report.test("topics_are_deleted", this::deletion);
    }

    private void messages() throws Exception {
        orders.send(500);
        orders.readAll("group-1");
        // The group has committed: it sees nothing twice.
        orders.send(10);
        int seen = orders.read("group-1", 10).size();
        if (seen != 10) {
            throw new AssertionError("a group that had committed read " + seen + " of 10 new messages");
        }
    }

    private void manyTopics() throws Exception {
        var topics = new ArrayList<NewTopic>();
        for (int i = 0; i < 10; i++) {
            topics.add(new NewTopic("batch-" + i, 2, (short) 2));
        }
        cluster.admin.createTopics(topics).all().get();
        for (int i = 0; i < 10; i++) {
            cluster.awaitInSync("batch-" + i, 2, 2);
        }
    }

    private void morePartitions() throws Exception {
        cluster.admin.createPartitions(Map.of("orders", NewPartitions.increaseTo(4))).all().get();
        cluster.awaitInSync("orders", 4, 2);
        orders.send(100);
        orders.readAll("group-2");
    }

    private void topicConfiguration() throws Exception {
        change(new ConfigResource(ConfigResource.Type.TOPIC, "orders"), "retention.ms", "86400000");
    }

    private void brokerConfiguration() throws Exception {
        change(new ConfigResource(ConfigResource.Type.BROKER, "1"), "num.replica.fetchers", "2");
        // The default for all brokers.
        change(new ConfigResource(ConfigResource.Type.BROKER, ""), "log.cleaner.threads", "2");
    }

    private void change(ConfigResource resource, String key, String value) throws Exception {
        var set = new AlterConfigOp(new ConfigEntry(key, value), AlterConfigOp.OpType.SET);
        cluster.admin.incrementalAlterConfigs(Map.of(resource, List.of(set))).all().get();
        Wait.until(key, value, () ->
                cluster.admin.describeConfigs(List.of(resource)).all().get().get(resource).get(key).value());
        var unset = new AlterConfigOp(new ConfigEntry(key, null), AlterConfigOp.OpType.DELETE);
        cluster.admin.incrementalAlterConfigs(Map.of(resource, List.of(unset))).all().get();
        Wait.until(key + " is no longer " + value, true, () -> {
            ConfigEntry entry = cluster.admin.describeConfigs(List.of(resource)).all().get().get(resource).get(key);
            return entry == null || !value.equals(entry.value());
        });
    }

    private void reassignment() throws Exception {
        var partition = new TopicPartition("batch-0", 0);
        int leader = cluster.partitions("batch-0").get(0).leader().id();
        int next = 1 - leader;
        // Down to the other broker alone, then back to both with that one preferred.
        reassign(partition, List.of(next));
        reassign(partition, List.of(next, leader));
        cluster.awaitInSync("batch-0", 2, 2);
        cluster.awaitLeaders("batch-0", Map.of(0, next));
        reassign(partition, List.of(leader, next));
        Wait.until("the preferred leader elected", true, () -> {
            cluster.admin.electLeaders(ElectionType.PREFERRED, Set.of(partition)).partitions().get();
            return cluster.partitions("batch-0").get(0).leader().id() == leader;
        });
    }

    private void reassign(TopicPartition partition, List<Integer> replicas) throws Exception {
        cluster.admin.alterPartitionReassignments(
                Map.of(partition, Optional.of(new NewPartitionReassignment(replicas)))).all().get();
        Wait.until("replicas of " + partition, replicas, () -> {
            var seen = new ArrayList<Integer>();
            cluster.partitions(partition.topic()).get(partition.partition()).replicas()
                    .forEach(node -> seen.add(node.id()));
            return seen;
        });
        Wait.until("reassignments under way", Set.of(), () ->
                cluster.admin.listPartitionReassignments().reassignments().get().keySet());
    }

    private void accessRules() throws Exception {
        var rule = new AclBinding(
                new ResourcePattern(ResourceType.TOPIC, "orders", PatternType.LITERAL),
                new AccessControlEntry("User:alice", "*", AclOperation.READ, AclPermissionType.ALLOW));
        cluster.admin.createAcls(List.of(rule)).all().get();
        Wait.until("rules", Set.of(rule), () -> Set.copyOf(cluster.admin.describeAcls(AclBindingFilter.ANY).values().get()));
        cluster.admin.deleteAcls(List.of(AclBindingFilter.ANY)).all().get();
        Wait.until("rules", Set.of(), () -> Set.copyOf(cluster.admin.describeAcls(AclBindingFilter.ANY).values().get()));
    }

    private void quotasAndCredentials() throws Exception {
        var alice = new ClientQuotaEntity(Map.of(ClientQuotaEntity.USER, "alice"));
        var quota = new ClientQuotaAlteration.Op("producer_byte_rate", 1048576.0);
        cluster.admin.alterClientQuotas(List.of(new ClientQuotaAlteration(alice, List.of(quota)))).all().get();
        Wait.until("quotas", Map.of(alice, Map.of("producer_byte_rate", 1048576.0)), () ->
                cluster.admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get());
        var credentials = new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096);
        cluster.admin.alterUserScramCredentials(
                List.of(new UserScramCredentialUpsertion("alice", credentials, "secret"))).all().get();
        Wait.until("users with credentials", List.of("alice"), () ->
                cluster.admin.describeUserScramCredentials().users().get());
    }

    private void deletion() throws Exception {
        var names = new TreeSet<String>();
        for (int i = 0; i < 10; i++) {
            names.add("batch-" + i);
        }
        cluster.admin.deleteTopics(names).all().get();
        Wait.until("topics", Set.of("orders"), () -> cluster.admin.listTopics().names().get());
        // Brokers forget a topic before the controller has swept the tree; then the name is free again.
        Wait.until("a deleted topic's name used again", true, () -> {
            cluster.admin.createTopics(List.of(new NewTopic("batch-0", 1, (short) 2))).all().get();
            return true;
        });
        cluster.awaitInSync("batch-0", 1, 2);
    }
}
