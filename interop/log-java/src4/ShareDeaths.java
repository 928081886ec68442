import harness.Broker;
import harness.Check;
import harness.Test;
import java.util.HashSet;
import java.util.Set;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;

/** The broker is killed while a share group has records. */
public final class ShareDeaths {
    private ShareDeaths() {
    }

    public static void acceptedRecordsOutliveAKill(Test test) throws Exception {
        String topic = test.topic(1);
        String group = Shares.group(test);
        Test.send(test.producer(), topic, 0, Test.numbers(0, 100));
        KafkaShareConsumer<String, String> member = Shares.member(test, topic, group, "explicit");
        Set<String> accepted = new HashSet<>();
        for (ConsumerRecord<String, String> record : Shares.some(member)) {
            if (Integer.parseInt(record.value()) % 2 == 0) {
                member.acknowledge(record, AcknowledgeType.ACCEPT);
                accepted.add(record.value());
            } else {
                member.acknowledge(record, AcknowledgeType.RELEASE);
            }
        }
        member.commitSync().forEach((partition, error) -> Check.that(error.isEmpty(), error));
        Broker.killAndStart();
        Set<String> left = new HashSet<>(Test.numbers(0, 100));
        left.removeAll(accepted);
        Set<String> rest = new HashSet<>();
        while (!rest.equals(left)) {
            for (ConsumerRecord<String, String> record : Shares.some(member)) {
                Check.that(!accepted.contains(record.value()), record.value() + " was accepted, and came again");
                rest.add(record.value());
                member.acknowledge(record, AcknowledgeType.ACCEPT);
            }
            member.commitSync();
        }
    }
}
