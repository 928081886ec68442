import harness.Check;
import harness.Test;

/** `kafka-consumer-groups` and `kafka-groups`. */
public final class Groups {
    private Groups() {
    }

    public static void groupIsDescribedWithItsLagResetAndDeleted(Test test) throws Exception {
        String topic = test.topic(1);
        String group = test.fresh("group");
        Test.send(test.producer(), topic, 0, Test.numbers(0, 100));
        Tool.run(Tool.CONSOLE_CONSUMER, "--topic", topic, "--group", group, "--from-beginning", "--max-messages", "30",
            "--timeout-ms", "30000");
        Check.that(Tool.run(Tool.GROUPS, "--list").lines().contains(group), "it is listed");
        Check.await("the commit", () -> Tool.run(Tool.GROUPS, "--describe", "--group", group, "--offsets").output()
            .matches("(?s).*" + topic + "\\s+0\\s+30\\s+100\\s+70.*"));
        Tool.run(Tool.GROUPS, "--describe", "--group", group, "--state").contains("Empty");
        Tool.run(Tool.GROUPS, "--reset-offsets", "--group", group, "--topic", topic, "--to-offset", "10", "--execute");
        Tool.run(Tool.GROUPS, "--reset-offsets", "--group", group, "--all-topics", "--shift-by", "5", "--execute");
        Check.that(Tool.run(Tool.GROUPS, "--describe", "--group", group).output()
            .matches("(?s).*" + topic + "\\s+0\\s+15\\s+100\\s+85.*"), "the new offset");
        Tool.run(Tool.GROUPS, "--delete-offsets", "--group", group, "--topic", topic + ":0");
        Tool.run(Tool.GROUPS, "--delete", "--group", group);
        Check.that(!Tool.run(Tool.GROUPS, "--list").lines().contains(group), "it is gone");
    }

    public static void membersAreDescribedInBothProtocols(Test test) throws Exception {
        for (String protocol : new String[] {"classic", "consumer"}) {
            String topic = test.topic(2);
            String group = test.fresh(protocol);
            var reader = test.consumer(group, "group.protocol", protocol, "client.id", "the-client");
            reader.subscribe(java.util.List.of(topic));
            Check.await("an assignment", () -> {
                reader.poll(java.time.Duration.ofMillis(100));
                return reader.assignment().size() == 2;
            });
            reader.poll(java.time.Duration.ofMillis(600));
            Tool.run(Tool.GROUPS, "--describe", "--group", group, "--members", "--verbose").contains("the-client", topic);
            Tool.run(Tool.ALL_GROUPS, "--list", "--group-type", protocol).contains(group);
            reader.close();
        }
    }
}
