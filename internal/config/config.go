package config

import (
	"cmp"
	"time"

	"github.com/spf13/viper"
)

// Config is the whole configuration of one throttle, checked. It is a value:
// Load and Reload make new ones, nothing changes one in place. The table says what
// each field means and which values it can have.
type Config struct {
	Mode           Mode   `mapstructure:"mode"`
	File           string `mapstructure:"config"`         // "" when none was named
	FileSum        string `mapstructure:"-"`              // SHA-256 of its content as it was read, hexadecimal; "" without one
	BMOConcurrency int    `mapstructure:"bmoConcurrency"` // 0 = unknown

	Limits     Limits     `mapstructure:",squash"`
	View       View       `mapstructure:",squash"`
	Leases     Leases     `mapstructure:",squash"`
	Turns      Turns      `mapstructure:",squash"`
	Holdoff    Holdoff    `mapstructure:",squash"`
	Breaker    Breaker    `mapstructure:",squash"`
	Ironic     Ironic     `mapstructure:",squash"`
	Listen     Listen     `mapstructure:",squash"`
	Access     Access     `mapstructure:",squash"`
	Gateway    Gateway    `mapstructure:",squash"`
	Log        Log        `mapstructure:",squash"`
	Kubernetes Kubernetes `mapstructure:",squash"`
	Disruption Disruption `mapstructure:",squash"`
}

// Mode says what happens with a no.
type Mode string

// The modes.
const (
	Enforce Mode = "enforce" // a no is a no
	Observe Mode = "observe" // a no is counted and answered yes
)

// CountMode says which busy nodes occupy a slot.
type CountMode string

// The count modes.
const (
	CountAgent CountMode = "agent" // busy and agent_url set, or ours
	CountBusy  CountMode = "busy"  // every busy node, whoever started it
)

// LimitMode says who changes the limits.
type LimitMode string

// The limit modes.
const (
	LimitFixed    LimitMode = "fixed"    // nobody
	LimitAdaptive LimitMode = "adaptive" // the throttle, below what is set
)

// Limits says how many hosts may work at once. All of its numbers are hosts.
type Limits struct {
	Total        int           `mapstructure:"maxConcurrentProvisioningHosts"` // 1..100000
	Mode         LimitMode     `mapstructure:"limitMode"`
	Pools        poolSlots     `mapstructure:"poolLimits"` // empty: one pool for all
	VirtualMedia mediaLimit    `mapstructure:"virtualMediaLimit"`
	CountMode    CountMode     `mapstructure:"countMode"`
	ExtraStates  bool          `mapstructure:"countExtraStates"`
	StuckAfter   time.Duration `mapstructure:"stuckAfter"` // 0 = never
}

// View says how often Ironic is polled and how old a poll may be.
type View struct {
	PollInterval time.Duration `mapstructure:"pollInterval"`
	MaxStale     time.Duration `mapstructure:"-"` // older: new hosts are refused
	ListMaxAge   time.Duration `mapstructure:"-"` // a fetched node is believed this long
}

// Leases holds the times in the life of a slot.
type Leases struct {
	TTL           time.Duration `mapstructure:"leaseTtl"`
	Linger        time.Duration `mapstructure:"linger"`
	StartupSettle time.Duration `mapstructure:"-"` // after the start busy nodes are adopted this long before the first yes
}

// Turns says whose turn it is when more hosts want slots than there are
// (docs/behaviour.md).
type Turns struct {
	Weights tenantWeights `mapstructure:"tenantWeights"` // a namespace that is not listed has 1
}

// Ironic says where Ironic is and how to reach it, as BMO says it. The files
// need not exist: BMO uses its default paths only when something lies there.
type Ironic struct {
	// Name is that of the Ironic resource that says where Ironic is; "" = Endpoint does.
	Name           string `mapstructure:"ironicName"`
	Namespace      string `mapstructure:"ironicNamespace"`   // of that resource, see Config.IronicNamespace
	Endpoint       string `mapstructure:"ironicEndpoint"`    // "" with Name; may carry user:password@; never print it, see Effective
	AuthRootDir    string `mapstructure:"metal3AuthRootDir"` // files ironic/username and ironic/password below it
	CACertFile     string `mapstructure:"ironicCacertFile"`
	ClientCertFile string `mapstructure:"ironicClientCertFile"`
	ClientKeyFile  string `mapstructure:"ironicClientPrivateKeyFile"`
	Insecure       bool   `mapstructure:"ironicInsecure"`
}

// IronicNamespace is that of the Ironic resource, as BMO finds it: the one that was set, else
// ours, else the one that is watched; "" = that of the service account.
func (c Config) IronicNamespace() string {
	watched := ""
	if len(c.Kubernetes.Watch) == 1 {
		watched = c.Kubernetes.Watch[0]
	}
	return cmp.Or(c.Ironic.Namespace, c.Kubernetes.Namespace, watched)
}

// Log says what is logged and how.
type Log struct {
	Level  string `mapstructure:"logLevel"`  // debug, info, warn, error
	Format string `mapstructure:"logFormat"` // text, json
}

// Default is the configuration with nothing set. Ironic.Endpoint has no
// default, so Load would refuse it; tests and the demo fill it in.
func Default() Config {
	v := viper.New()
	setDefaults(v)
	var c Config
	// A default that its own row refuses is caught by the tests.
	_ = unmarshal(v, &c)
	c.derive()
	return c
}
