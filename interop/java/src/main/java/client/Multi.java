package client;

import static client.Nodes.create;
import static client.Nodes.sorted;
import static harness.Check.equal;
import static harness.Check.fails;
import static harness.Check.that;

import harness.Events;
import harness.Server;
import harness.Test;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;

/** Transactions of writes and of reads. */
public final class Multi {
    private Multi() {
    }

    private static Op creation(String path, CreateMode mode) {
        return Op.create(path, "new".getBytes(), Ids.OPEN_ACL_UNSAFE, mode);
    }

    /** The codes of a failed multi, in the order of its operations. */
    private static List<Code> codes(List<OpResult> results) {
        return results.stream().map(r -> Code.get(((OpResult.ErrorResult) r).getErr())).toList();
    }

    private static List<Code> failure(Test t, Code code, Op... operations) throws Exception {
        KeeperException error = fails(code, () -> t.zk.multi(List.of(operations)));
        return codes(error.getResults());
    }

    public static void everyKindSucceeds(Test t) throws Exception {
        String a = t.node("a", "old");
        List<OpResult> results = t.zk.multi(List.of(
            creation(t.path + "/b", CreateMode.PERSISTENT),
            Op.check(a, 0),
            Op.setData(a, "newer".getBytes(), 0),
            Op.delete(t.path + "/b", 0),
            creation(t.path + "/n-", CreateMode.EPHEMERAL_SEQUENTIAL),
            creation(t.path + "/c", CreateMode.CONTAINER),
            Op.create(t.path + "/t", new byte[0], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT_WITH_TTL, 3_600_000)));
        equal(((OpResult.CreateResult) results.get(0)).getPath(), t.path + "/b");
        that(results.get(1) instanceof OpResult.CheckResult, results.get(1));
        Stat set = ((OpResult.SetDataResult) results.get(2)).getStat();
        equal(set, t.zk.exists(a, false));
        that(results.get(3) instanceof OpResult.DeleteResult, results.get(3));
        equal(((OpResult.CreateResult) results.get(4)).getPath(), t.path + "/n-0000000002");
        OpResult.CreateResult container = (OpResult.CreateResult) results.get(5);
        equal(container.getType(), OpCode.create2);
        equal(container.getStat().getCzxid(), set.getMzxid(), "one zxid");
        OpResult.CreateResult ttl = (OpResult.CreateResult) results.get(6);
        equal(ttl.getType(), OpCode.create2);
        equal(ttl.getStat(), t.zk.exists(t.path + "/t", false));
    }

    public static void sharesOneZxid(Test t) throws Exception {
        t.zk.multi(List.of(creation(t.path + "/a", CreateMode.PERSISTENT),
            creation(t.path + "/a/b", CreateMode.PERSISTENT), Op.setData(t.path + "/a", null, -1)));
        Stat a = t.zk.exists(t.path + "/a", false);
        equal(a.getMzxid(), a.getCzxid());
        equal(a.getPzxid(), a.getCzxid());
        equal(t.zk.exists(t.path + "/a/b", false).getCzxid(), a.getCzxid());
        equal(t.zk.exists(t.path, false).getPzxid(), a.getCzxid());
    }

    public static void laterSeeEarlier(Test t) throws Exception {
        String a = t.path + "/a";
        t.zk.multi(List.of(creation(a, CreateMode.PERSISTENT), Op.check(a, 0), Op.setData(a, null, 0),
            Op.check(a, 1), creation(a + "/n-", CreateMode.PERSISTENT_SEQUENTIAL),
            creation(a + "/n-", CreateMode.PERSISTENT_SEQUENTIAL), Op.delete(a + "/n-0000000000", -1)));
        equal(t.zk.getChildren(a, false), List.of("n-0000000001"));
        t.zk.multi(List.of(Op.delete(a + "/n-0000000001", -1), Op.delete(a, 1),
            creation(a, CreateMode.EPHEMERAL)));
        equal(t.zk.exists(a, false).getEphemeralOwner(), t.zk.getSessionId());
    }

    public static void failureHasOneCodeAnOperation(Test t) throws Exception {
        String a = t.node("a", "old");
        equal(failure(t, Code.BADVERSION, creation(t.path + "/b", CreateMode.PERSISTENT),
            Op.setData(a, null, 0), Op.check(a, 9), Op.delete(a, -1), Op.check(a, 0)),
            List.of(Code.OK, Code.OK, Code.BADVERSION, Code.RUNTIMEINCONSISTENCY, Code.RUNTIMEINCONSISTENCY));
        equal(t.zk.getChildren(t.path, false), List.of("a"));
        equal(t.zk.getData(a, false, null), "old".getBytes());
    }

    public static void everyKindOfFailure(Test t) throws Exception {
        String a = t.node("a");
        t.node("a/b");
        String none = t.path + "/none";
        String e = create(t.zk, t.path + "/e", CreateMode.EPHEMERAL);
        equal(failure(t, Code.NODEEXISTS, creation(a, CreateMode.PERSISTENT)), List.of(Code.NODEEXISTS));
        equal(failure(t, Code.NONODE, creation(none + "/x", CreateMode.PERSISTENT)), List.of(Code.NONODE));
        equal(failure(t, Code.NOCHILDRENFOREPHEMERALS, creation(e + "/x", CreateMode.PERSISTENT)),
            List.of(Code.NOCHILDRENFOREPHEMERALS));
        equal(failure(t, Code.NONODE, Op.delete(none, -1)), List.of(Code.NONODE));
        equal(failure(t, Code.NOTEMPTY, Op.delete(a, -1)), List.of(Code.NOTEMPTY));
        equal(failure(t, Code.BADVERSION, Op.delete(a, 3)), List.of(Code.BADVERSION));
        equal(failure(t, Code.NONODE, Op.setData(none, null, -1)), List.of(Code.NONODE));
        equal(failure(t, Code.BADVERSION, Op.setData(a, null, 3)), List.of(Code.BADVERSION));
        equal(failure(t, Code.NONODE, Op.check(none, -1)), List.of(Code.NONODE));
        equal(failure(t, Code.BADARGUMENTS, Op.delete("/zookeeper", -1)), List.of(Code.BADARGUMENTS));
    }

    public static void failureLeavesNoTrace(Test t) throws Exception {
        Events events = new Events();
        t.zk.addWatch(t.path, events, org.apache.zookeeper.AddWatchMode.PERSISTENT_RECURSIVE);
        for (int n = 0; n < 3; n++) {
            failure(t, Code.NONODE, creation(t.path + "/n-", CreateMode.PERSISTENT_SEQUENTIAL),
                creation(t.path + "/n-", CreateMode.EPHEMERAL_SEQUENTIAL), Op.check(t.path + "/none", 0));
        }
        equal(create(t.zk, t.path + "/n-", CreateMode.PERSISTENT_SEQUENTIAL), t.path + "/n-0000000000");
        events.expect("NodeCreated " + t.path + "/n-0000000000");
        equal(t.zk.exists(t.path, false).getCversion(), 1);
        equal(t.zk.getEphemerals(), List.of());
    }

    public static void failureThenSuccess(Test t) throws Exception {
        t.node("a");
        t.node("a/b");
        failure(t, Code.NOTEMPTY, Op.delete(t.path + "/a", -1));
        t.zk.delete(t.path + "/a/b", -1);
        t.zk.multi(List.of(Op.delete(t.path + "/a", -1)));
        equal(t.zk.exists(t.path + "/a", false), null);
    }

    public static void emptySucceeds(Test t) throws Exception {
        equal(t.zk.multi(List.<Op>of()), List.of());
    }

    public static void transactionBuilder(Test t) throws Exception {
        String a = t.node("a");
        List<OpResult> results = t.zk.transaction().create(t.path + "/b", null, Ids.OPEN_ACL_UNSAFE,
            CreateMode.PERSISTENT).check(a, 0).setData(a, "x".getBytes(), 0).delete(a, 1).commit();
        equal(results.size(), 4);
        equal(t.zk.getChildren(t.path, false), List.of("b"));
    }

    public static void asynchronously(Test t) throws Exception {
        CompletableFuture<List<OpResult>> done = new CompletableFuture<>();
        t.zk.multi(List.of(creation(t.path + "/a", CreateMode.PERSISTENT)),
            (code, path, context, results) -> done.complete(results), null);
        equal(((OpResult.CreateResult) done.get(10, TimeUnit.SECONDS).get(0)).getPath(), t.path + "/a");
        CompletableFuture<List<OpResult>> failed = new CompletableFuture<>();
        CompletableFuture<Integer> code = new CompletableFuture<>();
        t.zk.multi(List.of(Op.check(t.path + "/a", 0), Op.check(t.path + "/a", 7)), (rc, path, context, results) -> {
            code.complete(rc);
            failed.complete(results);
        }, null);
        equal(codes(failed.get(10, TimeUnit.SECONDS)), List.of(Code.OK, Code.BADVERSION));
        equal(Code.get(code.get()), Code.BADVERSION);
    }

    public static void inAChroot(Test t) throws Exception {
        ZooKeeper inside = t.client(Server.CONNECT + t.path, 10_000, new Events());
        List<OpResult> results = inside.multi(List.of(creation("/a", CreateMode.PERSISTENT), Op.check("/a", 0),
            creation("/n-", CreateMode.PERSISTENT_SEQUENTIAL)));
        // This client leaves the chroot in a multi's results.
        equal(((OpResult.CreateResult) results.get(2)).getPath(), t.path + "/n-0000000001");
        equal(sorted(t.zk.getChildren(t.path, false)), List.of("a", "n-0000000001"));
    }

    public static void aThousandOperations(Test t) throws Exception {
        List<Op> operations = new ArrayList<>();
        for (int n = 0; n < 1000; n++) {
            operations.add(creation(t.path + "/n" + n, CreateMode.PERSISTENT));
        }
        equal(t.zk.multi(operations).size(), 1000);
        equal(t.zk.getAllChildrenNumber(t.path), 1000);
    }

    public static void readsOfEveryKind(Test t) throws Exception {
        String a = t.node("a", "data");
        t.node("a/b");
        List<OpResult> results = t.zk.multi(List.of(Op.getData(a), Op.getChildren(t.path), Op.getChildren(a)));
        OpResult.GetDataResult data = (OpResult.GetDataResult) results.get(0);
        equal(data.getData(), "data".getBytes());
        equal(data.getStat(), t.zk.exists(a, false));
        equal(((OpResult.GetChildrenResult) results.get(1)).getChildren(), List.of("a"));
        equal(((OpResult.GetChildrenResult) results.get(2)).getChildren(), List.of("b"));
    }

    public static void readsFailAlone(Test t) throws Exception {
        String a = t.node("a", "data");
        String locked = t.zk.create(t.path + "/locked", null,
            Collections.singletonList(new ACL(Perms.WRITE, Ids.ANYONE_ID_UNSAFE)), CreateMode.PERSISTENT);
        List<OpResult> results = t.zk.multi(List.of(Op.getData(t.path + "/none"), Op.getData(a), Op.getData(locked),
            Op.getChildren(t.path + "/none"), Op.getChildren(a)));
        equal(((OpResult.ErrorResult) results.get(0)).getErr(), Code.NONODE.intValue());
        equal(((OpResult.GetDataResult) results.get(1)).getData(), "data".getBytes());
        equal(((OpResult.ErrorResult) results.get(2)).getErr(), Code.NOAUTH.intValue());
        equal(((OpResult.ErrorResult) results.get(3)).getErr(), Code.NONODE.intValue());
        equal(((OpResult.GetChildrenResult) results.get(4)).getChildren(), List.of());
    }

    public static void leadershipByCheck(Test t) throws Exception {
        // What Kafka's controller does: an ephemeral and an epoch in one step, guarded by the epoch's version.
        String epoch = t.node("epoch", "1");
        Stat stat = new Stat();
        t.zk.getData(epoch, false, stat);
        ZooKeeper other = t.client();
        List<Op> claim = List.of(creation(t.path + "/controller", CreateMode.EPHEMERAL),
            Op.setData(epoch, "2".getBytes(), stat.getVersion()));
        other.multi(claim);
        fails(Code.NODEEXISTS, () -> t.zk.multi(claim));
        other.close();
        fails(Code.BADVERSION, () -> t.zk.multi(claim));
        equal(t.zk.exists(t.path + "/controller", false), null);
    }
}
