package interop.kafka;

/** Runs the tests in their order and prints a line for each. Knows nothing of Kafka. */
final class Report {
    /** A broken server fails every test by its deadline; after so many there is nothing more to learn. */
    private static final int FAILURES_MAX = 3;

    private final String[] only;
    private int failures;

    Report(String[] only) {
        this.only = only;
    }

    interface Test {
        void run() throws Exception;
    }

    /** What all later tests stand on: runs whatever was selected. */
    void needed(String name, Test test) {
        if (!attempt(name, test)) {
            failures = FAILURES_MAX;
        }
    }

    void test(String name, Test test) {
        if (selected(name)) {
            attempt(name, test);
        }
    }

    boolean allOk() {
        return failures == 0;
    }

    private boolean selected(String name) {
        for (String part : only) {
            if (name.contains(part)) {
                return true;
            }
        }
        return only.length == 0;
    }

    private boolean attempt(String name, Test test) {
        if (failures >= FAILURES_MAX) {
            System.out.println("not ok " + name + " - not tried after the failures before it");
            return false;
        }
        long started = System.nanoTime();
        try {
            test.run();
            System.out.println("ok " + name);
            return true;
        } catch (Exception | AssertionError error) {
            failures++;
            error.printStackTrace();
            System.out.println("not ok " + name + " - " + reason(error));
            return false;
        } finally {
            System.out.printf("# %s took %.1f s%n", name, (System.nanoTime() - started) / 1e9);
        }
    }

    private static String reason(Throwable error) {
        String text = error instanceof AssertionError ? error.getMessage() : error.toString();
        return String.valueOf(text).replaceAll("\\s+", " ");
    }
}
