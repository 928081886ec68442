package diwan.objects;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON as maps, lists, strings, booleans, null, {@code Long} (64 bits) and {@code Double}. */
final class Json {
    private static final int DEPTH_MAX = 200;
    private final String text;
    private int at;
    private int depth;

    private Json(String text) {
        this.text = text;
    }

    static Object parse(String text) {
        Json json = new Json(text);
        Object value = json.value();
        json.blank();
        if (json.at != text.length()) throw json.wrong();
        return value;
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(String text) {
        return text.isEmpty() ? Map.of() : (Map<String, Object>) parse(text);
    }

    private IllegalArgumentException wrong() {
        return new IllegalArgumentException("not JSON, after " + at + " characters");
    }

    private void blank() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
    }

    private boolean next(char wanted) {
        blank();
        boolean found = at < text.length() && text.charAt(at) == wanted;
        if (found) at++;
        return found;
    }

    private void expect(char wanted) {
        if (!next(wanted)) throw wrong();
    }

    private Object value() {
        blank();
        if (at == text.length() || ++depth > DEPTH_MAX) throw wrong();
        try {
            return switch (text.charAt(at)) {
                case '{' -> fields();
                case '[' -> items();
                case '"' -> string();
                case 't' -> word("true", true);
                case 'f' -> word("false", false);
                case 'n' -> word("null", null);
                default -> number();
            };
        } finally {
            depth--;
        }
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) throw wrong();
        at += word.length();
        return value;
    }

    private Map<String, Object> fields() {
        Map<String, Object> fields = new LinkedHashMap<>();
        expect('{');
        if (next('}')) return fields;
        do {
            blank();
            String name = string();
            expect(':');
            fields.put(name, value());
        } while (next(','));
        expect('}');
        return fields;
    }

    private List<Object> items() {
        List<Object> items = new ArrayList<>();
        expect('[');
        if (next(']')) return items;
        do {
            items.add(value());
        } while (next(','));
        expect(']');
        return items;
    }

    private Object number() {
        int from = at;
        while (at < text.length() && "+-.0123456789eE".indexOf(text.charAt(at)) >= 0) at++;
        String digits = text.substring(from, at);
        try {
            return Long.parseLong(digits);
        } catch (NumberFormatException notWhole) {
            try {
                return Double.parseDouble(digits);
            } catch (NumberFormatException none) {
                throw wrong();
            }
        }
    }

    private String string() {
        expect('"');
        StringBuilder out = new StringBuilder();
        while (at < text.length()) {
            char next = text.charAt(at++);
            if (next == '"') return out.toString();
            out.append(next == '\\' ? escaped() : next);
        }
        throw wrong();
    }

    private char escaped() {
        if (at == text.length()) throw wrong();
        char kind = text.charAt(at++);
        return switch (kind) {
            case 'n' -> '\n';
            case 't' -> '\t';
            case 'r' -> '\r';
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'u' -> {
                if (at + 4 > text.length()) throw wrong();
                at += 4;
                yield (char) Integer.parseInt(text.substring(at - 4, at), 16);
            }
            case '"', '\\', '/' -> kind;
            default -> throw wrong();
        };
    }

    static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value instanceof Map<?, ?> fields) {
            String between = "{";
            for (Map.Entry<?, ?> field : fields.entrySet()) {
                out.append(between);
                quote(String.valueOf(field.getKey()), out);
                write(field.getValue(), out.append(':'));
                between = ",";
            }
            out.append(fields.isEmpty() ? "{}" : "}");
        } else if (value instanceof Iterable<?> items) {
            String between = "";
            out.append('[');
            for (Object item : items) {
                write(item, out.append(between));
                between = ",";
            }
            out.append(']');
        } else if (value instanceof CharSequence text) {
            quote(text.toString(), out);
        } else if (value == null || value instanceof Boolean || value instanceof Number) {
            out.append(value);
        } else {
            throw new IllegalArgumentException("no JSON: " + value.getClass().getName());
        }
    }

    private static void quote(String text, StringBuilder out) {
        out.append('"');
        for (int at = 0; at < text.length(); at++) {
            char next = text.charAt(at);
            if (next == '"' || next == '\\') {
                out.append('\\').append(next);
            } else if (next < ' ' || Character.isSurrogate(next)) {
                out.append(String.format("\\u%04x", (int) next));
            } else {
                out.append(next);
            }
        }
        out.append('"');
    }
}
