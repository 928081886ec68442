package harness;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Runs the tests (public static methods that take a Test) of some classes and reports them. */
public final class Runner {
    private static final long TEST_SECONDS_MAX = 45;
    private static final int TESTS_AT_ONCE = 6;
    private static final int ATTEMPTS_MAX = 5;
    private static final ExecutorService BODIES = Executors.newCachedThreadPool(body -> {
        Thread thread = new Thread(body);
        thread.setDaemon(true);
        return thread;
    });

    private Runner() {
    }

    /**
     * Most of a test is waiting, so those of `together` run some at a time; those of `alone`, which
     * take the server down, follow one by one. Exits the process.
     */
    public static void run(String suite, List<Class<?>> together, List<Class<?>> alone, String[] only) throws Exception {
        boolean passed = all(suite, together, only, TESTS_AT_ONCE);
        passed &= all(suite, alone, only, 1);
        System.exit(passed ? 0 : 1);
    }

    private static boolean all(String suite, List<Class<?>> classes, String[] only, int atOnce) throws Exception {
        ExecutorService executor = Executors.newFixedThreadPool(atOnce);
        List<Future<Boolean>> reports = new ArrayList<>();
        for (Class<?> type : classes) {
            Method[] methods = type.getDeclaredMethods();
            Arrays.sort(methods, Comparator.comparing(Method::getName));
            for (Method method : methods) {
                String name = type.getSimpleName() + "." + method.getName();
                if (isTest(method) && (only.length == 0 || Arrays.stream(only).anyMatch(name::contains))) {
                    reports.add(executor.submit(() -> report(suite, name, method)));
                }
            }
        }
        executor.shutdown();
        boolean passed = true;
        for (Future<Boolean> report : reports) {
            passed &= report.get();
        }
        return passed;
    }

    private static boolean isTest(Method method) {
        return Modifier.isPublic(method.getModifiers()) && Modifier.isStatic(method.getModifiers())
            && Arrays.equals(method.getParameterTypes(), new Class<?>[] {Test.class});
    }

    private static boolean report(String suite, String name, Method method) {
        long started = System.nanoTime();
        Throwable error = attempts(suite, name, method);
        if (error == null) {
            System.out.println("ok " + name);
        } else if (error instanceof Skip) {
            System.out.println("skip " + name + " - " + error.getMessage());
        } else {
            error.printStackTrace();
            raiseServer();
            System.out.println("not ok " + name + " - " + reason(error));
        }
        long tookMs = (System.nanoTime() - started) / 1_000_000;
        if (tookMs > 4_000) {
            System.out.println("# " + name + " took " + tookMs + " ms");
        }
        return error == null || error instanceof Skip;
    }

    private static String reason(Throwable error) {
        String reason = error instanceof AssertionError ? error.getMessage() : error.toString();
        return String.join(" ", String.valueOf(reason).split("\\s+"));
    }

    /**
     * A test that fails while a member dies is played again, at a path of its own: it is about something else. What must
     * hold through deaths is told in the classes `Deaths`, which are played once.
     */
    private static Throwable attempts(String suite, String name, Method method) {
        for (int number = 0; ; number++) {
            long before = Server.deaths();
            Throwable error = attempt(suite, number == 0 ? name : name + ".again" + number, method);
            boolean last = number + 1 == ATTEMPTS_MAX || !Server.dies() || name.startsWith("Deaths.");
            if (error == null || error instanceof Skip || last) {
                return error;
            }
            // Returns when a death that is under way is over, and counted.
            raiseServer();
            if (Server.deaths() == before) {
                return error;
            }
            System.out.println("# " + name + " met a death: " + reason(error));
        }
    }

    /** A test that failed may have left the server down, which is not the next one's fault. */
    private static void raiseServer() {
        for (String verb : List.of("resume", "start")) {
            try {
                Server.control(verb);
            } catch (Exception | AssertionError error) {
                System.err.println(verb + ": " + error.getMessage());
            }
        }
    }

    private static Throwable attempt(String suite, String name, Method method) {
        Future<?> body = BODIES.submit(() -> {
            try (Test test = new Test(suite, name)) {
                method.invoke(null, test);
            }
            return null;
        });
        try {
            body.get(TEST_SECONDS_MAX, TimeUnit.SECONDS);
            return null;
        } catch (ExecutionException error) {
            return error.getCause() instanceof InvocationTargetException inner ? inner.getCause() : error.getCause();
        } catch (TimeoutException | InterruptedException error) {
            body.cancel(true);
            return new AssertionError("not done after " + TEST_SECONDS_MAX + " s");
        }
    }
}
