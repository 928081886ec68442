// Made by clients/generate/main.py.
package diwan.objects;

/** A latch: it opens when its count is 0. */
@Of("latch")
public interface Latch extends DiwanObject {
    /** Gives count. */
    @Call(kind = "command", method = "count_down", args = {"?n"}, single = "count")
    long countDown();

    /** Gives count. */
    @Call(kind = "command", method = "count_down", args = {"?n"}, single = "count")
    long countDown(Long n);

    /** Gives open. */
    @Call(kind = "blocking", method = "await", single = "open")
    boolean await();

    /** Gives open. */
    @Call(kind = "blocking", method = "await", single = "open")
    boolean await(Wait wait);

    /** Gives count. */
    @Call(kind = "command", method = "reset", args = {"?count"}, single = "count")
    long reset();

    /** Gives count. */
    @Call(kind = "command", method = "reset", args = {"?count"}, single = "count")
    long reset(Long count);

    /** Gives count. */
    @Call(kind = "query", method = "count", single = "count")
    long count();
}
