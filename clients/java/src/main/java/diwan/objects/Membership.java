// Made by clients/generate/main.py.
package diwan.objects;

import java.util.List;

/** Who is there. Members leave with their session. */
@Of("membership")
public interface Membership extends DiwanObject {
    /** What join gives. */
    record JoinResult(long epoch, List<Member> members) {}

    /** What report gives. */
    record ReportResult(long reports, boolean removed, long epoch) {}

    /** What awaitChange gives. */
    record AwaitChangeResult(boolean changed, long epoch, List<Member> members) {}

    /** What awaitSize gives. */
    record AwaitSizeResult(boolean reached, long epoch, List<Member> members) {}

    /** What members gives. */
    record MembersResult(boolean enough, long epoch, List<Member> members) {}

    /** Gives epoch, members. */
    @Call(kind = "owned", method = "join", args = {"name", "?data"})
    JoinResult join(String name);

    /** Gives epoch, members. */
    @Call(kind = "owned", method = "join", args = {"name", "?data"})
    JoinResult join(String name, Object data);

    /** Gives epoch. */
    @Call(kind = "owned", method = "leave", args = {"name"}, single = "epoch")
    long leave(String name);

    /** Gives epoch. */
    @Call(kind = "owned", method = "update", args = {"name", "data"}, single = "epoch")
    long update(String name, Object data);

    /** Gives reports, removed, epoch. */
    @Call(kind = "owned", method = "report", args = {"epoch", "name"})
    ReportResult report(long epoch, String name);

    /** Gives changed, epoch, members. */
    @Call(kind = "blocking", method = "await_change", args = {"epoch"})
    AwaitChangeResult awaitChange(long epoch);

    /** Gives changed, epoch, members. */
    @Call(kind = "blocking", method = "await_change", args = {"epoch"})
    AwaitChangeResult awaitChange(long epoch, Wait wait);

    /** Gives reached, epoch, members. */
    @Call(kind = "blocking", method = "await_size", args = {"?n"})
    AwaitSizeResult awaitSize();

    /** Gives reached, epoch, members. */
    @Call(kind = "blocking", method = "await_size", args = {"?n"})
    AwaitSizeResult awaitSize(Wait wait);

    /** Gives reached, epoch, members. */
    @Call(kind = "blocking", method = "await_size", args = {"?n"})
    AwaitSizeResult awaitSize(Wait wait, Long n);

    /** Gives enough, epoch, members. */
    @Call(kind = "query", method = "members")
    MembersResult members();
}
