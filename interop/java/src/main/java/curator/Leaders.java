package curator;

import static harness.Check.await;
import static harness.Check.equal;
import static harness.Check.that;

import harness.Test;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.leader.Participant;

/** Leader latch and leader selector. */
public final class Leaders {
    private Leaders() {
    }

    private static LeaderLatch latch(Test t, CuratorFramework client, String id) throws Exception {
        LeaderLatch latch = new LeaderLatch(client, "/latch", id);
        latch.start();
        t.closing(() -> {
            if (latch.getState() == LeaderLatch.State.STARTED) {
                latch.close();
            }
        });
        return latch;
    }

    private static LeaderLatch leader(List<LeaderLatch> latches) throws Exception {
        await("a leader", () -> latches.stream().anyMatch(LeaderLatch::hasLeadership));
        List<LeaderLatch> leaders = latches.stream().filter(LeaderLatch::hasLeadership).toList();
        equal(leaders.size(), 1, "leaders");
        return leaders.get(0);
    }

    public static void latchHasOneLeaderAtATime(Test t) throws Exception {
        List<LeaderLatch> latches = new ArrayList<>();
        for (int n = 0; n < 4; n++) {
            latches.add(latch(t, Clients.client(t), "id" + n));
        }
        while (!latches.isEmpty()) {
            LeaderLatch leader = leader(latches);
            equal(latches.get(0).getLeader(), new Participant(leader.getId(), true));
            latches.remove(leader);
            leader.close();
        }
    }

    public static void latchKnowsItsParticipants(Test t) throws Exception {
        LeaderLatch one = latch(t, Clients.client(t), "one");
        await("leadership", one::hasLeadership);
        LeaderLatch two = latch(t, Clients.client(t), "two");
        await("two participants", () -> two.getParticipants().size() == 2);
        equal(new HashSet<>(one.getParticipants()),
            new HashSet<>(List.of(new Participant("one", true), new Participant("two", false))));
    }

    public static void latchPassesWhenAClientCloses(Test t) throws Exception {
        CuratorFramework doomed = Clients.client(t);
        LeaderLatch first = latch(t, doomed, "first");
        await("leadership", first::hasLeadership);
        LeaderLatch second = latch(t, Clients.client(t), "second");
        that(!second.await(50, TimeUnit.MILLISECONDS), "two leaders");
        doomed.close();
        that(second.await(10, TimeUnit.SECONDS), "not passed on");
    }

    public static void latchTellsItsListeners(Test t) throws Exception {
        List<String> told = Collections.synchronizedList(new ArrayList<>());
        LeaderLatch latch = new LeaderLatch(Clients.client(t), "/latch", "me", LeaderLatch.CloseMode.NOTIFY_LEADER);
        latch.addListener(new LeaderLatchListener() {
            @Override
            public void isLeader() {
                told.add("leader");
            }

            @Override
            public void notLeader() {
                told.add("not leader");
            }
        });
        latch.start();
        await("leadership", () -> told.contains("leader"));
        latch.close();
        await("its end", () -> told.contains("not leader"));
        equal(told, List.of("leader", "not leader"));
    }

    public static void selectorTakesTurns(Test t) throws Exception {
        List<String> order = Collections.synchronizedList(new ArrayList<>());
        List<LeaderSelector> selectors = new ArrayList<>();
        for (int n = 0; n < 3; n++) {
            String id = "s" + n;
            LeaderSelector selector = new LeaderSelector(Clients.client(t), "/select", new LeaderSelectorListenerAdapter() {
                @Override
                public void takeLeadership(CuratorFramework client) {
                    order.add(id + " in");
                    order.add(id + " out");
                }
            });
            selector.setId(id);
            selector.autoRequeue();
            selectors.add(t.closing(selector));
        }
        selectors.forEach(LeaderSelector::start);
        await("several turns each", () -> {
            synchronized (order) {
                return List.of("s0", "s1", "s2").stream()
                    .allMatch(id -> order.stream().filter((id + " out")::equals).count() >= 3);
            }
        });
        List<String> seen = new ArrayList<>(order);
        for (int n = 0; n + 1 < seen.size(); n += 2) {
            equal(seen.get(n).split(" ")[0], seen.get(n + 1).split(" ")[0], "turns overlap at " + n);
        }
    }

    public static void selectorCanBeInterrupted(Test t) throws Exception {
        CountDownLatch leading = new CountDownLatch(1);
        CountDownLatch interrupted = new CountDownLatch(1);
        LeaderSelector selector = t.closing(new LeaderSelector(Clients.client(t), "/select",
            new LeaderSelectorListenerAdapter() {
                @Override
                public void takeLeadership(CuratorFramework client) {
                    leading.countDown();
                    try {
                        new CountDownLatch(1).await();
                    } catch (InterruptedException error) {
                        interrupted.countDown();
                    }
                }
            }));
        selector.setId("me");
        selector.start();
        that(leading.await(10, TimeUnit.SECONDS), "not leading");
        equal(selector.getLeader().getId(), "me");
        selector.interruptLeadership();
        that(interrupted.await(10, TimeUnit.SECONDS), "not interrupted");
    }
}
