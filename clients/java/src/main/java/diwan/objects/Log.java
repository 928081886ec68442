// Made by clients/generate/main.py.
package diwan.objects;

import java.util.List;

/** Entries under rising indexes. */
@Of("log")
public interface Log extends DiwanObject {
    /** What trim gives. */
    record TrimResult(long trimmed, long first) {}

    /** What read gives. */
    record ReadResult(List<Object> entries, long first, long next) {}

    /** Gives index. */
    @Call(kind = "command", method = "append", args = {"entry"}, single = "index")
    long append(Object entry);

    /** Gives trimmed, first. */
    @Call(kind = "command", method = "trim", args = {"before"})
    TrimResult trim(long before);

    /** Gives entries, first, next. */
    @Call(kind = "either", method = "read", args = {"?from", "?limit"})
    ReadResult read();

    /** Gives entries, first, next. */
    @Call(kind = "either", method = "read", args = {"?from", "?limit"})
    ReadResult read(Wait wait);

    /** Gives entries, first, next. */
    @Call(kind = "either", method = "read", args = {"?from", "?limit"})
    ReadResult read(Wait wait, Long from, Long limit);
}
