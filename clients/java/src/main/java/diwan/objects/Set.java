// Made by clients/generate/main.py.
package diwan.objects;

import java.util.List;

/** A set of any JSON. */
@Of("set")
public interface Set extends DiwanObject {
    /** What members gives. */
    record MembersResult(List<Object> items, Object next) {}

    /** Gives added. */
    @Call(kind = "command", method = "add", args = {"items"}, single = "added")
    long add(List<Object> items);

    /** Gives removed. */
    @Call(kind = "command", method = "remove", args = {"items"}, single = "removed")
    long remove(List<Object> items);

    /** Gives items. */
    @Call(kind = "command", method = "pop", args = {"?n"}, single = "items")
    List<Object> pop();

    /** Gives items. */
    @Call(kind = "command", method = "pop", args = {"?n"}, single = "items")
    List<Object> pop(Long n);

    /** Gives contains. */
    @Call(kind = "query", method = "contains", args = {"item"}, single = "contains")
    boolean contains(Object item);

    /** Gives size. */
    @Call(kind = "query", method = "size", single = "size")
    long size();

    /** Gives items, next. */
    @Call(kind = "query", method = "members", args = {"?after", "?limit"})
    MembersResult members();

    /** Gives items, next. */
    @Call(kind = "query", method = "members", args = {"?after", "?limit"})
    MembersResult members(Object after, Long limit);
}
