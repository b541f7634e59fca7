package holds

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
)

const (
	// requestTimeout bounds one request, saveTimeout all of a Save without its wait, and
	// openTimeout all of Open.
	requestTimeout = 5 * time.Second
	saveTimeout    = 10 * time.Second
	openTimeout    = 30 * time.Second
	// pause is the least time between two Saves that write, and between two tries of
	// Open.
	pause = time.Second
	// tries bounds how often a write that met a newer resourceVersion is repeated.
	tries = 4
	// yield is for how long a pod leaves the ledger to another one that has taken it, where
	// there is no election: longer than a rollout has two pods.
	yield = 3 * time.Minute
)

// Options say where the ledger is.
type Options struct {
	// Config leads to the API server.
	Config *rest.Config
	// Namespace and Name are those of the ConfigMaps, which are called <Name>-0 to
	// <Name>-7.
	Namespace, Name string
	// Identity is the pod of this process: ConfigMaps and errors name it. "" = unknown.
	Identity string
	// Leading tells whether this process may write; nil: always. It is asked directly
	// before each write, of Open and of Save. While it says no, both fail and nothing is
	// written: a leader that was paused must not write over what the next one has. It is
	// asked by several goroutines and must not wait.
	Leading func() bool
	// Waiting is told why Open waits, when it begins to and when it is for another reason;
	// nil: nobody is. It is called by several goroutines, one at a time.
	Waiting func(why error)
	// Log is told what is wrong; nil is silent.
	Log *slog.Logger
}

// validate names every field that is wrong, its value and the rule.
func (o Options) validate() error {
	var errs []error
	if o.Config == nil {
		errs = append(errs, errors.New("config: must be set"))
	}
	if why := validation.IsDNS1123Label(o.Namespace); len(why) > 0 {
		errs = append(errs, fmt.Errorf("namespace: %q is not the name of a namespace: %s", o.Namespace, strings.Join(why, ", ")))
	}
	if why := validation.IsDNS1123Subdomain(shardName(o.Name, 0)); len(why) > 0 {
		errs = append(errs, fmt.Errorf("name: %q with a number is not a name that a ConfigMap can have: %s", o.Name, strings.Join(why, ", ")))
	}
	return errors.Join(errs...)
}
