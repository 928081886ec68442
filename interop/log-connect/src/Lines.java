import harness.Check;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.List;

/** A file that a connector reads, or writes, line by line. */
final class Lines {
    final Path path;

    Lines() throws Exception {
        path = Files.createTempFile("connect", ".txt");
        path.toFile().deleteOnExit();
    }

    void append(List<String> lines) throws Exception {
        Files.write(path, lines, StandardOpenOption.APPEND);
    }

    List<String> all() throws Exception {
        return Files.readAllLines(path);
    }

    /** Waits until these lines are there, in order; without `once` a line may be there several times. */
    void await(List<String> expected, boolean once) throws Exception {
        Check.await(expected.size() + " lines", () -> new HashSet<>(all()).size() >= expected.size());
        List<String> found = all();
        Check.equal(once ? found : found.stream().distinct().toList(), expected);
    }
}
