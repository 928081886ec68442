package harness;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.HostProvider;
import org.apache.zookeeper.client.StaticHostProvider;
import org.apache.zookeeper.client.ZKClientConfig;

/** The server's TLS port, and clients that speak to it: with whose certificate, trusting whom, in files of what form. */
public final class Secure {
    public static final String PASSWORD = "secret";
    /** With that many attempts, it is no accident that none succeeds. */
    private static final int ATTEMPTS = 3;
    private final Map<String, String> settings = new LinkedHashMap<>();

    private Secure() {
        with(ZKClientConfig.SECURE_CLIENT, "true");
        with(ZKClientConfig.ZOOKEEPER_CLIENT_CNXN_SOCKET, "org.apache.zookeeper.ClientCnxnSocketNetty");
    }

    public static String address() {
        return environment("ZK_SECURE");
    }

    /** The address for those constructors that take it in this form only. */
    public static HostProvider hosts() {
        return new StaticHostProvider(List.of(new InetSocketAddress("127.0.0.1", port())));
    }

    public static int port() {
        String address = address();
        return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
    }

    /** Trusts the server by the authority's certificate, and shows none of its own. */
    public static Secure pem() {
        return new Secure().trusting("ca.pem");
    }

    /** The same, with PKCS #12 stores. */
    public static Secure pkcs12() {
        return new Secure().trusting("trust.p12");
    }

    public Secure trusting(String file) {
        return store("zookeeper.ssl.trustStore.", file);
    }

    /** Shows the certificate of this file. */
    public Secure showing(String file) {
        return store("zookeeper.ssl.keyStore.", file);
    }

    public Secure with(String key, String value) {
        settings.put(key, value);
        return this;
    }

    public ZKClientConfig config() {
        ZKClientConfig config = new ZKClientConfig();
        settings.forEach(config::setProperty);
        return config;
    }

    /** The same as options of a `java` that runs a client. */
    public List<String> options() {
        return settings.entrySet().stream().map(setting -> "-D" + setting.getKey() + "=" + setting.getValue()).toList();
    }

    public ZooKeeper connect(Test t) throws Exception {
        Events events = new Events();
        ZooKeeper client = t.closing(new ZooKeeper(address(), 10_000, events, config()));
        events.awaitState("SyncConnected");
        return client;
    }

    /** A client that is refused tries again, and is refused again. */
    public void refused(Test t) throws Exception {
        refused(t, port(), config());
    }

    /** The same at any port, for any client. */
    public static void refused(Test t, int port, ZKClientConfig config) throws Exception {
        Proxy proxy = t.closing(new Proxy(port));
        Events events = new Events();
        ZooKeeper client = t.closing(new ZooKeeper(proxy.address(), 10_000, events, config));
        Check.await(ATTEMPTS + " attempts", () -> proxy.connections() >= ATTEMPTS);
        Check.equal(events.states(), List.of(), "states");
        Check.equal(client.getSessionId(), 0L, "session");
    }

    /** The form is told by the name's end. */
    private Secure store(String prefix, String file) {
        return with(prefix + "location", key(file)).with(prefix + "password", file.endsWith(".p12") ? PASSWORD : "");
    }

    /** A file of the keys made for this run. */
    public static String key(String file) {
        return Path.of(environment("ZK_KEYS"), file).toString();
    }

    private static String environment(String name) {
        String value = System.getenv(name);
        if (value == null) {
            throw new Skip(name + " is not set");
        }
        return value;
    }
}
