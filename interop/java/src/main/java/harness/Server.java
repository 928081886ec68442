package harness;

import java.io.File;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;

/** The server under test, as its environment tells of it. */
public final class Server {
    private static final String FIRST = System.getenv().getOrDefault("ZK_CONNECT", "127.0.0.1:2181");
    /** A file that grows with every death: members of an ensemble die one after the other meanwhile. Null if nobody dies. */
    private static final String TOLL = System.getenv("ZK_DEATHS");
    /** What clients are given: all members where members die. */
    public static final String CONNECT = TOLL == null ? FIRST : System.getenv("ZK_SERVERS");

    private Server() {
    }

    public static int port() {
        return Integer.parseInt(FIRST.substring(FIRST.lastIndexOf(':') + 1));
    }

    /** Where clients of each member connect; one for a server that is alone. */
    public static List<String> members() {
        return List.of(System.getenv().getOrDefault("ZK_SERVERS", FIRST).split(","));
    }

    /** For tests of what only an ensemble has whose members can be changed. */
    public static void needEnsemble() {
        if (members().size() < 2) {
            throw new Skip("the server is alone");
        }
    }

    public static boolean dies() {
        return TOLL != null;
    }

    /** Grows with every death. */
    public static long deaths() {
        return TOLL == null ? 0 : new File(TOLL).length();
    }

    /** A client of these servers. Of an ensemble all clients prefer the same member: what one wrote another reads at once
     * only there. */
    public static ZooKeeper client(String connect, int timeoutMs, Watcher watcher, boolean readOnly) throws IOException {
        return new ZooKeeper(connect, timeoutMs, watcher, readOnly, new InOrder(connect));
    }

    /** The same, to go on with a session. */
    public static ZooKeeper client(String connect, int timeoutMs, Watcher watcher, long session, byte[] password)
        throws IOException {
        return new ZooKeeper(connect, timeoutMs, watcher, session, password, false, new InOrder(connect));
    }

    /** One that answers now. */
    public static String answering() {
        return new InOrder(CONNECT).first();
    }

    public static boolean extra(String word) {
        return Arrays.asList(System.getenv().getOrDefault("ZK_EXTRAS", "").split(" ")).contains(word);
    }

    /** For tests of what only Diwan promises. */
    public static void needDiwan() {
        if (!"diwan".equals(System.getenv("ZK_FLAVOR"))) {
            throw new Skip("ZooKeeper does not promise it");
        }
    }

    /** Drives the server: kill, stop, start (with settings for this start only), pause, resume. */
    public static void control(String verb, String... settings) throws Exception {
        String executable = System.getenv("ZK_CONTROL");
        if (executable == null) {
            throw new Skip("ZK_CONTROL is not set");
        }
        List<String> command = new ArrayList<>(List.of(executable, verb));
        command.addAll(List.of(settings));
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
        Check.that(process.waitFor(60, TimeUnit.SECONDS), verb + " did not return");
        Check.equal(process.exitValue(), 0, verb);
    }

    /** Runs the program under test with these words; returns what it prints. */
    public static String program(String... words) throws Exception {
        String program = System.getenv("ZK_PROGRAM");
        if (program == null) {
            throw new Skip("ZK_PROGRAM is not set");
        }
        List<String> command = new ArrayList<>(List.of(program));
        command.addAll(List.of(words));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        Check.equal(process.waitFor(), 0, output);
        return output;
    }

    public static String fourLetterWord(String word) throws IOException {
        try (Socket socket = new Socket("127.0.0.1", port())) {
            socket.setSoTimeout((int) Check.WAIT_MS);
            socket.getOutputStream().write(word.getBytes(StandardCharsets.US_ASCII));
            socket.shutdownOutput();
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
