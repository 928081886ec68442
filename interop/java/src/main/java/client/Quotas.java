package client;

import static harness.Check.await;
import static harness.Check.equal;
import static harness.Check.fails;
import static harness.Check.that;

import harness.Server;
import harness.Skip;
import harness.Test;
import java.util.List;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.StatsTrack;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.cli.DelQuotaCommand;
import org.apache.zookeeper.cli.ListQuotaCommand;
import org.apache.zookeeper.cli.SetQuotaCommand;

/** Quotas as zkCli sets them: kept count of always, enforced where the server is told to. */
public final class Quotas {
    private Quotas() {
    }

    private static StatsTrack limits(long count, long bytes, long countHard, long bytesHard) {
        StatsTrack limits = new StatsTrack();
        limits.setCount(count);
        limits.setBytes(bytes);
        limits.setCountHardLimit(countHard);
        limits.setByteHardLimit(bytesHard);
        return limits;
    }

    private static StatsTrack usage(ZooKeeper zk, String path) throws Exception {
        return new StatsTrack(zk.getData("/zookeeper/quota" + path + "/zookeeper_stats", false, null));
    }

    private static void needEnforcement() {
        if (!Server.extra("enforceQuota")) {
            throw new Skip("the server does not enforce quotas");
        }
    }

    public static void usageIsKept(Test t) throws Exception {
        String path = t.node("q", "12345");
        t.node("q/before", "123");
        that(SetQuotaCommand.createQuota(t.zk, path, limits(100, 1000, -1, -1)), "createQuota");
        equal(usage(t.zk, path).getCount(), 2L);
        equal(usage(t.zk, path).getBytes(), 8L);
        t.node("q/a", "1234567890");
        await("the usage", () -> usage(t.zk, path).getBytes() == 18 && usage(t.zk, path).getCount() == 3);
        t.zk.setData(path + "/a", "1".getBytes(), -1);
        await("the change", () -> usage(t.zk, path).getBytes() == 9);
        t.zk.delete(path + "/a", -1);
        await("the deletion", () -> usage(t.zk, path).getBytes() == 8 && usage(t.zk, path).getCount() == 2);
    }

    public static void listed(Test t) throws Exception {
        String path = t.node("q");
        SetQuotaCommand.createQuota(t.zk, path, limits(3, -1, -1, -1));
        List<StatsTrack> listed = ListQuotaCommand.listQuota(t.zk, path);
        equal(listed.size(), 2);
        equal(listed.get(0).getCount(), 3L);
        equal(listed.get(1).getCount(), 1L);
    }

    public static void softLimitsOnlyWarn(Test t) throws Exception {
        String path = t.node("q");
        SetQuotaCommand.createQuota(t.zk, path, limits(2, 5, -1, -1));
        for (int n = 0; n < 5; n++) {
            t.node("q/n" + n, "0123456789");
        }
        await("the usage", () -> usage(t.zk, path).getCount() == 6);
    }

    public static void hardCount(Test t) throws Exception {
        needEnforcement();
        String path = t.node("q");
        SetQuotaCommand.createQuota(t.zk, path, limits(-1, -1, 3, -1));
        t.node("q/a");
        t.node("q/b");
        fails(Code.QUOTAEXCEEDED, () -> t.node("q/c"));
        t.zk.delete(path + "/a", -1);
        t.node("q/c");
    }

    public static void hardBytes(Test t) throws Exception {
        needEnforcement();
        String path = t.node("q", "123");
        SetQuotaCommand.createQuota(t.zk, path, limits(-1, -1, -1, 10));
        t.node("q/a", "1234567");
        fails(Code.QUOTAEXCEEDED, () -> t.node("q/b", "1"));
        fails(Code.QUOTAEXCEEDED, () -> t.zk.setData(path, "1234".getBytes(), -1));
        t.zk.setData(path, "12".getBytes(), -1);
        t.node("q/b", "1");
    }

    public static void deleted(Test t) throws Exception {
        String path = t.node("q");
        SetQuotaCommand.createQuota(t.zk, path, limits(2, -1, 2, -1));
        that(DelQuotaCommand.delQuota(t.zk, path, limits(1, -1, 1, -1)), "delQuota");
        for (int n = 0; n < 5; n++) {
            t.node("q/n" + n);
        }
    }

    public static void oneOnEachWay(Test t) throws Exception {
        t.node("q");
        t.node("q/below");
        SetQuotaCommand.createQuota(t.zk, t.path + "/q", limits(9, -1, -1, -1));
        harness.Check.throwsA(IllegalArgumentException.class,
            () -> SetQuotaCommand.createQuota(t.zk, t.path + "/q/below", limits(9, -1, -1, -1)));
    }
}
