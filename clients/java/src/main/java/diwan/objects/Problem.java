package diwan.objects;

import java.util.Map;

/** A refusal, or an answer that did not come. */
public final class Problem extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final String slug;
    private final int status;
    private final transient Map<String, Object> told;
    private boolean effectUnknown;
    private String retry;

    Problem(String slug, int status, boolean effectUnknown, String detail, Map<String, Object> told) {
        super(detail == null || detail.isEmpty() ? slug : slug + ": " + detail);
        this.slug = slug;
        this.status = status;
        this.effectUnknown = effectUnknown;
        this.told = told;
        this.retry = (String) told.getOrDefault("retry", "no");
    }

    static Problem of(int status, String body) {
        try {
            Map<String, Object> told = Json.object(body);
            String type = (String) told.get("type");
            if (type.startsWith("urn:diwan:problem:")) {
                boolean unknown = !"none".equals(told.get("effect"));
                return new Problem(type.substring(type.lastIndexOf(':') + 1), status, unknown, (String) told.get("detail"), told);
            }
        } catch (IllegalArgumentException | NullPointerException | ClassCastException foreign) {
            // Not one of ours: a proxy in between, or another server. It says nothing about an effect.
        }
        return new Problem("bad-response", status, true, "status " + status, Map.of());
    }

    static Problem unknown(String why) {
        return new Problem("outcome-unknown", 504, true, why, Map.of("retry", "same-key"));
    }

    static Problem ended(String slug, String why) {
        return new Problem(slug, 0, false, why, Map.of());
    }

    Problem withUnknownEffect() {
        effectUnknown = true;
        retry = "same-key";
        return this;
    }

    Problem withoutEffect() {
        effectUnknown = false;
        retry = "no";
        return this;
    }

    /** Names it: {@code not-owner}. */
    public String slug() {
        return slug;
    }

    /** The status of the response; 0 without one. */
    public int status() {
        return status;
    }

    /** Whether the call may have had an effect: otherwise it had none and never will. */
    public boolean isEffectUnknown() {
        return effectUnknown;
    }

    /** {@code now}, {@code later}, {@code same-key} or {@code no}. */
    public String retry() {
        return retry;
    }

    /** The argument that is wrong, as a JSON pointer, or null. */
    public String pointer() {
        return (String) told.get("pointer");
    }

    Object result() {
        return told.get("result");
    }
}
