package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Planner says which planned work would pay (docs/planned-work.md). It changes nothing. Its methods read the cluster,
// end with ctx, and are safe for concurrent use. An error says why there is no plan now.
type Planner interface {
	Plan(ctx context.Context) (api.Plan, error)
	// Explain says what the plan means for one host; known is false if there is no such host.
	Explain(ctx context.Context, namespace, name string) (e api.PlanExplanation, known bool, err error)
}

// planTimeout bounds what a plan may take; api.PlanTimeout is longer.
const planTimeout = 60 * time.Second

// plannerOff is the answer of GET /v1/plan if the settings plan nothing.
const plannerOff = "the planner is off: set IRONIC_THROTTLE_DISRUPTION=plan"

// planning lets h answer, within planTimeout, if there is a Planner and this process decides.
func (s *Server) planning(h func(ctx context.Context, w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.opts.Planner == nil {
			writeError(w, http.StatusNotFound, api.PlannerOff, plannerOff)
			return
		}
		if !s.opts.Leading() {
			s.notLeading(w)
			return
		}
		conn := http.NewResponseController(w) // a recorder of a test has no deadlines
		_ = conn.SetReadDeadline(time.Time{}) // nothing more is read
		_ = conn.SetWriteDeadline(time.Now().Add(planTimeout + writeTimeout))
		ctx, cancel := context.WithTimeout(r.Context(), planTimeout)
		defer cancel()
		defer context.AfterFunc(s.ending, cancel)()
		switch err := h(ctx, w, r); {
		case err == nil:
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			text := fmt.Sprintf("there is no plan within %s: %s", api.Age(planTimeout), oneLine(err.Error()))
			writeError(w, http.StatusServiceUnavailable, "", text)
		case ctx.Err() != nil:
			writeError(w, http.StatusServiceUnavailable, "", "this throttle is ending")
		default:
			writeError(w, http.StatusBadGateway, "", "there is no plan: "+oneLine(err.Error()))
		}
	}
}

// getPlan answers GET /v1/plan.
func (s *Server) getPlan(ctx context.Context, w http.ResponseWriter, _ *http.Request) error {
	plan, err := s.opts.Planner.Plan(ctx)
	if err != nil {
		return err
	}
	plan.Running = s.opts.Running() // as it is now; the plan may be some seconds old
	writeJSON(w, http.StatusOK, plan)
	return nil
}

// explainPlan answers GET /v1/plan/hosts/{namespace}/{name}.
func (s *Server) explainPlan(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	e, known, err := s.opts.Planner.Explain(ctx, namespace, name)
	switch {
	case err != nil:
	case known:
		writeJSON(w, http.StatusOK, e)
	default:
		writeError(w, http.StatusNotFound, api.PlanHostUnknown, fmt.Sprintf("there is no BareMetalHost %q", shown(namespace+"/"+name)))
	}
	return err
}
