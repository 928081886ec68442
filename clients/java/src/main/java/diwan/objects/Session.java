package diwan.objects;

import java.io.IOException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/** The session of a cluster object: its numbers, its heartbeat, and what it holds. */
final class Session {
    // Requests that may be without an answer, as the server bounds them, and how many of them calls that wait leave to the others.
    private static final int WINDOW = 64;
    static final int RESERVE = 16;

    final Duration ttl;
    final Set<Held> held = ConcurrentHashMap.newKeySet();
    private final Exchange exchange;
    private final String id = random();
    private final Map<String, String> proof = Map.of("Diwan-Session", id + "." + random());
    private final Acknowledged answers = new Acknowledged();
    private long next = 1;
    // When the last renewal was sent that was answered. Nothing that the session holds is taken for held beyond three
    // quarters of its time to live from then on: before any server lets it expire.
    private volatile long renewed;
    private volatile Problem ended;

    static String random() {
        byte[] bytes = new byte[16];
        new SecureRandom().nextBytes(bytes);
        return HexFormat.of().formatHex(bytes);
    }

    Session(Exchange exchange, Duration ttl) {
        this.exchange = exchange;
        this.ttl = ttl;
    }

    void open(String name, Consumer<Session> checkLocks) throws InterruptedException {
        renewed = System.nanoTime();
        Map<String, Object> body = new LinkedHashMap<>(Map.of("ttl_ms", ttl.toMillis()));
        if (name != null) body.put("name", name);
        // The id and the secret are ours, so the request can be repeated.
        exchange.send(Exchange.Sent.of("POST", "/v1/sessions", proof, Json.write(body)));
        start("diwan-heartbeat", this::renew);
        start("diwan-watch", this::watch);
        start("diwan-check", () -> {
            while (ended == null) {
                Thread.sleep(ttl.toMillis() / 6);
                checkLocks.accept(this);
            }
        });
    }

    private interface Work {
        void run() throws InterruptedException;
    }

    private static void start(String name, Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (InterruptedException ending) {
                Thread.currentThread().interrupt();
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
    }

    private void renew() throws InterruptedException {
        long pause = ttl.toMillis() / 6;
        while (ended == null) {
            long sent = System.nanoTime();
            try {
                exchange.once("POST", "/v1/sessions/" + id + "/renew", proof, "", Duration.ofMillis(Math.max(pause, 200)));
                renewed = sent;
                Thread.sleep(pause);
            } catch (Problem refused) {
                if (Set.of(401, 403, 410).contains(refused.status())) end(refused);
                else Thread.sleep(50);
            } catch (IOException broken) {
                Thread.sleep(50);
            }
        }
    }

    /** Tells holders that the time has passed in which the session was surely alive. */
    private void watch() throws InterruptedException {
        while (ended == null) {
            if (isLate()) lose();
            Thread.sleep(Math.max(ttl.toMillis() / 40, 1));
        }
    }

    boolean isLate() {
        return ended != null || System.nanoTime() - renewed >= ttl.toNanos() / 4 * 3;
    }

    Problem ended() {
        return ended;
    }

    synchronized boolean hasRoom(int reserve) {
        return answers.unanswered(next - 1) < WINDOW - reserve;
    }

    /** The number of the next request, once there is room for it and so many more. */
    synchronized long number(int reserve) throws InterruptedException {
        while (ended == null && !hasRoom(reserve)) wait();
        if (ended != null) throw ended;
        return next++;
    }

    /** The reply to that request has come, or nobody wants it any more. */
    synchronized void answered(long number) {
        answers.add(number);
        notifyAll();
    }

    synchronized Map<String, String> fields(long number) {
        Map<String, String> fields = new LinkedHashMap<>(proof);
        fields.put("Diwan-Request", Long.toString(number));
        fields.put("Diwan-Acknowledged", answers.toString());
        return fields;
    }

    private void lose() {
        List.copyOf(held).forEach(Held::lose);
    }

    void end(Problem why) {
        synchronized (this) {
            if (ended == null) ended = why;
            notifyAll();
        }
        lose();
    }

    void close() throws InterruptedException {
        if (ended != null) return;
        end(Problem.ended("session-expired", "the session was closed"));
        Exchange.Sent sent = Exchange.Sent.of("DELETE", "/v1/sessions/" + id, proof, "");
        exchange.send(new Exchange.Sent("DELETE", sent.target(), sent.fields(), "", Exchange.ATTEMPT, Duration.ofSeconds(2)));
    }
}
