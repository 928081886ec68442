package harness;

import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The server under test, as its environment tells of it. */
public final class Server {
    public static final String CONNECT = System.getenv().getOrDefault("ZK_CONNECT", "127.0.0.1:2181");

    private Server() {
    }

    public static int port() {
        return Integer.parseInt(CONNECT.substring(CONNECT.lastIndexOf(':') + 1));
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

    public static String fourLetterWord(String word) throws IOException {
        try (Socket socket = new Socket("127.0.0.1", port())) {
            socket.setSoTimeout((int) Check.WAIT_MS);
            socket.getOutputStream().write(word.getBytes(StandardCharsets.US_ASCII));
            socket.shutdownOutput();
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
