package diwan.objects;

import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;

/** The members of a cluster, and one session with it. Any number of threads may use it. */
public final class Cluster implements AutoCloseable {
    final Exchange exchange;
    private final Duration ttl;
    private final String name;
    private final ExecutorService background = Executors.newCachedThreadPool(work -> {
        Thread thread = new Thread(work, "diwan-background");
        thread.setDaemon(true);
        return thread;
    });
    private Session session;
    private boolean closed;

    /** With a time to live of 10 s, and 30 s for which a call is tried again. */
    public Cluster(String members) {
        this(members, null);
    }

    /** The same over TLS. */
    public Cluster(String members, SSLContext tls) {
        this(members, Duration.ofSeconds(10), Duration.ofSeconds(30), null, tls);
    }

    /**
     * @param ttl after which time what a dead client held is free
     * @param timeout for how long a call is tried again while no member answers
     * @param name the session's name, for people; may be null
     */
    public Cluster(String members, Duration ttl, Duration timeout, String name) {
        this(members, ttl, timeout, name, null);
    }

    /** The same over TLS: {@code Tls.of(Path.of("ca.pem"))} makes a context of files. Addresses that begin with
     * {@code https://} are spoken to over TLS without one, too: then Java's own authorities vouch for the members. */
    public Cluster(String members, Duration ttl, Duration timeout, String name, SSLContext tls) {
        this(members, ttl, timeout, name, tls, (String) null);
    }

    /**
     * @param token says who asks, with every request. It and the context may be null. Without it: the environment's
     *     {@code DIWAN_TOKEN}, or the file that {@code DIWAN_TOKEN_FILE} names, or nobody in particular
     */
    public Cluster(String members, Duration ttl, Duration timeout, String name, SSLContext tls, String token) {
        this(members, ttl, timeout, name, tls, Credentials.of(token));
    }

    /** By the token in a file: it is read again when the token is refused, so it may be replaced meanwhile. */
    public static Cluster byTokenIn(
            Path file, String members, Duration ttl, Duration timeout, String name, SSLContext tls) {
        return new Cluster(members, ttl, timeout, name, tls, Credentials.in(file));
    }

    private Cluster(
            String members, Duration ttl, Duration timeout, String name, SSLContext tls, Credentials credentials) {
        this.exchange = new Exchange(members, timeout, tls, credentials);
        this.ttl = ttl;
        this.name = name;
    }

    /** An object: {@code cluster.object(Counter.class, "visits")}. */
    public <T extends DiwanObject> T object(Class<T> type, String name) {
        return proxy(type, name, false);
    }

    /** The same, whose queries ask one member's copy, not older than what this cluster object has seen. */
    public <T extends DiwanObject> T stale(Class<T> type, String name) {
        return proxy(type, name, true);
    }

    private <T extends DiwanObject> T proxy(Class<T> type, String name, boolean stale) {
        Of of = type.getAnnotation(Of.class);
        if (of == null) throw new IllegalArgumentException(type + " is no type of objects");
        Caller caller = new Caller(this, of.value(), name, stale);
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, caller));
    }

    /** The session: opened once, however many calls ask for it at once. */
    synchronized Session open() throws InterruptedException {
        if (closed) throw Problem.ended("closed", "the cluster object is closed");
        if (session == null || session.ended() != null) {
            Session opened = new Session(exchange, ttl);
            opened.open(name, this::checkLocks);
            session = opened;
        }
        return session;
    }

    synchronized Session current() {
        return session == null || session.ended() != null ? null : session;
    }

    /**
     * Asks whether locks are still held. (The session's event stream would tell sooner, but it counts as a sign of life even
     * of a process that stands still.)
     */
    private void checkLocks(Session session) {
        for (Held held : List.copyOf(session.held)) {
            if (!held.type.equals("lock")) continue;
            try {
                if (!object(Lock.class, held.name).check(held.fence()) && session.held.contains(held)) held.lose();
            } catch (Problem unanswered) {
                // The heartbeat finds out.
            }
        }
    }

    Exchange.Answer keyed(String method, String target, String body) throws InterruptedException {
        Map<String, String> key = Map.of("Idempotency-Key", '"' + UUID.randomUUID().toString() + '"');
        return exchange.send(Exchange.Sent.of(method, target, key, body));
    }

    void later(Runnable work) {
        background.execute(work);
    }

    /** Closes the session: what it holds is free at once. */
    @Override
    public void close() {
        Session open;
        synchronized (this) {
            closed = true;
            open = session;
        }
        background.shutdown();
        try {
            background.awaitTermination(2, TimeUnit.SECONDS);
            if (open != null) open.close();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        } catch (Problem unanswered) {
            // What is left of it ends with its time to live.
        }
    }
}
