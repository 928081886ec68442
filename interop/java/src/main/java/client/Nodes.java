package client;

import static harness.Check.await;
import static harness.Check.equal;
import static harness.Check.fails;
import static harness.Check.that;
import static harness.Check.throwsA;

import harness.Events;
import harness.Server;
import harness.Test;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZKUtil;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/** Single operations on nodes: data, Stat, children, paths, errors. */
public final class Nodes {
    private Nodes() {
    }

    static String create(ZooKeeper zk, String path, CreateMode mode) throws Exception {
        return zk.create(path, new byte[0], Ids.OPEN_ACL_UNSAFE, mode);
    }

    static List<String> sorted(List<String> names) {
        List<String> copy = new ArrayList<>(names);
        Collections.sort(copy);
        return copy;
    }

    /** Returns when the server has handled what was sent before. */
    static void sync(ZooKeeper zk, String path) throws Exception {
        CountDownLatch done = new CountDownLatch(1);
        zk.sync(path, (code, p, context) -> done.countDown(), null);
        that(done.await(10, TimeUnit.SECONDS), "sync was not answered");
    }

    public static void createGivesPathAndStat(Test t) throws Exception {
        Stat stat = new Stat();
        String path = t.zk.create(t.path + "/a", "four".getBytes(), Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT, stat);
        equal(path, t.path + "/a");
        equal(stat.getDataLength(), 4);
        equal(stat.getVersion() + stat.getCversion() + stat.getAversion() + stat.getNumChildren(), 0);
        equal(stat.getEphemeralOwner(), 0L);
        equal(stat.getMzxid(), stat.getCzxid());
        equal(stat.getPzxid(), stat.getCzxid());
        equal(stat.getMtime(), stat.getCtime());
        that(Math.abs(stat.getCtime() - System.currentTimeMillis()) < 60_000, "created at " + stat.getCtime());
        equal(t.zk.exists(path, false), stat);
    }

    public static void createRefusals(Test t) throws Exception {
        t.node("a");
        fails(Code.NODEEXISTS, () -> t.node("a"));
        fails(Code.NONODE, () -> t.node("none/b"));
        create(t.zk, t.path + "/e", CreateMode.EPHEMERAL);
        fails(Code.NOCHILDRENFOREPHEMERALS, () -> t.node("e/b"));
        fails(Code.NODEEXISTS, () -> create(t.zk, "/", CreateMode.PERSISTENT));
        fails(Code.NODEEXISTS, () -> create(t.zk, "/zookeeper", CreateMode.PERSISTENT));
    }

    public static void errorsNameTheirPath(Test t) throws Exception {
        equal(fails(Code.NONODE, () -> t.zk.getData(t.path + "/none", false, null)).getPath(), t.path + "/none");
    }

    public static void setDataMovesVersion(Test t) throws Exception {
        String path = t.node("a", "one");
        Stat before = t.zk.exists(path, false);
        Stat after = t.zk.setData(path, "second".getBytes(), 0);
        equal(after.getVersion(), 1);
        equal(after.getDataLength(), 6);
        equal(after.getCzxid(), before.getCzxid());
        equal(after.getCtime(), before.getCtime());
        equal(after.getPzxid(), before.getPzxid());
        that(after.getMzxid() > before.getMzxid(), after);
        fails(Code.BADVERSION, () -> t.zk.setData(path, new byte[0], 0));
        equal(t.zk.setData(path, new byte[0], -1).getVersion(), 2);
        fails(Code.NONODE, () -> t.zk.setData(t.path + "/none", new byte[0], -1));
    }

    public static void nullIsNotEmpty(Test t) throws Exception {
        String none = t.zk.create(t.path + "/null", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
        String empty = t.node("empty");
        equal(t.zk.getData(none, false, null), null);
        equal(t.zk.getData(empty, false, null), new byte[0]);
        equal(t.zk.exists(none, false).getDataLength(), 0);
        t.zk.setData(empty, null, -1);
        t.zk.setData(none, new byte[0], -1);
        equal(t.zk.getData(empty, false, null), null);
        equal(t.zk.getData(none, false, null), new byte[0]);
    }

    public static void bigValues(Test t) throws Exception {
        byte[] value = new byte[1024 * 1024 - 2048];
        for (int n = 0; n < value.length; n++) {
            value[n] = (byte) (n * 31);
        }
        String path = t.node("big");
        t.zk.setData(path, value, -1);
        Stat stat = new Stat();
        equal(t.zk.getData(path, false, stat), value);
        equal(stat.getDataLength(), value.length);
    }

    public static void deleteRefusals(Test t) throws Exception {
        String path = t.node("a");
        fails(Code.BADVERSION, () -> t.zk.delete(path, 5));
        t.node("a/b");
        fails(Code.NOTEMPTY, () -> t.zk.delete(path, -1));
        t.zk.delete(path + "/b", 0);
        t.zk.delete(path, 0);
        fails(Code.NONODE, () -> t.zk.delete(path, -1));
        fails(Code.BADARGUMENTS, () -> t.zk.delete("/zookeeper", -1));
        fails(Code.BADARGUMENTS, () -> t.zk.delete("/zookeeper/quota", -1));
        fails(Code.BADARGUMENTS, () -> t.zk.delete("/zookeeper/config", -1));
        fails(Code.BADARGUMENTS, () -> t.zk.delete("/", -1));
    }

    public static void readsOfNothing(Test t) throws Exception {
        String none = t.path + "/none";
        equal(t.zk.exists(none, false), null);
        fails(Code.NONODE, () -> t.zk.getData(none, false, null));
        fails(Code.NONODE, () -> t.zk.getChildren(none, false));
        fails(Code.NONODE, () -> t.zk.getChildren(none, false, new Stat()));
        fails(Code.NONODE, () -> t.zk.getACL(none, null));
        fails(Code.NONODE, () -> t.zk.setACL(none, Ids.OPEN_ACL_UNSAFE, -1));
    }

    public static void childrenAndTheirParent(Test t) throws Exception {
        Stat created = new Stat();
        for (String name : List.of("c", "a", "b")) {
            t.zk.create(t.path + "/" + name, null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT, created);
        }
        Stat parent = new Stat();
        equal(sorted(t.zk.getChildren(t.path, false, parent)), List.of("a", "b", "c"));
        equal(parent.getNumChildren(), 3);
        equal(parent.getCversion(), 3);
        equal(parent.getPzxid(), created.getCzxid());
        t.zk.setData(t.path + "/a", new byte[1], -1);
        equal(t.zk.exists(t.path, false), parent, "after a child's change");
        t.zk.delete(t.path + "/a", -1);
        Stat after = t.zk.exists(t.path, false);
        equal(after.getCversion(), 4);
        equal(after.getNumChildren(), 2);
        that(after.getPzxid() > parent.getPzxid(), after);
        equal(after.getMzxid(), parent.getMzxid());
        equal(after.getVersion(), 0);
    }

    public static void allChildrenNumber(Test t) throws Exception {
        equal(t.zk.getAllChildrenNumber(t.path), 0);
        t.node("a");
        t.node("a/b");
        t.node("a/b/c");
        t.node("ab");
        equal(t.zk.getAllChildrenNumber(t.path), 4);
        equal(t.zk.getAllChildrenNumber(t.path + "/a"), 2);
        fails(Code.NONODE, () -> t.zk.getAllChildrenNumber(t.path + "/none"));
        that(t.zk.getAllChildrenNumber("/") >= 4, "all of the tree");
    }

    public static void ephemeralsOfTheSession(Test t) throws Exception {
        ZooKeeper other = t.client();
        create(t.zk, t.path + "/mine", CreateMode.EPHEMERAL);
        create(t.zk, t.path + "/mine-too", CreateMode.EPHEMERAL);
        create(other, t.path + "/theirs", CreateMode.EPHEMERAL);
        equal(sorted(t.zk.getEphemerals()), List.of(t.path + "/mine", t.path + "/mine-too"));
        equal(other.getEphemerals(), List.of(t.path + "/theirs"));
        equal(t.zk.getEphemerals(t.path + "/mine-"), List.of(t.path + "/mine-too"));
        equal(t.zk.getEphemerals("/nowhere"), List.of());
    }

    public static void unicodeNames(Test t) throws Exception {
        List<String> names = sorted(List.of("käse", "中文", "документ", "a b", "%2F", "עברית", "dots...and.more"));
        for (String name : names) {
            t.node(name, name);
            equal(new String(t.zk.getData(t.path + "/" + name, false, null), StandardCharsets.UTF_8), name);
        }
        equal(sorted(t.zk.getChildren(t.path, false)), names);
    }

    public static void badPathsNeverLeaveTheClient(Test t) throws Exception {
        for (String path : List.of("", "relative", t.path + "/", "/a//b", "/a/./b", "/a/../b", "/nul\0", "/\ud800")) {
            throwsA(IllegalArgumentException.class, () -> create(t.zk, path, CreateMode.PERSISTENT));
        }
    }


    public static void rootAndSystemNodes(Test t) throws Exception {
        that(t.zk.getChildren("/", false).contains("zookeeper"), "no /zookeeper");
        equal(sorted(t.zk.getChildren("/zookeeper", false)), List.of("config", "quota"));
        equal(t.zk.getData("/", false, null), new byte[0]);
        equal(t.zk.getACL("/zookeeper/config", null).get(0).getPerms(), 1);
    }

    public static void syncMakesOthersWritesVisible(Test t) throws Exception {
        ZooKeeper other = t.client();
        String path = t.node("a");
        for (int n = 0; n < 50; n++) {
            t.zk.setData(path, ("" + n).getBytes(), -1);
            sync(other, path);
            equal(other.getData(path, false, null), ("" + n).getBytes());
        }
        sync(other, t.path + "/none");
    }

    public static void chrootIsTheRoot(Test t) throws Exception {
        ZooKeeper inside = t.client(Server.CONNECT + t.path, 10_000, new Events());
        equal(create(inside, "/a", CreateMode.PERSISTENT), "/a");
        equal(create(inside, "/n-", CreateMode.PERSISTENT_SEQUENTIAL), "/n-0000000001");
        create(inside, "/e", CreateMode.EPHEMERAL);
        equal(sorted(inside.getChildren("/", false)), List.of("a", "e", "n-0000000001"));
        equal(sorted(t.zk.getChildren(t.path, false)), List.of("a", "e", "n-0000000001"));
        that(inside.exists("/", false) != null, "its root");
        equal(fails(Code.NONODE, () -> inside.getData("/none", false, null)).getPath(), "/none");
    }

    public static void chrootThatDoesNotExist(Test t) throws Exception {
        ZooKeeper inside = t.client(Server.CONNECT + t.path + "/not", 10_000, new Events());
        fails(Code.NONODE, () -> create(inside, "/a", CreateMode.PERSISTENT));
        equal(inside.exists("/", false), null);
        create(inside, "/", CreateMode.PERSISTENT);
        create(inside, "/a", CreateMode.PERSISTENT);
        that(t.zk.exists(t.path + "/not/a", false) != null, "created below the chroot");
    }

    public static void recursiveHelpers(Test t) throws Exception {
        for (String name : List.of("a", "a/b", "a/b/c", "a/d")) {
            t.node(name);
        }
        equal(sorted(ZKUtil.listSubTreeBFS(t.zk, t.path + "/a")), List.of(t.path + "/a", t.path + "/a/b",
            t.path + "/a/b/c", t.path + "/a/d"));
        List<String> visited = new ArrayList<>();
        ZKUtil.visitSubTreeDFS(t.zk, t.path + "/a", false, (code, path, context, name) -> visited.add(name));
        equal(visited.size(), 4);
        that(ZKUtil.deleteRecursive(t.zk, t.path + "/a", 10), "deleteRecursive");
        equal(t.zk.exists(t.path + "/a", false), null);
    }

    public static void fourLetterWords(Test t) throws Exception {
        equal(Server.fourLetterWord("ruok"), "imok");
        equal(Server.fourLetterWord("isro"), "rw");
        that(Server.fourLetterWord("srvr").startsWith("Zookeeper version: "), "srvr");
        for (String word : List.of("stat", "mntr", "conf", "cons", "envi", "dump", "wchs", "wchc", "wchp", "dirs")) {
            that(!Server.fourLetterWord(word).isEmpty(), word);
        }
        String session = Long.toHexString(t.zk.getSessionId());
        that(Server.fourLetterWord("cons").contains("sid=0x" + session), "cons names the session");
        create(t.zk, t.path + "/e", CreateMode.EPHEMERAL);
        await("dump to name the ephemeral", () -> Server.fourLetterWord("dump").contains(t.path + "/e"));
        t.zk.getData(t.path, true, null);
        that(Server.fourLetterWord("wchp").contains(t.path), "wchp names the path");
        that(Server.fourLetterWord("wchc").contains(session), "wchc names the session");
    }
}
