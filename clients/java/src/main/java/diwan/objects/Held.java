package diwan.objects;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** A grant. Its fence goes along with every write to what it protects. */
public final class Held implements AutoCloseable {
    final String type;
    final String name;
    private final long fence;
    private final Session session;
    private final Runnable giveBack;
    private final List<Runnable> callbacks = new ArrayList<>();
    private boolean lost;

    Held(Session session, String type, String name, long fence, Runnable giveBack) {
        this.session = session;
        this.type = type;
        this.name = name;
        this.fence = fence;
        this.giveBack = giveBack;
        session.held.add(this);
    }

    /** Rises with every grant of this name. */
    public long fence() {
        return fence;
    }

    /** Whether somebody else may hold it by now. It never becomes false again. */
    public boolean lost() {
        if (session.isLate()) lose();
        synchronized (this) {
            return lost;
        }
    }

    /** Has it run once it is lost, by the thread that notices. It must not block. */
    public void onLost(Runnable callback) {
        synchronized (this) {
            if (!lost) {
                callbacks.add(callback);
                return;
            }
        }
        callback.run();
    }

    void lose() {
        session.held.remove(this);
        List<Runnable> told;
        synchronized (this) {
            lost = true;
            told = List.copyOf(callbacks);
            callbacks.clear();
        }
        told.forEach(Runnable::run);
    }

    /** Gives it back. What is lost has nothing to give back. */
    @Override
    public void close() {
        session.held.remove(this);
        try {
            giveBack.run();
        } catch (Problem refused) {
            Set<String> gone = Set.of("not-owner", "not-held", "stale-fence", "session-expired", "object-deleted");
            if (!gone.contains(refused.slug())) throw refused;
        }
    }
}
