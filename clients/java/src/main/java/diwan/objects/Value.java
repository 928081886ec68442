// Made by clients/generate/main.py.
package diwan.objects;

/** Any JSON, with a version. */
@Of("value")
public interface Value extends DiwanObject {
    /** What set gives. */
    record SetResult(long version, Object previous) {}

    /** What swap gives. */
    record SwapResult(long version, Object previous) {}

    /** What compareAndSet gives. */
    record CompareAndSetResult(boolean swapped, long version, Object value) {}

    /** What awaitChange gives. */
    record AwaitChangeResult(boolean changed, Object value, long version) {}

    /** What get gives. */
    record GetResult(Object value, long version) {}

    /** Gives version, previous. */
    @Call(kind = "command", method = "set", args = {"value"})
    SetResult set(Object value);

    /** Gives version, previous. */
    @Call(kind = "command", method = "swap", args = {"value"})
    SwapResult swap(Object value);

    /** Gives swapped, version, value. */
    @Call(kind = "command", method = "compare_and_set", args = {"value", "?expect", "?version"})
    CompareAndSetResult compareAndSet(Object value);

    /** Gives swapped, version, value. */
    @Call(kind = "command", method = "compare_and_set", args = {"value", "?expect", "?version"})
    CompareAndSetResult compareAndSet(Object value, Object expect, Long version);

    /** Gives changed, value, version. */
    @Call(kind = "blocking", method = "await_change", args = {"version"})
    AwaitChangeResult awaitChange(long version);

    /** Gives changed, value, version. */
    @Call(kind = "blocking", method = "await_change", args = {"version"})
    AwaitChangeResult awaitChange(long version, Wait wait);

    /** Gives value, version. */
    @Call(kind = "query", method = "get")
    GetResult get();
}
