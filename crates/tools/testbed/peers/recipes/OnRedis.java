import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** Redis, as its documentation says to lock: SET with NX and PX, a release by a script. The server answers before it replicates. */
final class OnRedis implements Recipes {
    private static final String TTL_MS = "30000";
    private static final String RELEASE = """
            local holds = redis.call('GET', KEYS[1]) == ARGV[1]
            return holds and redis.call('DEL', KEYS[1]) or 0
            """;

    private final Socket socket;
    private final InputStream input;
    private final OutputStream output;
    private final String digest;

    OnRedis(String endpoint) throws Exception {
        int colon = endpoint.lastIndexOf(':');
        socket = new Socket(endpoint.substring(0, colon), Integer.parseInt(endpoint.substring(colon + 1)));
        socket.setTcpNoDelay(true);
        input = new BufferedInputStream(socket.getInputStream());
        output = socket.getOutputStream();
        digest = (String) ask("SCRIPT", "LOAD", RELEASE);
    }

    /** Sends a command; its reply: text, a number, or null. */
    private Object ask(String... words) throws IOException {
        StringBuilder text = new StringBuilder("*" + words.length + "\r\n");
        for (String word : words) {
            text.append('$').append(word.length()).append("\r\n").append(word).append("\r\n");
        }
        output.write(text.toString().getBytes(StandardCharsets.US_ASCII));
        String line = line();
        String rest = line.substring(1);
        return switch (line.charAt(0)) {
            case '+' -> rest;
            case ':' -> Long.parseLong(rest);
            case '$' -> rest.equals("-1") ? null : line();
            default -> throw new IOException("Redis answered " + line);
        };
    }

    private String line() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int next = input.read(); next != '\n'; next = input.read()) {
            if (next < 0) {
                throw new IOException("Redis closed the connection");
            }
            if (next != '\r') {
                line.append((char) next);
            }
        }
        return line.toString();
    }

    @Override
    public Mutex mutex(String name) {
        String token = Integer.toHexString(System.identityHashCode(this)) + "-" + System.nanoTime();
        return new Mutex() {
            @Override
            public long acquire() throws Exception {
                while (ask("SET", name, token, "NX", "PX", TTL_MS) == null) {
                    // Nobody tells that a lock is free: one asks again.
                    Thread.sleep(1);
                }
                return 0;
            }

            @Override
            public void release() throws Exception {
                if (!Long.valueOf(1).equals(ask("EVALSHA", digest, "1", name, token))) {
                    throw new IOException("the lock had another holder when it was released");
                }
            }
        };
    }

    @Override
    public Counter counter(String name) {
        return new Counter() {
            @Override
            public long increment() throws Exception {
                return (Long) ask("INCR", name);
            }

            @Override
            public long get() throws Exception {
                return Long.parseLong((String) ask("GET", name));
            }
        };
    }

    @Override
    public Barrier barrier(String name, int parties) {
        throw new UnsupportedOperationException("Redis has no barriers");
    }

    @Override
    public void close() throws Exception {
        socket.close();
    }
}
