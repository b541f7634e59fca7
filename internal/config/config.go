package config

import "time"

// Config is the whole configuration of one throttle, checked. It is a value:
// Load and Reload make new ones, nothing changes one in place.
type Config struct {
	Mode           Mode
	File           string // the config file, "" when none was named
	FileSum        string // SHA-256 of its content as it was read, hexadecimal; "" without one
	BMOConcurrency int    // compared with the limit (LH-20), and bounds who waits in the gateway (GW-19); 0 = unknown

	Limits  Limits
	View    View
	Leases  Leases
	Turns   Turns
	Holdoff Holdoff
	Breaker Breaker
	Ironic  Ironic
	Listen  Listen
	Access  Access
	Gateway Gateway
	Log     Log

	Kubernetes Kubernetes
}

// Mode says what happens with a no.
type Mode string

// The modes.
const (
	Enforce Mode = "enforce" // a no is a no
	Observe Mode = "observe" // a no is counted and answered yes
)

// CountMode says which busy nodes occupy a slot (LH-11).
type CountMode string

// The count modes.
const (
	CountAgent CountMode = "agent" // busy and agent_url set, or ours
	CountBusy  CountMode = "busy"  // every busy node, whoever started it
)

// Limits says how many hosts may work at once. All of its numbers are hosts.
type Limits struct {
	Total int // 1..100000 (LH-1, LH-18)
	// Pools limits conductor groups, by lower-case name, each within Total;
	// empty: one pool for all (LH-35).
	Pools map[string]int
	// VirtualMedia is the size of the pool of virtual-media hosts beside Total
	// (LH-34); 0: none, see ExemptVirtualMedia.
	VirtualMedia       int
	ExemptVirtualMedia bool // LH-22

	CountMode   CountMode
	ExtraStates bool // service and hold states count as busy too (LH-2)

	StuckAfter time.Duration // LH-33; 0 = never
	StuckCap   int           // hosts written off at once; 0..Total
}

// View says how often Ironic is polled and how old a poll may be.
type View struct {
	PollInterval time.Duration
	MaxAge       time.Duration
	MaxStale     time.Duration // older: new hosts are refused (LH-17)
	ListMaxAge   time.Duration // a fetched node is believed this long (LH-16)
}

// Leases holds the times in the life of a slot.
type Leases struct {
	TTL           time.Duration // LH-12
	Linger        time.Duration // LH-14
	StartupSettle time.Duration // LH-24
}

// Auto as a number of Turns leaves it to a formula of docs/spec/fair-share.md.
const Auto = -1

// Turns says whose turn it is when more hosts want slots than there are
// (docs/spec/fair-share.md).
type Turns struct {
	// Ahead is how many hosts are called beyond the free slots; Auto or 0..4096.
	Ahead int
	// Overtake is how often a called host may be overtaken before a slot is kept
	// for it; Auto or 1..1000000.
	Overtake int
	// RedeemAfter is for how long slots are idle before a host may take over the
	// call of another.
	RedeemAfter time.Duration
	// ClaimWindow is how long a host may be silent before its gap between two asks
	// is known.
	ClaimWindow time.Duration

	// Hosts with FailingThreshold errors, 1..9, or more are failing. While others
	// want slots they get at most FailingCap, Auto or 1..Total, and always leave
	// FailingReserve, Auto or 0..Total-1. Both together are at most Total unless
	// that is 1 (F-4).
	FailingThreshold int
	FailingCap       int
	FailingReserve   int

	// Weights of namespaces, 0.01..100; one that is not listed has 1 (F-2).
	Weights map[string]float64
}

// Ironic says where Ironic is and how to reach it, as BMO says it. The files
// need not exist: BMO uses its default paths only when something lies there.
type Ironic struct {
	Endpoint            string // may carry user:password@; never print it, see Effective
	AuthRootDir         string // files ironic/username and ironic/password below it
	CACertFile          string
	ClientCertFile      string
	ClientKeyFile       string
	Insecure            bool
	SkipClientSANVerify bool
	Timeout             time.Duration // of one request
}

// Listen holds host:port of the listeners.
type Listen struct {
	API     string // HTTP API and web page
	Local   string // both once more, on loopback, in plain HTTP and for everybody; "" = not
	Health  string // /healthz, /readyz
	Metrics string // /metrics
}

// Log says what is logged and how.
type Log struct {
	Level  string // debug, info, warn, error
	Format string // text, json
}

// Default is the configuration with nothing set. Ironic.Endpoint has no
// default, so Load would refuse it; tests and the demo fill it in.
func Default() Config {
	var c Config
	for _, s := range table() {
		if s.def != "" {
			// A default that its own row refuses is caught by the tests.
			_ = s.value(&c).set(s.def)
		}
	}
	c.Limits.StuckCap = defaultStuckCap(c.Limits.Total)
	return c
}

// defaultStuckCap is a quarter of the slots, rounded up (LH-33).
func defaultStuckCap(limit int) int { return (limit + 3) / 4 }
