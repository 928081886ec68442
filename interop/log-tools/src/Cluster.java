import harness.Check;
import harness.Test;

/** The tools that look at the cluster, its features and replicas. */
public final class Cluster {
    private Cluster() {
    }

    public static void versionsOfTheApisAreToldAndAllKnown(Test test) throws Exception {
        Tool.Result result = Tool.run(Tool.API_VERSIONS).contains("(id: 1 rack: null", "Produce(0): 0 to 13",
            "Fetch(1): 4 to 18", "ApiVersions(18): 0 to 4");
        Check.that(!result.output().contains("UNKNOWN"), result.output());
    }

    public static void clusterIsNamed(Test test) throws Exception {
        Tool.with("", "", Tool.CLUSTER, "cluster-id", "--bootstrap-server", harness.Broker.CONNECT).contains("Cluster ID: ");
        Tool.with("", "", Tool.CLUSTER, "list-endpoints", "--bootstrap-server", harness.Broker.CONNECT)
            .contains(harness.Broker.CONNECT.split(":")[1]);
    }

    public static void featuresAreDescribed(Test test) throws Exception {
        Tool.run(Tool.FEATURES, "describe").contains("Feature: transaction.version", "FinalizedVersionLevel: 2",
            "Feature: group.version");
    }

    public static void quorumIsDescribed(Test test) throws Exception {
        Tool.with("", "", Tool.QUORUM, "--bootstrap-server", harness.Broker.CONNECT, "describe", "--status")
            .contains("LeaderId:", "CurrentVoters:");
    }

    public static void aclsNeedAnAuthorizer(Test test) throws Exception {
        Test.needs("access control lists", () -> Test.get(Test.admin().describeAcls(
            org.apache.kafka.common.acl.AclBindingFilter.ANY).values()));
        String topic = test.fresh("topic");
        Tool.Result result = Tool.with("", "--bootstrap-server", Tool.ACLS, "--list", "--topic", topic);
        result.contains("No Authorizer is configured");
        Tool.with("", "--bootstrap-server", Tool.ACLS, "--add", "--allow-principal", "User:alice", "--operation", "Read",
            "--topic", topic).contains("No Authorizer is configured");
    }

    public static void replicasAreReassignedToWhereTheyAre(Test test) throws Exception {
        String topic = test.topic(1);
        String topics = Tool.file("{\"topics\":[{\"topic\":\"" + topic + "\"}],\"version\":1}");
        Tool.run(Tool.REASSIGNMENT, "--generate", "--topics-to-move-json-file", topics, "--broker-list", "1")
            .contains("Proposed partition reassignment configuration", "\"replicas\":[1]");
        String plan = Tool.file("{\"version\":1,\"partitions\":[{\"topic\":\"" + topic + "\",\"partition\":0,\"replicas\":[1]}]}");
        Tool.run(Tool.REASSIGNMENT, "--execute", "--reassignment-json-file", plan).contains("Successfully started");
        Check.await("its end", () -> Tool.run(Tool.REASSIGNMENT, "--verify", "--reassignment-json-file", plan).output()
            .contains("is completed"));
        Tool.run(Tool.REASSIGNMENT, "--list").contains("No partition reassignments found");
    }

    public static void preferredLeaderIsElected(Test test) throws Exception {
        String topic = test.topic(1);
        Tool.run(Tool.ELECTION, "--election-type", "preferred", "--topic", topic, "--partition", "0")
            .contains("Valid replica already elected");
    }
}
