// Made by clients/generate/main.py.
package diwan.objects;

/** A barrier, or a double one, which has `enter` and `leave` in place of `await`. */
@Of("barrier")
public interface Barrier extends DiwanObject {
    /** What await gives. */
    record AwaitResult(Long index, Long generation) {}

    /** What enter gives. */
    record EnterResult(Long index, Long generation) {}

    /** What state gives. */
    record StateResult(long parties, long waiting, long inside, long leaving, long generation, boolean broken) {}

    /** Gives index, generation. */
    @Call(kind = "blocking", method = "await")
    AwaitResult await();

    /** Gives index, generation. */
    @Call(kind = "blocking", method = "await")
    AwaitResult await(Wait wait);

    /** Gives index, generation. */
    @Call(kind = "blocking", method = "enter")
    EnterResult enter();

    /** Gives index, generation. */
    @Call(kind = "blocking", method = "enter")
    EnterResult enter(Wait wait);

    /** Gives left. */
    @Call(kind = "blocking", method = "leave", single = "left")
    boolean leave();

    /** Gives left. */
    @Call(kind = "blocking", method = "leave", single = "left")
    boolean leave(Wait wait);

    /** Gives parties. */
    @Call(kind = "command", method = "reset", single = "parties")
    long reset();

    /** Gives parties, waiting, inside, leaving, generation, broken. */
    @Call(kind = "query", method = "state")
    StateResult state();
}
