package diwan.objects;

import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Which requests of a session have been answered: all up to a floor, and ranges above it, as the server is told of them. */
final class Acknowledged {
    private long floor;
    // The last number of each range by its first, apart. There are no more of them than requests without an answer.
    private final TreeMap<Long, Long> above = new TreeMap<>();

    /** That request is answered. */
    void add(long number) {
        Map.Entry<Long, Long> before = above.floorEntry(number);
        if (number <= floor || (before != null && before.getValue() >= number)) return;
        long first = before != null && before.getValue() == number - 1 ? before.getKey() : number;
        Long behind = above.remove(number + 1);
        above.put(first, behind == null ? number : behind);
        if (above.firstKey() == floor + 1) floor = above.pollFirstEntry().getValue();
    }

    /** How many of the requests up to that one are not answered. */
    long unanswered(long last) {
        return last - floor - above.entrySet().stream().mapToLong(range -> range.getValue() - range.getKey() + 1).sum();
    }

    @Override
    public String toString() {
        Stream<String> ranges = above.entrySet().stream()
                .map(range -> range.getKey().equals(range.getValue()) ? "" + range.getKey() : range.getKey() + "-" + range.getValue());
        return Stream.concat(Stream.of("" + floor), ranges).collect(Collectors.joining(", "));
    }
}
