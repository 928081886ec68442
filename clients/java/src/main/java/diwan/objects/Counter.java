// Made by clients/generate/main.py.
package diwan.objects;

/** A counter of 64 bits, perhaps with bounds. */
@Of("counter")
public interface Counter extends DiwanObject {
    /** What set gives. */
    record SetResult(long value, long previous) {}

    /** What swap gives. */
    record SwapResult(long value, long previous) {}

    /** What compareAndSet gives. */
    record CompareAndSetResult(boolean swapped, long value) {}

    /** What await gives. */
    record AwaitResult(boolean reached, long value) {}

    /** Gives value. */
    @Call(kind = "command", method = "increment", args = {"?by"}, single = "value")
    long increment();

    /** Gives value. */
    @Call(kind = "command", method = "increment", args = {"?by"}, single = "value")
    long increment(Long by);

    /** Gives value. */
    @Call(kind = "command", method = "decrement", args = {"?by"}, single = "value")
    long decrement();

    /** Gives value. */
    @Call(kind = "command", method = "decrement", args = {"?by"}, single = "value")
    long decrement(Long by);

    /** Gives value, previous. */
    @Call(kind = "command", method = "set", args = {"value"})
    SetResult set(long value);

    /** Gives value, previous. */
    @Call(kind = "command", method = "swap", args = {"value"})
    SwapResult swap(long value);

    /** Gives swapped, value. */
    @Call(kind = "command", method = "compare_and_set", args = {"expect", "value"})
    CompareAndSetResult compareAndSet(long expect, long value);

    /** Gives reached, value. */
    @Call(kind = "blocking", method = "await", args = {"?at_least", "?at_most", "?equals"})
    AwaitResult await();

    /** Gives reached, value. */
    @Call(kind = "blocking", method = "await", args = {"?at_least", "?at_most", "?equals"})
    AwaitResult await(Wait wait);

    /** Gives reached, value. */
    @Call(kind = "blocking", method = "await", args = {"?at_least", "?at_most", "?equals"})
    AwaitResult await(Wait wait, Long atLeast, Long atMost, Long equals);

    /** Gives value. */
    @Call(kind = "query", method = "get", single = "value")
    long get();
}
