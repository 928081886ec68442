package diwan.objects;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;

/** Requests: which member they go to, and again until they are answered. */
final class Exchange {
    static final Duration ATTEMPT = Duration.ofSeconds(5);
    static final Duration HOLD = Duration.ofSeconds(10);
    /** For how long a member that did not serve is not gone to because a response names it. */
    private static final Duration SHUN = Duration.ofSeconds(5);
    // Refusals of members, not of the replicated state: the same request is sent again.
    private static final Set<String> AGAIN = Set.of("no-leader", "outcome-unknown", "rate", "bad-response", "too-slow");

    private final List<String> members;
    private final Duration timeout;
    private final Credentials credentials;
    private final HttpClient http;
    private final String scheme;
    private int current;
    /** When members did not serve, by System.nanoTime. */
    private final Map<String, Long> failures = new HashMap<>();
    private long position;

    record Answer(int status, Map<String, Object> result) {}

    /** What is sent, perhaps more than once: target and fields are asked before each attempt. */
    record Sent(String method, Supplier<String> target, Supplier<Map<String, String>> fields, String body, Duration attempt, Duration patience) {
        static Sent of(String method, String target, Map<String, String> fields, String body) {
            return new Sent(method, () -> target, () -> fields, body, ATTEMPT, null);
        }
    }

    /** Encrypted if there is a context, or an address says so. */
    Exchange(String members, Duration timeout, SSLContext tls, Credentials credentials) {
        boolean isEncrypted = tls != null || Arrays.stream(members.split(",")).anyMatch(member -> member.strip().startsWith("https://"));
        this.scheme = isEncrypted ? "https://" : "http://";
        this.credentials = credentials;
        this.members = Arrays.stream(members.split(",")).map(Exchange::address).toList();
        this.timeout = timeout;
        this.current = ThreadLocalRandom.current().nextInt(this.members.size());
        HttpClient.Builder builder =
                HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofSeconds(2));
        if (tls != null) builder.sslContext(tls);
        this.http = builder.build();
    }

    private static String address(String member) {
        String bare = member.strip().replaceFirst("^https?://", "").replaceFirst("/+$", "");
        return bare.substring(bare.lastIndexOf(']') + 1).contains(":") ? bare : bare + ":7180";
    }

    private synchronized String pick() {
        return members.get(current);
    }

    private synchronized void failed(String member) {
        failures.put(member, System.nanoTime());
        if (member.equals(members.get(current))) current = (current + 1) % members.size();
    }

    /**
     * Takes note of what a response says; whether it names a leader to which we go next. Only to one whose address was given: what
     * a response says must not send a token anywhere else. Nor to one that did not serve a moment ago.
     */
    private synchronized boolean heard(HttpResponse<String> response) {
        response.headers().firstValueAsLong("diwan-position").ifPresent(seen -> position = Math.max(position, seen));
        int leader = response.headers().firstValue("diwan-leader").map(members::indexOf).orElse(-1);
        if (leader < 0) return false;
        Long failed = failures.get(members.get(leader));
        if (failed != null && System.nanoTime() - failed < SHUN.toNanos()) return false;
        current = leader;
        return true;
    }

    synchronized long position() {
        return position;
    }

    /** One attempt at one member, and another one by a token that has replaced the one that was refused. */
    Answer once(String method, String target, Map<String, String> fields, String body, Duration attempt)
            throws IOException, InterruptedException {
        String token = credentials.token();
        try {
            return ask(token, method, target, fields, body, attempt);
        } catch (Problem refused) {
            if (!refused.slug().equals("unauthenticated") || !credentials.replaced(token)) throw refused;
        }
        return ask(credentials.token(), method, target, fields, body, attempt);
    }

    private Answer ask(
            String token, String method, String target, Map<String, String> fields, String body, Duration attempt)
            throws IOException, InterruptedException {
        String member = pick();
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(scheme + member + target)).timeout(attempt);
        fields.forEach(request::header);
        if (token != null) request.header("Authorization", "Bearer " + token);
        if (!body.isEmpty()) request.header("Content-Type", "application/json");
        request.method(method, HttpRequest.BodyPublishers.ofString(body));
        HttpResponse<String> response;
        try {
            response = http.send(request.build(), HttpResponse.BodyHandlers.ofString());
        } catch (IOException broken) {
            failed(member);
            throw broken;
        }
        boolean follows = heard(response);
        if (response.statusCode() < 400) return new Answer(response.statusCode(), Json.object(response.body()));
        Problem refused = Problem.of(response.statusCode(), response.body());
        if (AGAIN.contains(refused.slug()) && !follows) failed(member);
        throw refused;
    }

    /** Sends a request until it is answered. */
    Answer send(Sent sent) throws InterruptedException {
        long patience = (sent.patience() == null ? timeout : sent.patience()).toNanos();
        long end = System.nanoTime() + patience;
        long pause = 10;
        boolean unanswered = false;
        boolean waits = false;
        int unencrypted = 0;
        while (true) {
            Exception last;
            String target = sent.target().get();
            try {
                Answer answer = once(sent.method(), target, sent.fields().get(), sent.body(), sent.attempt());
                if (answer.status() != 202 || target.contains("hold_ms=0")) return answer;
                // It waits: we ask again, and join it.
                end = System.nanoTime() + patience;
                pause = 10;
                unanswered = false;
                waits = true;
                unencrypted = 0;
                continue;
            } catch (Problem refused) {
                if (!AGAIN.contains(refused.slug())) {
                    // A member that lets nobody in does not look whether there was an attempt before: we know.
                    if (Set.of("unauthenticated", "forbidden").contains(refused.slug())) {
                        throw unanswered || waits ? refused.withUnknownEffect() : refused.withoutEffect();
                    }
                    // An attempt before this one may have had the effect whose memory is gone.
                    boolean forgotten = Set.of("request-forgotten", "session-expired").contains(refused.slug());
                    throw unanswered && forgotten ? refused.withUnknownEffect() : refused;
                }
                unanswered |= refused.isEffectUnknown();
                unencrypted = 0;
                last = refused;
            } catch (IOException broken) {
                unencrypted = Tls.isRefused(broken) ? unencrypted + 1 : 0;
                if (unencrypted >= members.size()) {
                    Problem refused = Problem.ended("no-tls", String.valueOf(broken.getMessage()));
                    throw unanswered ? refused.withUnknownEffect() : refused;
                }
                unanswered |= unencrypted == 0;
                last = broken;
            }
            if (System.nanoTime() + pause * 1_000_000 > end) {
                if (unanswered || !(last instanceof Problem refused)) throw Problem.unknown(String.valueOf(last));
                throw refused;
            }
            Thread.sleep((long) (pause * (0.5 + ThreadLocalRandom.current().nextDouble())));
            pause = Math.min(2 * pause, 500);
        }
    }
}
