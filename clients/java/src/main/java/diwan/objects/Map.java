// Made by clients/generate/main.py.
package diwan.objects;

import java.util.List;

/** A map, ordered by its keys. */
@Of("map")
public interface Map extends DiwanObject {
    /** What put gives. */
    record PutResult(boolean stored, long version, Object previous) {}

    /** What remove gives. */
    record RemoveResult(boolean removed, long version, Object previous) {}

    /** What add gives. */
    record AddResult(long value, long version) {}

    /** What putAll gives. */
    record PutAllResult(long stored, long version) {}

    /** What awaitChange gives. */
    record AwaitChangeResult(boolean changed, Object value, long version) {}

    /** What get gives. */
    record GetResult(Object value, long version) {}

    /** What size gives. */
    record SizeResult(long size, long bytes) {}

    /** What range gives. */
    record RangeResult(List<Entry> entries, String next) {}

    /** Gives stored, version, previous. */
    @Call(kind = "command", method = "put", args = {"key", "value", "?ttl_ms", "?if_version", "?if_absent"})
    PutResult put(String key, Object value);

    /** Gives stored, version, previous. */
    @Call(kind = "command", method = "put", args = {"key", "value", "?ttl_ms", "?if_version", "?if_absent"})
    PutResult put(String key, Object value, Long ttlMs, Long ifVersion, Boolean ifAbsent);

    /** Gives removed, version, previous. */
    @Call(kind = "command", method = "remove", args = {"key", "?if_version"})
    RemoveResult remove(String key);

    /** Gives removed, version, previous. */
    @Call(kind = "command", method = "remove", args = {"key", "?if_version"})
    RemoveResult remove(String key, Long ifVersion);

    /** Gives value, version. */
    @Call(kind = "command", method = "add", args = {"key", "?by"})
    AddResult add(String key);

    /** Gives value, version. */
    @Call(kind = "command", method = "add", args = {"key", "?by"})
    AddResult add(String key, Long by);

    /** Gives stored, version. */
    @Call(kind = "command", method = "put_all", args = {"entries"})
    PutAllResult putAll(java.util.Map<String, ?> entries);

    /** Gives removed. */
    @Call(kind = "command", method = "clear", single = "removed")
    long clear();

    /** Gives changed, value, version. */
    @Call(kind = "blocking", method = "await_change", args = {"key", "version"})
    AwaitChangeResult awaitChange(String key, long version);

    /** Gives changed, value, version. */
    @Call(kind = "blocking", method = "await_change", args = {"key", "version"})
    AwaitChangeResult awaitChange(String key, long version, Wait wait);

    /** Gives value, version. */
    @Call(kind = "query", method = "get", args = {"key"})
    GetResult get(String key);

    /** Gives entries. */
    @Call(kind = "query", method = "get_all", args = {"keys"}, single = "entries")
    List<Entry> getAll(List<String> keys);

    /** Gives contains. */
    @Call(kind = "query", method = "contains", args = {"key"}, single = "contains")
    boolean contains(String key);

    /** Gives size, bytes. */
    @Call(kind = "query", method = "size")
    SizeResult size();

    /** Gives entry. */
    @Call(kind = "query", method = "first", single = "entry")
    Entry first();

    /** Gives entry. */
    @Call(kind = "query", method = "last", single = "entry")
    Entry last();

    /** Gives entry. */
    @Call(kind = "query", method = "floor", args = {"key"}, single = "entry")
    Entry floor(String key);

    /** Gives entry. */
    @Call(kind = "query", method = "ceiling", args = {"key"}, single = "entry")
    Entry ceiling(String key);

    /** Gives entries, next. */
    @Call(kind = "query", method = "range", args = {"?from", "?to", "?limit"})
    RangeResult range();

    /** Gives entries, next. */
    @Call(kind = "query", method = "range", args = {"?from", "?to", "?limit"})
    RangeResult range(String from, String to, Long limit);
}
