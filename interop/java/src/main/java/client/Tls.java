package client;

import static client.Nodes.create;
import static harness.Check.equal;
import static harness.Check.fails;
import static harness.Check.that;

import harness.Events;
import harness.Secure;
import harness.Server;
import harness.Test;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.ClientInfo;
import org.apache.zookeeper.data.Id;

/** Encrypted connections: who may connect, and whom the server takes a client's certificate for. */
public final class Tls {
    static final String ALICE = "CN=alice,OU=interop,O=Diwan";

    private Tls() {
    }

    static Secure alice() {
        return Secure.pem().showing("alice.pem");
    }

    private static List<ACL> only(String holder) {
        return Arrays.asList(new ACL(Perms.ALL, new Id("x509", holder)));
    }

    private static void readsAndWrites(Test t, Secure secure) throws Exception {
        ZooKeeper zk = secure.connect(t);
        String path = t.node("a", "plain");
        equal(zk.getData(path, false, null), "plain".getBytes());
        zk.setData(path, "encrypted".getBytes(), 0);
        equal(t.zk.getData(path, false, null), "encrypted".getBytes());
    }

    public static void storesOfPemText(Test t) throws Exception {
        readsAndWrites(t, alice());
    }

    public static void storesInPkcs12(Test t) throws Exception {
        readsAndWrites(t, Secure.pkcs12().showing("alice.p12"));
    }

    public static void eachVersionThatIsOffered(Test t) throws Exception {
        for (String version : List.of("TLSv1.2", "TLSv1.3")) {
            ZooKeeper zk = alice().with("zookeeper.ssl.protocol", version)
                .with("zookeeper.ssl.enabledProtocols", version).connect(t);
            that(zk.exists(t.path, false) != null, version);
        }
    }

    public static void valuesOfEverySize(Test t) throws Exception {
        ZooKeeper zk = alice().connect(t);
        String path = t.node("a");
        // A record of TLS holds 16 KiB at the most.
        for (int size : new int[] {0, 1, 16_383, 16_384, 16_385, 100_000, 1_000_000}) {
            byte[] value = new byte[size];
            new Random(size).nextBytes(value);
            zk.setData(path, value, -1);
            equal(zk.getData(path, false, null), value, size + " bytes");
        }
    }

    public static void manyAtATime(Test t) throws Exception {
        ZooKeeper zk = alice().connect(t);
        int count = 2_000;
        AtomicInteger created = new AtomicInteger();
        CountDownLatch answered = new CountDownLatch(count);
        for (int n = 0; n < count; n++) {
            zk.create(t.path + "/n-", new byte[n], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT_SEQUENTIAL,
                (code, path, context, name) -> {
                    created.addAndGet(code == 0 ? 1 : 0);
                    answered.countDown();
                }, null);
        }
        that(answered.await(30, TimeUnit.SECONDS), answered.getCount() + " never answered");
        equal(created.get(), count);
        equal(t.zk.getAllChildrenNumber(t.path), count);
    }

    public static void watchesFire(Test t) throws Exception {
        ZooKeeper zk = alice().connect(t);
        String path = t.node("a");
        Events events = new Events();
        zk.getData(path, events, null);
        t.zk.setData(path, null, -1);
        events.expect("NodeDataChanged " + path);
    }

    public static void theCertificateIsAnIdentity(Test t) throws Exception {
        ZooKeeper alice = alice().connect(t);
        that(alice.whoAmI().contains(new ClientInfo("x509", ALICE)), alice.whoAmI());
        String path = alice.create(t.path + "/hers", "secret".getBytes(), only(ALICE), CreateMode.PERSISTENT);
        equal(alice.getData(path, false, null), "secret".getBytes());
        equal(alice.getACL(path, null), only(ALICE));
        fails(Code.NOAUTH, () -> t.zk.getData(path, false, null));
        fails(Code.NOAUTH, () -> t.zk.setData(path, null, -1));
    }

    public static void theCreatorIsTheCertificate(Test t) throws Exception {
        ZooKeeper alice = alice().connect(t);
        String path = alice.create(t.path + "/hers", null, Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT);
        equal(alice.getACL(path, null), only(ALICE));
    }

    public static void anotherCertificateIsAnotherIdentity(Test t) throws Exception {
        ZooKeeper alice = alice().connect(t);
        String path = t.zk.create(t.path + "/his", null, only("CN=bob,OU=interop,O=Diwan"), CreateMode.PERSISTENT);
        fails(Code.NOAUTH, () -> alice.getData(path, false, null));
    }

    public static void theSuperUserHasACertificateToo(Test t) throws Exception {
        String path = t.zk.create(t.path + "/a", "x".getBytes(), only("CN=nobody"), CreateMode.PERSISTENT);
        ZooKeeper superuser = Secure.pkcs12().showing("super.p12").connect(t);
        equal(superuser.getData(path, false, null), "x".getBytes());
        superuser.delete(path, -1);
    }

    public static void noCertificateIsRefused(Test t) throws Exception {
        Secure.pem().refused(t);
    }

    public static void aStrangersCertificateIsRefused(Test t) throws Exception {
        Secure.pem().showing("stranger.pem").refused(t);
    }

    public static void aServerNobodyKnowsIsRefusedByTheClient(Test t) throws Exception {
        // Trusting the stranger's own certificate, the client has no reason to trust the server.
        alice().trusting("stranger.pem").refused(t);
    }

    public static void aPlainClientIsRefused(Test t) throws Exception {
        Secure.refused(t, Secure.port(), new ZKClientConfig());
    }

    public static void anEncryptedClientIsRefusedAtThePlainPort(Test t) throws Exception {
        Secure.refused(t, Server.port(), alice().config());
    }

    public static void aSessionMovesFromThePlainPort(Test t) throws Exception {
        ZooKeeper plain = t.client();
        String path = create(plain, t.path + "/e", CreateMode.EPHEMERAL);
        long session = plain.getSessionId();
        Events events = new Events();
        ZooKeeper secure = t.closing(new ZooKeeper(Secure.address(), 10_000, events, session, plain.getSessionPasswd(),
            false, Secure.hosts(), alice().config()));
        events.awaitState("SyncConnected");
        equal(secure.getSessionId(), session);
        equal(secure.getEphemerals(), List.of(path));
    }
}
