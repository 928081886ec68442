// Made by clients/generate/main.py.
package diwan.objects;

import java.util.List;

/** A queue. With a lease an item comes back unless it is acknowledged. */
@Of("queue")
public interface Queue extends DiwanObject {
    /** What list gives. */
    record ListResult(List<Item> items, Long next) {}

    /** What size gives. */
    record SizeResult(long size, long ready, long delayed, long leased, long dead) {}

    /** Gives id. */
    @Call(kind = "blocking", method = "put", args = {"item", "?priority", "?delay_ms"}, single = "id")
    Long put(Object item);

    /** Gives id. */
    @Call(kind = "blocking", method = "put", args = {"item", "?priority", "?delay_ms"}, single = "id")
    Long put(Object item, Wait wait);

    /** Gives id. */
    @Call(kind = "blocking", method = "put", args = {"item", "?priority", "?delay_ms"}, single = "id")
    Long put(Object item, Wait wait, Long priority, Long delayMs);

    /** Gives items. */
    @Call(kind = "blocking", method = "take", args = {"?n", "?lease_ms"}, single = "items")
    List<Item> take();

    /** Gives items. */
    @Call(kind = "blocking", method = "take", args = {"?n", "?lease_ms"}, single = "items")
    List<Item> take(Wait wait);

    /** Gives items. */
    @Call(kind = "blocking", method = "take", args = {"?n", "?lease_ms"}, single = "items")
    List<Item> take(Wait wait, Long n, Long leaseMs);

    /** Gives acked. */
    @Call(kind = "owned", method = "ack", args = {"ids"}, single = "acked")
    long ack(List<Long> ids);

    /** Gives nacked. */
    @Call(kind = "owned", method = "nack", args = {"ids", "?delay_ms"}, single = "nacked")
    long nack(List<Long> ids);

    /** Gives nacked. */
    @Call(kind = "owned", method = "nack", args = {"ids", "?delay_ms"}, single = "nacked")
    long nack(List<Long> ids, Long delayMs);

    /** Gives extended. */
    @Call(kind = "owned", method = "extend", args = {"ids"}, single = "extended")
    long extend(List<Long> ids);

    /** Gives replaced. */
    @Call(kind = "command", method = "replace", args = {"id", "item"}, single = "replaced")
    boolean replace(long id, Object item);

    /** Gives removed. */
    @Call(kind = "command", method = "remove", args = {"id"}, single = "removed")
    boolean remove(long id);

    /** Gives items. */
    @Call(kind = "query", method = "peek", args = {"?n"}, single = "items")
    List<Item> peek();

    /** Gives items. */
    @Call(kind = "query", method = "peek", args = {"?n"}, single = "items")
    List<Item> peek(Long n);

    /** Gives items, next. */
    @Call(kind = "query", method = "list", args = {"?after", "?limit"})
    ListResult list();

    /** Gives items, next. */
    @Call(kind = "query", method = "list", args = {"?after", "?limit"})
    ListResult list(Long after, Long limit);

    /** Gives size, ready, delayed, leased, dead. */
    @Call(kind = "query", method = "size")
    SizeResult size();

    /** Gives items. */
    @Call(kind = "query", method = "dead", args = {"?limit"}, single = "items")
    List<Item> dead();

    /** Gives items. */
    @Call(kind = "query", method = "dead", args = {"?limit"}, single = "items")
    List<Item> dead(Long limit);
}
