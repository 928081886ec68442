package diwan.objects;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Who asks: a token, or a file with one that may be replaced while it is used. */
final class Credentials {
    private static final int FILE_BYTES_MAX = 4_096;

    private final Path file;
    private volatile String token;

    private Credentials(Path file, String token) {
        if (token != null && !isToken(token)) {
            throw new IllegalArgumentException(
                    "a token is `diwan_` and 64 hexadecimal digits: `diwan object token create` makes one");
        }
        this.file = file;
        this.token = token;
    }

    /** The token, or without one that of `DIWAN_TOKEN`, or of the file that `DIWAN_TOKEN_FILE` names. */
    static Credentials of(String token) {
        if (token != null) return new Credentials(null, token);
        String variable = variable("DIWAN_TOKEN");
        if (variable != null) return new Credentials(null, variable.strip());
        String named = variable("DIWAN_TOKEN_FILE");
        return named == null ? new Credentials(null, null) : in(Path.of(named));
    }

    static Credentials in(Path file) {
        try {
            return new Credentials(file, read(file));
        } catch (IOException unreadable) {
            throw new UncheckedIOException(unreadable);
        }
    }

    private static String variable(String name) {
        String value = System.getenv(name);
        return value == null || value.isBlank() ? null : value;
    }

    private static boolean isToken(String text) {
        return text.matches("diwan_[0-9a-f]{64}");
    }

    private static String read(Path file) throws IOException {
        try (InputStream stream = Files.newInputStream(file)) {
            return new String(stream.readNBytes(FILE_BYTES_MAX), StandardCharsets.ISO_8859_1).strip();
        }
    }

    /** Null for nobody in particular. */
    String token() {
        return token;
    }

    /** Whether the file has another token by now than the one that was refused. What it has is used from then on. */
    boolean replaced(String refused) {
        if (file == null) return false;
        try {
            String found = read(file);
            if (isToken(found)) token = found;
        } catch (IOException unreadable) {
            return false;
        }
        // Another request may have found it already.
        return !token.equals(refused);
    }
}
