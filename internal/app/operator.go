package app

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/operator"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// operatorEvery is how often BMO's Deployment is read; findTimeout bounds the search for
// Ironic at the start.
const (
	operatorEvery = time.Minute
	findTimeout   = 20 * time.Second
)

// ironicUnread is what log and status say while BMO's Ironic cannot be followed.
const ironicUnread = "where BMO's Ironic is cannot be read again: what was found at the start stays"

// operatorPart is what App has to do with BMO's Deployment; nil without a cluster.
type operatorPart struct {
	bmo   *operator.Reader
	known atomic.Pointer[known]
	// ironic is where BMO has its Ironic, and files what is needed to reach it; nil where
	// IRONIC_ENDPOINT was given.
	ironic *operator.Ironic
	files  operator.Files
	unread atomic.Pointer[string] // why that cannot be read again; nil: it can
	told   string                 // the warning about workers that the log has; this and the next two are runOperator's alone
	event  string                 // … and the Event
	limit  string                 // the warning about BMO's limit that the log has
}

// known is BMO's Deployment as it was last read.
type known struct {
	operator.Found
	err error // of the latest look; Found may be of one before
}

// newOperator finds out how to read BMO's Deployment and, where nothing else says where
// Ironic is, reads that from it.
func (a *App) newOperator(ctx context.Context, o *Options, identity string) (err error) {
	if a.cluster == nil {
		return nil
	}
	a.bmo, err = operator.New(operator.Options{
		Config: a.cluster.Config, Deployment: o.Config.Kubernetes.Operator, Namespace: a.cluster.Namespace,
		CPUs: runtime.NumCPU(), Own: o.Config.Gateway.Own, Instance: identity, Log: a.log,
	})
	if to := o.Config.Ironic; err != nil || to.Endpoint != "" || to.Name != "" {
		return err
	}
	if err := a.findIronic(ctx, &o.Config.Ironic); err != nil {
		return fmt.Errorf("IRONIC_ENDPOINT is not set, and Ironic is not found by itself: %w", err)
	}
	return nil
}

// findIronic completes to with what BMO's Deployment says. Credentials and authority that are
// mounted stay.
func (a *App) findIronic(ctx context.Context, to *config.Ironic) error {
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	found, err := a.bmo.Read(ctx)
	if err != nil {
		return err
	}
	there, err := a.bmo.Ironic(ctx, found)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(to.AuthRootDir, "ironic")); err == nil {
		there.Credentials = ""
	}
	if _, err := os.Stat(to.CACertFile); err == nil {
		there.Authority = ""
	}
	if there.Credentials+there.Authority != "" {
		if a.files.Dir, err = credentialsDir(); err != nil {
			return fmt.Errorf("place of the credentials (XDG_RUNTIME_DIR, else TMPDIR): %w", err)
		}
		if err := a.bmo.Keep(ctx, there, a.files); err != nil {
			return err
		}
	}
	a.ironic = &there
	to.Endpoint, to.Insecure = there.Endpoint, to.Insecure || there.Insecure
	if there.Credentials != "" {
		to.AuthRootDir = a.files.AuthRootDir()
	}
	if there.Authority != "" {
		to.CACertFile = a.files.Authority()
	}
	a.log.Info("Ironic was found by BMO's Deployment", "deployment", a.bmo.Name(), "in", there.From)
	return nil
}

// runOperator looks at BMO's Deployment every minute until ctx ends. It fails when BMO's
// Ironic, which was found there, is another one: a new start finds that.
func (a *App) runOperator(ctx context.Context) error {
	tick := time.NewTicker(operatorEvery)
	defer tick.Stop()
	for {
		if err := a.lookAtOperator(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (a *App) lookAtOperator(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, operatorEvery)
	defer cancel()
	found, err := a.bmo.Read(ctx)
	if ctx.Err() != nil {
		return nil // we end, or the API server was too slow: the next look tells
	}
	before, now := a.known.Load(), known{Found: found, err: cmp.Or(err, found.Err)}
	if now.err != nil && before != nil {
		now.Found = before.Found // what was known stays
	}
	a.known.Store(&now)
	a.tellOperator(before, now.Found, now.err)
	a.warnOperator(ctx, now.Found)
	if text := a.limitWarning(); text != a.limit {
		if a.limit = text; text != "" {
			a.log.Warn("BMO", "warning", text)
		}
	}
	if a.ironic == nil || err != nil {
		return nil
	}
	return a.followIronic(ctx, found) // the fresh one, whether or not it tells workers and limit
}

// tellOperator logs what is new.
func (a *App) tellOperator(before *known, now operator.Found, err error) {
	switch {
	case err != nil && (before == nil || before.err == nil):
		a.log.Warn("how many workers BMO has cannot be read, and what is not known is not compared with the limit: tried again every minute",
			"deployment", a.bmo.Name(), "error", err)
	case err == nil && (before == nil || before.err != nil || before.Workers != now.Workers):
		a.log.Info("BMO's workers", "deployment", a.bmo.Name(), "workers", now.Workers.Count, "from", now.Workers.From, "estimated", now.Workers.Estimated)
	}
}

// warnOperator puts the warning about BMO's workers into the log and on its Deployment, once
// for each text.
func (a *App) warnOperator(ctx context.Context, found operator.Found) {
	text, f := a.workersWarning(), a.force.Load()
	fresh := text != a.told
	a.told = text
	if fresh && text != "" && f.config.BMOConcurrency == 0 { // else the settings have told it
		a.log.Warn("BMO", "warning", text)
	}
	if text == a.event || text != "" && (!f.config.Kubernetes.Events || found.UID == "") {
		return
	}
	if text != "" {
		if err := a.bmo.Tell(ctx, a.now(), found, text); err != nil {
			if fresh {
				a.log.Warn("BMO's Deployment gets no Event about its workers: tried again every minute", "error", err)
			}
			return
		}
	}
	a.event = text
}

// workersWarning says that BMO has more workers than there are slots; "" when it has
// not, or nobody knows. What was set by hand wins.
func (a *App) workersWarning() string {
	c, k := a.force.Load().config, a.known.Load()
	limit := c.Limits.Total
	switch {
	case c.BMOConcurrency > limit:
		return config.TooManyWorkers(c.BMOConcurrency, limit)
	case c.BMOConcurrency > 0 || k == nil || k.Workers.Count <= limit:
		return ""
	case k.Workers.Estimated:
		return fmt.Sprintf("BMO_CONCURRENCY of BMO's Deployment %s is not set: by %s it has %d workers, which is greater than the limit of %d: "+
			"more workers than slots. An estimate: its machine may have other CPUs", a.bmo.Name(), k.Workers.From, k.Workers.Count, limit)
	}
	return fmt.Sprintf("%s (BMO's Deployment %s, %s)", config.TooManyWorkers(k.Workers.Count, limit), a.bmo.Name(), k.Workers.From)
}

// limitWarning says that BMO, which meets the gateway, has another limit than the throttle; "" when it has not, or nobody knows.
func (a *App) limitWarning() string {
	c, k := a.force.Load().config, a.known.Load()
	limit := c.Limits.Total
	if c.Gateway.Listen == "" || k == nil || k.Limit == 0 || k.Limit == limit {
		return ""
	}
	return fmt.Sprintf("PROVISIONING_LIMIT of BMO's Deployment %s is %d, and the limit is %d: set it to %d too, "+
		"so that hosts that wait are shown as delayed, and ask every one to two minutes", a.bmo.Name(), k.Limit, limit, limit)
}

// followIronic renews the credentials, and fails when Ironic is another one.
func (a *App) followIronic(ctx context.Context, found operator.Found) error {
	there, err := a.bmo.Ironic(ctx, found)
	if err == nil {
		if there.Moved(*a.ironic) {
			return fmt.Errorf("BMO's Deployment %s names another Ironic than at our start: ending, to find that one", a.bmo.Name())
		}
		err = a.bmo.Keep(ctx, there.LikeIn(*a.ironic), a.files)
	}
	if ctx.Err() == nil {
		a.tellIronic(err)
	}
	return nil
}

// tellIronic says that BMO's Ironic cannot be read again, once until it can be; nil: it was read.
func (a *App) tellIronic(err error) {
	if err == nil {
		if a.unread.Swap(nil) != nil {
			a.log.Info("BMO's Ironic is read again", "deployment", a.bmo.Name())
		}
		return
	}
	text := ironicUnread + ": " + err.Error()
	if a.unread.Swap(&text) == nil {
		a.log.Warn(ironicUnread, "error", err)
	}
}

// showOperator is what the status tells of BMO.
func (a *App) showOperator() *api.Operator {
	k := a.known.Load()
	if k == nil {
		return nil
	}
	o := &api.Operator{
		Deployment: a.bmo.Name(), Workers: k.Workers.Count, WorkersFrom: k.Workers.From, Estimated: k.Workers.Estimated, Limit: k.Limit,
	}
	if k.Workers.Count > 0 && k.Limit > 0 {
		o.MayReach = k.Limit + k.Workers.Count - 1
	}
	if k.err != nil {
		o.LastError = k.err.Error()
	} else if why := a.unread.Load(); why != nil {
		o.LastError = *why
	}
	return o
}

// forgetFiles removes the credentials that were written.
func (a *App) forgetFiles() {
	if a.files.Dir != "" {
		_ = os.RemoveAll(a.files.Dir)
	}
}
