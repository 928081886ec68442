package harness;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.URIParameter;
import javax.security.auth.login.Configuration;
import org.apache.zookeeper.client.ZKClientConfig;

/** A JAAS file with a section for each user, right and wrong; clients name their section, so others stay anonymous. */
public final class Jaas {
    public static final String FIPS_MODE = "zookeeper.fips-mode";
    private static boolean installed;

    private Jaas() {
    }

    public static ZKClientConfig section(String name) throws Exception {
        return section(name, new ZKClientConfig());
    }

    public static ZKClientConfig section(String name, ZKClientConfig config) throws Exception {
        install();
        config.setProperty(ZKClientConfig.LOGIN_CONTEXT_NAME_KEY, name);
        // In its FIPS mode, which is the default, the client knows no DIGEST-MD5.
        config.setProperty(FIPS_MODE, "false");
        return config;
    }

    /** Not by `java.security.auth.login.config`: with that, a client without a section would be an error. */
    private static synchronized void install() throws Exception {
        if (!installed) {
            Configuration.setConfiguration(Configuration.getInstance("JavaLoginConfig", new URIParameter(file().toUri())));
            installed = true;
        }
    }

    /** The file, anew. */
    public static Path file() throws IOException {
        Path file = Files.createTempFile("interop", ".jaas");
        file.toFile().deleteOnExit();
        return Files.writeString(file, login("alice", "alice", "wonder") + login("bob", "bob", "builder")
            + login("root", "root", "toor") + login("guess", "alice", "guess") + login("mallory", "mallory", "wonder"));
    }

    private static String login(String section, String user, String password) {
        return section + " { org.apache.zookeeper.server.auth.DigestLoginModule required username=\"" + user
            + "\" password=\"" + password + "\"; };\n";
    }
}
