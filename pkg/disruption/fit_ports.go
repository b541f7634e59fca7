package disruption

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// port is a port of the host; no two pods of a node may have the same.
type port struct{ protocol, ip, number string }

// portsOf reads ports of a pod, each PROTOCOL/ADDRESS/PORT.
func portsOf(p *Pod, name string) (all []port, err error) {
	for i, text := range p.HostPorts {
		parts := strings.Split(text+"//", "/")
		n, err := strconv.ParseUint(parts[2], 10, 16)
		if err != nil || n == 0 || len(parts) != 5 || strconv.FormatUint(n, 10) != parts[2] {
			return nil, bad(fmt.Sprintf("pods[%s].hostPorts[%d]", name, i), text, "is not PROTOCOL/ADDRESS/PORT, such as TCP//8080")
		}
		all = append(all, port{cmp.Or(parts[0], "TCP"), parts[1], parts[2]})
	}
	return all, nil
}

// clashes reports whether two pods cannot have p and q on one node. No address, 0.0.0.0 and :: are all addresses.
func (p port) clashes(q port) bool {
	all := func(ip string) bool { return ip == "" || ip == "0.0.0.0" || ip == "::" }
	return p.number == q.number && p.protocol == q.protocol && (all(p.ip) || all(q.ip) || p.ip == q.ip)
}
