// Made by clients/generate/main.py.
package diwan.objects;

import java.util.List;

/** A stack. */
@Of("stack")
public interface Stack extends DiwanObject {
    /** Gives size. */
    @Call(kind = "blocking", method = "push", args = {"item"}, single = "size")
    Long push(Object item);

    /** Gives size. */
    @Call(kind = "blocking", method = "push", args = {"item"}, single = "size")
    Long push(Object item, Wait wait);

    /** Gives items. */
    @Call(kind = "blocking", method = "pop", args = {"?n"}, single = "items")
    List<Object> pop();

    /** Gives items. */
    @Call(kind = "blocking", method = "pop", args = {"?n"}, single = "items")
    List<Object> pop(Wait wait);

    /** Gives items. */
    @Call(kind = "blocking", method = "pop", args = {"?n"}, single = "items")
    List<Object> pop(Wait wait, Long n);

    /** Gives items. */
    @Call(kind = "query", method = "peek", single = "items")
    List<Object> peek();

    /** Gives items. */
    @Call(kind = "query", method = "items", args = {"?limit"}, single = "items")
    List<Object> items();

    /** Gives items. */
    @Call(kind = "query", method = "items", args = {"?limit"}, single = "items")
    List<Object> items(Long limit);

    /** Gives size. */
    @Call(kind = "query", method = "size", single = "size")
    long size();
}
