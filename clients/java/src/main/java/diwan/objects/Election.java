// Made by clients/generate/main.py.
package diwan.objects;

import java.util.List;

/** An election: one leader at a time, under a term. */
@Of("election")
public interface Election extends DiwanObject {
    /** What campaign gives. */
    record CampaignResult(boolean leader, Long term, Long fence) {}

    /** What observe gives. */
    record ObserveResult(String name, Object data, Long term) {}

    /** What leader gives. */
    record LeaderResult(String name, Object data, Long term) {}

    /** Gives leader, term, fence. */
    @Call(kind = "blocking", method = "campaign", args = {"name", "?data"})
    CampaignResult campaign(String name);

    /** Gives leader, term, fence. */
    @Call(kind = "blocking", method = "campaign", args = {"name", "?data"})
    CampaignResult campaign(String name, Wait wait);

    /** Gives leader, term, fence. */
    @Call(kind = "blocking", method = "campaign", args = {"name", "?data"})
    CampaignResult campaign(String name, Wait wait, Object data);

    /** Gives resigned. */
    @Call(kind = "owned", method = "resign", args = {"fence"}, single = "resigned")
    boolean resign(long fence);

    /** Gives term. */
    @Call(kind = "owned", method = "proclaim", args = {"fence", "data"}, single = "term")
    long proclaim(long fence, Object data);

    /** Gives name, data, term. */
    @Call(kind = "blocking", method = "observe", args = {"?term"})
    ObserveResult observe();

    /** Gives name, data, term. */
    @Call(kind = "blocking", method = "observe", args = {"?term"})
    ObserveResult observe(Wait wait);

    /** Gives name, data, term. */
    @Call(kind = "blocking", method = "observe", args = {"?term"})
    ObserveResult observe(Wait wait, Long term);

    /** Gives name, data, term. */
    @Call(kind = "query", method = "leader")
    LeaderResult leader();

    /** Gives candidates. */
    @Call(kind = "query", method = "candidates", single = "candidates")
    List<String> candidates();

    /** Acquires, and keeps watch: what it gives knows when it is lost. */
    @Call(kind = "blocking", method = "campaign", args = {"name", "?data"}, back = "resign")
    Held lead(String name);

    /** Acquires, and keeps watch: what it gives knows when it is lost. */
    @Call(kind = "blocking", method = "campaign", args = {"name", "?data"}, back = "resign")
    Held lead(String name, Wait wait);

    /** Acquires, and keeps watch: what it gives knows when it is lost. */
    @Call(kind = "blocking", method = "campaign", args = {"name", "?data"}, back = "resign")
    Held lead(String name, Wait wait, Object data);
}
