package deploytest

// executorRights are those of internal/kube/execute besides the lists of the planner and the Events of
// kubernetes.
var executorRights = []string{
	"cluster metal3.io/baremetalhosts * get", "cluster metal3.io/baremetalhosts * patch",
	"cluster cluster.x-k8s.io/machines * get", "cluster cluster.x-k8s.io/machines * patch", "cluster cluster.x-k8s.io/machines * delete",
	"cluster cluster.x-k8s.io/machinesets * get", "cluster cluster.x-k8s.io/machinesets * patch",
	"cluster cluster.x-k8s.io/machinedeployments * get", "cluster cluster.x-k8s.io/machinedeployments * patch",
	"cluster infrastructure.cluster.x-k8s.io/metal3machines * get",
	"cluster /nodes * get", "cluster /nodes * patch", "cluster /pods/eviction * create",
}
