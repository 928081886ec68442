import harness.Check;
import harness.Test;

/** `kafka-configs` and `kafka-client-metrics`. */
public final class Configs {
    private Configs() {
    }

    public static void topicsSettingsAreAdded(Test test) throws Exception {
        String topic = test.topic(1);
        Tool.run(Tool.CONFIGS, "--alter", "--entity-type", "topics", "--entity-name", topic, "--add-config",
            "retention.ms=7000,cleanup.policy=[compact,delete]").contains("Completed updating config for topic");
        Check.await("both", () -> {
            String output = Tool.run(Tool.CONFIGS, "--describe", "--entity-type", "topics", "--entity-name", topic).output();
            return output.contains("retention.ms=7000") && output.contains("cleanup.policy=compact,delete");
        });
        Tool.run(Tool.CONFIGS, "--alter", "--entity-type", "topics", "--entity-name", topic, "--delete-config", "retention.ms");
        Check.await("one", () -> !Tool.run(Tool.CONFIGS, "--describe", "--entity-type", "topics", "--entity-name", topic)
            .output().contains("retention.ms=7000"));
        Tool.run(Tool.CONFIGS, "--describe", "--all", "--entity-type", "topics", "--entity-name", topic)
            .contains("max.message.bytes=1048588");
    }

    public static void brokersSettingsAreAdded(Test test) throws Exception {
        Tool.run(Tool.CONFIGS, "--describe", "--all", "--entity-type", "brokers", "--entity-name", "1")
            .contains("node.id=1", "auto.create.topics.enable=true");
        Tool.run(Tool.CONFIGS, "--alter", "--entity-type", "brokers", "--entity-default", "--add-config",
            "log.retention.bytes=1000000000");
        Check.await("it", () -> Tool.run(Tool.CONFIGS, "--describe", "--entity-type", "brokers", "--entity-default").output()
            .contains("log.retention.bytes=1000000000"));
        Tool.run(Tool.CONFIGS, "--alter", "--entity-type", "brokers", "--entity-default", "--delete-config", "log.retention.bytes");
    }

    public static void quotasAndUsersAreSet(Test test) throws Exception {
        Test.needs("quotas", () -> Test.get(Test.admin().describeClientQuotas(
            org.apache.kafka.common.quota.ClientQuotaFilter.all()).entities()));
        String user = test.fresh("user");
        Tool.run(Tool.CONFIGS, "--alter", "--entity-type", "users", "--entity-name", user, "--add-config",
            "producer_byte_rate=1024");
        Tool.run(Tool.CONFIGS, "--alter", "--entity-type", "users", "--entity-name", user, "--add-config",
            "SCRAM-SHA-256=[iterations=8192,password=secret]");
        Check.await("both", () -> {
            String output = Tool.run(Tool.CONFIGS, "--describe", "--entity-type", "users", "--entity-name", user).output();
            return output.contains("producer_byte_rate=1024.0") && output.contains("SCRAM-SHA-256=iterations=8192");
        });
        Tool.run(Tool.CONFIGS, "--alter", "--entity-type", "clients", "--entity-name", user, "--add-config",
            "consumer_byte_rate=2048");
        Check.await("it", () -> Tool.run(Tool.CONFIGS, "--describe", "--entity-type", "clients", "--entity-name", user).output()
            .contains("consumer_byte_rate=2048.0"));
    }

    public static void groupsSettingsAreAdded(Test test) throws Exception {
        String group = test.fresh("group");
        Tool.run(Tool.CONFIGS, "--alter", "--entity-type", "groups", "--entity-name", group, "--add-config",
            "consumer.session.timeout.ms=46000");
        Check.await("it", () -> Tool.run(Tool.CONFIGS, "--describe", "--entity-type", "groups", "--entity-name", group).output()
            .contains("consumer.session.timeout.ms=46000"));
    }

    public static void clientMetricsAreSubscribedTo(Test test) throws Exception {
        String name = test.fresh("metrics");
        Tool.run(Tool.METRICS, "--alter", "--name", name, "--metrics", "org.apache.kafka.consumer.", "--interval", "10000");
        Check.await("it", () -> Tool.run(Tool.METRICS, "--describe", "--name", name).output().contains("interval.ms=10000"));
        Tool.run(Tool.METRICS, "--delete", "--name", name);
    }
}
