package harness;

import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.apache.zookeeper.KeeperException;

/** Assertions, and waiting with a deadline. */
public final class Check {
    public static final long WAIT_MS = 15_000;

    private Check() {
    }

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
        if (value instanceof byte[] bytes) {
            return bytes.length > 40 ? bytes.length + " bytes" : "'" + new String(bytes) + "'";
        }
        return value instanceof Object[] array ? Arrays.deepToString(array) : String.valueOf(value);
    }

    /** The action must fail with ZooKeeper's error `code`; returns what it threw. */
    public static KeeperException fails(KeeperException.Code code, Action action) throws Exception {
        try {
            action.run();
        } catch (KeeperException error) {
            equal(error.code(), code, "error");
            return error;
        }
        throw new AssertionError("nothing failed, expected " + code);
    }

    /** The action must throw an instance of `kind`. */
    public static void throwsA(Class<? extends Throwable> kind, Action action) {
        try {
            action.run();
        } catch (Throwable error) {
            that(kind.isInstance(error), "threw " + error + ", expected " + kind.getSimpleName());
            return;
        }
        throw new AssertionError("nothing thrown, expected " + kind.getSimpleName());
    }

    public static void await(String what, Callable<Boolean> condition) throws Exception {
        long deadline = System.nanoTime() + WAIT_MS * 1_000_000;
        while (!condition.call()) {
            that(System.nanoTime() < deadline, "waited " + WAIT_MS + " ms for " + what);
            Thread.sleep(10);
        }
    }
}
