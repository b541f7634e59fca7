package main

// room is a part of the house that is read as one.
type room struct {
	name    string
	ceiling int      // the most lines that it may have, without tests
	paths   []string // folders and files, from the root of the module
}

const (
	slots    = "slots, fairshare, admission"
	failures = "breaker, holdoff, sizing"
	reading  = "ironic, snapshot, inventory"
	proxy    = "gateway, httpserve"
	cluster  = "kube, store, clusterhosts"
	rest     = "config, app, cmd, the rest"
	rig      = "rig, hack, e2e"
)

// allTests is the most lines that all tests together may have.
const allTests = 40_000

// rooms are all of the house. What no path holds belongs to the rest.
var rooms = []room{
	{slots, 5_500, []string{"pkg/slots", "pkg/fairshare", "pkg/admission"}},
	{failures, 2_200, []string{"pkg/breaker", "pkg/holdoff", "pkg/sizing"}},
	{reading, 2_300, []string{"pkg/ironic", "pkg/snapshot", "internal/inventory"}},
	{proxy, 2_300, []string{"internal/gateway", "internal/httpserve"}},
	{"api", 1_200, []string{"pkg/api"}},
	{"server, page, metrics", 2_100, []string{"internal/server", "internal/page", "internal/metrics"}},
	{cluster, 3_300, []string{
		"internal/kube", "internal/store", "internal/clusterhosts",
		"internal/app/kube.go", "internal/app/operator.go", "internal/app/term.go",
	}},
	{"planned work", 5_800, []string{
		"pkg/disruption", "internal/planner",
		"internal/kube/fleet", "internal/kube/execute", "internal/kube/objects", "internal/kube/workload.go", "internal/kube/workload_test.go",
		"internal/app/planner.go",
	}},
	{rest, 4_000, nil},
	{rig, 13_000, []string{"internal/rig", "hack", "e2e", "cmd/ironic-throttle-lab"}},
}

// limit holds rooms to a number of lines, from the change on that brought them below it.
type limit struct {
	what  string
	rooms []string
	tests bool // counts their tests instead
	most  int
}

var limits = []limit{
	{"config, app, commands, what they share", []string{rest}, false, 4_235}, // wanted: 4,000
	{"their tests", []string{rest}, true, 3_250},

	{"the API", []string{"api"}, false, 1_210},
	{"server, page, metrics", []string{"server, page, metrics"}, false, 2_150}, // wanted: 2,100
	{"their tests", []string{"api", "server, page, metrics"}, true, 2_300},

	{"the decision", []string{slots}, false, 5_500},
	{"failures and sizing", []string{failures}, false, 2_200},
	{"the tests of both", []string{slots, failures}, true, 5_700}, // rows against 200 mutants
	{"reading Ironic", []string{reading}, false, 2_300},
	{"the gateway", []string{proxy}, false, 2_320}, // wanted: 2,300; TLS versions are in it
	{"the tests of both", []string{reading, proxy}, true, 7_500},
	{"the cluster", []string{cluster}, false, 3_475}, // wanted: 3,300
	{"the tests of the cluster", []string{cluster}, true, 2_380},
	{"planned work", []string{"planned work"}, false, 6_310},             // wanted: 5,800
	{"the tests of planned work", []string{"planned work"}, true, 5_515}, // wanted: 7,000 with e2e
}
