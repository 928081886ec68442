import harness.Broker;
import harness.Check;
import java.io.File;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** One of Kafka's tools as a process of its own, as the shell scripts of its distribution start it. */
final class Tool {
    static final String TOPICS = "org.apache.kafka.tools.TopicCommand";
    static final String CONFIGS = "kafka.admin.ConfigCommand";
    static final String GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand";
    static final String ALL_GROUPS = "org.apache.kafka.tools.GroupsCommand";
    static final String CONSOLE_PRODUCER = "org.apache.kafka.tools.ConsoleProducer";
    static final String CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer";
    static final String PRODUCER_PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance";
    static final String CONSUMER_PERFORMANCE = "org.apache.kafka.tools.ConsumerPerformance";
    static final String END_TO_END = "org.apache.kafka.tools.EndToEndLatency";
    static final String OFFSETS = "org.apache.kafka.tools.GetOffsetShell";
    static final String DELETE_RECORDS = "org.apache.kafka.tools.DeleteRecordsCommand";
    static final String LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand";
    static final String TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand";
    static final String ACLS = "org.apache.kafka.tools.AclCommand";
    static final String API_VERSIONS = "org.apache.kafka.tools.BrokerApiVersionsCommand";
    static final String CLUSTER = "org.apache.kafka.tools.ClusterTool";
    static final String FEATURES = "org.apache.kafka.tools.FeatureCommand";
    static final String REASSIGNMENT = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand";
    static final String ELECTION = "org.apache.kafka.tools.LeaderElectionCommand";
    static final String QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand";
    static final String METRICS = "org.apache.kafka.tools.ClientMetricsCommand";
    static final String VERIFIABLE_PRODUCER = "org.apache.kafka.tools.VerifiableProducer";
    static final String VERIFIABLE_CONSUMER = "org.apache.kafka.tools.VerifiableConsumer";
    private static final long SECONDS_MAX = 60;

    private Tool() {
    }

    /** What a tool printed, and its exit status. */
    record Result(int status, String output) {
        Result contains(String... parts) {
            for (String part : parts) {
                Check.that(output.contains(part), "`" + part + "` is not in: " + output);
            }
            return this;
        }

        List<String> lines() {
            return output.lines().map(String::strip).filter(line -> !line.isEmpty()).toList();
        }
    }

    /** Runs a tool on the broker under test, which must succeed. */
    static Result run(String main, String... arguments) throws Exception {
        Result result = with("", "--bootstrap-server", main, arguments);
        Check.equal(result.status(), 0, result.output());
        return result;
    }

    /** The same, and it must fail. */
    static Result fails(String main, String... arguments) throws Exception {
        Result result = with("", "--bootstrap-server", main, arguments);
        Check.that(result.status() != 0, "it succeeded: " + result.output());
        return result;
    }

    /** The same with these lines as its input; whether it succeeds is the caller's to say. `server` names the broker. */
    static Result with(String input, String server, String main, String... arguments) throws Exception {
        Process process = start(server, main, arguments);
        try (OutputStream stdin = process.getOutputStream()) {
            stdin.write(input.getBytes(StandardCharsets.UTF_8));
        }
        if (!process.waitFor(SECONDS_MAX, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new AssertionError(main + " did not end in " + SECONDS_MAX + " s: " + output(process));
        }
        return new Result(process.exitValue(), output(process));
    }

    private static final java.util.Map<Process, Path> OUTPUTS = new java.util.concurrent.ConcurrentHashMap<>();

    static String output(Process process) throws Exception {
        return Files.readString(OUTPUTS.get(process));
    }

    static Process start(String server, String main, String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of("java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
            "-Xshare:auto", "-XX:SharedArchiveFile=" + System.getProperty("archive"), "-Dlog4j2.configurationFile=" + new File("../jars/log4j2.properties").getAbsolutePath(), "-Dlog.level=" + System.getProperty("tools.log.level", "error"), "-cp",
            System.getProperty("jars") + "/*", main));
        if (!server.isEmpty()) {
            command.addAll(List.of(server, Broker.CONNECT));
        }
        command.addAll(List.of(arguments));
        Path output = Files.createTempFile("tool", ".out");
        output.toFile().deleteOnExit();
        Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile()).start();
        OUTPUTS.put(process, output);
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
        return process;
    }

    /** A file with this text, for tools that read one. */
    static String file(String text) throws Exception {
        Path path = Files.createTempFile("tool", ".json");
        path.toFile().deleteOnExit();
        Files.writeString(path, text);
        return path.toString();
    }
}
