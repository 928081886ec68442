import harness.Broker;
import harness.Check;
import harness.Test;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Kafka's own verifiable producer and consumer, while the broker is killed. */
public final class Deaths {
    private static final int MESSAGES = 6000;

    private Deaths() {
    }

    public static void verifiableClientsLoseNothing(Test test) throws Exception {
        String topic = test.topic(2);
        String settings = Tool.file("reconnect.backoff.max.ms=200\nrequest.timeout.ms=5000\n");
        Process producer = Tool.start("--bootstrap-server", Tool.VERIFIABLE_PRODUCER, "--topic", topic, "--max-messages",
            "" + MESSAGES, "--throughput", "1000", "--acks", "-1", "--command-config", settings);
        Process consumer = Tool.start("--bootstrap-server", Tool.VERIFIABLE_CONSUMER, "--topic", topic, "--group-id",
            test.fresh("group"), "--reset-policy", "earliest", "--command-config", settings);
        Check.await("the first messages", () -> Tool.output(producer).contains("producer_send_success"));
        Broker.killAndStart();
        Check.that(producer.waitFor(60, TimeUnit.SECONDS), "the producer does not end");
        Map<List<Object>, String> found = new HashMap<>();
        test.readAll(topic, 2, "read_committed")
            .forEach(record -> found.put(List.of(record.partition(), record.offset()), record.value()));
        // This producer does not send again what failed.
        int acknowledged = 0;
        for (String line : Tool.output(producer).split("\n")) {
            if (line.contains("\"producer_send_success\"")) {
                List<Object> place = List.of(Integer.valueOf(field(line, "partition")), Long.valueOf(field(line, "offset")));
                Check.equal(found.get(place), field(line, "value"), "at " + place);
                acknowledged++;
            }
        }
        Check.that(acknowledged > MESSAGES / 2, acknowledged + " were acknowledged");
        Check.await("the group to see all " + found.size(), () -> consumed(Tool.output(consumer)) >= found.size());
        consumer.destroy();
        Check.that(consumer.waitFor(30, TimeUnit.SECONDS), "the consumer does not end");
    }

    /** A number in a line of the tool. Its fields have another order in each process. */
    private static String field(String line, String name) {
        Matcher found = Pattern.compile("\"" + name + "\":\"?(\\d+)").matcher(line);
        Check.that(found.find(), "no " + name + " in " + line);
        return found.group(1);
    }

    private static int consumed(String output) {
        return output.lines().filter(line -> line.contains("\"records_consumed\""))
            .map(line -> line.replaceAll("\"partitions\":\\[.*?\\]", ""))
            .mapToInt(line -> Integer.parseInt(field(line, "count"))).sum();
    }
}
