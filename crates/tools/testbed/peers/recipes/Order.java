import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A task, in one line of JSON; crates/tools/lab/src/task/mod.rs says what each part means. */
record Order(List<String> endpoints, String kind, int clients, long warmUpMs, long measuredMs, long patienceMs) {
    static Order of(String line) {
        String endpoints = found(line, "\"endpoints\":\\[([^\\]]*)\\]").replace("\"", "");
        return new Order(
                List.of(endpoints.split(",")),
                found(line, "\"kind\":\"([a-z_]+)\""),
                (int) number(line, "clients"),
                number(line, "warm_up_ms"),
                number(line, "measured_ms"),
                number(line, "patience_ms"));
    }

    /** Clients are spread over the servers. */
    String endpoint(int client) {
        return endpoints.get(client % endpoints.size());
    }

    private static long number(String line, String name) {
        return Long.parseLong(found(line, "\"" + name + "\":([0-9]+)"));
    }

    private static String found(String line, String pattern) {
        Matcher matcher = Pattern.compile(pattern).matcher(line);
        if (!matcher.find()) {
            throw new IllegalArgumentException("the task has no " + pattern);
        }
        return matcher.group(1);
    }
}
