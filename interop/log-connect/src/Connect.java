import harness.Check;
import harness.Test;
import java.nio.file.Files;

/** Workers, alone and in a cluster, with a source that reads a file and a sink that writes one. */
public final class Connect {
    private Connect() {
    }

    static String source(Lines lines, String topic) {
        return "{\"connector.class\":\"org.apache.kafka.connect.file.FileStreamSourceConnector\",\"tasks.max\":\"1\",\"file\":\""
            + lines.path + "\",\"topic\":\"" + topic + "\"}";
    }

    static String sink(Lines lines, String topic) {
        return "{\"connector.class\":\"org.apache.kafka.connect.file.FileStreamSinkConnector\",\"tasks.max\":\"1\",\"file\":\""
            + lines.path + "\",\"topics\":\"" + topic + "\"}";
    }

    /** Settings of a connector as a file of properties, for a standalone worker. */
    private static String properties(String name, String json) throws Exception {
        return Tool.file("name=" + name + "\n" + json.replaceAll("[{}\"]", "").replace(",", "\n").replace(":", "=") + "\n");
    }

    public static void standaloneWorkerGoesOnWhereItWas(Test test) throws Exception {
        String topic = test.topic(1);
        Lines in = new Lines();
        Lines out = new Lines();
        String offsets = Files.createTempFile("offsets", "").toString();
        for (int round = 0; round < 2; round++) {
            Worker worker = Worker.standalone(test, offsets, properties("source", source(in, topic)), properties("sink", sink(out, topic)));
            in.append(Test.numbers(round * 200, round * 200 + 200));
            out.await(Test.numbers(0, round * 200 + 200), true);
            worker.close();
        }
        Check.equal(test.valuesIn(topic, 1, "read_committed"), Test.numbers(0, 400));
    }

    public static void clusterMovesTheWorkOfADeadWorker(Test test) throws Exception {
        String topic = test.topic(1);
        Lines in = new Lines();
        Lines out = new Lines();
        String cluster = test.fresh("connect");
        Worker first = Worker.distributed(test, cluster, "exactly.once.source.support=enabled").awaitServing();
        Worker second = Worker.distributed(test, cluster, "exactly.once.source.support=enabled").awaitServing();
        first.connector("source", source(in, topic));
        second.connector("sink", sink(out, topic));
        in.append(Test.numbers(0, 200));
        out.await(Test.numbers(0, 200), false);
        first.kill();
        in.append(Test.numbers(200, 400));
        out.await(Test.numbers(0, 400), false);
        Check.equal(test.valuesIn(topic, 1, "read_committed"), Test.numbers(0, 400), "what an exactly-once source wrote");
        Check.that(second.get("/connectors/source/offsets").contains("position"), "its offsets can be asked for");
        for (String part : new String[] {"-configs", "-offsets", "-status"}) {
            String policy = Test.get(Test.admin().describeConfigs(java.util.List.of(resource(cluster + part))).all())
                .get(resource(cluster + part)).get("cleanup.policy").value();
            Check.equal(policy, "compact", part);
        }
    }

    private static org.apache.kafka.common.config.ConfigResource resource(String topic) {
        return new org.apache.kafka.common.config.ConfigResource(org.apache.kafka.common.config.ConfigResource.Type.TOPIC, topic);
    }
}
