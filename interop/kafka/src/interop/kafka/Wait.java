package interop.kafka;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.Callable;

/** Waiting for a condition, never for time to pass. */
final class Wait {
    /** Far above what anything takes on a slow machine. */
    static final Duration PATIENCE = Duration.ofSeconds(40);
    private static final long LOOK_AGAIN_MS = 100;

    private Wait() {}

    /** Until the call returns the value; while a cluster heals, calls may throw. */
    static <T> void until(String what, T expected, Callable<T> call) throws InterruptedException {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        Object last = null;
        while (System.nanoTime() < deadline) {
            try {
                T value = call.call();
                if (Objects.equals(expected, value)) {
                    return;
                }
                last = value;
            } catch (InterruptedException interrupted) {
                throw interrupted;
            } catch (Exception error) {
                last = error;
            }
            Thread.sleep(LOOK_AGAIN_MS);
        }
        throw new AssertionError(what + ": expected " + expected + ", last seen " + last);
    }
}
