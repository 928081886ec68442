import harness.Check;
import harness.Test;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/** A client on a thread of its own that works until it is told to finish, while the broker dies; then its results are checked. */
abstract class Load {
    final Test test;
    volatile boolean finishing;
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private final CountDownLatch ended = new CountDownLatch(1);

    Load(Test test) {
        this.test = test;
    }

    /** Works until `finishing` is set, and completes what it began. */
    abstract void work() throws Exception;

    /** Whether it has done as much as its check asks for: on a slow machine it goes on until then, also behind the last death. */
    boolean hasDoneEnough() {
        return true;
    }

    /** Compares what the broker holds with what the client was told. */
    abstract void check() throws Exception;

    final void start() {
        Thread thread = new Thread(() -> {
            try {
                work();
            } catch (Throwable error) {
                failure.set(error);
            }
            ended.countDown();
        }, getClass().getSimpleName());
        thread.setDaemon(true);
        thread.start();
    }

    final void finish() throws Exception {
        Check.await(getClass().getSimpleName() + " to do enough", () -> hasDoneEnough() || failure.get() != null);
        finishing = true;
        Check.that(ended.await(60, TimeUnit.SECONDS), getClass().getSimpleName() + " does not finish");
    }

    final void verify() throws Exception {
        if (failure.get() != null) {
            throw new AssertionError("it failed: " + failure.get(), failure.get());
        }
        check();
    }
}
