package server

import (
	"context"
	"fmt"
	"net/http"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// why answers GET /v1/why/{namespace}/{name}: the story of one host. Ironic is asked only about
// a host that is not known.
func (s *Server) why(w http.ResponseWriter, r *http.Request) { writeJSON(w, http.StatusOK, s.story(r)) }

// story is that of the host in the path of r.
func (s *Server) story(r *http.Request) api.Why {
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	if namespace == api.NoNamespace {
		namespace = ""
	}
	story := s.opts.Decider.Why(s.opts.Now(), namespace, name)
	if story.Standing == api.StandingUnknown && s.opts.FindNode != nil {
		key := name
		if namespace != "" {
			key = namespace + "~" + name // as BMO names the node
		}
		ctx, cancel := context.WithTimeout(r.Context(), hasScopeTimeout)
		defer cancel()
		story.Story = append(story.Story, s.nodeWord(ctx, key))
	}
	return story
}

// nodeWord says what Ironic knows of a node.
func (s *Server) nodeWord(ctx context.Context, key string) string {
	state, found, err := s.opts.FindNode(ctx, key)
	switch {
	case err != nil:
		return fmt.Sprintf("Ironic could not be asked about it: %v.", err)
	case found:
		return fmt.Sprintf("Ironic has its node, in state %q.", state)
	}
	return fmt.Sprintf("Ironic has no node %q.", shown(key))
}
