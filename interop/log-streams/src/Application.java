import harness.Test;
import java.io.File;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.TimeWindows;

/** What the application of a shop is: its topology and its settings. It also runs as a process of its own, until it is killed. */
final class Application {
    static final long WINDOW_MS = 10_000;

    private final String id;
    private final String directory;
    private final List<String> topics;
    private final String[] settings;

    /** `topics`: orders, customers, counts, windows, sums. */
    Application(String id, String directory, List<String> topics, String... settings) {
        this.id = id;
        this.directory = directory;
        this.topics = topics;
        this.settings = settings;
    }

    /** ID DIRECTORY ORDERS CUSTOMERS COUNTS WINDOWS SUMS [KEY VALUE]... */
    public static void main(String[] words) {
        List<String> all = List.of(words);
        String[] settings = all.subList(7, all.size()).toArray(String[]::new);
        Application application = new Application(words[0], words[1], all.subList(2, 7), settings);
        KafkaStreams streams = application.streams();
        try {
            streams.start();
        } catch (ProcessorStateException torn) {
            // RocksDB does not open a store in whose making it was killed, and Streams opens stores before it looks whether the process
            // before ended well. All that they hold is in the changelogs.
            torn.printStackTrace();
            streams.close();
            streams = application.streams();
            streams.cleanUp();
            streams.start();
        }
    }

    private KafkaStreams streams() {
        KafkaStreams streams = new KafkaStreams(topology(), properties());
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            return StreamThreadExceptionResponse.REPLACE_THREAD;
        });
        return streams;
    }

    /** Starts the process. */
    Process start() throws Exception {
        List<String> command = new ArrayList<>(List.of(System.getProperty("java.home") + File.separator + "bin" + File.separator + "java",
            "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", System.getProperty("java.class.path")));
        for (String property : List.of("log4j2.configurationFile", "log.level")) {
            if (System.getProperty(property) != null) {
                command.add(3, "-D" + property + "=" + System.getProperty(property));
            }
        }
        command.addAll(List.of("Application", id, directory));
        command.addAll(topics);
        command.addAll(List.of(settings));
        return new ProcessBuilder(command).redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }

    Properties properties() {
        Properties properties = Test.properties("application.id", id, "state.dir", directory, "num.stream.threads", "2",
            "commit.interval.ms", "200", "statestore.cache.max.bytes", "0", "auto.offset.reset", "earliest", "replication.factor", "1",
            "max.task.idle.ms", "1000", "main.consumer.session.timeout.ms", "6000", "main.consumer.heartbeat.interval.ms", "500",
            "producer.request.timeout.ms", "5000", "producer.reconnect.backoff.max.ms", "200", "consumer.reconnect.backoff.max.ms",
            "200", "admin.reconnect.backoff.max.ms", "200", "producer.delivery.timeout.ms", "60000", "task.timeout.ms", "120000",
            "repartition.purge.interval.ms", "1000");
        properties.putAll(Test.map(settings));
        return properties;
    }

    Topology topology() {
        String orders = topics.get(0);
        String customers = topics.get(1);
        String counts = topics.get(2);
        String windows = topics.get(3);
        String sums = topics.get(4);
        var text = Serdes.String();
        StreamsBuilder builder = new StreamsBuilder();
        KStream<String, String> in = builder.stream(orders, Consumed.with(text, text));
        KTable<String, String> regions = builder.table(customers, Consumed.with(text, text));
        in.groupByKey(Grouped.with(text, text)).count(Materialized.as("counts")).toStream()
            .to(counts, Produced.with(text, Serdes.Long()));
        in.groupByKey(Grouped.with(text, text)).windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofMillis(WINDOW_MS), Duration.ofDays(1)))
            .count(Materialized.as("windows")).toStream().map((window, count) -> KeyValue.pair(window.key() + "@" + window.window().start(), count))
            .to(windows, Produced.with(text, Serdes.Long()));
        in.join(regions, (order, region) -> region + ":" + order).selectKey((customer, joined) -> joined.split(":")[0])
            .mapValues(joined -> Long.valueOf(joined.split(":")[1])).groupByKey(Grouped.with(text, Serdes.Long()))
            .reduce(Long::sum, Materialized.as("sums")).toStream().to(sums, Produced.with(text, Serdes.Long()));
        return builder.build();
    }
}
