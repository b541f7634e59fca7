//go:build e2e

package e2e

// command is a step of a command-line client; see step for @ and !!.
func command(line string) step { return step{line: line} }

// clientSteps lead through everything that an operator does.
var clientSteps = []step{
	command("chassis create --uuid " + chassis + " --description rack-@"), command("chassis show " + chassis),
	command("node create --driver fake-hardware --uuid " + node1 + " --name cli~@-1 --resource-class r@ --chassis-uuid " + chassis + " --property cpus=4 --extra a=é --driver-info x=y --no-automated-clean"),
	command("node create --driver fake-hardware --uuid " + node2 + " --name cli~@-2 --resource-class r@ -f json"),
	command("node create --driver fake-hardware --uuid " + node1), command("node create --driver nope"),
	command("node show cli~@-1"), command("node show " + node1 + " --fields uuid name driver"), command("node show --instance " + nobody0), command("node show " + nobody0), command("node show no-such"),
	command("node list --resource-class r@"), command("node list --long --resource-class r@"), command("node list --resource-class r@ --fields uuid name extra -f json"), command("node list --resource-class r@ --limit 1"),
	command("node list --resource-class r@ --sort name:desc -f csv"), command("node list --provision-state flying"), command("node list --marker nope"),
	command("node list --chassis " + chassis + " -f value"), command("--os-baremetal-api-version 1.9 node list --limit 1 -f value -c Maintenance"),
	command("node set cli~@-1 --name cli~@-9 --extra b=2 --property memory_mb=8"), command("node set cli~@-9 --name cli~@-1"), command("node unset " + node1 + " --extra a"), command("node unset " + node1 + " --extra none"), command("node set " + node1 + " --driver nope"),
	command("node maintenance set " + node1 + " --reason broken-fan"), command("node show " + node1 + " --fields maintenance maintenance_reason"), command("node maintenance unset " + node1),
	command("node add trait " + node1 + " CUSTOM_A CUSTOM_B"), command("node trait list " + node1), command("node remove trait " + node1 + " --all"),
	command("node validate " + node1), command("node boot device show " + node1), command("node boot device show --supported " + node1), command("node boot device set " + node1 + " pxe --persistent"),
	command("node console show " + node1), command("node passthru list " + node1), command("node inject nmi " + node1),
	command("node vif attach " + node1 + " vif-@"), command("node vif list " + node1), command("node vif detach " + node1 + " vif-@"),
	command("port create --node " + node1 + " --uuid " + port1 + " 52:54:00:!!:00:01"), command("port create --node " + node1 + " 52:54:00:!!:00:01"), command("port create --node " + nobody0 + " 52:54:00:!!:00:02"),
	command("port list --node " + node1), command("port list --address 52:54:00:!!:00:01 --long"), command("port show " + port1), command("port set " + port1 + " --extra a=1"), command("port unset " + port1 + " --extra a"),
	command("port group create --node " + node1 + " --name g@ -f value -c name"), command("port group list --node " + node1 + " -f value -c Name"), command("port group delete g@"), command("port delete " + port1),
	command("volume target create --node " + node1 + " --uuid " + port1 + " --type iscsi --boot-index 0 --volume-id v@"), command("volume target delete " + port1),
	command("driver list"), command("driver show fake-hardware"), command("driver property list ipmi"), command("driver show nope"),
	command("conductor list"), command("conductor show localhost"),
	command("node deploy " + node1), command("node abort " + node1), command("node deploy no-such"),
	command("node manage --wait 60 " + node1), command("node manage " + node2), rests(node1, "manageable"), rests(node2, "manageable"), command("node power off " + node2), rests(node2, "manageable"),
	command("node power on " + node1), rests(node1, "manageable"), command("node power off " + node1 + " --soft --power-timeout 60"), rests(node1, "manageable"), command("node reboot " + node1), rests(node1, "manageable"), command("node show " + node1 + " --fields power_state target_power_state"),
	command("node inspect --wait 60 " + node1), rests(node1, "manageable"), command(`node clean ` + node1 + ` --clean-steps [{"interface":"bios","step":"factory_reset"}]`), rests(node1, "manageable"), command("node clean " + node1 + " --clean-steps []"),
	command("node provide " + node1), command("node provide --wait 60 " + node2), rests(node1, "available"), rests(node2, "available"), command("node provide " + node1),
	command("allocation create --name a@ --uuid " + port1 + " --resource-class r@ --candidate-node " + node2 + " --wait 60"), command("allocation list --resource-class r@"), command("allocation show a@"), command("allocation create --name a@ --resource-class r@"),
	command("allocation delete a@"), command("allocation show a@"), rests(node2, "available"),
	command(`node deploy ` + node1 + ` --config-drive {"user_data":"x"}`), rests(node1, "active"), command("node rebuild " + node1), rests(node1, "active"), command("node delete " + node1),
	command("node rescue " + node1 + " --rescue-password sesame"), rests(node1, "rescue"), command("node unrescue " + node1), rests(node1, "active"), command("node show " + node1),
	command("node undeploy " + node1), rests(node1, "available"), command("node undeploy " + node1),
	command("node delete " + node1 + " " + node2 + " " + nobody0), command("node show " + node1), command("chassis delete " + chassis),
	command("node bogus"), command("--os-baremetal-api-version 1.200 node list"),
}
