package suite;

import diwan.objects.Cluster;
import diwan.objects.Counter;
import diwan.objects.Problem;
import diwan.objects.Tls;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import javax.net.ssl.SSLContext;

/** Members that speak TLS alone. Without OBJECTS_KEYS they speak plain text, and there is nothing to do here. */
final class Encryption {
    private static final String KEYS = System.getenv("OBJECTS_KEYS");

    private Encryption() {}

    static void add(Map<String, Harness.Test> tests) {
        if (KEYS == null) return;
        tests.put("tls.authority_that_is_named_is_trusted", own -> {
            for (SSLContext tls : List.of(Tls.of(key("ca.pem")), Tls.of(key("ca.pem"), key("client.pem")))) {
                try (Cluster cluster = new Cluster(bare(), tls)) {
                    Harness.same(cluster.object(Counter.class, Harness.fresh()).increment(), 1L);
                }
            }
        });
        tests.put("tls.other_side_that_is_not_trusted_is_refused_at_once", own -> {
            unencrypted("no-tls", Tls.of(key("foreign-ca.pem")));
            unencrypted("no-tls", Tls.of(key("ca.pem"), key("stranger.pem")));
            unencrypted("tls-required", null);
        });
    }

    private static Path key(String name) {
        return Path.of(KEYS, name);
    }

    private static String bare() {
        return Harness.SERVERS.replace("https://", "");
    }

    private static void unencrypted(String slug, SSLContext tls) throws Exception {
        long began = System.nanoTime();
        try (Cluster cluster = new Cluster(bare(), tls)) {
            Counter counter = cluster.object(Counter.class, Harness.fresh());
            Problem problem = Harness.refused(slug, counter::increment);
            Harness.holds(!problem.isEffectUnknown(), problem);
        }
        Duration took = Duration.ofNanos(System.nanoTime() - began);
        Harness.holds(took.toSeconds() < 10, "what cannot change was tried again and again: " + took);
    }
}
