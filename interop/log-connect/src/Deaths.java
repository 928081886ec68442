import harness.Broker;
import harness.Check;
import harness.Test;
import java.util.List;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;

/** The broker under test is killed while Connect and MirrorMaker work. */
public final class Deaths {
    private Deaths() {
    }

    public static void connectorsGoOnAfterKills(Test test) throws Exception {
        String topic = test.topic(1);
        Lines in = new Lines();
        Lines out = new Lines();
        Worker worker = Worker.distributed(test, test.fresh("connect"), "exactly.once.source.support=enabled").awaitServing();
        worker.connector("source", Connect.source(in, topic));
        worker.connector("sink", Connect.sink(out, topic));
        in.append(Test.numbers(0, 300));
        out.await(Test.numbers(0, 300), false);
        Broker.control("kill");
        in.append(Test.numbers(300, 600));
        Broker.control("start");
        out.await(Test.numbers(0, 600), false);
        Check.equal(test.valuesIn(topic, 1, "read_committed"), Test.numbers(0, 600), "what an exactly-once source wrote");
        worker.close();
    }

    public static void mirrorGoesOnAfterAKill(Test test) throws Exception {
        String name = test.fresh("mirrored");
        try (Admin other = Admin.create(Mirror.of(Mirror.OTHER))) {
            Test.get(other.createTopics(List.of(new NewTopic(name, 1, (short) 1))).all());
        }
        Mirror.fill(Mirror.OTHER, name, 0, 200);
        Process mirror = Mirror.start(name, "none");
        try {
            Mirror.values(Broker.CONNECT, "other." + name, 200, false);
            Broker.control("kill");
            Mirror.fill(Mirror.OTHER, name, 200, 400);
            Broker.control("start");
            List<String> values = Mirror.values(Broker.CONNECT, "other." + name, 400, false);
            // At least once: a part may be there again, in order.
            Check.equal(values.stream().distinct().toList(), Test.numbers(0, 400));
        } finally {
            Mirror.stop(mirror);
        }
    }
}
