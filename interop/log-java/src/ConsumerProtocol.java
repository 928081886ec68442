import harness.Check;
import harness.Test;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.UnsupportedAssignorException;

/** Groups whose coordinator assigns the partitions (KIP-848). */
public final class ConsumerProtocol {
    private static final String[] CONSUMER = {"group.protocol", "consumer"};

    private ConsumerProtocol() {
    }

    private static void share(Test test, String assignor) throws Exception {
        String topic = test.topic(6);
        String group = test.fresh("group");
        List<Member> members = new ArrayList<>();
        for (int count = 1; count <= 3; count++) {
            members.add(new Member(test, topic, group, "group.protocol", "consumer", "group.remote.assignor", assignor)
                .committing());
            Groups.awaitShared(6, members);
        }
        test.fill(topic, 600);
        Check.await("all records", () -> members.stream().mapToInt(member -> member.records.size()).sum() >= 600);
        List<Integer> values = new ArrayList<>();
        members.forEach(member -> member.records.forEach(record -> values.add(Integer.valueOf(record.value()))));
        Check.equal(values.stream().sorted().map(String::valueOf).toList(), Test.numbers(0, 600));
        members.get(0).close();
        Groups.awaitShared(6, members.subList(1, 3));
    }

    public static void uniformAssignorSharesPartitions(Test test) throws Exception {
        share(test, "uniform");
    }

    public static void rangeAssignorSharesPartitions(Test test) throws Exception {
        share(test, "range");
    }

    public static void unknownAssignorIsRefused(Test test) throws Exception {
        String topic = test.topic(1);
        Member member = new Member(test, topic, test.fresh("group"), "group.protocol", "consumer",
            "group.remote.assignor", "no-such-assignor");
        Check.await("its end", member::hasEnded);
        Check.that(member.failure instanceof UnsupportedAssignorException, member.failure);
    }

    public static void memberGivesUpOnlyWhatAnotherGets(Test test) throws Exception {
        String topic = test.topic(4);
        String group = test.fresh("group");
        Member first = new Member(test, topic, group, CONSUMER);
        Groups.awaitShared(4, List.of(first));
        Member second = new Member(test, topic, group, CONSUMER);
        Groups.awaitShared(4, List.of(first, second));
        List<String> revocations = first.told.stream().filter(told -> told.startsWith("revoked")).toList();
        Check.equal(revocations.size(), 1, first.told.toString());
        Check.equal(first.owned().size(), 2);
    }

    public static void newPartitionsReachAGroup(Test test) throws Exception {
        String topic = test.topic(2);
        Member member = new Member(test, topic, test.fresh("group"), CONSUMER);
        Groups.awaitShared(2, List.of(member));
        Test.get(Test.admin().createPartitions(Map.of(topic, NewPartitions.increaseTo(5))).all());
        Groups.awaitShared(5, List.of(member));
        test.fill(topic, 100);
        Check.await("records of all", () -> member.records.stream().map(record -> record.partition()).distinct().count() == 5);
    }

    public static void offsetsAreCommittedAndGoneOnFrom(Test test) throws Exception {
        String topic = test.topic(1);
        String group = test.fresh("group");
        test.fill(topic, 60);
        TopicPartition partition = new TopicPartition(topic, 0);
        for (int round = 0; round < 3; round++) {
            try (KafkaConsumer<String, String> reader = test.consumer(group, "group.protocol", "consumer", "max.poll.records", "20")) {
                reader.subscribe(List.of(topic));
                Check.equal(Test.values(Test.take(reader, 20)), Test.numbers(round * 20, round * 20 + 20));
                reader.commitSync(Map.of(partition, new OffsetAndMetadata(round * 20 + 20, "round " + round)));
                Check.equal(reader.committed(Set.of(partition)).get(partition).metadata(), "round " + round);
            }
        }
    }

    public static void staticMemberComesBackToItsPartitions(Test test) throws Exception {
        String topic = test.topic(4);
        String group = test.fresh("group");
        Member first = new Member(test, topic, group, "group.protocol", "consumer", "group.instance.id", "one");
        Member second = new Member(test, topic, group, "group.protocol", "consumer", "group.instance.id", "two");
        Groups.awaitShared(4, List.of(first, second));
        Set<Integer> before = second.owned();
        int told = first.told.size();
        second.close();
        Member again = new Member(test, topic, group, "group.protocol", "consumer", "group.instance.id", "two");
        Check.await("the same partitions", () -> again.owned().equals(before));
        Check.equal(first.told.size(), told, "changes of the other member: " + first.told);
    }

    public static void groupMovesFromTheClassicProtocolWithoutAStop(Test test) throws Exception {
        String topic = test.topic(4);
        String group = test.fresh("group");
        String cooperative = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor";
        Member old = new Member(test, topic, group, "partition.assignment.strategy", cooperative).committing();
        Groups.awaitShared(4, List.of(old));
        Member newer = new Member(test, topic, group, CONSUMER).committing();
        Groups.awaitShared(4, List.of(old, newer));
        test.fill(topic, 200);
        Check.await("all records", () -> old.records.size() + newer.records.size() >= 200);
        old.close();
        Groups.awaitShared(4, List.of(newer));
        test.fill(topic, 100);
        Check.await("more records", () -> old.records.size() + newer.records.size() >= 300);
        Check.equal(old.records.size() + newer.records.size(), 300);
    }
}
