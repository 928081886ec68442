import harness.Check;
import harness.Test;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.errors.InconsistentGroupProtocolException;
import org.apache.kafka.common.errors.InvalidSessionTimeoutException;

/** Groups of the classic protocol: every assignor, members that come, go, stop and restart, static members. */
public final class Groups {
    private static final String ASSIGNORS = "org.apache.kafka.clients.consumer.";

    private Groups() {
    }

    /** Waits until the members have all partitions between them, each one exactly once. */
    static void awaitShared(int partitions, List<Member> members) throws Exception {
        Check.await(() -> partitions + " partitions shared by " + members + ", of " + members.get(0).groupAtBroker(), () -> {
            List<Integer> all = new ArrayList<>();
            members.forEach(member -> all.addAll(member.owned()));
            return all.size() == partitions && new HashSet<>(all).size() == partitions
                && members.stream().noneMatch(member -> member.owned().isEmpty());
        });
    }

    private static void share(Test test, String assignor) throws Exception {
        String topic = test.topic(6);
        String group = test.fresh("group");
        String[] settings = {"partition.assignment.strategy", ASSIGNORS + assignor};
        List<Member> members = new ArrayList<>();
        for (int count = 1; count <= 3; count++) {
            members.add(new Member(test, topic, group, settings).committing());
            awaitShared(6, members);
        }
        test.fill(topic, 600);
        Check.await("all records", () -> members.stream().mapToInt(member -> member.records.size()).sum() >= 600);
        List<Integer> values = new ArrayList<>();
        members.forEach(member -> member.records.forEach(record -> values.add(Integer.valueOf(record.value()))));
        Check.equal(values.stream().sorted().map(String::valueOf).toList(), Test.numbers(0, 600));
        ConsumerGroupDescription group3 = Test.get(Test.admin().describeConsumerGroups(List.of(group)).all()).get(group);
        Check.equal(group3.members().size(), 3);
        members.get(0).close();
        awaitShared(6, members.subList(1, 3));
    }

    public static void rangeAssignorSharesPartitions(Test test) throws Exception {
        share(test, "RangeAssignor");
    }

    public static void roundRobinAssignorSharesPartitions(Test test) throws Exception {
        share(test, "RoundRobinAssignor");
    }

    public static void stickyAssignorSharesPartitions(Test test) throws Exception {
        share(test, "StickyAssignor");
    }

    public static void cooperativeAssignorSharesPartitions(Test test) throws Exception {
        share(test, "CooperativeStickyAssignor");
    }

    public static void cooperativeMemberKeepsWhatItNeedNotGiveUp(Test test) throws Exception {
        String topic = test.topic(4);
        String group = test.fresh("group");
        String[] settings = {"partition.assignment.strategy", ASSIGNORS + "CooperativeStickyAssignor"};
        Member first = new Member(test, topic, group, settings);
        awaitShared(4, List.of(first));
        Member second = new Member(test, topic, group, settings);
        awaitShared(4, List.of(first, second));
        List<String> revocations = first.told.stream().filter(told -> told.startsWith("revoked")).toList();
        Check.equal(revocations.size(), 1, first.told.toString());
        Check.equal(first.owned().size(), 2);
    }

    public static void groupMovesFromOneAssignorToAnotherWithoutAStop(Test test) throws Exception {
        String topic = test.topic(4);
        String group = test.fresh("group");
        String both = ASSIGNORS + "CooperativeStickyAssignor," + ASSIGNORS + "RangeAssignor";
        Member old = new Member(test, topic, group, "partition.assignment.strategy", ASSIGNORS + "RangeAssignor");
        awaitShared(4, List.of(old));
        Member newer = new Member(test, topic, group, "partition.assignment.strategy", both);
        awaitShared(4, List.of(old, newer));
        Check.equal(assignor(group), "range");
        old.close();
        Member newest = new Member(test, topic, group, "partition.assignment.strategy", both);
        awaitShared(4, List.of(newer, newest));
        Check.await("the new assignor", () -> assignor(group).equals("cooperative-sticky"));
        KafkaConsumer<String, String> alien =
            test.consumer(group, "partition.assignment.strategy", ASSIGNORS + "RoundRobinAssignor");
        alien.subscribe(List.of(topic));
        Check.fails(InconsistentGroupProtocolException.class, () -> Test.take(alien, 1));
    }

    private static String assignor(String group) throws Exception {
        return Test.get(Test.admin().describeConsumerGroups(List.of(group)).all()).get(group).partitionAssignor();
    }

    public static void memberThatStopsPollingLosesItsPartitions(Test test) throws Exception {
        String topic = test.topic(2);
        String group = test.fresh("group");
        test.fill(topic, 10);
        KafkaConsumer<String, String> lazy = test.consumer(group, "max.poll.interval.ms", "2000", "max.poll.records", "1");
        lazy.subscribe(List.of(topic));
        ConsumerRecord<String, String> record = Test.take(lazy, 1).get(0);
        Member other = new Member(test, topic, group);
        awaitShared(2, List.of(other));
        var offsets = Map.of(new TopicPartition(topic, record.partition()), new OffsetAndMetadata(1));
        Check.fails(CommitFailedException.class, () -> lazy.commitSync(offsets));
    }

    public static void staticMemberComesBackWithoutARebalance(Test test) throws Exception {
        String topic = test.topic(4);
        String group = test.fresh("group");
        Member first = new Member(test, topic, group, "group.instance.id", "one", "session.timeout.ms", "20000");
        Member second = new Member(test, topic, group, "group.instance.id", "two", "session.timeout.ms", "20000");
        awaitShared(4, List.of(first, second));
        Set<Integer> before = second.owned();
        int told = first.told.size();
        // A static member that closes does not leave.
        second.close();
        Member again = new Member(test, topic, group, "group.instance.id", "two", "session.timeout.ms", "20000");
        Check.await("the same partitions", () -> again.owned().equals(before));
        Check.equal(first.told.size(), told, "rebalances of the other member: " + first.told);
    }

    public static void secondMemberOfOneInstanceFencesTheFirst(Test test) throws Exception {
        String topic = test.topic(2);
        String group = test.fresh("group");
        Member first = new Member(test, topic, group, "group.instance.id", "same");
        awaitShared(2, List.of(first));
        Member second = new Member(test, topic, group, "group.instance.id", "same");
        awaitShared(2, List.of(second));
        Check.await("the first one's end", first::hasEnded);
        Check.that(first.failure instanceof FencedInstanceIdException, first.failure);
    }

    public static void administratorRemovesMembers(Test test) throws Exception {
        String topic = test.topic(2);
        String group = test.fresh("group");
        Member named = new Member(test, topic, group, "group.instance.id", "named", "session.timeout.ms", "60000");
        awaitShared(2, List.of(named));
        named.close();
        var remove = new RemoveMembersFromConsumerGroupOptions(Set.of(new MemberToRemove("named")));
        Test.get(Test.admin().removeMembersFromConsumerGroup(group, remove).all());
        Check.equal(Test.get(Test.admin().describeConsumerGroups(List.of(group)).all()).get(group).members().size(), 0);
        Member other = new Member(test, topic, group);
        awaitShared(2, List.of(other));
        Test.get(Test.admin().removeMembersFromConsumerGroup(group, new RemoveMembersFromConsumerGroupOptions()).all());
        // It joins again.
        Check.await("its second assignment", () -> other.told.stream().filter(told -> told.startsWith("assigned")).count() >= 2);
    }

    public static void newPartitionsAndTopicsReachAGroup(Test test) throws Exception {
        String common = test.fresh("pattern");
        String group = test.fresh("group");
        Test.get(Test.admin().createTopics(List.of(new org.apache.kafka.clients.admin.NewTopic(common + "-a", 2, (short) 1))).all());
        Member member = new Member(test, group, (consumer, listener) ->
            consumer.subscribe(Pattern.compile(common + "-."), listener), "metadata.max.age.ms", "500");
        Check.await("the first topic", () -> member.owned().equals(Set.of(0, 1)));
        Test.get(Test.admin().createPartitions(Map.of(common + "-a", NewPartitions.increaseTo(4))).all());
        Check.await("its new partitions", () -> member.owned().equals(Set.of(0, 1, 2, 3)));
        Test.get(Test.admin().createTopics(List.of(new org.apache.kafka.clients.admin.NewTopic(common + "-b", 7, (short) 1))).all());
        Check.await("the second topic", () -> member.owned().contains(6));
        test.fill(common + "-b", 10);
        Check.await("its records", () -> member.records.size() == 10);
    }

    public static void sessionTimeoutOutsideTheLimitsIsRefused(Test test) throws Exception {
        String topic = test.topic(1);
        KafkaConsumer<String, String> hasty =
            test.consumer(test.fresh("group"), "session.timeout.ms", "1000", "heartbeat.interval.ms", "200");
        hasty.subscribe(List.of(topic));
        Check.fails(InvalidSessionTimeoutException.class, () -> Test.take(hasty, 1));
    }

    public static void rebalanceIsAskedFor(Test test) throws Exception {
        String topic = test.topic(2);
        KafkaConsumer<String, String> reader = test.consumer(test.fresh("group"));
        reader.subscribe(List.of(topic));
        Check.await("an assignment", () -> {
            reader.poll(Duration.ofMillis(50));
            return reader.assignment().size() == 2;
        });
        int generation = reader.groupMetadata().generationId();
        reader.enforceRebalance("for a test");
        Check.await("another generation", () -> {
            reader.poll(Duration.ofMillis(50));
            return reader.groupMetadata().generationId() > generation && reader.assignment().size() == 2;
        });
        reader.unsubscribe();
        Check.equal(reader.assignment(), Set.of());
    }
}
