// Made by clients/generate/main.py.
package diwan.objects;

import java.util.List;

/** Records of names. */
@Of("names")
public interface Names extends DiwanObject {
    /** What set gives. */
    record SetResult(long records, boolean changed) {}

    /** What add gives. */
    record AddResult(long records, boolean changed) {}

    /** What remove gives. */
    record RemoveResult(long records, boolean changed) {}

    /** What list gives. */
    record ListResult(List<Object> records, List<NameRecords> names, String next) {}

    /** Gives records, changed. */
    @Call(kind = "command", method = "set", args = {"name", "record"})
    SetResult set(String name, Object record);

    /** Gives records, changed. */
    @Call(kind = "command", method = "add", args = {"name", "record"})
    AddResult add(String name, Object record);

    /** Gives records, changed. */
    @Call(kind = "command", method = "remove", args = {"name", "?record"})
    RemoveResult remove(String name);

    /** Gives records, changed. */
    @Call(kind = "command", method = "remove", args = {"name", "?record"})
    RemoveResult remove(String name, Object record);

    /** Gives records, names, next. */
    @Call(kind = "query", method = "list", args = {"?name", "?after", "?limit"})
    ListResult list();

    /** Gives records, names, next. */
    @Call(kind = "query", method = "list", args = {"?name", "?after", "?limit"})
    ListResult list(String name, String after, Long limit);
}
