package server

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// why answers GET /v1/why/{namespace}/{name}: the story of one host. Ironic is asked only about a host that is not
// known.
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
		story.Story = append(story.Story, s.nodeWord(r.Context(), key))
	}
	return story
}

const (
	wordAge  = 5 * time.Second // a page is rendered up to once a second in each tab
	maxWords = 256
)

// nodeWords are what nodeWord has said of late.
type nodeWords struct {
	mu  sync.Mutex
	all map[string]word
}

type word struct {
	text string
	at   time.Time
}

func (n *nodeWords) get(now time.Time, key string) (text string, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	w, ok := n.all[key]
	age := now.Sub(w.at)
	return w.text, ok && age >= 0 && age < wordAge
}

func (n *nodeWords) put(now time.Time, key, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all == nil || len(n.all) >= maxWords { // the others are asked about once more
		n.all = map[string]word{}
	}
	n.all[key] = word{text: text, at: now}
}

// nodeWord says what Ironic knows of a node. It is asked once in wordAge, however many look.
func (s *Server) nodeWord(ctx context.Context, key string) string {
	if text, ok := s.words.get(s.opts.Now(), key); ok {
		return text
	}
	asking, cancel := context.WithTimeout(ctx, findNodeTimeout)
	defer cancel()
	text := s.askNode(asking, key)
	if ctx.Err() == nil { // else the fault is the reader's, who has gone
		s.words.put(s.opts.Now(), key, text)
	}
	return text
}

func (s *Server) askNode(ctx context.Context, key string) string {
	state, found, err := s.opts.FindNode(ctx, key)
	switch {
	case err != nil:
		return fmt.Sprintf("Ironic could not be asked about it: %v.", err)
	case found:
		return fmt.Sprintf("Ironic has its node, in state %q.", state)
	}
	return fmt.Sprintf("Ironic has no node %q.", shown(key))
}
