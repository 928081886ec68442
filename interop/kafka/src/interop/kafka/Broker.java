package interop.kafka;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.TimeUnit;

/** One Kafka broker in a process and a folder of its own. */
final class Broker {
    /** Between the least and the most that the server grants (2 and 20 ticks of 500 ms). */
    private static final int SESSION_TIMEOUT_MS = 3000;

    final int id;
    final int port;
    private final Path folder;
    private Process process;

    Broker(int id, Path run, int firstPort) throws IOException {
        this.id = id;
        this.folder = Files.createDirectories(run.resolve("broker-" + id));
        this.port = freePort(firstPort);
        try (var out = Files.newOutputStream(folder.resolve("server.properties"))) {
            properties().store(out, null);
        }
    }

    private static int freePort(int first) throws IOException {
        for (int port = first; port < first + 100; port++) {
            try (var socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return socket.getLocalPort();
            } catch (IOException taken) {
                continue;
            }
        }
        throw new IOException("no free port in the 100 from " + first + " on");
    }

    private Properties properties() {
        var all = new Properties();
        all.putAll(java.util.Map.of(
                "broker.id", String.valueOf(id),
                "listeners", "PLAINTEXT://127.0.0.1:" + port,
                "log.dirs", folder.resolve("data").toString(),
                "zookeeper.connect", Server.addressForKafka(),
                "zookeeper.session.timeout.ms", String.valueOf(SESSION_TIMEOUT_MS),
                "auto.create.topics.enable", "false",
                // ACLs are kept in the tree and announced by sequential nodes: a use worth having.
                "authorizer.class.name", "kafka.security.authorizer.AclAuthorizer",
                "super.users", "User:ANONYMOUS"));
        all.putAll(java.util.Map.of(
                "offsets.topic.num.partitions", "2",
                "offsets.topic.replication.factor", "2",
                "group.initial.rebalance.delay.ms", "0",
                "controlled.shutdown.retry.backoff.ms", "500",
                "num.network.threads", "2",
                "num.io.threads", "2",
                "background.threads", "2",
                "log.cleaner.dedupe.buffer.size", "4194304"));
        return all;
    }

    void start() throws IOException {
        var command = new ArrayList<String>(List.of(
                ProcessHandle.current().info().command().orElse("java"),
                "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto",
                "-Dlog4j.configuration=file:log4j.properties",
                "-cp", System.getProperty("java.class.path"),
                "kafka.Kafka", folder.resolve("server.properties").toString()));
        process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(log().toFile()))
                .start();
    }

    boolean alive() {
        return process != null && process.isAlive();
    }

    private Path log() {
        return folder.resolve("log");
    }

    /** How much the broker has logged. */
    long logged() throws IOException {
        return Files.size(log());
    }

    /** Returns when the broker has logged the text behind the given position. */
    void awaitLogged(String text, long behind) throws InterruptedException {
        Wait.until("broker " + id + " logs `" + text + "`", true, () -> {
            byte[] all = Files.readAllBytes(log());
            return new String(all, (int) behind, (int) (all.length - behind), StandardCharsets.UTF_8).contains(text);
        });
    }

    /** The process, to see that it is still the same one. */
    long pid() {
        return process.pid();
    }

    /** Without a warning (SIGKILL); the server learns of it by the session's expiry only. */
    void kill() throws InterruptedException {
        if (process != null) {
            process.destroyForcibly().waitFor();
        }
    }

    /** In order (SIGTERM): hands its partitions over and closes its session. */
    void stop() throws InterruptedException {
        process.destroy();
        if (!process.waitFor(Wait.PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
            throw new AssertionError("broker " + id + " does not stop");
        }
    }

    /** Lets it stand still (SIGSTOP), as a long pause of its host would. */
    void pause() throws Exception {
        signal("STOP");
    }

    void resume() throws Exception {
        signal("CONT");
    }

    private void signal(String name) throws Exception {
        int status = new ProcessBuilder("kill", "-" + name, String.valueOf(pid())).inheritIO().start().waitFor();
        if (status != 0) {
            throw new AssertionError("broker " + id + " cannot be sent SIG" + name);
        }
    }
}
