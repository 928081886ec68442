package harness;

import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.function.Supplier;

/** Assertions, and waiting with a deadline. */
public final class Check {
    public static final long WAIT_MS = 30_000;

    private Check() {
    }

    /** Something that may fail. */
    public interface Action {
        void run() throws Exception;
    }

    public static void that(boolean condition, Object what) {
        if (!condition) {
            throw new AssertionError(String.valueOf(what));
        }
    }

    public static void equal(Object actual, Object expected) {
        equal(actual, expected, "");
    }

    public static void equal(Object actual, Object expected, String what) {
        if (!Objects.deepEquals(actual, expected)) {
            throw new AssertionError((what.isEmpty() ? "" : what + ": ") + show(actual) + ", expected " + show(expected));
        }
    }

    private static String show(Object value) {
        String text = String.valueOf(value);
        return text.length() > 400 ? text.substring(0, 400) + "..." : text;
    }

    /** The action must throw an instance of `kind`, alone or as the cause of what a future throws; returns it. */
    public static <E extends Throwable> E fails(Class<E> kind, Action action) {
        try {
            action.run();
        } catch (Throwable error) {
            Throwable inner = unwrapped(error);
            if (kind.isInstance(inner)) {
                return kind.cast(inner);
            }
            throw new AssertionError("threw " + inner + ", expected " + kind.getSimpleName(), error);
        }
        throw new AssertionError("nothing thrown, expected " + kind.getSimpleName());
    }

    public static Throwable unwrapped(Throwable error) {
        boolean wrapped = error instanceof ExecutionException || error instanceof CompletionException;
        return wrapped && error.getCause() != null ? error.getCause() : error;
    }

    /** Waits until the condition holds. */
    public static void await(String what, Callable<Boolean> condition) throws Exception {
        await(() -> what, condition);
    }

    /** The same; what is waited for is told when the wait was in vain. */
    public static void await(Supplier<String> what, Callable<Boolean> condition) throws Exception {
        long deadline = System.nanoTime() + WAIT_MS * 1_000_000;
        while (!condition.call()) {
            if (System.nanoTime() > deadline) {
                throw new AssertionError("waited " + WAIT_MS + " ms for " + what.get());
            }
            Thread.sleep(20);
        }
    }

    /** Waits until nothing fails any more. */
    public static void eventually(Action action) throws Exception {
        long deadline = System.nanoTime() + WAIT_MS * 1_000_000;
        while (true) {
            try {
                action.run();
                return;
            } catch (Exception | AssertionError error) {
                if (System.nanoTime() > deadline) {
                    throw error;
                }
            }
            Thread.sleep(50);
        }
    }
}
