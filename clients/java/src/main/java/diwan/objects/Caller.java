package diwan.objects;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** Carries out the methods of an interface: calls of one object. */
final class Caller implements InvocationHandler {
    private final Cluster cluster;
    private final String type;
    private final String name;
    private final boolean stale;

    Caller(Cluster cluster, String type, String name, boolean stale) {
        this.cluster = cluster;
        this.type = type;
        this.name = name;
        this.stale = stale;
    }

    /** A result, and the session that it was got in. */
    private record Got(Map<String, Object> result, Session session) {}

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }

    private String path() {
        return "/v1/objects/" + type + "/" + encoded(name);
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] given) throws Throwable {
        Call call = method.getAnnotation(Call.class);
        try {
            if (call == null) return common(proxy, method, given);
            Wait wait = null;
            Map<String, Object> args = new LinkedHashMap<>();
            int at = 0;
            for (Object value : given == null ? new Object[0] : given) {
                if (value instanceof Wait limit) wait = limit;
                else {
                    String argument = call.args()[at++];
                    if (value != null || !argument.startsWith("?")) args.put(argument.replace("?", ""), value);
                }
            }
            if (type.equals("lock") && call.method().equals("acquire")) {
                args.putIfAbsent("owner", "t" + Thread.currentThread().getId());
            }
            if (!call.back().isEmpty()) return hold(call, args, wait);
            Map<String, Object> result = send(call.kind(), call.method(), args, wait).result();
            Type wanted = method.getGenericReturnType();
            return call.single().isEmpty() ? converted(result, wanted) : converted(result.get(call.single()), wanted);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw Problem.ended("interrupted", "the thread was interrupted").withUnknownEffect();
        }
    }

    @SuppressWarnings("unchecked")
    private Object common(Object proxy, Method method, Object[] given) throws InterruptedException {
        return switch (method.getName()) {
            case "create" -> cluster.keyed("PUT", path(), Json.write(given[0])).result().get("created");
            case "describe" -> cluster.exchange.send(Exchange.Sent.of("GET", path(), Map.of(), "")).result();
            case "delete" -> {
                cluster.keyed("DELETE", path(), "");
                yield null;
            }
            case "call" -> send("blocking", (String) given[0], (Map<String, Object>) given[2], (Wait) given[1]).result();
            case "toString" -> type + "/" + name;
            case "hashCode" -> System.identityHashCode(proxy);
            case "equals" -> proxy == given[0];
            default -> throw new IllegalStateException(method.toString());
        };
    }

    /** Acquires, and keeps watch. Waits again when the longest wait of the server has passed. */
    private Held hold(Call call, Map<String, Object> args, Wait wait) throws InterruptedException {
        while (true) {
            Got got = send("blocking", call.method(), args, wait);
            if (Boolean.TRUE.equals(got.result().get("acquired")) || Boolean.TRUE.equals(got.result().get("leader"))) {
                Long fence = (Long) got.result().get("fence");
                return new Held(got.session(), type, name, fence, () -> giveBack(call.back(), fence, args.get("n")));
            }
            if (wait != null && wait.limit() != null) throw new NotAcquired(type + " " + name);
        }
    }

    private void giveBack(String method, Object fence, Object n) {
        Map<String, Object> args = new LinkedHashMap<>();
        args.put("fence", fence);
        if (n != null) args.put("n", n);
        // Also by a thread that was interrupted.
        boolean interrupted = Thread.interrupted();
        try {
            send("owned", method, args, null);
        } catch (InterruptedException again) {
            interrupted = true;
        } finally {
            if (interrupted) Thread.currentThread().interrupt();
        }
    }

    private Got send(String kind, String method, Map<String, ?> args, Wait wait) throws InterruptedException {
        String target = path() + "/" + encoded(method);
        String body = args.isEmpty() ? "" : Json.write(args);
        boolean tries = wait == null || Duration.ZERO.equals(wait.limit());
        if (kind.equals("query") || (kind.equals("either") && tries)) {
            String asked = stale ? "?consistency=stale&min_position=" + cluster.exchange.position() : "";
            return new Got(cluster.exchange.send(Exchange.Sent.of("POST", target + asked, Map.of(), body)).result(), null);
        }
        Session current = cluster.current();
        if (kind.equals("command") && current != null && !current.hasRoom(Session.RESERVE / 2)) {
            // Very many calls are under way. This one needs no session.
            return new Got(cluster.keyed("POST", target, body).result(), null);
        }
        for (boolean again = true; ; again = false) {
            Session session = cluster.open();
            try {
                return new Got(numbered(session, kind, method, args, target, body, wait), session);
            } catch (Problem refused) {
                if (!refused.slug().equals("session-expired")) throw refused;
                session.end(refused);
                if (!again || refused.isEffectUnknown()) throw refused;
            }
        }
    }

    private Map<String, Object> numbered(
            Session session, String kind, String method, Map<String, ?> args, String target, String body, Wait wait)
            throws InterruptedException {
        boolean waits = kind.equals("blocking") || kind.equals("either");
        Duration limit = wait == null ? null : wait.limit();
        // What gives back is not held up by what waits for it.
        long number = session.number(waits && !Duration.ZERO.equals(limit) ? Session.RESERVE : 0);
        long began = System.nanoTime();
        Supplier<String> where = () -> {
            if (!waits) return target;
            String held = target + "?hold_ms=" + Exchange.HOLD.toMillis();
            return limit == null ? held
                    : held + "&wait_ms=" + Math.max(0, limit.minusNanos(System.nanoTime() - began).toMillis());
        };
        Duration attempt = waits ? Exchange.ATTEMPT.plus(Exchange.HOLD) : Exchange.ATTEMPT;
        Exchange.Sent sent = new Exchange.Sent("POST", where, () -> session.fields(number), body, attempt, null);
        try {
            Map<String, Object> result = cluster.exchange.send(sent).result();
            session.answered(number);
            return result;
        } catch (Problem | InterruptedException ended) {
            boolean answered = ended instanceof Problem refused && !refused.slug().equals("outcome-unknown");
            // One without a grant is given up by its number: below the floor it has no effect any more.
            if (answered || kind.equals("command")) {
                session.answered(number);
            } else {
                // Nobody waits for the answer, but it may be a grant.
                cluster.later(() -> giveUp(session, number, method, args, target, body));
            }
            throw ended;
        }
    }

    /** Ends a call that nobody waits for: cancels it if it waits, gives back what it got. */
    @SuppressWarnings("unchecked")
    private void giveUp(Session session, long number, String method, Map<String, ?> args, String target, String body) {
        try {
            Supplier<Map<String, String>> fields = () -> session.fields(number);
            String asked = target + "?wait_ms=0&hold_ms=0";
            Exchange.Answer answer = cluster.exchange.send(
                    new Exchange.Sent("POST", () -> asked, fields, body, Exchange.ATTEMPT, session.ttl));
            Map<String, Object> got = answer.result();
            if (answer.status() == 202) {
                try {
                    cluster.exchange.send(Exchange.Sent.of("DELETE", "/v1/tickets/" + got.get("ticket"), Map.of(), ""));
                    return;
                } catch (Problem refused) {
                    if (!refused.slug().equals("already-granted") || refused.result() == null) return;
                    got = (Map<String, Object>) refused.result();
                }
            }
            undo(method, args, got);
        } catch (Problem | InterruptedException unanswered) {
            // The session's end gives it back.
        } finally {
            session.answered(number);
        }
    }

    /** How a grant is given back that nobody waits for any more. */
    private void undo(String method, Map<String, ?> args, Map<String, Object> got) throws InterruptedException {
        if (Boolean.TRUE.equals(got.get("acquired"))) {
            giveBack("release", got.get("fence"), type.equals("semaphore") ? args.get("n") : null);
        } else if (Boolean.TRUE.equals(got.get("leader"))) {
            giveBack("resign", got.get("fence"), null);
        } else if (method.equals("take") && args.containsKey("lease_ms") && got.get("items") instanceof List<?> items && !items.isEmpty()) {
            List<Object> ids = items.stream().<Object>map(item -> ((Map<?, ?>) item).get("id")).toList();
            send("owned", "nack", Map.of("ids", ids), null);
        }
    }

    /** JSON as what an interface gives: records by the names of their parts. */
    private static Object converted(Object value, Type wanted) throws ReflectiveOperationException {
        if (value == null) return null;
        if (wanted instanceof ParameterizedType of && of.getRawType() == List.class) {
            List<Object> items = new java.util.ArrayList<>();
            for (Object item : (List<?>) value) items.add(converted(item, of.getActualTypeArguments()[0]));
            return items;
        }
        if (!(wanted instanceof Class<?> type) || !type.isRecord()) return value;
        RecordComponent[] parts = type.getRecordComponents();
        Object[] values = new Object[parts.length];
        Class<?>[] types = new Class<?>[parts.length];
        for (int at = 0; at < parts.length; at++) {
            String name = parts[at].getName().replaceAll("([A-Z])", "_$1").toLowerCase(java.util.Locale.ROOT);
            values[at] = converted(((Map<?, ?>) value).get(name), parts[at].getGenericType());
            types[at] = parts[at].getType();
        }
        return type.getDeclaredConstructor(types).newInstance(values);
    }
}
