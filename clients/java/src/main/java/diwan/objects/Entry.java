// Made by clients/generate/main.py.
package diwan.objects;

/** An entry of a map. */
public record Entry(String key, Object value, long version) {}
