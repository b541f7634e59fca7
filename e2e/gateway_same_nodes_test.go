//go:build e2e

package e2e

import "strings"

// The nodes of one side.
const (
	node1   = "@-0000-4000-8000-000000000001" // is worked on
	node2   = "@-0000-4000-8000-000000000002"
	node3   = "@-0000-4000-8000-000000000003" // has no name
	nobody0 = "@-0000-4000-8000-00000000dead"
	chassis = "@-0000-4000-8000-0000000000c1"
	port1   = "@-0000-4000-8000-0000000000b1"
	one     = " /v1/nodes/" + node1
	two     = " /v1/nodes/" + node2
)

// createSteps make nodes, and try to make some that cannot be.
var createSteps = []step{
	do("POST /v1/chassis", sending(`{"uuid":"`+chassis+`","description":"rack @","extra":{"a":1}}`)),
	do("POST /v1/nodes", sending(`{"uuid":"`+node1+`","name":"metal3~@-1","driver":"fake-hardware","resource_class":"r@","chassis_uuid":"`+chassis+`","properties":{"cpus":"4","memory_mb":1e3},"extra":{"é":"漢\ud83d\ude00","n":null,"f":1.50}}`)),
	do("POST /v1/nodes", sending(` { "driver":"fake-hardware" , "uuid":"`+node2+`", "name":"@-2", "resource_class":"r@", "conductor_group":"", "automated_clean":false}`)),
	do("POST /v1/nodes/", sending(`{"driver":"fake-hardware","uuid":"`+node3+`","resource_class":"r@"}`), with("Content-Type: application/json; charset=utf-8")),
	do("POST /v1/nodes", sending(`{"driver":"fake-hardware","uuid":"`+node1+`"}`)),
	do("POST /v1/nodes", sending(`{"driver":"fake-hardware","name":"metal3~@-1"}`)),
	do("POST /v1/nodes", sending(`{"driver":"fake-hardware","name":"bad name"}`)),
	do("POST /v1/nodes", sending(`{"driver":"fake-hardware","uuid":"nope"}`)),
	do("POST /v1/nodes", sending(`{"driver":"nope"}`)),
	do("POST /v1/nodes", sending(`{"name":"@-x"}`)),
	do("POST /v1/nodes", sending(`{"driver":"fake-hardware","colour":"red"}`)),
	do("POST /v1/nodes", sending(`{"driver":"fake-hardware","extra":"no object"}`)),
	do("POST /v1/nodes", sending(`{"driver":"fake-hardware","boot_interface":"nope"}`)),
	do("POST /v1/nodes", sending(`{"driver":"fake-hardware","conductor_group":"x"}`), at("1.45")),
	do("POST /v1/nodes", sending(`{"driver":"fake-hardware"`)),
	do("POST /v1/nodes", sending(`[]`)),
	do("POST /v1/nodes", sending(`null`)),
	do("POST /v1/nodes", sending("{\"driver\":\"\xff\"}")),
	do("POST /v1/nodes"),
	do("POST /v1/nodes", sending(`{"driver":"fake-hardware","owner":"@"}`)),
	do("POST /v1/nodes", sending(`{"driver":"fake-hardware","uuid":"`+node1+`"}`), with("Content-Type: text/plain")),
	do("POST /v1/nodes", sending(`driver=fake-hardware`), with("Content-Type: "+asForm)),
	do("POST /v1/nodes", inChunks(`{"driver":"fake-hardware","name":"@-chunked"}`)),
}

// nodeSteps read and change nodes without any work on them.
var nodeSteps = []step{
	do("GET" + one), do("GET" + one + "/"), do("GET /nodes/" + node1), do("GET" + one + ".json"),
	do("GET /v1/nodes/metal3~@-1"), do("GET /v1/nodes/metal3%7E@-1"), do("GET /v1/nodes/metal3%7e@-1"),
	do("GET" + one + "?fields=uuid,name,extra"), do("GET" + one + "?fields=nope"), do("GET" + one + "?fields="), do("GET" + one + "?nope=1"),
	do("GET"+one, at("1.1")), do("GET"+one, at("1.31")), do("GET"+one, at("latest")), do("GET"+one, at("none")),
	do("GET" + one + "/states"), do("GET" + one + "/validate"), do("GET /v1/nodes/validate?node=" + node1),
	do("GET" + one + "/maintenance"), do("GET" + one + "/vifs"), do("GET" + one + "/bios"), do("GET" + one + "/traits"),
	do("GET" + one + "/allocation"), do("GET" + one + "/history"), do("GET" + one + "/inventory"), do("GET" + one + "/ports"),
	do("GET" + one + "/portgroups"), do("GET" + one + "/volume"), do("GET" + one + "/volume/connectors"), do("GET" + one + "/nope"),
	do("GET" + one + "/management/boot_device"), do("GET" + one + "/management/boot_device/supported"), do("GET" + one + "/management/indicators"),
	do("GET" + one + "/vendor_passthru/methods"), do("GET" + one + "/states/console"), do("GET" + one + "/states/provision"),
	do("PATCH"+one, sending(`[{"op":"add","path":"/extra/x","value":{"y":[1,2]}},{"op":"remove","path":"/extra/n"},{"op":"replace","path":"/properties/cpus","value":"8"}]`)),
	do("PATCH"+one, sending(`[{"op":"fly","path":"/extra/x","value":1}]`)),
	do("PATCH"+one, sending(`[{"op":"remove","path":"/extra/none"}]`)),
	do("PATCH"+one, sending(`[{"op":"replace","path":"/provision_state","value":"active"}]`)),
	do("PATCH"+one, sending(`[{"op":"replace","path":"/name","value":"bad name"}]`)),
	do("PATCH"+one, sending(`{}`)), do("PATCH"+one, sending(`[{`)), do("PATCH" + one), do("PATCH"+one, sending(`[]`)),
	do("PATCH"+one, inChunks(`[{"op":"add","path":"/extra/c","value":1}]`)),
	do("PATCH"+one, sending(`[{"op":"add","path":"/extra/big","value":"`+strings.Repeat("0123456789abcdef", 64<<10)+`"}]`)),
	do("PATCH"+one, sending(`[{"op":"remove","path":"/extra/big"}]`), with("Expect: 100-continue")),
	do("PATCH /v1/nodes/"+nobody0, sending(`[{"op":"add","path":"/extra/x","value":1}]`)),
	do("PUT"+one+"/maintenance", sending(`{"reason":"broken fan"}`)), do("GET" + one + "?fields=maintenance,maintenance_reason,fault"),
	do("PUT"+one+"/maintenance", sending(`{"nope":1}`)), do("DELETE" + one + "/maintenance"), do("DELETE" + one + "/maintenance"),
	do("PUT"+one+"/traits", sending(`{"traits":["CUSTOM_A"]}`)), do("PUT" + one + "/traits/CUSTOM_B"), do("PUT"+one+"/traits", sending(`{"traits":["low"]}`)),
	do("DELETE" + one + "/traits/CUSTOM_A"), do("DELETE" + one + "/traits/CUSTOM_A"), do("GET" + one + "/traits"), do("DELETE" + one + "/traits"),
	do("POST"+one+"/vifs", sending(`{"id":"vif-@"}`)), do("POST"+one+"/vifs", sending(`{}`)), do("DELETE" + one + "/vifs/vif-@"),
	do("PUT"+one+"/management/boot_device", sending(`{"boot_device":"pxe","persistent":true}`)), do("PUT"+one+"/management/boot_device", sending(`{"boot_device":"toaster"}`)),
	do("PUT" + one + "/management/inject_nmi"), do("PUT"+one+"/states/raid", sending(`{"logical_disks":[]}`)), do("PUT"+one+"/states/raid", sending(`{}`)),
	do("PUT"+one+"/states/boot_mode", sending(`{"target":"uefi"}`)), do("PUT"+one+"/states/secure_boot", sending(`{"target":true}`)),
	do("PUT"+one+"/states/console", sending(`{"enabled":true}`)), do("POST" + one + "/vendor_passthru?method=first_method"),
	do("POST"+one+"/vendor_passthru?method=first_method", sending(`{"bar":"baz"}`)), do("PUT"+one, sending(`{}`)), do("POST"+one, sending(`{}`)),
	do("GET /v1/nodes/" + nobody0), do("DELETE /v1/nodes/" + nobody0), do("GET /v1/nodes/no%20such"), do("GET /v1/nodes/detail?fields=uuid"),
	do("GET /v1/nodes/maintenance"), do("GET /v1/nodes/ports"), do("GET /v1/nodes/%00"), do("GET /v1/nodes/%ff"), do("GET /v1/nodes/é"),
}

// provision is a PUT of a target.
func provision(node, target, more string) step {
	return do("PUT"+node+"/states/provision", sending(`{"target":"`+target+`"`+more+`}`))
}

// workSteps drive a node through its life; the limit lets everybody through.
var workSteps = []step{
	provision(one, "active", ""), provision(one, "fly", ""), provision(one, "", ""), provision(one, "abort", ""),
	provision(one, "manage", `,"x":1`), do("PUT"+one+"/states/provision", sending(`[]`)), do("PUT" + one + "/states/provision"),
	do("PUT"+one+"/states/provision", sending(`{"target":7}`)), do("PUT"+one+"/states/provision", sending(`{"target":null}`)),
	provision(" /v1/nodes/"+nobody0, "manage", ""), provision(" /v1/nodes/"+nobody0, "active", ""),
	do("PUT"+one+"/states/provision", sending(`{"target":"active"}`), at("1.200")), do("PUT"+one+"/states/provision", sending(`{"target":"adopt"}`), at("1.16")),
	provision(one, "manage", ""), rests(node1, "manageable"), provision(" /v1/nodes/@-2", "manage", ""), rests(node2, "manageable"),
	do("PUT"+one+"/states/power", sending(`{"target":"power on"}`)), rests(node1, "manageable"), do("GET" + one + "/states"),
	do("PUT"+one+"/states/power", sending(`{"target":"sideways"}`)), do("PUT"+one+"/states/power", sending(`{"target":"soft rebooting","timeout":-1}`)),
	do("PUT"+one+"/states/power", sending(`{"target":"power off"}`), with("Expect: 100-continue")), rests(node1, "manageable"), do("PUT" + one + "/states/power"),
	provision(one, "clean", ""), provision(one, "provide", `,"configdrive":"x"`), provision(one, "rescue", ""),
	provision(one, "inspect", ""), rests(node1, "manageable"), do("GET" + one), do("GET" + one + "/inventory"),
	provision(one, "clean", `,"clean_steps":[{"interface":"bios","step":"factory_reset"}]`), rests(node1, "manageable"),
	provision(one, "provide", ""), rests(node1, "available"), provision(two, "provide", ""), rests(node2, "available"),
	do("PATCH"+one, sending(`[{"op":"add","path":"/instance_uuid","value":"`+node1+`"},{"op":"add","path":"/instance_info/image_source","value":"http://127.0.0.1/i"}]`)),
	do("PATCH"+two, sending(`[{"op":"add","path":"/instance_uuid","value":"`+node1+`"}]`)),
	do("PUT"+one+"/maintenance", sending(`{}`)), provision(one, "active", ""), do("DELETE" + one + "/maintenance"),
	provision(one, "active", `,"configdrive":{"user_data":"#cloud-config\n","meta_data":{"a":1}}`), rests(node1, "active"), do("GET" + one),
	provision(one, "rebuild", `,"deploy_steps":[]`), provision(one, "rebuild", ""), rests(node1, "active"),
	provision(one, "rescue", `,"rescue_password":"open sesame"`), rests(node1, "rescue"), provision(one, "unrescue", ""), rests(node1, "active"),
	do("DELETE" + one), do("PATCH"+one, sending(`[{"op":"replace","path":"/driver","value":"ipmi"}]`)),
	do("PATCH"+one, sending(`[{"op":"replace","path":"/protected","value":true}]`)), provision(one, "deleted", ""),
	do("PATCH"+one, sending(`[{"op":"replace","path":"/protected","value":false}]`)),
	do("PUT" + one + "/states/provision?target=deleted"), rests(node1, "available"), do("GET" + one + "/states"),
	do("PUT"+two+"/states/provision/active", with("Content-Length: 0")), rests(node2, "active"),
	do("PUT"+two+"/states/provision", sending("target=undeploy"), with("Content-Type: "+asForm)), rests(node2, "available"),
}
