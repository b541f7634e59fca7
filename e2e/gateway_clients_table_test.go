//go:build e2e

package e2e

// command is a step of a command-line client; see step for @ and !!.
func command(line string) step { return step{line: line} }

// clientSteps lead through the life of a node, as an operator does, and what may be answered on the way.
var clientSteps = []step{
	command("node create --driver fake-hardware --uuid " + node1 + " --name cli~@-1 --resource-class r@ --property cpus=4 --extra a=é --driver-info x=y --no-automated-clean"),
	command("node create --driver fake-hardware --uuid " + node2 + " --name cli~@-2 --resource-class r@ -f json"),
	command("node create --driver fake-hardware --uuid " + node1), command("node create --driver nope"),
	command("node show cli~@-1"), command("node show " + nobody0), command("node show no-such"),
	command("node list --long --resource-class r@"), command("node list --resource-class r@ --fields uuid name extra -f json"), command("node list --resource-class r@ --limit 1"),
	command("node list --provision-state flying"), command("--os-baremetal-api-version 1.9 node list --limit 1 -f value -c Maintenance"),
	command("node set cli~@-1 --name cli~@-9 --extra b=2"), command("node set cli~@-9 --name cli~@-1"), command("node set " + node1 + " --driver nope"),
	command("node maintenance set " + node1 + " --reason broken-fan"), command("node maintenance unset " + node1),
	command("node validate " + node1), command("port create --node " + node1 + " --uuid " + port1 + " 52:54:00:!!:00:01"), command("port delete " + port1),
	command("driver list"), command("conductor show localhost"),
	command("node deploy " + node1), command("node abort " + node1), command("node deploy no-such"),
	command("node manage --wait 60 " + node1), command("node manage " + node2), rests(node1, "manageable"), rests(node2, "manageable"),
	command("node power on " + node1), rests(node1, "manageable"),
	command("node inspect --wait 60 " + node1), rests(node1, "manageable"), command(`node clean ` + node1 + ` --clean-steps [{"interface":"bios","step":"factory_reset"}]`), rests(node1, "manageable"),
	command("node provide " + node1), command("node provide --wait 60 " + node2), rests(node1, "available"), rests(node2, "available"), command("node provide " + node1),
	command(`node deploy ` + node1 + ` --config-drive {"user_data":"x"}`), rests(node1, "active"), command("node rebuild " + node1), rests(node1, "active"), command("node delete " + node1),
	command("node undeploy " + node1), rests(node1, "available"), command("node undeploy " + node1),
	command("node delete " + node1 + " " + node2 + " " + nobody0), command("node show " + node1),
	command("node bogus"), command("--os-baremetal-api-version 1.200 node list"),
}
