package harness;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.HashSet;
import java.util.Set;

/** A door between a client and the server that can be shut. It knows nothing of the protocol. */
public final class Proxy implements AutoCloseable {
    private final ServerSocket listener;
    private final Set<Socket> sockets = new HashSet<>();
    private final int port;
    private boolean open = true;
    private int connections;

    public Proxy() throws IOException {
        this(Server.port());
    }

    /** Before this port of the server. */
    public Proxy(int port) throws IOException {
        this.port = port;
        listener = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
        daemon(this::accept);
    }

    public String address() {
        return "127.0.0.1:" + listener.getLocalPort();
    }

    /** How many connections there have been. */
    public synchronized int connections() {
        return connections;
    }

    /** Cuts what is open and refuses what comes. */
    public synchronized void shut() {
        open = false;
        sockets.forEach(Proxy::close);
        sockets.clear();
    }

    public synchronized void open() {
        open = true;
    }

    @Override
    public void close() throws IOException {
        shut();
        listener.close();
    }

    private void accept() {
        while (!listener.isClosed()) {
            Socket client = null;
            try {
                client = listener.accept();
                connect(client);
            } catch (IOException error) {
                close(client);
            }
        }
    }

    private synchronized void connect(Socket client) throws IOException {
        if (!open) {
            throw new IOException("shut");
        }
        connections++;
        Socket server = new Socket("127.0.0.1", port);
        sockets.add(client);
        sockets.add(server);
        daemon(() -> pass(client, server));
        daemon(() -> pass(server, client));
    }

    private static void pass(Socket source, Socket sink) {
        try {
            source.getInputStream().transferTo(sink.getOutputStream());
        } catch (IOException error) {
            // Closed by either side: both ends go.
        }
        close(source);
        close(sink);
    }

    private static void close(Socket socket) {
        try {
            if (socket != null) {
                socket.close();
            }
        } catch (IOException error) {
            // It is gone, which is what was wanted.
        }
    }

    private static void daemon(Runnable body) {
        Thread thread = new Thread(body);
        thread.setDaemon(true);
        thread.start();
    }
}
