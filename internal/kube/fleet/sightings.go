package fleet

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// sightings notice pods of a cluster that went. Only who saw a pod before knows that it is gone. So a throttle that
// was just started, and a single plan, know the pods that came and not those that went: a node may count as quiet for
// longer than it was.
type sightings struct {
	pods map[types.UID]string // node
	went map[string]time.Time // when one was missed, by node
}

// look tells each node when a pod last came or went. Pods of a cluster that was not read have not gone.
func (r *Reader) look(parts []*part, now time.Time) {
	seen := map[disruption.Key]*sightings{}
	for _, p := range parts {
		s := r.seen[p.Key]
		if s == nil {
			s = &sightings{}
		}
		if seen[p.Key] = s; p.whole {
			s.look(p, now)
		}
	}
	r.seen = seen
}

// look compares with the last look. Pods that belong to their node do not count: they go with it.
func (s *sightings) look(p *part, now time.Time) {
	there := map[types.UID]string{}
	came := map[string]time.Time{}
	for i := range p.pods {
		one := &p.pods[i]
		if one.Node == "" || one.DaemonSet || one.Mirror {
			continue
		}
		came[one.Node] = latest(came[one.Node], one.event)
		if !one.Finished { // a finished one that is cleared away was gone before
			there[one.uid] = one.Node
		}
	}
	went := map[string]time.Time{}
	for i := range p.nodes {
		if t, ok := s.went[p.nodes[i].Name]; ok { // of a node that is gone, nothing is kept
			went[p.nodes[i].Name] = t
		}
	}
	for uid, name := range s.pods {
		if there[uid] == "" { // or it has finished: an evicted pod does not always tell when
			went[name] = now
		}
	}
	for i := range p.nodes {
		n := &p.nodes[i]
		n.LastPodEvent = latest(came[n.Name], went[n.Name])
	}
	s.pods, s.went = there, went
}
