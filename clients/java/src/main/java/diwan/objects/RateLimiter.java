// Made by clients/generate/main.py.
package diwan.objects;

/** A token bucket for each key. */
@Of("ratelimiter")
public interface RateLimiter extends DiwanObject {
    /** What acquire gives. */
    record AcquireResult(boolean granted, long remaining, long retryAfterMs) {}

    /** What configure gives. */
    record ConfigureResult(long perSecond, long burst) {}

    /** What peek gives. */
    record PeekResult(long remaining, long perSecond, long burst, long waiting) {}

    /** Gives granted, remaining, retryAfterMs. */
    @Call(kind = "blocking", method = "acquire", args = {"?n", "?key"})
    AcquireResult acquire();

    /** Gives granted, remaining, retryAfterMs. */
    @Call(kind = "blocking", method = "acquire", args = {"?n", "?key"})
    AcquireResult acquire(Wait wait);

    /** Gives granted, remaining, retryAfterMs. */
    @Call(kind = "blocking", method = "acquire", args = {"?n", "?key"})
    AcquireResult acquire(Wait wait, Long n, String key);

    /** Gives perSecond, burst. */
    @Call(kind = "command", method = "configure", args = {"?per_second", "?burst"})
    ConfigureResult configure();

    /** Gives perSecond, burst. */
    @Call(kind = "command", method = "configure", args = {"?per_second", "?burst"})
    ConfigureResult configure(Long perSecond, Long burst);

    /** Gives remaining, perSecond, burst, waiting. */
    @Call(kind = "query", method = "peek", args = {"?key"})
    PeekResult peek();

    /** Gives remaining, perSecond, burst, waiting. */
    @Call(kind = "query", method = "peek", args = {"?key"})
    PeekResult peek(String key);
}
