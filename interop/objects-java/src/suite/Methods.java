package suite;

import static suite.Harness.fresh;
import static suite.Harness.holds;
import static suite.Harness.refused;
import static suite.Harness.same;

import diwan.objects.Barrier;
import diwan.objects.Call;
import diwan.objects.Cluster;
import diwan.objects.Counter;
import diwan.objects.DiwanObject;
import diwan.objects.Election;
import diwan.objects.Held;
import diwan.objects.Ids;
import diwan.objects.Latch;
import diwan.objects.Lock;
import diwan.objects.Log;
import diwan.objects.Membership;
import diwan.objects.Names;
import diwan.objects.Of;
import diwan.objects.Queue;
import diwan.objects.RateLimiter;
import diwan.objects.RwLock;
import diwan.objects.Semaphore;
import diwan.objects.Set;
import diwan.objects.Stack;
import diwan.objects.Value;
import diwan.objects.Wait;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Every method of every type, once. */
final class Methods {
    private static final Wait SHORT = Wait.of(Duration.ofMillis(50));

    private Methods() {}

    static void add(Map<String, Harness.Test> tests) {
        tests.put("methods.counter", Methods::counter);
        tests.put("methods.value", Methods::value);
        tests.put("methods.map", Methods::map);
        tests.put("methods.set", Methods::set);
        tests.put("methods.queue", Methods::queue);
        tests.put("methods.stack", Methods::stack);
        tests.put("methods.log", Methods::log);
        tests.put("methods.ids", Methods::ids);
        tests.put("methods.names", Methods::names);
        tests.put("methods.ratelimiter", Methods::ratelimiter);
        tests.put("methods.latch", Methods::latch);
        tests.put("methods.barrier", Methods::barrier);
        tests.put("methods.lock", Methods::lock);
        tests.put("methods.rwlock", Methods::rwlock);
        tests.put("methods.semaphore", Methods::semaphore);
        tests.put("methods.membership", Methods::membership);
        tests.put("methods.election", Methods::election);
        tests.put("methods.objects", Methods::objects);
        tests.put("methods.own_interface", Methods::ownInterface);
    }

    /** As a program writes it for a type of its own. */
    @Of("counter")
    public interface Hits extends DiwanObject {
        record Bounds(boolean swapped, long value) {}

        @Call(kind = "command", method = "increment", args = {"?by"}, single = "value")
        long hit(Long by);

        @Call(kind = "command", method = "compare_and_set", args = {"expect", "value"})
        Bounds change(long from, long to);

        @Call(kind = "query", method = "get", single = "value")
        long count();
    }

    private static void ownInterface(Cluster cluster) {
        Hits hits = cluster.object(Hits.class, fresh());
        same(hits.hit(3L), 3L);
        same(hits.hit(null), 4L);
        same(hits.change(4, 9), new Hits.Bounds(true, 9));
        same(hits.count(), 9L);
    }

    private static <T extends DiwanObject> T of(Cluster cluster, Class<T> type, Object... args) {
        T made = cluster.object(type, fresh());
        if (args.length > 0) {
            Map<String, Object> named = new java.util.HashMap<>();
            for (int at = 0; at < args.length; at += 2) named.put((String) args[at], args[at + 1]);
            same(made.create(named), true);
            same(made.create(named), false);
        }
        return made;
    }

    private static void counter(Cluster cluster) throws Exception {
        Counter counter = of(cluster, Counter.class, "start", 3, "max", 1L << 62);
        same(counter.get(), 3L);
        same(counter.increment(), 4L);
        same(counter.increment(5L), 9L);
        same(counter.decrement(), 8L);
        same(counter.set(10), new Counter.SetResult(10, 8));
        same(counter.swap(20).previous(), 10L);
        same(counter.compareAndSet(1, 2).swapped(), false);
        same(counter.compareAndSet(20, 1L << 60), new Counter.CompareAndSetResult(true, 1L << 60));
        refused("out-of-range", () -> counter.increment(1L << 62));
        same(counter.await(Wait.TRY, null, 0L, null).reached(), false);
        same(counter.await(Wait.FOREVER, null, null, 1L << 60).reached(), true);
        same(cluster.stale(Counter.class, counter.toString().substring("counter/".length())).get(), 1L << 60);
    }

    private static void value(Cluster cluster) {
        Value value = of(cluster, Value.class, "initial", Map.of("a", 1));
        same(value.get(), new Value.GetResult(Map.of("a", 1L), 0));
        long version = value.set(null).version();
        same(value.swap(List.of(1, "ä")).previous(), null);
        same(value.compareAndSet("x", null, version).swapped(), false);
        same(value.awaitChange(version).value(), List.of(1L, "ä"));
    }

    private static void map(Cluster cluster) throws Exception {
        diwan.objects.Map map = of(cluster, diwan.objects.Map.class, "max_entries", 5);
        long version = map.put("b", 1).version();
        same(map.put("b", 2, null, null, true).stored(), false);
        same(map.put("b", 2, 600_000L, version, null).stored(), true);
        same(map.putAll(Map.of("a", 1, "c", 3)).stored(), 2L);
        same(map.add("n", 4L).value(), 4L);
        same(map.get("b").value(), 2L);
        same(map.contains("zz"), false);
        same(map.size().size(), 4L);
        same(map.getAll(List.of("a", "no")).size(), 1);
        same(map.first().key() + map.last().key() + map.floor("bb").key() + map.ceiling("bb").key(), "anbc");
        same(map.floor("A"), null);
        same(map.range("a", null, 2L).next(), "c");
        same(map.awaitChange("b", 0).changed(), true);
        refused("full", () -> map.putAll(Map.of("x", 1, "y", 2)));
        same(map.remove("a").removed(), true);
        same(map.clear(), 3L);
    }

    private static void set(Cluster cluster) {
        Set set = of(cluster, Set.class);
        same(set.add(List.of(1, "b")), 2L);
        same(set.remove(List.of(1)), 1L);
        same(set.size(), 1L);
        same(set.contains("b"), true);
        same(set.members(), new Set.MembersResult(List.of("b"), null));
        same(set.pop(5L), List.of("b"));
    }

    private static void queue(Cluster cluster) throws Exception {
        Queue queue = of(cluster, Queue.class, "capacity", 2, "priority", true, "max_attempts", 1);
        long low = queue.put("low");
        long high = queue.put("high", Wait.FOREVER, 3L, null);
        refused("queue-full", () -> queue.put("more", Wait.TRY));
        same(queue.peek().get(0).id(), high);
        same(queue.take(Wait.FOREVER, null, 60_000L).get(0).item(), "high");
        same(queue.extend(List.of(high)), 1L);
        same(queue.nack(List.of(high)), 1L);
        same(queue.dead().get(0).id(), high);
        same(queue.replace(low, "other"), true);
        same(queue.size().ready(), 1L);
        same(queue.list().items().get(0).item(), "other");
        same(queue.take(Wait.FOREVER, null, 60_000L).get(0).id(), low);
        same(queue.ack(List.of(low)), 1L);
        refused("not-leased", () -> queue.ack(List.of(low)));
        same(queue.remove(high), true);
        same(queue.take(Wait.TRY), List.of());
    }

    private static void stack(Cluster cluster) {
        Stack stack = of(cluster, Stack.class);
        same(stack.push("a"), 1L);
        same(stack.push("b"), 2L);
        same(stack.size(), 2L);
        same(stack.peek(), List.of("b"));
        same(stack.items(), List.of("b", "a"));
        same(stack.pop(Wait.FOREVER, 5L), List.of("b", "a"));
        same(stack.pop(Wait.TRY), List.of());
    }

    private static void log(Cluster cluster) {
        Log log = of(cluster, Log.class);
        same(log.append("a"), 0L);
        same(log.append("b"), 1L);
        same(log.read(), new Log.ReadResult(List.of("a", "b"), 0, 2));
        same(log.read(SHORT, 2L, null).entries(), List.of());
        same(log.trim(1), new Log.TrimResult(1, 1));
    }

    private static void ids(Cluster cluster) {
        Ids ids = of(cluster, Ids.class, "start", 7);
        same(ids.peek(), 7L);
        same(ids.next(3L), new Ids.NextResult(7L, 9L));
    }

    private static void names(Cluster cluster) {
        Names names = of(cluster, Names.class);
        same(names.set("www", Map.of("type", "A", "address", "10.0.0.1")).records(), 1L);
        same(names.add("www", Map.of("type", "A", "address", "10.0.0.2")).records(), 2L);
        same(names.list("www", null, null).records().size(), 2);
        same(names.list().names().get(0).name(), "www");
        same(names.remove("www").records(), 0L);
    }

    private static void ratelimiter(Cluster cluster) {
        RateLimiter limiter = of(cluster, RateLimiter.class);
        same(limiter.configure(1L, 2L), new RateLimiter.ConfigureResult(1, 2));
        same(limiter.acquire().granted(), true);
        holds(limiter.acquire(Wait.TRY, 2L, null).retryAfterMs() > 0, "it is granted");
        same(limiter.peek("other").remaining(), 2L);
    }

    private static void latch(Cluster cluster) {
        Latch latch = of(cluster, Latch.class);
        same(latch.await(Wait.TRY), false);
        same(latch.countDown(), 0L);
        same(latch.await(), true);
        same(latch.reset(), 1L);
        same(latch.count(), 1L);
    }

    private static void barrier(Cluster cluster) {
        Barrier barrier = of(cluster, Barrier.class, "parties", 1);
        same(barrier.await().index(), 0L);
        same(barrier.reset(), 1L);
        Barrier doubled = of(cluster, Barrier.class, "parties", 1, "double", true);
        same(doubled.enter().index(), 0L);
        same(doubled.state().inside(), 1L);
        same(doubled.leave(), true);
    }

    private static void lock(Cluster cluster) throws Exception {
        Lock lock = of(cluster, Lock.class);
        long fence = lock.acquire().fence();
        same(lock.check(fence), true);
        same(lock.holder().fence(), fence);
        refused("reentry-limit", () -> lock.acquire());
        same(lock.acquire(Wait.TRY, "other").acquired(), false);
        Lock.AwaitResult back = lock.await("changed", fence, SHORT);
        same(Arrays.asList(back.signalled(), lock.signal("changed"), lock.signalAll("changed")), Arrays.asList(false, 0L, 0L));
        refused("stale-fence", () -> lock.release(fence));
        same(lock.release(back.fence()), 0L);
        holds(lock.steal() > back.fence(), "the fence does not rise");
    }

    private static void rwlock(Cluster cluster) {
        RwLock lock = of(cluster, RwLock.class);
        try (Held one = lock.holdRead(); Held other = lock.holdRead()) {
            holds(one.fence() > 0 && other.fence() > 0, "no fence");
            same(lock.state().readers(), 2L);
        }
        try (Held held = lock.holdWrite()) {
            same(lock.state().fence(), held.fence());
        }
        long down = lock.downgrade(lock.write().fence());
        same(lock.read(Wait.TRY).acquired(), true);
        lock.release(down);
    }

    private static void semaphore(Cluster cluster) {
        Semaphore permits = of(cluster, Semaphore.class, "permits", 3);
        long fence = permits.acquire(Wait.FOREVER, 2L).fence();
        same(permits.available().available(), 1L);
        same(permits.release(null, fence), 2L);
        same(permits.drain().taken(), 2L);
        same(permits.resize(1).permits(), 4L);
        try (Held held = permits.hold()) {
            holds(held.fence() > 0, "no fence");
        }
    }

    private static void membership(Cluster cluster) {
        Membership group = of(cluster, Membership.class);
        same(group.join("a", Map.of("port", 1)).members().get(0).data(), Map.of("port", 1L));
        long epoch = group.update("a", 2);
        same(group.members().epoch(), epoch);
        same(group.awaitChange(epoch - 1).changed(), true);
        same(group.awaitSize(Wait.FOREVER, 1L).reached(), true);
        same(group.report(epoch, "nobody").removed(), false);
        same(group.leave("a"), epoch + 1);
    }

    private static void election(Cluster cluster) {
        Election election = of(cluster, Election.class);
        Election.CampaignResult won = election.campaign("a");
        same(election.leader().name(), "a");
        same(election.proclaim(won.fence(), "x"), won.term());
        same(election.observe().data(), "x");
        same(election.candidates(), List.of());
        same(election.resign(won.fence()), true);
        try (Held held = election.lead("b")) {
            same(election.leader().term(), held.fence());
        }
    }

    private static void objects(Cluster cluster) throws Exception {
        Counter counter = cluster.object(Counter.class, fresh() + " ä/ö?:x");
        same(counter.create(Map.of()), true);
        same(counter.describe().get("explicit"), true);
        refused("exists", () -> counter.create(Map.of("start", 7)));
        counter.delete();
        refused("no-such-object", counter::describe);
        same(refused("no-such-method", () -> counter.call("hop", Wait.FOREVER, Map.of())).isEffectUnknown(), false);
    }
}
