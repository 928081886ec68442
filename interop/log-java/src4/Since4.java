import harness.Broker;
import harness.Check;
import harness.Test;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.InvalidRegularExpression;

/** What the newer clients can ask for only. */
public final class Since4 {
    private Since4() {
    }

    public static void brokerFindsTheTopicsOfARegularExpression(Test test) throws Exception {
        String common = test.fresh("regex");
        String group = test.fresh("group");
        Test.get(Test.admin().createTopics(List.of(new NewTopic(common + "-a", 2, (short) 1),
            new NewTopic(common + "-other-c", 9, (short) 1))).all());
        Member member = new Member(test, group, (consumer, listener) ->
            consumer.subscribe(new SubscriptionPattern(common + "-[ab]"), listener), "group.protocol", "consumer");
        Check.await("the first topic", () -> member.owned().equals(Set.of(0, 1)));
        Test.get(Test.admin().createTopics(List.of(new NewTopic(common + "-b", 5, (short) 1))).all());
        Check.await("the second topic", () -> member.owned().equals(Set.of(0, 1, 2, 3, 4)));
        Member wrong = new Member(test, test.fresh("group"), (consumer, listener) ->
            consumer.subscribe(new SubscriptionPattern("(unclosed"), listener), "group.protocol", "consumer");
        Check.await("its end", wrong::hasEnded);
        Check.that(wrong.failure instanceof InvalidRegularExpression, wrong.failure);
    }

    public static void groupsOfBothProtocolsAreListedAndDescribed(Test test) throws Exception {
        String topic = test.topic(2);
        String classic = test.fresh("classic");
        String newer = test.fresh("newer");
        List<Member> members = new ArrayList<>();
        members.add(new Member(test, topic, classic));
        members.add(new Member(test, topic, newer, "group.protocol", "consumer"));
        for (Member member : members) {
            Groups.awaitShared(2, List.of(member));
        }
        var listings = Test.get(Test.admin().listGroups(new ListGroupsOptions().withTypes(Set.of(GroupType.CONSUMER))).all());
        GroupListing listing = listings.stream().filter(each -> each.groupId().equals(newer)).findFirst().orElseThrow();
        Check.that(listings.stream().noneMatch(each -> each.groupId().equals(classic)), "only groups of this type");
        Check.equal(listing.protocol(), "consumer");
        Check.await("the new group is stable", () -> described(newer).groupState() == GroupState.STABLE);
        ConsumerGroupDescription description = described(newer);
        Check.equal(description.type(), GroupType.CONSUMER);
        Check.equal(description.partitionAssignor(), "uniform");
        var member = description.members().iterator().next();
        Check.equal(member.assignment().topicPartitions(), Set.copyOf(Test.partitions(topic, 2)));
        Check.equal(member.targetAssignment().orElseThrow().topicPartitions(), Set.copyOf(Test.partitions(topic, 2)));
        Check.equal(member.memberEpoch(), description.groupEpoch());
        Check.equal(Test.get(Test.admin().describeClassicGroups(List.of(classic)).all()).get(classic).protocol(), "consumer");
    }

    private static ConsumerGroupDescription described(String group) throws Exception {
        return Test.get(Test.admin().describeConsumerGroups(List.of(group)).all()).get(group);
    }

    public static void resetGoesBackByATime(Test test) throws Exception {
        String topic = test.topic(1);
        Test.send(test.producer(), topic, 0, Test.numbers(0, 10));
        KafkaConsumer<String, String> reader =
            test.consumer(test.fresh("group"), "auto.offset.reset", "by_duration:PT1H");
        reader.assign(Test.partitions(topic, 1));
        Check.equal(Test.values(Test.take(reader, 10)), Test.numbers(0, 10));
    }

    public static void readerMayStayInItsGroupWhenItCloses(Test test) throws Exception {
        String topic = test.topic(2);
        String group = test.fresh("group");
        KafkaConsumer<String, String> reader = test.consumer(group, "session.timeout.ms", "20000");
        reader.subscribe(List.of(topic));
        Check.await("an assignment", () -> {
            reader.poll(Duration.ofMillis(50));
            return reader.assignment().size() == 2;
        });
        reader.close(CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.REMAIN_IN_GROUP));
        Check.equal(described(group).members().size(), 1);
    }

    public static void resourcesWithSettingsAreListed(Test test) throws Exception {
        String topic = test.topic(1);
        var all = Test.get(Test.admin().listConfigResources(Set.of(ConfigResource.Type.TOPIC),
            new org.apache.kafka.clients.admin.ListConfigResourcesOptions()).all());
        Check.that(all.stream().anyMatch(resource -> resource.name().equals(topic)), "the topic");
        Check.that(!Test.get(Test.admin().listConfigResources().all()).isEmpty(), "all of them");
    }

    public static void clientThatMayPushMetricsWorks(Test test) throws Exception {
        try (Admin admin = Admin.create(Test.properties("enable.metrics.push", "true"))) {
            Check.equal(Test.get(admin.describeCluster().nodes()).size(), Broker.ADDRESSES.size());
        }
    }

    public static void settingsOfAGroupReachItsMembers(Test test) throws Exception {
        String topic = test.topic(2);
        var group = new ConfigResource(ConfigResource.Type.GROUP, test.fresh("group"));
        Check.equal(Configs.described(group).get("consumer.session.timeout.ms").value(), "45000");
        Configs.alter(group, AlterConfigOp.OpType.SET, "consumer.session.timeout.ms", "46000");
        Check.await("the value", () -> Configs.described(group).get("consumer.session.timeout.ms").value().equals("46000"));
        Check.fails(InvalidConfigurationException.class,
            () -> Configs.alter(group, AlterConfigOp.OpType.SET, "consumer.session.timeout.ms", "1"));
        Groups.awaitShared(2, List.of(new Member(test, topic, group.name(), "group.protocol", "consumer")));
        Configs.alter(group, AlterConfigOp.OpType.DELETE, "consumer.session.timeout.ms", "");
        Check.await("the default", () -> Configs.described(group).get("consumer.session.timeout.ms").value().equals("45000"));
    }
}
