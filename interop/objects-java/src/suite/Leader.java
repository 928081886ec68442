package suite;

import static suite.Harness.connect;
import static suite.Harness.control;
import static suite.Harness.fresh;
import static suite.Harness.holds;

import diwan.objects.Cluster;
import diwan.objects.Counter;
import java.io.IOException;
import java.util.Map;

/** Which member is asked: the leader, once a response has named it. */
final class Leader {
    private static final int CALLS = 200;

    private Leader() {}

    static void add(Map<String, Harness.Test> tests) {
        tests.put("leader.requests_go_to_the_leader", Leader::requests);
    }

    /** How many requests each member has had. */
    private static long[] asked() throws IOException, InterruptedException {
        long[] counts = new long[3];
        for (int place = 0; place < 3; place++) {
            counts[place] = Long.parseLong(control("requests", String.valueOf(place + 1)));
        }
        return counts;
    }

    /** Calls it; who leads and whom the requests went to, if that is not the leader throughout. */
    private static String strays(Counter counter) throws IOException, InterruptedException {
        String leader = control("leader");
        long[] before = asked();
        for (int number = 0; number < CALLS; number++) counter.increment();
        long[] after = asked();
        long[] grown = new long[3];
        long all = 0;
        for (int place = 0; place < 3; place++) all += grown[place] = after[place] - before[place];
        long atLeader = grown[Integer.parseInt(leader) - 1];
        boolean kept = atLeader >= CALLS && all - atLeader < CALLS / 2;
        if (kept || !control("leader").equals(leader)) return null;
        return "member " + leader + " leads: " + java.util.Arrays.toString(grown);
    }

    private static void requests(Cluster unused) throws IOException, InterruptedException {
        // A cluster begins with a member that it draws.
        for (int round = 0; round < 5; round++) {
            try (Cluster cluster = connect(5_000)) {
                Counter counter = cluster.object(Counter.class, fresh());
                for (int number = 0; number < 20; number++) counter.increment();
                // One that was elected a moment ago may not have served then: it is shunned for 5 seconds, and another may be elected meanwhile.
                long end = System.nanoTime() + 20_000_000_000L;
                for (String strayed = strays(counter); strayed != null; strayed = strays(counter)) {
                    holds(System.nanoTime() < end, strayed);
                }
            }
        }
    }
}
