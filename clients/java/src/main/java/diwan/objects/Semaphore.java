// Made by clients/generate/main.py.
package diwan.objects;

/** Permits, in the order in which they were asked for. */
@Of("semaphore")
public interface Semaphore extends DiwanObject {
    /** What acquire gives. */
    record AcquireResult(boolean acquired, Long fence, Long held) {}

    /** What drain gives. */
    record DrainResult(long taken, Long fence) {}

    /** What resize gives. */
    record ResizeResult(long permits, long available) {}

    /** What available gives. */
    record AvailableResult(long available, long permits, long waiting) {}

    /** Gives acquired, fence, held. */
    @Call(kind = "blocking", method = "acquire", args = {"?n"})
    AcquireResult acquire();

    /** Gives acquired, fence, held. */
    @Call(kind = "blocking", method = "acquire", args = {"?n"})
    AcquireResult acquire(Wait wait);

    /** Gives acquired, fence, held. */
    @Call(kind = "blocking", method = "acquire", args = {"?n"})
    AcquireResult acquire(Wait wait, Long n);

    /** Gives available. */
    @Call(kind = "owned", method = "release", args = {"?n", "?fence"}, single = "available")
    long release();

    /** Gives available. */
    @Call(kind = "owned", method = "release", args = {"?n", "?fence"}, single = "available")
    long release(Long n, Long fence);

    /** Gives taken, fence. */
    @Call(kind = "owned", method = "drain")
    DrainResult drain();

    /** Gives permits, available. */
    @Call(kind = "command", method = "resize", args = {"by"})
    ResizeResult resize(long by);

    /** Gives available, permits, waiting. */
    @Call(kind = "query", method = "available")
    AvailableResult available();

    /** Acquires, and keeps watch: what it gives knows when it is lost. */
    @Call(kind = "blocking", method = "acquire", args = {"?n"}, back = "release")
    Held hold();

    /** Acquires, and keeps watch: what it gives knows when it is lost. */
    @Call(kind = "blocking", method = "acquire", args = {"?n"}, back = "release")
    Held hold(Wait wait);

    /** Acquires, and keeps watch: what it gives knows when it is lost. */
    @Call(kind = "blocking", method = "acquire", args = {"?n"}, back = "release")
    Held hold(Wait wait, Long n);
}
