package suite;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Stream;

/** Runs the tests whose names contain one of the words. */
final class Main {
    private Main() {}

    public static void main(String[] words) throws Exception {
        if (words.length == 2 && words[0].equals("hold")) {
            Waits.hold(words[1]);
            return;
        }
        if (words.length == 2 && words[0].equals("count")) {
            Tokens.count(words[1]);
            return;
        }
        Map<String, Harness.Test> tests = new LinkedHashMap<>();
        Methods.add(tests);
        Encryption.add(tests);
        Leader.add(tests);
        Tokens.add(tests);
        Waits.add(tests);
        boolean failed = false;
        for (Map.Entry<String, Harness.Test> test : tests.entrySet()) {
            if (words.length > 0 && Stream.of(words).noneMatch(test.getKey()::contains)) continue;
            failed |= !Harness.play(test.getKey(), test.getValue());
        }
        System.exit(failed ? 1 : 0);
    }
}
