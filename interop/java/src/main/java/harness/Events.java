package harness;

import java.util.ArrayList;
import java.util.List;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;

/** A watcher that keeps what it was told: changes as `Type path`, connection states by name. */
public final class Events implements Watcher {
    private final List<String> changes = new ArrayList<>();
    private final List<String> states = new ArrayList<>();

    @Override
    public synchronized void process(WatchedEvent event) {
        if (event.getType() == Event.EventType.None) {
            states.add(event.getState().name());
        } else {
            changes.add(event.getType() + " " + event.getPath());
        }
        notifyAll();
    }

    public synchronized List<String> changes() {
        return new ArrayList<>(changes);
    }

    public synchronized List<String> states() {
        return new ArrayList<>(states);
    }

    /** The first changes, which must be these, and as many as these. */
    public synchronized void expect(String... expected) throws InterruptedException {
        await(() -> changes.size() >= expected.length, List.of(expected));
        Check.equal(changes, List.of(expected), "events");
    }

    public synchronized void awaitCount(int count) throws InterruptedException {
        await(() -> changes.size() >= count, count + " events");
    }

    public synchronized void awaitState(String state) throws InterruptedException {
        await(() -> states.contains(state), state);
    }

    /** Waits until the latest state is this one. */
    public synchronized void settle(String state) throws InterruptedException {
        await(() -> !states.isEmpty() && states.get(states.size() - 1).equals(state), state + " at last");
    }

    private void await(java.util.function.BooleanSupplier condition, Object what) throws InterruptedException {
        long deadline = System.nanoTime() + Check.WAIT_MS * 1_000_000;
        while (!condition.getAsBoolean()) {
            long left = (deadline - System.nanoTime()) / 1_000_000;
            Check.that(left > 0, "waited for " + what + "; told of " + changes + " and " + states);
            wait(left);
        }
    }
}
