// Made by clients/generate/main.py.
package diwan.objects;

/** A lock. `await` waits for a condition, and returns only with the lock. */
@Of("lock")
public interface Lock extends DiwanObject {
    /** What acquire gives. */
    record AcquireResult(boolean acquired, Long fence, Long holds) {}

    /** What await gives. */
    record AwaitResult(boolean signalled, long fence) {}

    /** What holder gives. */
    record HolderResult(String session, String owner, Long fence, long holds, Long since, long waiting) {}

    /** Gives acquired, fence, holds. */
    @Call(kind = "blocking", method = "acquire", args = {"?owner"})
    AcquireResult acquire();

    /** Gives acquired, fence, holds. */
    @Call(kind = "blocking", method = "acquire", args = {"?owner"})
    AcquireResult acquire(Wait wait);

    /** Gives acquired, fence, holds. */
    @Call(kind = "blocking", method = "acquire", args = {"?owner"})
    AcquireResult acquire(Wait wait, String owner);

    /** Gives holds. */
    @Call(kind = "owned", method = "release", args = {"fence"}, single = "holds")
    long release(long fence);

    /** Gives fence. */
    @Call(kind = "owned", method = "steal", args = {"?reason"}, single = "fence")
    long steal();

    /** Gives fence. */
    @Call(kind = "owned", method = "steal", args = {"?reason"}, single = "fence")
    long steal(String reason);

    /** Gives signalled, fence. */
    @Call(kind = "blocking", method = "await", args = {"condition", "fence"})
    AwaitResult await(String condition, long fence);

    /** Gives signalled, fence. */
    @Call(kind = "blocking", method = "await", args = {"condition", "fence"})
    AwaitResult await(String condition, long fence, Wait wait);

    /** Gives woken. */
    @Call(kind = "owned", method = "signal", args = {"condition", "?n"}, single = "woken")
    long signal(String condition);

    /** Gives woken. */
    @Call(kind = "owned", method = "signal", args = {"condition", "?n"}, single = "woken")
    long signal(String condition, Long n);

    /** Gives woken. */
    @Call(kind = "owned", method = "signal_all", args = {"condition"}, single = "woken")
    long signalAll(String condition);

    /** Gives session, owner, fence, holds, since, waiting. */
    @Call(kind = "query", method = "holder")
    HolderResult holder();

    /** Gives valid. */
    @Call(kind = "query", method = "check", args = {"fence"}, single = "valid")
    boolean check(long fence);

    /** Acquires, and keeps watch: what it gives knows when it is lost. */
    @Call(kind = "blocking", method = "acquire", args = {"?owner"}, back = "release")
    Held hold();

    /** Acquires, and keeps watch: what it gives knows when it is lost. */
    @Call(kind = "blocking", method = "acquire", args = {"?owner"}, back = "release")
    Held hold(Wait wait);

    /** Acquires, and keeps watch: what it gives knows when it is lost. */
    @Call(kind = "blocking", method = "acquire", args = {"?owner"}, back = "release")
    Held hold(Wait wait, String owner);
}
