package fleet

import "time"

// sightings notice pods that went. A pod that is gone is in no list: only who saw it before knows.
// What went before the first look, or while nobody looked, is noticed at the next one, or never
// where this process had not begun; then a node may count as quiet for longer than it was, by no
// more than what its other pods tell. So a throttle that was just started, and a single `plan`,
// know the pods that came and not those that went.
type sightings struct {
	pods map[string]string    // node by UID of the pod
	went map[string]time.Time // when one was missed, by node
}

// look compares with the last look, and tells each node when a pod last came or went. Pods that
// belong to their node do not count: they go with it.
func (s *sightings) look(nodes []node, pods []pod, now time.Time) {
	there := map[string]string{}
	came := map[string]time.Time{}
	for i := range pods {
		p := &pods[i]
		if p.Node == "" || p.ofNode() {
			continue
		}
		came[p.Node] = latest(came[p.Node], p.event)
		if !p.Finished { // a finished one that is cleared away was gone before
			there[p.uid] = p.Node
		}
	}
	went := map[string]time.Time{}
	for i := range nodes {
		if t, ok := s.went[nodes[i].Name]; ok { // of a node that is gone, nothing is kept
			went[nodes[i].Name] = t
		}
	}
	for uid, name := range s.pods {
		if there[uid] == "" { // or it has finished: an evicted pod does not always tell when
			went[name] = now
		}
	}
	for i := range nodes {
		n := &nodes[i]
		n.LastPodEvent = latest(came[n.Name], went[n.Name])
	}
	s.pods, s.went = there, went
}
