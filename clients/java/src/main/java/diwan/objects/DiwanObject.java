package diwan.objects;

import java.util.Map;

/** What objects of all types have. */
public interface DiwanObject {
    /** Creates the object, with arguments named as on the wire. Whether it is new. */
    boolean create(Map<String, ?> args);

    /** What is known of the object. */
    Map<String, Object> describe();

    /** Deletes the object. */
    void delete();

    /** Calls any method, with arguments named as on the wire. */
    Map<String, Object> call(String method, Wait wait, Map<String, ?> args);
}
