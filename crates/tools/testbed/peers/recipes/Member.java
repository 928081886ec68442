// A Hazelcast member of a CP subsystem. Arguments: the address of all members, its own first; the port; the port that is opened
// once the CP subsystem is formed.

import com.hazelcast.config.Config;
import com.hazelcast.config.JoinConfig;
import com.hazelcast.config.NetworkConfig;
import com.hazelcast.core.Hazelcast;
import com.hazelcast.core.HazelcastInstance;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.TimeUnit;

public final class Member {
    static final String CLUSTER = "lab";
    private static final long FORM_S = 60;

    public static void main(String[] arguments) throws Exception {
        String[] addresses = arguments[0].split(",");
        // All of 127.0.0.0/8 is on this machine, but the interface has one address of it, and Hazelcast looks for that.
        System.setProperty("hazelcast.local.localAddress", addresses[0]);
        int port = Integer.parseInt(arguments[1]);
        Config config = new Config();
        config.setClusterName(CLUSTER);
        config.setProperty("hazelcast.logging.type", "none");
        config.setProperty("hazelcast.phone.home.enabled", "false");
        config.setProperty("hazelcast.socket.bind.any", "false");
        config.getJetConfig().setEnabled(false);
        NetworkConfig network = config.getNetworkConfig();
        network.setPort(port).setPortAutoIncrement(false);
        JoinConfig join = network.getJoin();
        join.getAutoDetectionConfig().setEnabled(false);
        join.getMulticastConfig().setEnabled(false);
        join.getTcpIpConfig().setEnabled(true);
        for (String address : addresses) {
            join.getTcpIpConfig().addMember(address + ":" + port);
        }
        config.getCPSubsystemConfig().setCPMemberCount(addresses.length);
        HazelcastInstance member = Hazelcast.newHazelcastInstance(config);
        boolean isFormed = member.getCPSubsystem()
                .getCPSubsystemManagementService()
                .awaitUntilDiscoveryCompleted(FORM_S, TimeUnit.SECONDS);
        if (!isFormed) {
            throw new IllegalStateException("the CP subsystem was not formed within " + FORM_S + " s");
        }
        try (ServerSocket ready =
                new ServerSocket(Integer.parseInt(arguments[2]), 50, InetAddress.getByName(addresses[0]))) {
            while (true) {
                ready.accept().close();
            }
        }
    }
}
