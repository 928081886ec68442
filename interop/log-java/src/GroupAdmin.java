import harness.Broker;
import harness.Check;
import harness.Test;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.ConsumerGroupListing;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.GroupNotEmptyException;
import org.apache.kafka.common.errors.GroupSubscribedToTopicException;
import org.apache.kafka.common.errors.UnknownMemberIdException;

/** What an administrator does to groups and their offsets. */
public final class GroupAdmin {
    private GroupAdmin() {
    }

    private static Map<TopicPartition, OffsetAndMetadata> offsets(String group) throws Exception {
        return Test.get(Test.admin().listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata());
    }

    private static ConsumerGroupDescription described(String group) throws Exception {
        return Test.get(Test.admin().describeConsumerGroups(List.of(group)).all()).get(group);
    }

    public static void groupIsListedAndDescribed(Test test) throws Exception {
        String topic = test.topic(3);
        String group = test.fresh("group");
        Member member = new Member(test, topic, group, "client.id", "the-client", "group.instance.id", "the-instance");
        Groups.awaitShared(3, List.of(member));
        Check.await("it is stable", () -> described(group).state().toString().equals("Stable"));
        ConsumerGroupDescription description = described(group);
        Check.equal(description.partitionAssignor(), "range");
        Check.that(Broker.has(description.coordinator().id()), description.coordinator());
        MemberDescription only = description.members().iterator().next();
        Check.equal(only.clientId(), "the-client");
        Check.equal(only.groupInstanceId(), Optional.of("the-instance"));
        Check.that(only.host().contains("127.0.0.1"), only.host());
        Check.equal(only.assignment().topicPartitions(), Set.copyOf(Test.partitions(topic, 3)));
        ConsumerGroupListing listing = Test.get(Test.admin().listConsumerGroups().all()).stream()
            .filter(each -> each.groupId().equals(group)).findFirst().orElseThrow();
        Check.that(!listing.isSimpleConsumerGroup(), listing);
        Check.equal(listing.state().orElseThrow().toString(), "Stable");
    }

    public static void unknownGroupIsDead(Test test) throws Exception {
        try {
            Check.equal(described("no-such-group").state().toString(), "Dead");
        } catch (java.util.concurrent.ExecutionException error) {
            Check.that(error.getCause() instanceof GroupIdNotFoundException, error);
        }
        Check.equal(offsets("no-such-group"), Map.of());
        Check.fails(GroupIdNotFoundException.class,
            () -> Test.get(Test.admin().deleteConsumerGroups(List.of("no-such-group")).all()));
    }

    public static void offsetsAreSetReadAndDeletedFromOutside(Test test) throws Exception {
        String topic = test.topic(3);
        String group = test.fresh("group");
        List<TopicPartition> partitions = Test.partitions(topic, 3);
        Test.get(Test.admin().alterConsumerGroupOffsets(group, Map.of(partitions.get(0), new OffsetAndMetadata(5, "five"),
            partitions.get(1), new OffsetAndMetadata(6))).all());
        Check.equal(offsets(group).get(partitions.get(0)).offset(), 5L);
        Check.equal(offsets(group).get(partitions.get(0)).metadata(), "five");
        Check.equal(offsets(group).size(), 2);
        var some = new ListConsumerGroupOffsetsSpec().topicPartitions(List.of(partitions.get(1), partitions.get(2)));
        var chosen = Test.get(Test.admin().listConsumerGroupOffsets(Map.of(group, some)).all()).get(group);
        Check.equal(chosen.get(partitions.get(1)).offset(), 6L);
        Check.that(chosen.get(partitions.get(2)) == null, "nothing was committed there");
        Test.get(Test.admin().deleteConsumerGroupOffsets(group, Set.of(partitions.get(0))).all());
        Check.equal(offsets(group).keySet(), Set.of(partitions.get(1)));
        Test.get(Test.admin().deleteConsumerGroups(List.of(group)).all());
        Check.equal(offsets(group), Map.of());
    }

    public static void groupInUseIsNotTouched(Test test) throws Exception {
        String topic = test.topic(1);
        String group = test.fresh("group");
        TopicPartition partition = new TopicPartition(topic, 0);
        test.fill(topic, 5);
        Member member = new Member(test, topic, group).committing();
        Check.await("a commit", () -> offsets(group).containsKey(partition));
        Check.fails(GroupNotEmptyException.class,
            () -> Test.get(Test.admin().deleteConsumerGroups(List.of(group)).all()));
        Check.fails(UnknownMemberIdException.class, () -> Test.get(Test.admin().alterConsumerGroupOffsets(group,
            Map.of(partition, new OffsetAndMetadata(1))).all()));
        Check.fails(GroupSubscribedToTopicException.class,
            () -> Test.get(Test.admin().deleteConsumerGroupOffsets(group, Set.of(partition)).all()));
        member.close();
        Check.await("it is empty", () -> described(group).state().toString().equals("Empty"));
        Test.get(Test.admin().alterConsumerGroupOffsets(group, Map.of(partition, new OffsetAndMetadata(2))).all());
        Check.equal(offsets(group).get(partition).offset(), 2L);
        Test.get(Test.admin().deleteConsumerGroups(List.of(group)).all());
    }

    public static void offsetsOfADeletedTopicAreGone(Test test) throws Exception {
        String topic = test.topic(1);
        String group = test.fresh("group");
        TopicPartition partition = new TopicPartition(topic, 0);
        Test.get(Test.admin().alterConsumerGroupOffsets(group, Map.of(partition, new OffsetAndMetadata(3))).all());
        Test.get(Test.admin().deleteTopics(List.of(topic)).all());
        Check.await("the offset to go", () -> offsets(group).isEmpty());
    }
}
