// Made by clients/generate/main.py.
package diwan.objects;

import java.util.List;

/** A name and its records. */
public record NameRecords(String name, List<Object> records) {}
