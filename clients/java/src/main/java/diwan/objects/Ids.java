// Made by clients/generate/main.py.
package diwan.objects;

/** Numbers, or ULIDs, that are never given twice. */
@Of("ids")
public interface Ids extends DiwanObject {
    /** What next gives. */
    record NextResult(Object first, Object last) {}

    /** Gives first, last. */
    @Call(kind = "command", method = "next", args = {"?n"})
    NextResult next();

    /** Gives first, last. */
    @Call(kind = "command", method = "next", args = {"?n"})
    NextResult next(Long n);

    /** Gives next. */
    @Call(kind = "query", method = "peek", single = "next")
    Object peek();
}
