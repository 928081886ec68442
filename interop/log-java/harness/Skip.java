package harness;

/** The test does not apply here; the message says why. */
public final class Skip extends RuntimeException {
    private static final long serialVersionUID = 1;

    public Skip(String reason) {
        super(reason);
    }
}
