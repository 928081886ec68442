// Made by clients/generate/main.py.
package diwan.objects;

/** An item of a queue. */
public record Item(long id, Object item, long attempt) {}
