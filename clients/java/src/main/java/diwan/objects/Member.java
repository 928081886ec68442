// Made by clients/generate/main.py.
package diwan.objects;

/** A member of a membership. */
public record Member(String name, Object data, String session, long since) {}
