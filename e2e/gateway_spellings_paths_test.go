//go:build e2e

package e2e

import "slices"

const (
	asJSON  = "application/json"
	asForm  = "application/x-www-form-urlencoded"
	inspect = `{"target":"inspect"}`
	putNode = "PUT /v1/nodes/$ID/states/provision"
)

var spellings = slices.Concat(clearSpellings, pathSpellings, methodSpellings, verbSpellings,
	querySpellings, formSpellings, jsonSpellings, typeSpellings, lineSpellings, headSpellings, lengthSpellings, hiddenSpellings)

// lines makes a spelling of each first line, with the same body; the line is its
// name.
func lines(canonical bool, contentType, body string, all ...string) (made []spelling) {
	for _, line := range all {
		made = append(made, spelling{name: line, canonical: canonical, write: request(line, contentType, body)})
	}
	return made
}

// clearSpellings say in the path, beyond doubt, which node is meant.
var clearSpellings = slices.Concat(
	lines(true, asJSON, inspect,
		putNode,
		"PUT /v1/nodes/$NAME/states/provision",
		"PUT /nodes/$ID/states/provision",
		"PUT //v1/nodes/$ID/states/provision",
		"PUT /v1/nodes/$ID/states//provision",
		"PUT /v1/nodes/$ID/states////provision",
		"PUT /v1/nodes/$ID/states/provision/",
		"PUT /v1/nodes/$ID/states/provision///",
		"PUT /v1/nodes/$ID/states/provision.json",
		"PUT /v1/nodes/$ID/states/provision.json/",
		"PUT /v1/nodes/$ID/st%61tes/provi%73ion",
		"PUT /%76%31/%6e%6F%64%65%73/$ID/states/%70%72%6f%76%69%73%69%6f%6e",
		"PUT /v1/nodes/$ID%2Fstates%2Fprovision",
		"PUT /v1%2Fnodes%2f$ID%2fstates%2fprovision",
		"put /v1/nodes/$ID/states/provision",
		"Put /v1/nodes/$ID/states/provision",
		"pUT /nodes/$NAME/states/provision.json/",
	),
	lines(true, "", "",
		"PUT /v1/nodes/$ID/states/provision/inspect",
		"PUT /v1/nodes/$ID/states/provision/inspect.json",
		"PUT /v1/nodes/$ID/states/provision//inspect/",
		"PUT /v1/nodes/$ID/states/provision%2finspect",
		"PUT /v1/nodes/$ID/states/provision/%69nspect",
		"PUT /v1/nodes/$ID/states/provision?target=inspect",
		"PUT /v1/nodes/$ID/states/provision?t%61rget=in%73pect",
		"PUT /v1/nodes/$ID/states/provision?target=inspect&",
		"PUT /v1/nodes/$ID/states/provision?&&target=inspect",
		"PUT /v1/nodes/$ID/states/provision/?target=inspect",
		"PUT /v1/nodes/$ID/states/provision.json?target=inspect",
	),
)

// pathSpellings lead there by other ways, some of them past Ironic's framework:
// whatever a controller has as an attribute is a part of a path to it.
var pathSpellings = slices.Concat(
	lines(false, asJSON, inspect,
		"PUT /V1/nodes/$ID/states/provision",
		"PUT /v1.0/nodes/$ID/states/provision",
		"PUT /v1.json/nodes/$ID/states/provision",
		"PUT /v1/v1/nodes/$ID/states/provision",
		"PUT /v1//nodes/$ID/states/provision",
		"PUT /v1/nodes//$ID/states/provision",
		"PUT /v1/nodes/$ID//states/provision",
		"PUT /v1/nodes/$ID/states/provision.xml",
		"PUT /v1/nodes/$ID/states/provision.json.json",
		"PUT /v1/nodes/$ID.json/states/provision",
		"PUT /v1/nodes/$ID/states/provi%2573ion",
		"PUT /v1/nodes/$ID/states/provisio%c1%ae",
		"PUT /v1/nodes/$ID/states/provisio%u006e",
		"PUT /v1/nodes/$ID/%EF%BD%93tates/provision",
		"PUT /v1/nodes/$ID/states/provision%20",
		"PUT /v1/nodes/$ID/states/provision%00",
		"PUT /v1/nodes/$ID/states/provision%09",
		"PUT /v1/nodes/$ID/states/provision%0d%0a",
		"PUT /v1/nodes/$ID/states/provision%zz",
		"PUT /v1/nodes/$ID/states/provision;x",
		"PUT /v1/nodes/$ID/states;x/provision",
		"PUT /v1/nodes/$ID/States/Provision",
		"PUT /v1/nodes/$ID\\states\\provision",
		"PUT /v1/nodes/$ID/./states/provision",
		"PUT /v1/nodes/$ID/states/./provision",
		"PUT /v1/nodes/$ID/states/%2e/provision",
		"PUT /v1/nodes/$ID/states/power/../provision",
		"PUT /v1/nodes/$ID/states/power/%2e%2e/provision",
		"PUT /v1/chassis/../nodes/$ID/states/provision",
		"PUT /v1/states/../nodes/$ID/states/provision",
		"PUT /v1/states/$ID/provision",
		"PUT /v1/nodes/states/$ID/provision",
		"PUT /v1/nodes/nodes/$ID/states/provision",
		"PUT /v1/chassis/nodes/$ID/states/provision",
		"PUT /v1/chassis/$ID/nodes/states/provision",
		"PUT /v1/chassis/$ID/nodes/$ID/states/provision",
		"PUT /v1/portgroups/$ID/nodes/states/provision",
		"PUT /v1/ports/$ID/nodes/$ID/states/provision",
		"PUT /v1/allocations/$ID/node/states/provision",
		"PUT /v1/nodes/inspect/$ID/states/provision",
		"PUT /v1/_check_version/__self__/nodes/$ID/states/provision",
		"PUT /v1/_lookup/__self__/nodes/$ID/states/provision",
		"PUT /__class__/x/nodes/$ID/states/provision",
		"PUT /__class__/x/v1/nodes/$ID/states/provision",
		"PUT /__reduce__/__self__/nodes/$ID/states/provision",
		"PUT /v1/nodes/__reduce__/__self__/$ID/states/provision",
		"PUT /v1/nodes/$ID/__reduce__/__self__/states/provision",
		"PUT /v1/nodes/$ID/states/__reduce__/__self__/provision",
		"PUT /v1/nodes/$ID/states/_lookup_child/__self__/provision",
		"PUT /v1/nodes/$ID/__class__/states/provision",
		"PUT /v1/nodes/$ID/states/provision/__func__",
	),
	lines(false, "", "",
		"PUT /v1/nodes/states/provision?node_ident=$ID&target=inspect",
		"PUT /v1/nodes/states/provision?target=inspect&node_ident=$NAME",
		"PUT /v1/nodes/states/provision/$ID/inspect",
		"PUT /v1/nodes/states/provision/$ID?target=inspect",
		"PUT /nodes/states/provision.json?node_ident=$ID&target=inspect",
		"PUT /v1/nodes/$ID/inspect/states/provision",
		"PUT /v1/nodes/$ID/inspect/states/provision/",
		"PUT /v1/chassis/$ID/nodes/inspect/states/provision",
		"PUT /v1/chassis/$ID/nodes/states/provision/inspect",
		"PUT /v1/chassis/x/nodes/states/provision/$ID/inspect",
		"PUT /v1/nodes/x/states/provision?node_ident=$ID&target=inspect",
		"PUT /v1/nodes/$ID/states/provision/inspect/foo",
		"PUT /v1/nodes/$ID/states?target=inspect",
		"PUT /v1/nodes/$ID/states/?provision&target=inspect",
	),
	[]spelling{
		{name: "node in the body", write: request("PUT /v1/nodes/states/provision", asJSON, `{"target":"inspect","node_ident":"$ID"}`)},
		{name: "node in the form", write: request("PUT /v1/nodes/states/provision", asForm, "target=inspect&node_ident=$ID")},
	},
)

// methodSpellings use methods that may stand for PUT, or for a verb: Ironic's
// framework calls what bears the name of the method.
var methodSpellings = slices.Concat(
	lines(false, asJSON, inspect,
		"POST /v1/nodes/$ID/states/provision",
		"PATCH /v1/nodes/$ID/states/provision",
		"FOO /v1/nodes/$ID/states/provision",
		"PROVISION /v1/nodes/$ID/states",
		"provision /v1/nodes/$ID/states/",
		"PROVISION /v1/nodes/$ID/states.json",
		"PROVISION /nodes/$ID/states",
		"PROVISION /v1/nodes/$ID/st%61tes",
		"PROVISION /v1/nodes/$ID%2Fstates",
		"POST_PROVISION /v1/nodes/$ID/states",
		"PROVISION /v1/nodes/$ID/states/provision",
		"PROVISION /v1/nodes/$ID/states/__reduce__/__self__",
		"PROVISION /v1/nodes/$ID",
		"CUSTOM_ACTION /v1/nodes/$ID/states/provision",
		"_PROVISION /v1/nodes/$ID/states",
		"GET /v1/nodes/$ID/states?_method=provision",
		"POST /v1/nodes/$ID/states?_method=provision",
		"POST /v1/nodes/$ID/states/provision?_method=PUT",
	),
	lines(false, "", "",
		"PROVISION /v1/nodes/$ID/states?target=inspect",
		"PrOvIsIoN /v1/nodes/$ID/states/inspect",
		"PROVISION /v1/nodes/states?node_ident=$ID&target=inspect",
		"PROVISION /v1/nodes/states/$ID/inspect",
		"PROVISION /v1/chassis/$ID/nodes/states?target=inspect",
		"GET /v1/nodes/$ID/states/provision/inspect",
		"GET /v1/nodes/$ID/states/provision/inspect?_method=put",
		"HEAD /v1/nodes/$ID/states/provision/inspect?_method=put",
		"OPTIONS /v1/nodes/$ID/states/provision/inspect?_method=put",
		"DELETE /v1/nodes/$ID/states/provision/inspect?_method=put",
		"TRACE /v1/nodes/$ID/states/provision/inspect?_method=put",
		"PUT /v1/nodes/$ID/states/provision/inspect?_method=put",
		"POST /v1/nodes/$ID/states/provision?_method=put&target=inspect",
		"HEAD /v1/nodes/$ID/states?_method=provision&target=inspect",
	),
	[]spelling{
		{name: "PROVISION, form", write: request("PROVISION /v1/nodes/$ID/states", asForm, "target=inspect")},
		{name: "POST, _method in the form", write: request("POST /v1/nodes/$ID/states/provision", asForm, "_method=put&target=inspect")},
		{name: "POST, _method in the form, target in the path", write: request("POST /v1/nodes/$ID/states/provision/inspect", asForm, "_method=put")},
		{name: "PUT power, _method in the form", write: request("PUT /v1/nodes/$ID/states/power", asForm, "_method=provision&target=inspect")},
		{name: "POST, override header", write: request("POST /v1/nodes/$ID/states/provision", asJSON, inspect, "X-HTTP-Method-Override: PUT", "X-Method-Override: PUT")},
	},
)

// verb is a target from a state where Ironic takes it.
func verb(state, target, more string) spelling {
	return spelling{name: target + " of " + state, state: state, write: request(putNode, asJSON, `{"target":"`+target+`"`+more+`}`)}
}

// verbSpellings are the other targets that start work.
var verbSpellings = []spelling{
	verb("manageable", "provide", ""),
	verb("manageable", "clean", `,"clean_steps":[{"interface":"deploy","step":"erase_devices"}]`),
	verb("available", "active", ""),
	verb("available", "deploy", ""),
	verb("active", "rebuild", ""),
	verb("active", "deleted", ""),
	verb("active", "undeploy", ""),
	verb("deploy failed", "active", ""),
	verb("deploy failed", "deleted", ""),
	verb("active", "rescue", `,"rescue_password":"sesame"`),
	verb("rescue", "unrescue", ""),
	verb("inspect failed", "inspect", ""),
}
