import harness.Broker;
import harness.Check;
import harness.Test;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A worker of Connect as a process, standalone or one of a cluster, with its REST interface. */
final class Worker implements AutoCloseable {
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static final String CONVERTER = "org.apache.kafka.connect.storage.StringConverter";
    private final int port;
    private final Process process;

    private Worker(String main, String settings, String... files) throws Exception {
        try (ServerSocket socket = new ServerSocket(0)) {
            port = socket.getLocalPort();
        }
        String all = settings + "bootstrap.servers=" + Broker.CONNECT + "\nlisteners=http://127.0.0.1:" + port
            + "\nkey.converter=" + CONVERTER + "\nvalue.converter=" + CONVERTER + "\noffset.flush.interval.ms=200\n"
            + "plugin.discovery=service_load\n"
            + "consumer.auto.offset.reset=earliest\nconsumer.reconnect.backoff.max.ms=200\nproducer.reconnect.backoff.max.ms=200\n"
            + "producer.request.timeout.ms=5000\nconsumer.session.timeout.ms=6000\nconsumer.heartbeat.interval.ms=500\n"
            + "reconnect.backoff.max.ms=200\n";
        List<String> arguments = new ArrayList<>(List.of(Tool.file(all)));
        arguments.addAll(List.of(files));
        process = Tool.start("", main, arguments.toArray(String[]::new));
    }

    static Worker standalone(Test test, String offsets, String... connectors) throws Exception {
        return test.closing(new Worker("org.apache.kafka.connect.cli.ConnectStandalone",
            "offset.storage.file.filename=" + offsets + "\n", connectors));
    }

    /** A member of the cluster of this name; its topics are made by the first one. */
    static Worker distributed(Test test, String cluster, String... settings) throws Exception {
        return test.closing(new Worker("org.apache.kafka.connect.cli.ConnectDistributed", "group.id=" + cluster
            + "\nconfig.storage.topic=" + cluster + "-configs\noffset.storage.topic=" + cluster + "-offsets\nstatus.storage.topic="
            + cluster + "-status\nconfig.storage.replication.factor=1\noffset.storage.replication.factor=1\n"
            + "status.storage.replication.factor=1\noffset.storage.partitions=2\nstatus.storage.partitions=2\n"
            + "session.timeout.ms=6000\nheartbeat.interval.ms=500\nscheduled.rebalance.max.delay.ms=500\n"
            + String.join("\n", settings) + "\n"));
    }

    private HttpResponse<String> ask(String method, String path, String body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
            .header("Content-Type", "application/json").method(method, HttpRequest.BodyPublishers.ofString(body)).build();
        return HTTP.send(request, HttpResponse.BodyHandlers.ofString());
    }

    /** What the worker answers to a GET; empty while it does not serve. */
    String get(String path) {
        try {
            HttpResponse<String> answer = ask("GET", path, "");
            return answer.statusCode() < 300 ? answer.body() : "";
        } catch (Exception error) {
            return "";
        }
    }

    Worker awaitServing() throws Exception {
        Check.await("a worker that serves: " + Tool.output(process), () -> {
            Check.that(process.isAlive(), Tool.output(process));
            return !get("/connectors").isEmpty();
        });
        return this;
    }

    void connector(String name, String json) throws Exception {
        Check.eventually(() -> {
            HttpResponse<String> answer = ask("PUT", "/connectors/" + name + "/config", json);
            Check.that(answer.statusCode() < 300, answer.body());
        });
        awaitRunning(name);
    }

    void awaitRunning(String name) throws Exception {
        Check.await("connector " + name, () -> {
            String status = get("/connectors/" + name + "/status");
            return status.contains("\"tasks\":[{") && !status.contains("FAILED") && !status.contains("UNASSIGNED");
        });
    }

    /** Ends the worker without a warning. */
    void kill() throws Exception {
        process.destroyForcibly();
        Check.that(process.waitFor(30, TimeUnit.SECONDS), "the worker does not end");
    }

    @Override
    public void close() throws Exception {
        process.destroy();
        if (!process.waitFor(20, TimeUnit.SECONDS)) {
            process.destroyForcibly();
        }
        if (!process.isAlive()) {
            Files.writeString(java.nio.file.Path.of("target", "worker-" + port + ".log"), Tool.output(process));
        }
    }
}
