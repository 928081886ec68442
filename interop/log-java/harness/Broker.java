package harness;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The broker under test, as the environment of the suite tells of it. */
public final class Broker {
    public static final String CONNECT = System.getenv().getOrDefault("KAFKA_CONNECT", "127.0.0.1:9092");
    /** The addresses of all brokers, of which clients may be told one. */
    public static final List<String> ADDRESSES = List.of(CONNECT.split(","));
    private static final String FLAVOR = System.getenv().getOrDefault("KAFKA_FLAVOR", "kafka");

    private Broker() {
    }

    /** For tests of what Diwan does otherwise, on purpose. */
    public static boolean isKafka() {
        return FLAVOR.equals("kafka");
    }

    /** Whether a broker can have this id: they are counted from 1. */
    public static boolean has(int id) {
        return id >= 1 && id <= ADDRESSES.size();
    }

    /** Drives the broker: kill, stop, start (with settings for this start only), pause, resume. */
    public static void control(String verb, String... settings) throws Exception {
        String executable = System.getenv("KAFKA_CONTROL");
        if (executable == null) {
            throw new Skip("KAFKA_CONTROL is not set");
        }
        List<String> command = new ArrayList<>(List.of(executable, verb));
        command.addAll(List.of(settings));
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
        Check.that(process.waitFor(90, TimeUnit.SECONDS), verb + " did not return");
        Check.equal(process.exitValue(), 0, verb);
    }

    /** Ends the broker without a warning and starts it again. */
    public static void killAndStart() throws Exception {
        control("kill");
        control("start");
    }
}
