package diwan.objects;

/** The time to wait has passed, and nothing was acquired. */
public final class NotAcquired extends RuntimeException {
    private static final long serialVersionUID = 1;

    NotAcquired(String what) {
        super(what + " was not acquired in time");
    }
}
