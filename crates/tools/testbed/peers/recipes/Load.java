// Loads a system with the recipes that it has, or that its clients have: the argument is the system, one line of JSON on standard
// input is the task. At the edges of what is measured it says so in a line and waits for an empty one, so that the caller reads
// the servers' meters exactly there. The last line is what was seen.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

public final class Load {
    private static final BufferedReader INPUT = new BufferedReader(new InputStreamReader(System.in));
    private static final long LOOK_EVERY_MS = 5;
    private static final long HELD_MS = 1;

    /** What a client does again and again; it is told the number of its turn, and says how long what counts took (or -1). */
    private interface Turn {
        long take(int number) throws Exception;
    }

    private final Order order;
    private final Judge judge = new Judge();
    private final List<Recipes> clients = new ArrayList<>();
    private final String name = "lab-" + ProcessHandle.current().pid() + "-" + System.nanoTime();
    private final Map<Long, Long> latency = new TreeMap<>();
    /** Whether `begins` ends what clients do. */
    private final boolean isInRounds;

    private volatile boolean counts;
    private volatile boolean ending;
    private volatile long releasedAt;
    private volatile Throwable failure;
    /** Of rounds that all clients take: the last one that any of them has begun. */
    private int begun = -1;

    private Load(String system, Order order) throws Exception {
        this.order = order;
        this.isInRounds = order.kind().equals("double_barrier");
        for (int client = 0; client < order.clients(); client++) {
            String endpoint = order.endpoint(client);
            clients.add(switch (system) {
                case "curator" -> new OnCurator(endpoint);
                case "hazelcast" -> new OnHazelcast(order.endpoints());
                // The others are replicas, which take no writes.
                case "redis" -> new OnRedis(order.endpoints().get(0));
                default -> throw new IllegalArgumentException("there is no system `" + system + "`");
            });
        }
    }

    public static void main(String[] arguments) {
        try {
            Load load = new Load(arguments[0], Order.of(INPUT.readLine()));
            String seen = load.perform();
            for (Recipes client : load.clients) {
                client.close();
            }
            System.out.println(seen);
            System.exit(0);
        } catch (Throwable error) {
            String what = String.valueOf(error.getMessage()).replace('\n', ' ');
            System.err.println(error.getClass().getSimpleName() + ": " + what);
            System.exit(1);
        }
    }

    private String perform() throws Exception {
        return switch (order.kind()) {
            case "own" -> warm();
            case "lock_pair" -> locks(true);
            case "hand_off" -> locks(false);
            case "double_barrier" -> rounds();
            case "increment" -> increments();
            default -> throw new IllegalArgumentException("there is no task `" + order.kind() + "`");
        };
    }

    /** Fresh servers do a little, of which nothing counts. */
    private String warm() throws Exception {
        List<Turn> turns = new ArrayList<>();
        for (Recipes client : clients) {
            Recipes.Mutex mutex = client.mutex(name + "-mutex");
            Recipes.Counter counter = client.counter(name);
            turns.add(number -> {
                mutex.acquire();
                mutex.release();
                counter.increment();
                return -1;
            });
        }
        run("own", turns, false);
        return seen("own", 0, 0, 0, 0);
    }

    /** Pairs of acquire and release, or what lies between a release and the next holder's knowledge of the lock. */
    private String locks(boolean pairs) throws Exception {
        List<Turn> turns = new ArrayList<>();
        for (Recipes client : clients) {
            Recipes.Mutex mutex = client.mutex(name);
            turns.add(number -> {
                long began = System.nanoTime();
                long fence = mutex.acquire();
                long since = pairs ? began : releasedAt;
                long granted = System.nanoTime();
                judge.acquired(fence);
                if (!pairs) {
                    // Long enough that a second holder would be seen; it counts nowhere.
                    Thread.sleep(HELD_MS);
                }
                judge.releases();
                releasedAt = System.nanoTime();
                mutex.release();
                if (pairs) {
                    return System.nanoTime() - began;
                }
                return since == 0 ? -1 : granted - since;
            });
        }
        double elapsed = run("lock", turns, true);
        return seen("lock", elapsed, 0, judge.grants(), 0);
    }

    private String rounds() throws Exception {
        List<Turn> turns = new ArrayList<>();
        for (Recipes client : clients) {
            Recipes.Barrier barrier = client.barrier(name, clients.size());
            boolean isFirst = client == clients.get(0);
            turns.add(round -> {
                if (!begins(round)) {
                    return Long.MIN_VALUE;
                }
                long began = System.nanoTime();
                judge.comes();
                barrier.enter(round);
                judge.entered(round, clients.size());
                judge.goes();
                barrier.leave(round);
                judge.left(round, clients.size(), barrier.stragglers());
                return isFirst ? System.nanoTime() - began : -1;
            });
        }
        double elapsed = run("round", turns, true);
        return seen("round", elapsed, 0, 0, begun + 1);
    }

    /** Whether a client begins that round: at the end all must have taken the same ones. */
    private synchronized boolean begins(int round) {
        if (ending && round > begun) {
            return false;
        }
        begun = Math.max(begun, round);
        return true;
    }

    private String increments() throws Exception {
        List<Turn> turns = new ArrayList<>();
        for (Recipes client : clients) {
            Recipes.Counter counter = client.counter(name);
            long[] before = {0};
            turns.add(number -> {
                long began = System.nanoTime();
                long value = counter.increment();
                long took = System.nanoTime() - began;
                judge.incremented(before[0], value);
                before[0] = value;
                return took;
            });
        }
        double elapsed = run("increment", turns, true);
        return seen("increment", elapsed, 1, judge.increments(clients.get(0).counter(name).get()), 0);
    }

    /** Every client takes turns on a thread of its own; how many seconds were measured. */
    private double run(String phase, List<Turn> turns, boolean isMeasured) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (Turn turn : turns) {
            Thread thread = new Thread(() -> take(turn));
            thread.setDaemon(true);
            thread.start();
            threads.add(thread);
        }
        pause(order.warmUpMs());
        if (isMeasured) {
            edge("begin", phase);
        }
        long began = System.nanoTime();
        counts = isMeasured;
        pause(order.measuredMs());
        counts = false;
        long elapsed = System.nanoTime() - began;
        if (isMeasured) {
            edge("end", phase);
        }
        ending = true;
        for (Thread thread : threads) {
            thread.join(order.patienceMs());
            if (thread.isAlive()) {
                throw new IOException("a client was not answered within " + order.patienceMs() + " ms");
            }
        }
        check();
        return elapsed / 1e9;
    }

    private void take(Turn turn) {
        Map<Long, Long> latency = new HashMap<>();
        try {
            for (int number = 0; !ending || isInRounds; number++) {
                long took = turn.take(number);
                if (took == Long.MIN_VALUE) {
                    break;
                }
                if (counts && took >= 0) {
                    latency.merge(Math.max(1, took / 1000), 1L, Long::sum);
                }
            }
        } catch (Throwable error) {
            failure = error;
        }
        synchronized (this.latency) {
            latency.forEach((us, count) -> this.latency.merge(us, count, Long::sum));
        }
    }

    private void pause(long ms) throws Exception {
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ms);
        while (System.nanoTime() < until) {
            check();
            Thread.sleep(LOOK_EVERY_MS);
        }
    }

    private void check() throws Exception {
        if (failure != null) {
            throw new IOException(failure.toString(), failure);
        }
    }

    private static void edge(String which, String phase) throws IOException {
        System.out.println("{\"edge\":\"" + which + "\",\"phase\":\"" + phase + "\"}");
        INPUT.readLine();
    }

    private String seen(String phase, double elapsed, long reads, long writes, long barriers) {
        List<String> bars = new ArrayList<>();
        long operations = 0;
        for (var entry : latency.entrySet()) {
            operations += entry.getValue();
            bars.add("[" + entry.getKey() + "," + entry.getValue() + "]");
        }
        List<String> wrong = judge.wrong().stream().map(text -> "\"" + text.replace("\"", "'") + "\"").toList();
        return "{\"phases\":[{\"name\":\"" + phase + "\",\"operations\":" + operations + ",\"errors\":0,\"elapsed_s\":"
                + elapsed + ",\"latency_us\":" + bars + "}],\"reads\":" + reads + ",\"writes\":" + writes
                + ",\"events\":0,\"barriers\":" + barriers + ",\"wrong\":" + wrong + ",\"lost\":0,\"timeline\":[]}";
    }
}
