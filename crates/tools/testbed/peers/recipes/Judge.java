import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Holds what clients saw against what must hold, and keeps what went against it. */
final class Judge {
    private static final int TOLD_MAX = 5;

    private final List<String> wrong = new ArrayList<>();
    private final AtomicInteger holders = new AtomicInteger();
    private final AtomicLong came = new AtomicLong();
    private final AtomicLong gone = new AtomicLong();
    private final AtomicLong increments = new AtomicLong();
    private final AtomicLong values = new AtomicLong();
    /** Only a holder touches it: a lock that lets two in loses some of these. */
    private long grants;
    private final AtomicLong counted = new AtomicLong();
    private long fence;

    synchronized void tell(String what) {
        if (wrong.size() < TOLD_MAX) {
            wrong.add(what);
        }
    }

    synchronized List<String> wrong() {
        return List.copyOf(wrong);
    }

    void acquired(long fence) {
        if (holders.incrementAndGet() != 1) {
            tell("two clients held the lock at once");
        }
        if (fence != 0 && fence <= this.fence) {
            tell("fence " + fence + " was granted behind " + this.fence);
        }
        this.fence = fence;
        grants++;
        counted.incrementAndGet();
    }

    void releases() {
        holders.decrementAndGet();
    }

    /** How often the lock was granted. */
    long grants() {
        if (grants != counted.get()) {
            tell(counted + " grants, of which a plain counter under the lock has " + grants);
        }
        return counted.get();
    }

    void comes() {
        came.incrementAndGet();
    }

    void entered(int round, int parties) {
        check("entered", came.get(), round, parties, 0);
    }

    void goes() {
        gone.incrementAndGet();
    }

    void left(int round, int parties, int stragglers) {
        check("left", gone.get(), round, parties, stragglers);
    }

    private void check(String what, long there, int round, int parties, int stragglers) {
        long whole = (round + 1L) * parties;
        if (there < whole - stragglers) {
            tell("round " + round + " was " + what + " when " + there + " of " + whole + " clients had come to that");
        }
    }

    void incremented(long before, long value) {
        if (value <= before) {
            tell("a client's increment gave " + value + " behind " + before);
        }
        increments.incrementAndGet();
        values.addAndGet(value);
    }

    /** How many increments there were; each must have given a value of its own. */
    long increments(long found) {
        long count = increments.get();
        if (found != count) {
            tell("the counter is at " + found + " after " + count + " increments");
        }
        if (values.get() != count * (count + 1) / 2) {
            tell(count + " increments did not give a value each");
        }
        return count;
    }
}
