// Made by clients/generate/main.py.
package diwan.objects;

/** A lock for one writer or many readers, in the order in which they came. */
@Of("rwlock")
public interface RwLock extends DiwanObject {
    /** What read gives. */
    record ReadResult(boolean acquired, Long fence) {}

    /** What write gives. */
    record WriteResult(boolean acquired, Long fence) {}

    /** What state gives. */
    record StateResult(long readers, String writer, Long fence, long waiting) {}

    /** Gives acquired, fence. */
    @Call(kind = "blocking", method = "read")
    ReadResult read();

    /** Gives acquired, fence. */
    @Call(kind = "blocking", method = "read")
    ReadResult read(Wait wait);

    /** Gives acquired, fence. */
    @Call(kind = "blocking", method = "write")
    WriteResult write();

    /** Gives acquired, fence. */
    @Call(kind = "blocking", method = "write")
    WriteResult write(Wait wait);

    /** Gives fence. */
    @Call(kind = "owned", method = "downgrade", args = {"fence"}, single = "fence")
    long downgrade(long fence);

    /** Gives holds. */
    @Call(kind = "owned", method = "release", args = {"fence"}, single = "holds")
    long release(long fence);

    /** Gives readers, writer, fence, waiting. */
    @Call(kind = "query", method = "state")
    StateResult state();

    /** Acquires, and keeps watch: what it gives knows when it is lost. */
    @Call(kind = "blocking", method = "read", back = "release")
    Held holdRead();

    /** Acquires, and keeps watch: what it gives knows when it is lost. */
    @Call(kind = "blocking", method = "read", back = "release")
    Held holdRead(Wait wait);

    /** Acquires, and keeps watch: what it gives knows when it is lost. */
    @Call(kind = "blocking", method = "write", back = "release")
    Held holdWrite();

    /** Acquires, and keeps watch: what it gives knows when it is lost. */
    @Call(kind = "blocking", method = "write", back = "release")
    Held holdWrite(Wait wait);
}
