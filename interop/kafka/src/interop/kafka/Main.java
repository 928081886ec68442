package interop.kafka;

/** The tests, in the order of a cluster's life: each finds what those before it left. */
public final class Main {
    private Main() {}

    public static void main(String[] only) throws Exception {
        var report = new Report(only);
        try (var cluster = new Cluster()) {
            // Also when the runner ends this program at its deadline.
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                try {
                    cluster.close();
                } catch (InterruptedException interrupted) {
                    Thread.currentThread().interrupt();
                }
            }));
            report.needed("two_brokers_form_a_cluster", cluster::start);
            try (var orders = new Messages(cluster, "orders")) {
                new TopicTests(cluster, orders).run(report);
                new FailureTests(cluster, orders).run(report);
            }
        }
        System.exit(report.allOk() ? 0 : 1);
    }
}
