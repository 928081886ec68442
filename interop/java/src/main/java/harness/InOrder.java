package harness;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.zookeeper.client.ConnectStringParser;
import org.apache.zookeeper.client.HostProvider;

/** Tries servers in their order, beginning with those that answer, and soon again; the client's own shuffles them and
 * pauses for a second. */
final class InOrder implements HostProvider {
    private static final int PAUSE_MS = 50;
    private static final int ANSWER_MS = 500;
    private final List<InetSocketAddress> servers;
    private int next;

    InOrder(String connect) {
        List<InetSocketAddress> answering = new ArrayList<>();
        List<InetSocketAddress> silent = new ArrayList<>();
        List<InetSocketAddress> all = new ConnectStringParser(connect).getServerAddresses();
        for (InetSocketAddress server : all) {
            InetSocketAddress resolved = new InetSocketAddress(server.getHostString(), server.getPort());
            (all.size() == 1 || answers(resolved) ? answering : silent).add(resolved);
        }
        answering.addAll(silent);
        servers = answering;
    }

    String first() {
        return servers.get(0).getHostString() + ":" + servers.get(0).getPort();
    }

    private static boolean answers(InetSocketAddress server) {
        try (Socket socket = new Socket()) {
            socket.connect(server, ANSWER_MS);
            return true;
        } catch (IOException error) {
            return false;
        }
    }

    @Override
    public int size() {
        return servers.size();
    }

    @Override
    public synchronized InetSocketAddress next(long spinDelay) {
        if (next >= servers.size() && spinDelay > 0) {
            try {
                wait(PAUSE_MS);
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
            }
        }
        return servers.get(next++ % servers.size());
    }

    @Override
    public void onConnected() {
        // The next one is the next to be tried.
    }

    @Override
    public boolean updateServerList(Collection<InetSocketAddress> addresses, InetSocketAddress current) {
        return false;
    }
}
