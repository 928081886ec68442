package interop.kafka;

/** The coordination server, as the suite's environment gives it. */
final class Server {
    /** Kafka lives under a path of its own, which it creates itself. */
    static final String CHROOT = "/kafka";

    private Server() {}

    static String address() {
        String servers = System.getenv("ZK_SERVERS");
        return servers == null ? required("ZK_CONNECT") : servers;
    }

    static String addressForKafka() {
        return address() + CHROOT;
    }

    /** Drives the server: `kill`, `start`, ...; returns when the server has done it. */
    static void control(String verb) throws Exception {
        int status = new ProcessBuilder(required("ZK_CONTROL"), verb).inheritIO().start().waitFor();
        if (status != 0) {
            throw new AssertionError("the server could not be told to " + verb);
        }
    }

    private static String required(String name) {
        String value = System.getenv(name);
        if (value == null) {
            throw new IllegalStateException(name + " is not set: see interop/README.md");
        }
        return value;
    }
}
