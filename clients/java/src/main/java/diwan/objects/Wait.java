package diwan.objects;

import java.time.Duration;

/** How long a call may wait. The interruption of its thread ends it in any case. */
public record Wait(Duration limit) {
    /** As long as the session lives, at most an hour. */
    public static final Wait FOREVER = new Wait(null);
    /** Not at all. */
    public static final Wait TRY = new Wait(Duration.ZERO);

    /** So long. */
    public static Wait of(Duration limit) {
        return new Wait(limit);
    }
}
