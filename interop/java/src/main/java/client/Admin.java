package client;

import static harness.Check.equal;
import static harness.Check.fails;
import static harness.Check.that;

import harness.Events;
import harness.Jaas;
import harness.Secure;
import harness.Server;
import harness.Test;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooKeeperMain;
import org.apache.zookeeper.admin.ZooKeeperAdmin;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.data.Stat;

/** The configuration node, reconfiguration, and ZooKeeper's own shell. */
public final class Admin {
    private Admin() {
    }

    public static void configuration(Test t) throws Exception {
        Stat stat = new Stat();
        byte[] data = t.zk.getConfig(false, stat);
        equal(t.zk.getData("/zookeeper/config", false, null), data);
        equal(stat.getDataLength(), data.length);
    }

    public static void reconfigurationIsRefused(Test t) throws Exception {
        ZooKeeperAdmin admin = t.closing(new ZooKeeperAdmin(Server.CONNECT, 10_000, new Events()));
        try {
            admin.reconfigure("server.9=127.0.0.1:1:2;127.0.0.1:3", null, null, -1, null);
            throw new AssertionError("reconfigured");
        } catch (KeeperException error) {
            that(error.code() == Code.UNIMPLEMENTED || error.code() == Code.RECONFIGDISABLED
                || error.code() == Code.NOAUTH, error.code());
        }
    }

    /** What the shell prints for these commands. */
    private static String shell(String... lines) throws Exception {
        return shell(List.of(), Server.answering(), lines);
    }

    private static String shell(List<String> options, String connect, String... lines) throws Exception {
        List<String> command = new ArrayList<>(List.of(System.getProperty("java.home") + "/bin/java",
            "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path")));
        command.addAll(options);
        command.addAll(List.of(ZooKeeperMain.class.getName(), "-waitforconnection", "-server", connect));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        try (OutputStream input = process.getOutputStream()) {
            input.write((String.join("\n", lines) + "\nquit\n").getBytes());
        }
        String output = new String(process.getInputStream().readAllBytes());
        that(process.waitFor(20, TimeUnit.SECONDS), "the shell did not end");
        return output;
    }

    private static void prints(String output, String... expected) {
        for (String part : expected) {
            that(output.contains(part), "no `" + part + "` in " + output);
        }
    }

    public static void shellWritesAndReads(Test t) throws Exception {
        String a = t.path + "/a";
        prints(shell("create " + a + " hello", "get " + a, "set -s " + a + " world", "ls -R " + t.path,
            "getAcl " + a, "getAllChildrenNumber " + t.path, "whoami", "get " + t.path + "/none", "sync " + t.path),
            "Created " + a, "hello", "dataVersion = 1", "\n" + t.path + "\n" + a + "\n", "cdrwa",
            "\n1\n", "127.0.0.1", "Node does not exist: " + t.path + "/none", "Sync is OK");
        equal(t.zk.getData(a, false, null), "world".getBytes());
        shell("deleteall " + a);
        equal(t.zk.exists(a, false), null);
    }

    public static void shellKnowsEveryCreateMode(Test t) throws Exception {
        prints(shell("create -s " + t.path + "/n-", "create -c " + t.path + "/c", "create -t 3600000 " + t.path + "/t",
            "create -e " + t.path + "/e", "create -e -s " + t.path + "/es-"), "Created " + t.path + "/n-0000000000",
            "Created " + t.path + "/c", "Created " + t.path + "/t", "Created " + t.path + "/e",
            "Created " + t.path + "/es-0000000004");
        equal(Nodes.sorted(t.zk.getChildren(t.path, false)), List.of("c", "n-0000000000", "t"));
    }

    public static void shellSetsQuotas(Test t) throws Exception {
        String q = t.node("q");
        prints(shell("setquota -n 5 " + q, "listquota " + q, "delquota " + q, "addauth digest super:secret",
            "setAcl " + q + " world:anyone:r", "getAcl " + q), "Output quota for " + q + " count=5",
            "Output stat for " + q + " count=1", "'world,'anyone", ": r");
    }

    public static void shellIsEncryptedAndAUser(Test t) throws Exception {
        List<String> options = new ArrayList<>(Secure.pkcs12().showing("alice.p12").options());
        options.add("-Djava.security.auth.login.config=" + Jaas.file());
        options.add("-D" + ZKClientConfig.LOGIN_CONTEXT_NAME_KEY + "=bob");
        options.add("-D" + Jaas.FIPS_MODE + "=false");
        prints(shell(options, Secure.address(), "whoami", "create " + t.path + "/his x sasl:bob:cdrwa",
            "get " + t.path + "/his"), "x509: " + Tls.ALICE, "sasl: bob", "Created " + t.path + "/his");
        fails(Code.NOAUTH, () -> t.zk.getData(t.path + "/his", false, null));
    }
}
