import harness.Check;
import harness.Test;
import java.util.List;

/** The console producer and consumer, and the tools that measure. */
public final class Records {
    private Records() {
    }

    public static void linesComeBackOutOfTheConsole(Test test) throws Exception {
        String topic = test.fresh("console");
        String lines = String.join("\n", Test.numbers(0, 200)) + "\n";
        Check.equal(Tool.with(lines, "--bootstrap-server", Tool.CONSOLE_PRODUCER, "--topic", topic).status(), 0);
        Tool.Result read = Tool.run(Tool.CONSOLE_CONSUMER, "--topic", topic, "--from-beginning", "--max-messages", "200",
            "--timeout-ms", "30000");
        List<String> numbers = read.lines().stream().filter(line -> line.matches("\\d+")).toList();
        Check.equal(numbers, Test.numbers(0, 200));
    }

    public static void keysHeadersAndTimesAreShown(Test test) throws Exception {
        String topic = test.topic(1);
        Check.equal(Tool.with("h:1\tkey\tvalue\n", "--bootstrap-server", Tool.CONSOLE_PRODUCER, "--topic", topic,
            "--reader-property", "parse.key=true", "--reader-property", "parse.headers=true", "--compression-codec", "zstd",
            "--sync").status(), 0);
        Tool.run(Tool.CONSOLE_CONSUMER, "--topic", topic, "--partition", "0", "--offset", "0", "--max-messages", "1",
            "--timeout-ms", "30000", "--formatter-property", "print.key=true", "--formatter-property", "print.headers=true",
            "--formatter-property", "print.offset=true", "--formatter-property", "print.timestamp=true",
            "--isolation-level", "read_committed").contains("CreateTime:", "Offset:0", "h:1", "key\tvalue");
    }

    public static void producersAndConsumersAreMeasured(Test test) throws Exception {
        String topic = test.topic(3);
        Tool.Result sent = Tool.with("", "", Tool.PRODUCER_PERFORMANCE, "--topic", topic, "--num-records", "20000",
            "--record-size", "200", "--throughput", "-1", "--producer-props", "bootstrap.servers=" + harness.Broker.CONNECT,
            "acks=all", "linger.ms=5", "compression.type=lz4");
        Check.equal(sent.status(), 0, sent.output());
        sent.contains("20000 records sent");
        Tool.Result read = Tool.run(Tool.CONSUMER_PERFORMANCE, "--topic", topic, "--messages", "20000", "--timeout", "30000");
        Check.that(read.lines().get(read.lines().size() - 1).contains(" 20000,"), read.output());
    }

    public static void transactionsAreMeasured(Test test) throws Exception {
        String topic = test.topic(1);
        Tool.Result sent = Tool.with("", "", Tool.PRODUCER_PERFORMANCE, "--topic", topic, "--num-records", "2000",
            "--record-size", "100", "--throughput", "-1", "--transactional-id", test.fresh("tx"), "--transaction-duration-ms",
            "50", "--producer-props", "bootstrap.servers=" + harness.Broker.CONNECT);
        Check.equal(sent.status(), 0, sent.output());
        Check.equal(test.valuesIn(topic, 1, "read_committed").size(), 2000);
    }

    public static void wayThereAndBackIsMeasured(Test test) throws Exception {
        String topic = test.topic(1);
        Tool.run(Tool.END_TO_END, "--topic", topic, "--num-records", "50", "--producer-acks", "all", "--record-size", "100")
            .contains("Avg latency");
    }
}
