package disruption

import (
	"cmp"
	"fmt"
	"strings"
)

// port is a port of the host; no two pods of a node may have the same.
type port struct{ protocol, ip, number string }

// readPorts reads ports of a pod, each PROTOCOL/ADDRESS/PORT.
func (s *shape) readPorts(p *Pod) {
	for _, text := range p.HostPorts {
		parts := strings.Split(text, "/")
		if len(parts) != 3 {
			s.refuse(fmt.Sprintf("the host port %q", text))
			continue
		}
		s.ports = append(s.ports, port{cmp.Or(parts[0], "TCP"), parts[1], parts[2]})
	}
}

// clashes reports whether two pods cannot have p and q on one node. No address, 0.0.0.0 and :: are all addresses.
func (p port) clashes(q port) bool {
	all := func(ip string) bool { return ip == "" || ip == "0.0.0.0" || ip == "::" }
	return p.number == q.number && p.protocol == q.protocol && (all(p.ip) || all(q.ip) || p.ip == q.ip)
}
