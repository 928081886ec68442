package client;

import static harness.Check.equal;
import static harness.Check.fails;
import static harness.Check.that;

import harness.Check;
import harness.Events;
import harness.Jaas;
import harness.Secure;
import harness.Server;
import harness.Test;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;

/** Servers started with other settings of TLS and SASL, and the usual one after its death. */
public final class OtherSettings {
    private OtherSettings() {
    }

    private static void under(Check.Action action, String... settings) throws Exception {
        Server.control("stop");
        Server.control("start", settings);
        try {
            action.run();
        } finally {
            Server.control("stop");
            Server.control("start");
        }
    }

    private static boolean hasCertificate(ZooKeeper zk) throws Exception {
        return zk.whoAmI().stream().anyMatch(info -> info.getAuthScheme().equals("x509"));
    }

    public static void storesInPkcs12(Test t) throws Exception {
        under(() -> {
            that(hasCertificate(Tls.alice().connect(t)), "the holder of a PEM file");
            that(hasCertificate(Secure.pkcs12().showing("alice.p12").connect(t)), "the holder of a PKCS #12 file");
            Secure.pem().refused(t);
        }, "ssl.keyStore.location=" + Secure.key("server.p12"),
            "ssl.keyStore.password=" + Secure.PASSWORD, "ssl.trustStore.location=" + Secure.key("trust.p12"),
            "ssl.trustStore.password=" + Secure.PASSWORD);
    }

    /** Out of Java's old form, as Diwan's refusal of it tells to. */
    public static void storesThatKeytoolConverted(Test t) throws Exception {
        Path folder = Files.createDirectory(Path.of(Secure.key("converted")));
        for (String name : List.of("server", "trust")) {
            keytool(Secure.key(name + ".p12"), "PKCS12", folder.resolve(name + ".jks"), "JKS");
            keytool(folder.resolve(name + ".jks").toString(), "JKS", folder.resolve(name + ".p12"), "PKCS12");
        }
        under(() -> that(hasCertificate(Tls.alice().connect(t)), "alice"),
            "ssl.keyStore.location=" + folder.resolve("server.p12"), "ssl.keyStore.password=" + Secure.PASSWORD,
            "ssl.trustStore.location=" + folder.resolve("trust.p12"), "ssl.trustStore.password=" + Secure.PASSWORD);
    }

    private static void keytool(String from, String form, Path to, String newForm) throws Exception {
        Process process = new ProcessBuilder(System.getProperty("java.home") + "/bin/keytool", "-importkeystore",
            "-srckeystore", from, "-srcstoretype", form, "-destkeystore", to.toString(), "-deststoretype", newForm,
            "-srcstorepass", Secure.PASSWORD, "-deststorepass", Secure.PASSWORD, "-noprompt")
            .redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes());
        equal(process.waitFor(), 0, said);
    }

    public static void passwordsInFilesAndFormsByName(Test t) throws Exception {
        Path password = Files.writeString(Files.createTempFile("interop", ".password"), Secure.PASSWORD);
        under(() -> that(hasCertificate(Tls.alice().connect(t)), "alice"),
            "ssl.keyStore.location=" + Secure.key("server.p12"), "ssl.keyStore.type=PKCS12",
            "ssl.keyStore.passwordPath=" + password, "ssl.trustStore.location=" + Secure.key("trust.p12"),
            "ssl.trustStore.type=PKCS12", "ssl.trustStore.passwordPath=" + password);
        Files.delete(password);
    }

    public static void aCertificateThatIsWantedNeedNotBeShown(Test t) throws Exception {
        under(() -> {
            that(hasCertificate(Tls.alice().connect(t)), "alice");
            that(!hasCertificate(Secure.pem().connect(t)), "nobody");
            // Java's TLS does not show a certificate from an issuer that the server has not named.
            that(!hasCertificate(Secure.pem().showing("stranger.pem").connect(t)), "a stranger");
        }, "ssl.clientAuth=want");
    }

    public static void noCertificateIsAskedFor(Test t) throws Exception {
        under(() -> {
            that(!hasCertificate(Secure.pem().connect(t)), "nobody");
            that(!hasCertificate(Tls.alice().connect(t)), "alice");
        }, "ssl.clientAuth=none");
    }

    public static void whoHasNotAuthenticatedIsRefused(Test t) throws Exception {
        under(() -> {
            equal(Sasl.client(t, "alice").exists("/nothing-here", false), null);
            ZooKeeper nobody = t.client();
            fails(Code.SESSIONCLOSEDREQUIRESASLAUTH, () -> nobody.exists("/nothing-here", false));
        }, "sessionRequireClientSASLAuth=true");
    }

    /** A client that is both encrypted and a user comes back as both. */
    public static void identitiesSurviveARestart(Test t) throws Exception {
        Events events = new Events();
        ZooKeeper both = t.closing(
            new ZooKeeper(Secure.address(), 10_000, events, Jaas.section("bob", Tls.alice().config())));
        events.awaitState("SaslAuthenticated");
        long session = both.getSessionId();
        List<ACL> hers = Arrays.asList(new ACL(Perms.ALL, new Id("x509", Tls.ALICE)));
        List<ACL> his = Arrays.asList(new ACL(Perms.ALL, new Id("sasl", "bob")));
        both.create(t.path + "/hers", null, hers, CreateMode.EPHEMERAL);
        both.create(t.path + "/his", null, his, CreateMode.EPHEMERAL);
        Server.control("kill");
        events.settle("Disconnected");
        Server.control("start");
        events.settle("SaslAuthenticated");
        equal(both.getSessionId(), session);
        both.setACL(t.path + "/hers", Ids.OPEN_ACL_UNSAFE, 0);
        both.setACL(t.path + "/his", Ids.OPEN_ACL_UNSAFE, 0);
        equal(both.getEphemerals().size(), 2);
    }
}
