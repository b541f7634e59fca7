package server

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// why answers GET /v1/why/{namespace}/{name}: the story of one host.
func (s *Server) why(w http.ResponseWriter, r *http.Request) { writeJSON(w, http.StatusOK, s.story(r)) }

// story is that of the host in the path of r. Ironic is asked about hosts that are not known only.
func (s *Server) story(r *http.Request) api.Why {
	namespace, name := hostOf(r)
	story := s.opts.Decider.Why(s.opts.Now(), namespace, name)
	if story.Standing == api.StandingUnknown && s.opts.FindNode != nil {
		if namespace != "" {
			name = namespace + "~" + name // as BMO names the node
		}
		story.Story = append(story.Story, s.nodeWord(r.Context(), name))
	}
	return story
}

const (
	wordAge  = 5 * time.Second // a page is rendered every 2 s in each tab
	maxWords = 256
)

// nodeWords are what Ironic has said of nodes, by name or UUID.
type nodeWords struct {
	sync.Mutex
	all map[string]nodeWord
}

type nodeWord struct {
	text string
	at   time.Time
}

// nodeWord says what Ironic knows of a node. It is asked once in wordAge, however many look.
func (s *Server) nodeWord(ctx context.Context, key string) string {
	now, words := s.opts.Now(), &s.words
	words.Lock()
	last, known := words.all[key]
	words.Unlock()
	if age := now.Sub(last.at); known && age >= 0 && age < wordAge {
		return last.text
	}
	asking, cancel := context.WithTimeout(ctx, findNodeTimeout)
	defer cancel()
	var text string
	switch state, found, err := s.opts.FindNode(asking, key); {
	case err != nil:
		text = fmt.Sprintf("Ironic could not be asked about it: %v.", err)
	case found:
		text = fmt.Sprintf("Ironic has its node, in state %q.", state)
	default:
		text = fmt.Sprintf("Ironic has no node %q.", shown(key))
	}
	if ctx.Err() == nil { // else the client has gone, which is no fault of Ironic's
		words.Lock()
		defer words.Unlock()
		if words.all == nil || len(words.all) >= maxWords { // the others are asked about once more
			words.all = map[string]nodeWord{}
		}
		words.all[key] = nodeWord{text, now}
	}
	return text
}
